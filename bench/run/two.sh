#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A server and its client, which starts when the server listens on PORT.
# usage: two.sh PORT SERVER... @@ CLIENT...
set -u
# shellcheck source=contrib/ci/ports.sh
. "$(dirname "$0")/../../contrib/ci/ports.sh"
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
wait_listen "$port" "$pid" || {
    kill "$pid" 2>/dev/null
    cat "$said" >&2
    exit 1
}
"$@"
status=$?
[ "$status" = 0 ] || kill "$pid" 2>/dev/null
wait "$pid" || status=$?
exit "$status"
