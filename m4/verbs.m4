dnl SPDX-License-Identifier: BSD-3-Clause
# SRD_CHECK_VERBS: headers of libibverbs and libefa. The module opens both at
# run time; tests that are verbs programs link against them (VERBS_LIBS).
AC_DEFUN([SRD_CHECK_VERBS], [
    AC_CHECK_HEADERS([infiniband/verbs.h infiniband/efadv.h], [],
        [AC_MSG_ERROR([$ac_header not found: install libibverbs-dev])])
    AC_CHECK_DECLS([EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY,
                    EFADV_DEVICE_ATTR_CAPS_RDMA_READ], [], [],
        [[#include <infiniband/efadv.h>]])
    VERBS_LIBS="-libverbs -lefa"
    AC_SUBST([VERBS_LIBS])
])
