# Measurements; bench/*.sh run them.
noinst_PROGRAMS += bench/instr
bench_instr_SOURCES = bench/instr.c
bench_instr_LDADD   = $(UCT_LIBS)
EXTRA_DIST += bench/instr.sh
