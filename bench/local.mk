# SPDX-License-Identifier: BSD-3-Clause
# Measurements; bench/*.sh run them.
check_PROGRAMS += bench/instr
bench_instr_SOURCES = bench/instr.c bench/instr.h bench/instr_memory.c \
    bench/instr_side.c bench/clock.c bench/clock.h
bench_instr_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_instr_CFLAGS  = $(AM_CFLAGS) -Wno-unused-parameter
bench_instr_LDADD   = $(UCT_LIBS)
bench_instr_LDFLAGS = $(AM_LDFLAGS) -rdynamic
EXTRA_DIST += bench/instr.sh bench/instr.py bench/instr_where.py

# Programs of bench/run.sh, which builds the pair over libfabric by itself where that
# is there.
check_PROGRAMS += bench/pair-ucp bench/twins
bench_pair_ucp_SOURCES = bench/pair/pair.c bench/pair/pair.h \
	bench/pair/ucp.c test/apps/oob.c test/apps/oob.h
bench_pair_ucp_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_pair_ucp_CFLAGS  = $(AM_CFLAGS) -Wno-unused-parameter
bench_pair_ucp_LDADD   = $(UCP_LIBS)
bench_twins_SOURCES    = bench/twins.c bench/twins.h bench/twins_count.c \
	bench/clock.c bench/clock.h
bench_twins_CPPFLAGS   = $(AM_CPPFLAGS) -I$(srcdir)/test
bench_twins_CFLAGS     = $(AM_CFLAGS) -Wno-unused-parameter
bench_twins_LDADD      = $(UCP_LIBS)
bench_twins_LDFLAGS    = $(AM_LDFLAGS) -rdynamic
EXTRA_DIST += bench/kv.py bench/kv bench/run.sh bench/run bench/pair/ofi.c
