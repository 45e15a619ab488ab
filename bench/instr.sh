#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
exec python3 -B "$(dirname "$0")/instr.py" "$@"
