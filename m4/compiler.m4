# SRD_COMPILER_FLAGS: warnings, and --enable-werror for CI.
# BASE_CFLAGS/BASE_CXXFLAGS hold what every object of ours is built with.
AC_DEFUN([SRD_COMPILER_FLAGS], [
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
        [], [enable_werror=no])
    BASE_CFLAGS="-std=gnu11 -Wall -Wextra"
    BASE_CXXFLAGS="-std=gnu++17 -Wall -Wextra"
    AS_IF([test "x$enable_werror" = xyes], [
        BASE_CFLAGS="$BASE_CFLAGS -Werror"
        BASE_CXXFLAGS="$BASE_CXXFLAGS -Werror"
    ])
    AC_SUBST([BASE_CFLAGS])
    AC_SUBST([BASE_CXXFLAGS])
])
