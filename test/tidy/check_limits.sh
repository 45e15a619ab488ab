#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_limits.sh ROOT BUILD: a limit of src/flow/limits.h that no longer fits
# its fields is refused by the compiler, and by its name. Each limit is doubled
# in a copy of the core. One that is meant to be changed freely is in the list
# below, with what it costs; it must compile.
set -u
root=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/srd-limits.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cc=${CC:-gcc}
status=0

# Limits that fit in any size here: memory or work only.
free='
FLOW_INIT_WINDOW_MAX  # packets that a receiver holds of a stranger
FLOW_IDLE_WINDOW      # credits overcommitted
FLOW_WAKE_WINDOW      # credits at a wake
FLOW_TICK_LEVEL       # time until a silent flow is seen
FLOW_HAND_LOOKS_MIN   # work of a tick
FLOW_HAND_LOOKS_MAX   # work of a tick
FLOW_GOODBYE_TRIES    # UD: time
FLOW_CHECK_TRIES      # UD: time
FLOW_PART_LEVEL       # UD: time
FLOW_CTL_MAX          # bytes of a buffer
FLOW_ALIGN            # bytes
FLOW_QUARANTINE       # indices
FLOW_TOMBSTONES       # peers
FLOW_RX_BATCH         # records
FLOW_RESERVE_STUCK    # time
FLOW_STRANGERS        # records
FLOW_EXPIRED          # bytes
FLOW_STRANGER_ROOM    # bytes
FLOW_SPARE            # records
FLOW_GONE_MIN         # work
FLOW_PAIR_SEARCH      # work
FLOW_RIVALS           # work
FLOW_LINGER_LOST      # flows
FLOW_HASH_LOAD        # length of chains
FLOW_TRACE_LEN        # bytes
'

# The limits and their values: NAME VALUE, a line each.
limits() {
    sed -nE 's/^ +(FLOW_[A-Z_]+) += ([0-9]+|0x[0-9a-f]+|1 << [A-Z_]+),? .*/\1 \2/p' \
        "$root/src/flow/limits.h"
}

# compile: the asserts, in the copy; what the compiler says is in $work/said.
compile() {
    "${cc%% *}" -std=gnu11 -fsyntax-only -I"$work" "$work/flow/limits.c" \
        >"$work/said" 2>&1
}

mkdir "$work/flow" && cp "$root"/src/flow/*.[ch] "$work/flow/" 2>/dev/null
if [ ! -e "$work/flow/limits.c" ] || [ -z "$(limits)" ]; then
    echo "nothing to check was found: src/flow/limits.c, limits.h"
    exit 1
fi
compile || {
    cat "$work/said"
    exit 1
}
count=0
while read -r name value; do
    cp "$root/src/flow/limits.h" "$work/flow/limits.h"
    sed -i -E "s/^( +$name += )$value/\\1($value) * 2/" \
        "$work/flow/limits.h"
    count=$((count + 1))
    if compile; then
        grep -qw "^$name" <<<"$free" || {
            echo "src/flow/limits.c: $name may be doubled: which fields must" \
                "hold it?"
            status=1
        }
    elif grep -qw "^$name" <<<"$free"; then
        echo "$name: in this script's list of those that fit in any size, but" \
            "not doubled: $(grep -m 1 error "$work/said")"
        status=1
    elif ! grep -q "static assertion failed: \"[^\"]*$name" "$work/said" &&
        ! grep -q "static_assert[a-z]* failed.*$name" "$work/said"; then
        echo "$name: refused, but not by its name: $(head -n 3 "$work/said")"
        status=1
    fi
done < <(limits)
[ $status != 0 ] || echo "$count limits, each refused or free when doubled"
exit $status
