# SPDX-License-Identifier: BSD-3-Clause
# src/command: what the programs share. Each compiles it for itself, as some are built
# without sanitizers.
command_sources = src/command/json.c src/command/json.h \
	src/command/options.c src/command/options.h src/util/nearest.h
