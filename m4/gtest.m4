dnl SPDX-License-Identifier: BSD-3-Clause
# SRD_CHECK_GTEST: GoogleTest, for the suites under test/gtest. Its header takes
# longer to compile than most tests, so gcc and clang have it precompiled.
AC_DEFUN([SRD_CHECK_GTEST], [
    AC_LANG_PUSH([C++])
    AC_CHECK_HEADER([gtest/gtest.h], [have_gtest=yes], [have_gtest=no])
    # clang compiles what the header itself instantiates with it.
    PCH_CXXFLAGS=-fpch-instantiate-templates
    save_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS -Werror $PCH_CXXFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [], [PCH_CXXFLAGS=])
    CXXFLAGS=$save_CXXFLAGS
    AC_SUBST([PCH_CXXFLAGS])
    AC_LANG_POP([C++])
    AS_IF([test "x$have_gtest" = xno],
        [AC_MSG_WARN([gtest not found: the test suites are not built (Debian: libgtest-dev)])])
    GTEST_LIBS="-lgtest -lgtest_main -lpthread"
    AC_SUBST([GTEST_LIBS])
    AM_CONDITIONAL([HAVE_GTEST], [test "x$have_gtest" = xyes])
    AM_CONDITIONAL([GTEST_PCH], [test "x$have_gtest$GXX" = xyesyes])
])
