dnl SPDX-License-Identifier: BSD-3-Clause
# SRD_CHECK_HWLOC: hwloc, with which srd_info tells what is near a device. Not
# required.
AC_DEFUN([SRD_CHECK_HWLOC], [
    HWLOC_LIBS=
    AC_ARG_WITH([hwloc], [AS_HELP_STRING([--without-hwloc],
        [srd_info tells places by sysfs alone])], [], [with_hwloc=check])
    AS_IF([test "x$with_hwloc" != xno], [
        AC_CHECK_HEADER([hwloc.h], [srd_hwloc=yes], [srd_hwloc=no])
        AS_IF([test "x$srd_hwloc" = xyes], [
            HWLOC_LIBS=-lhwloc
            AC_DEFINE([HAVE_HWLOC], [1], [hwloc is there])
        ], [AS_IF([test "x$with_hwloc" = xyes],
            [AC_MSG_ERROR([hwloc.h not found (Debian: libhwloc-dev)])])])
    ])
    AC_SUBST([HWLOC_LIBS])
])
