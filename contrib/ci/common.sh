# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# What quickstart.sh and test.sh share: messages, and steps that show how long
# they take. Sourced; the caller sets program=NAME and top=TREE first.

say() {
    printf '== %s\n' "$*"
}

warn() {
    printf '%s: %s\n' "$program" "$*" >&2
}

die() {
    warn "$*"
    exit 1
}

# step NAME COMMAND...: runs COMMAND with its output in a log, says every 15 s
# that it is still at it and how long it took. A failure shows the log's end.
step() {
    local name=$1 start=$SECONDS log pid status=0 waited=0
    shift
    log=$(mktemp "${TMPDIR:-/tmp}/srd-step.XXXXXX") || return 1
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.2
        waited=$((waited + 1))
        if [ $((waited % 75)) = 0 ]; then
            printf '   %-28s still running, %d s\n' "$name" $((SECONDS - start))
        fi
    done
    wait "$pid" || status=$?
    if [ "$status" = 0 ]; then
        printf '   %-28s %d s\n' "$name" $((SECONDS - start))
    else
        printf '   %-28s failed with status %d after %d s; its last lines:\n' \
            "$name" "$status" $((SECONDS - start))
        tail -n 40 "$log" | sed 's/^/   | /'
    fi
    rm -f "$log"
    return "$status"
}
