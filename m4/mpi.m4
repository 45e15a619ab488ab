dnl SPDX-License-Identifier: BSD-3-Clause
# SRD_CHECK_MPI: an MPI compiler wrapper, for the test programs under test/apps.
AC_DEFUN([SRD_CHECK_MPI], [
    AC_CHECK_PROGS([MPICC], [mpicc.openmpi mpicc], [])
    AM_CONDITIONAL([HAVE_MPI], [test -n "$MPICC"])
])
