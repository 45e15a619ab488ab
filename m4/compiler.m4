dnl SPDX-License-Identifier: BSD-3-Clause
# SRD_COMPILER_FLAGS: warnings, and --enable-werror for CI.
# BASE_CFLAGS/BASE_CXXFLAGS hold what every object of ours is built with. The
# tests in C++ are half of all compile time: what tests is built without
# optimization, what computes (simulator, explorer) with FAST_CXXFLAGS.
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
    # valgrind reads DWARF 4 of every compiler; clang 14 writes 5.
    FAST_CXXFLAGS="-gdwarf-4 -O2"
    AC_SUBST([FAST_CXXFLAGS])
    TEST_CXXFLAGS="-gdwarf-4 -g1 -O0"
    AC_SUBST([TEST_CXXFLAGS])
])
