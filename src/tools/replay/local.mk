# SPDX-License-Identifier: BSD-3-Clause
# srd_replay: runs recordings of the flight recorder again.
bin_PROGRAMS += bin/srd_replay
replay_sources = \
	src/tools/replay/chrome.c src/tools/replay/chrome.h \
	src/tools/replay/ends.c src/tools/replay/ends.h \
	src/tools/replay/file.c src/tools/replay/file.h \
	src/tools/replay/run.c src/tools/replay/run.h \
	src/tools/replay/run_call.c src/tools/replay/run_call.h \
	src/tools/replay/text.c src/tools/replay/text.h \
	src/tools/replay/watch.c src/tools/replay/watch.h
bin_srd_replay_SOURCES = src/tools/replay/srd_replay.c $(replay_sources) \
	$(command_sources) \
	$(record_sources)
bin_srd_replay_LDADD        = $(flow_objects)
bin_srd_replay_DEPENDENCIES = $(flow_objects)

dist_man_MANS += src/tools/man/srd_replay.1
