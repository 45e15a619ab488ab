#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# hooks_layout.sh UCX_SOURCE: our declarations of UCX's private structures
# against the private headers of that source tree, by hooks_layout.cc; and once
# more with each of them broken, to see that the check can fail.
set -u
tree=$(cd "${1:?usage: hooks_layout.sh UCX_SOURCE}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
: "${CXX:=c++}"
status=0

minor=$(sed -n 's/^define(\[ucx_ver_minor\], *\([0-9]*\)).*/\1/p' \
    "$tree/configure.ac")
[ -n "$minor" ] || { echo "FAIL: no UCX source tree: $tree"; exit 2; }

rows=$(mktemp) || exit 2
trap 'rm -f "$rows"' EXIT
python3 -B "$here/hooks_rows.py" "$minor" >"$rows" || exit 2

layout() {
    $CXX -std=gnu++17 -fsyntax-only -w -DUCX_MINOR="$minor" \
        -DTREE_MINOR="$minor" "-DHOOKS_ROWS=\"$rows\"" -DENABLE_DEBUG_DATA=0 \
        -DENABLE_PARAMS_CHECK=0 -DENABLE_ASSERT=0 "$@" -I"$tree/src" \
        -I"$tree" -I"$top/src" "$here/hooks_layout.cc" 2>&1
}

out=$(layout) || { echo "FAIL: layout of UCX 1.$minor: $out"; status=1; }
[ $status != 0 ] || echo "ok layout of UCX 1.$minor"
for i in 1 2 3 4 5; do
    if layout -DHOOKS_BREAK_$i | grep -q 'static.assert'; then
        echo "ok layout check $i can fail"
    else
        echo "FAIL: layout check $i did not fail"
        status=1
    fi
done
exit $status
