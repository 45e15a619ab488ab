# SRD_CHECK_SANITIZERS: --enable-sanitizers builds everything with ASan+UBSan.
AC_DEFUN([SRD_CHECK_SANITIZERS], [
    AC_ARG_ENABLE([sanitizers],
        [AS_HELP_STRING([--enable-sanitizers],
            [build with AddressSanitizer and UndefinedBehaviorSanitizer])],
        [], [enable_sanitizers=no])
    SANITIZE_CFLAGS=
    AS_IF([test "x$enable_sanitizers" = xyes], [
        SANITIZE_CFLAGS="-fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined"
    ])
    AC_SUBST([SANITIZE_CFLAGS])
    AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])
])
