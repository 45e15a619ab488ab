dnl SPDX-License-Identifier: BSD-3-Clause
# SRD_CHECK_SANITIZERS: --enable-sanitizers builds everything with ASan+UBSan.
# SANITIZER_RUNTIME is what has to be preloaded first when an instrumented
# module enters a program that is not.
AC_DEFUN([SRD_CHECK_SANITIZERS], [
    AC_ARG_ENABLE([sanitizers],
        [AS_HELP_STRING([--enable-sanitizers],
            [build with AddressSanitizer and UndefinedBehaviorSanitizer])],
        [], [enable_sanitizers=no])
    SANITIZE_CFLAGS=
    SANITIZER_RUNTIME=
    AS_IF([test "x$enable_sanitizers" = xyes], [
        SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-omit-frame-pointer"
        SANITIZE_CFLAGS="$SANITIZE_CFLAGS -fno-sanitize-recover=undefined"
        # clang links a static runtime into programs only; a module needs the
        # shared one.
        AS_IF([$CC --version 2>/dev/null | grep -q clang], [
            SANITIZE_CFLAGS="$SANITIZE_CFLAGS -shared-libasan"
            srd_asan="libclang_rt.asan-$host_cpu.so"
        ], [
            srd_asan=libasan.so
        ])
        SANITIZER_RUNTIME=`$CC -print-file-name=$srd_asan`
        AS_IF([test -f "$SANITIZER_RUNTIME"],
            [SANITIZER_RUNTIME=`readlink -f "$SANITIZER_RUNTIME"`],
            [AC_MSG_ERROR([$srd_asan not found: install the sanitizer runtime of $CC])])
    ])
    AC_SUBST([SANITIZE_CFLAGS])
    AC_SUBST([SANITIZER_RUNTIME])
    AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])
])
