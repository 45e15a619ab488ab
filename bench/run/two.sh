#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A server and its client, each with a core of its own where there are two; the
# client starts when the server listens on PORT.
# usage: two.sh EFASIM SERVER_NODE CLIENT_NODE PORT SECONDS SERVER... @@ CLIENT...
set -u
efasim=$1 nodes=("$2" "$3") port=$4 limit=$5
shift 5
server=()
while [ "$1" != @@ ]; do
    server+=("$1")
    shift
done
shift

listens() {
    awk -v p="$(printf ':%04X' "$port")" '
        $4 == "0A" && substr($2, length($2) - 4) == p { f = 1 }
        END { exit !f }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

mapfile -t cores < <(taskset -cp $$ 2>/dev/null | sed 's/.*: //' | tr , '\n' |
    awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
on=("" "")
if [ ${#cores[@]} -ge 2 ]; then
    on=("taskset -c ${cores[0]}" "taskset -c ${cores[1]}")
fi

# shellcheck disable=SC2086 # several words, or none
${on[0]} timeout "$limit" "$efasim" run --node "${nodes[0]}" -- "${server[@]}" \
    >/dev/null 2>"${SERVER_LOG:-/dev/null}" &
pid=$!
for _ in $(seq 500); do
    listens && break
    kill -0 "$pid" 2>/dev/null || {
        cat "${SERVER_LOG:-/dev/null}" >&2
        echo "two.sh: the server ended at once" >&2
        exit 1
    }
    sleep 0.02
done
# shellcheck disable=SC2086
${on[1]} timeout "$limit" "$efasim" run --node "${nodes[1]}" -- "$@"
status=$?
[ "$status" = 0 ] || kill "$pid" 2>/dev/null
wait "$pid" || status=$?
exit "$status"
