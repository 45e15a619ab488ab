# SPDX-License-Identifier: BSD-3-Clause
# The flight recorder (docs/RECORD.md): in the module, the simulator, and the
# program that replays.
record_sources = \
	src/files/bus.c src/files/bus.h \
	src/files/output.c src/files/output.h \
	src/record/record_call.c src/record/record_call.h \
	src/record/record_file.c src/record/record_file.h \
	src/record/record_format.c src/record/record_format.h
