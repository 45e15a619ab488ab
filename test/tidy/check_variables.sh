#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_variables.sh ROOT BUILD: the table of docs/VARIABLES.md is what
# contrib/doc/variables.sh makes of "srdrun ucx_info -cf".
set -u
root=$1 build=$2
if ! command -v ucx_info >/dev/null 2>&1; then
    echo "ucx_info is not installed"
    exit 77
fi
top=$(cd "$(dirname "$0")/../.." && pwd)
printed=$("$top/contrib/doc/variables.sh" "$build")
written=$(grep -E '^\| `UCX_(SRD|EFA)_[A-Z_]+` \| `' "$root/docs/VARIABLES.md")
if [ -z "$printed" ]; then
    echo "nothing to check was found: UCX_SRD_ variables in ucx_info -cf"
    exit 1
fi
diff <(echo "$written") <(echo "$printed") |
    sed -n 's/^</only in docs\/VARIABLES.md: /p; s/^>/only in ucx_info -cf: /p'
[ "$written" = "$printed" ] || {
    echo "contrib/doc/variables.sh BUILD_DIR docs/VARIABLES.md puts it right"
    exit 1
}
