#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A server and its client, which starts when the server listens on PORT.
# usage: two.sh PORT SERVER... @@ CLIENT...
set -u
port=$1
shift
server=()
while [ "$1" != @@ ]; do
    server+=("$1")
    shift
done
shift
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT

"${server[@]}" >/dev/null 2>"$said" &
pid=$!
for _ in $(seq 500); do
    awk -v p="$(printf ':%04X' "$port")" '
        $4 == "0A" && substr($2, length($2) - 4) == p { f = 1 }
        END { exit !f }' /proc/net/tcp /proc/net/tcp6 2>/dev/null && break
    kill -0 "$pid" 2>/dev/null || {
        cat "$said" >&2
        exit 1
    }
    sleep 0.02
done
"$@"
status=$?
[ "$status" = 0 ] || kill "$pid" 2>/dev/null
wait "$pid" || status=$?
exit "$status"
