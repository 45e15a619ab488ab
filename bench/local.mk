# SPDX-License-Identifier: BSD-3-Clause
# Measurements; bench/*.sh run them.
check_PROGRAMS += bench/instr
bench_instr_SOURCES = bench/instr.c bench/instr_clock.c bench/instr_clock.h \
    bench/instr_memory.c bench/instr_memory.h bench/instr_phase.h \
    bench/instr_side.c bench/instr_side.h
bench_instr_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_instr_LDADD   = $(UCT_LIBS)
bench_instr_LDFLAGS = $(AM_LDFLAGS) -rdynamic
EXTRA_DIST += bench/instr.sh bench/instr_where.py

# Programs of bench/run.sh, which builds the pairs over libfabric and MPI by itself
# where these are there.
check_PROGRAMS += bench/pair-ucp bench/floors bench/cpu bench/peers
bench_pair_ucp_SOURCES = bench/pair/pair.c bench/pair/pair.h bench/pair/oob.c \
	bench/pair/ucp.c test/apps/oob.c test/apps/oob.h
bench_pair_ucp_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_pair_ucp_LDADD   = $(UCP_LIBS)
bench_floors_SOURCES   = bench/floors.c bench/twins.c bench/twins.h
bench_floors_CPPFLAGS  = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_floors_LDADD     = $(UCP_LIBS)
bench_cpu_SOURCES      = bench/cpu.c bench/twins.c bench/twins.h
bench_cpu_CPPFLAGS     = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_cpu_LDADD        = $(UCP_LIBS)
bench_peers_SOURCES    = bench/peers.c bench/instr_side.c bench/instr_side.h
bench_peers_CPPFLAGS   = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_peers_LDADD      = $(UCT_LIBS)
EXTRA_DIST += bench/kv.py bench/kv bench/run.sh bench/run bench/pair/ofi.c bench/pair/mpi.c

# The cost of the emulated device alone.
check_PROGRAMS += bench/efasim_cost
bench_efasim_cost_SOURCES = bench/efasim_cost.c \
	test/gtest/efasim/engine_rig.c test/gtest/efasim/engine_rig.h
bench_efasim_cost_LDADD = $(call efasim_objects,$(efasim_engine_sources))
bench_efasim_cost_DEPENDENCIES = $(bench_efasim_cost_LDADD)
bench_efasim_cost_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE \
	-I$(top_srcdir)/test
EXTRA_DIST += bench/efasim.sh bench/ud.sh
