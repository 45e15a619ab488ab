dnl SPDX-License-Identifier: BSD-3-Clause
# SRD_CHECK_UCX_HEADERS: UCX's public headers (libucx-dev of any version from
# 1.13). Nothing of ours links against a UCX library; tests that are UCX
# programs themselves link against libucp (UCP_LIBS) and libuct (UCT_LIBS).
AC_DEFUN([SRD_CHECK_UCX_HEADERS], [
    AC_ARG_VAR([UCX_CFLAGS], [where UCX's public headers lie, e.g. -I/opt/ucx/include])
    srd_save_CPPFLAGS="$CPPFLAGS"
    CPPFLAGS="$CPPFLAGS $UCX_CFLAGS"
    AC_CHECK_HEADER([uct/api/uct.h], [],
        [AC_MSG_ERROR([uct/api/uct.h not found: install libucx-dev (Debian) or set UCX_CFLAGS])])
    AC_CHECK_DECL([UCT_IFACE_FLAG_EP_CHECK], [],
        [AC_MSG_ERROR([UCX headers older than 1.13: install a newer libucx-dev])],
        [[#include <uct/api/uct.h>]])
    CPPFLAGS="$srd_save_CPPFLAGS"
    UCP_LIBS="-lucp -lucs"
    UCT_LIBS="-luct -lucs"
    AC_SUBST([UCP_LIBS])
    AC_SUBST([UCT_LIBS])
])
