# SPDX-License-Identifier: BSD-3-Clause
# test/apps: programs of two or more processes that use public UCP or MPI calls
# only and check every byte they receive.
test_apps_common = test/apps/args.c test/apps/args.h \
                   test/apps/fill.c test/apps/fill.h \
                   test/apps/watchdog.c test/apps/watchdog.h \
                   test/apps/oob.c test/apps/oob.h test/apps/ucp_open.h \
                   test/apps/uct_open.h \
                   test/apps/op.c test/apps/op.h \
                   test/apps/node.c test/apps/node.h \
                   test/apps/node_sockaddr.c test/apps/node_sockaddr.h

check_PROGRAMS += test/ucp_bytes
test_ucp_bytes_SOURCES = $(test_apps_common) test/apps/ucp_bytes.c \
                         test/apps/bytes.c test/apps/bytes.h \
                         test/apps/bytes_tag.c test/apps/bytes_am.c \
                         test/apps/bytes_stream.c test/apps/bytes_rma.c \
                         test/apps/bytes_hold.c
test_ucp_bytes_LDADD   = $(UCP_LIBS)

check_PROGRAMS += test/ucp_killed
test_ucp_killed_SOURCES = $(test_apps_common) test/apps/ucp_killed.c
test_ucp_killed_LDADD   = $(UCP_LIBS)

check_PROGRAMS += test/ucp_soak
test_ucp_soak_SOURCES = $(test_apps_common) test/apps/ucp_soak.c \
                        test/apps/soak.h test/apps/soak_traffic.c \
                        test/apps/soak_report.c
test_ucp_soak_LDADD   = $(UCP_LIBS)

check_PROGRAMS += test/ucp_far
test_ucp_far_SOURCES = test/apps/ucp_far.c
test_ucp_far_LDADD   = $(UCP_LIBS)

# The MPI program is built by MPI's compiler wrapper, hence a rule of its own.
test_mpi_sources = $(srcdir)/test/apps/mpi_check.c \
                   $(srcdir)/test/apps/mpi_window.c \
                   $(srcdir)/test/apps/mpi_flood.c \
                   $(srcdir)/test/apps/fill.c
test_mpi_headers = $(srcdir)/test/apps/mpi_check.h \
                   $(srcdir)/test/apps/fill.h
if HAVE_MPI
check_DATA += test/mpi_check test/mpi_hang
endif
test/mpi_hang: $(srcdir)/test/apps/mpi_hang.c
	@$(MKDIR_P) test
	$(AM_V_CC)$(MPICC) $(BASE_CFLAGS) $(SANITIZE_CFLAGS) -O2 -g -o $@ $<
test/mpi_check: $(test_mpi_sources) $(test_mpi_headers)
	@$(MKDIR_P) test
	$(AM_V_CC)$(MPICC) $(BASE_CFLAGS) $(SANITIZE_CFLAGS) -O2 -g -o $@ \
	    $(test_mpi_sources)
EXTRA_DIST += test/apps/mpi_hang.c test/apps/mpi_check.c \
              test/apps/mpi_check.h \
              test/apps/mpi_window.c test/apps/mpi_flood.c
CLEANFILES += test/mpi_check test/mpi_hang

# Built by suites efasim and uct and contrib/ci/anyone.sh.
EXTRA_DIST += test/apps/verbs_threads.c test/apps/refuse_ns.c test/apps/pages_64k.c \
              test/apps/libefa_lies.c \
              test/apps/other_cpu.c
