# SPDX-License-Identifier: BSD-3-Clause
# Measurements; bench/*.sh run them.
check_PROGRAMS += bench/instr
bench_instr_SOURCES = bench/instr.c bench/instr_side.c bench/instr_side.h
bench_instr_LDADD   = $(UCT_LIBS)
EXTRA_DIST += bench/instr.sh bench/instr_where.py

# The cost of the emulated device alone.
check_PROGRAMS += bench/efasim_cost
bench_efasim_cost_SOURCES = bench/efasim_cost.c \
	test/gtest/efasim/engine_rig.c test/gtest/efasim/engine_rig.h \
	test/gtest/efasim/engine_rig_post.c \
	test/gtest/efasim/engine_rig_struct.h $(efasim_engine_sources)
bench_efasim_cost_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE \
	-I$(top_srcdir)/test
EXTRA_DIST += bench/efasim.sh bench/ud.sh
