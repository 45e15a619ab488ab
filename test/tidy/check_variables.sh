#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_variables.sh ROOT BUILD: the table of variables in README.md is what
# "srdrun ucx_info -c" prints: the same names, the same defaults.
set -u
root=$1 build=$2
if ! command -v ucx_info >/dev/null 2>&1; then
    echo "ucx_info is not installed"
    exit 77
fi
# What UCX gives to every transport is not ours to explain.
printed=$("$build/bin/srdrun" ucx_info -c 2>/dev/null |
    grep -E '^UCX_(SRD|EFA)_' |
    grep -vE '_(ALLOC|FAILURE|MAX_NUM_EPS)=' | sort)
written=$(sed -nE 's/^\| `(UCX_[A-Z_]+)` \| `([^`]*)` \|.*/\1=\2/p' \
    "$root/README.md" | sort)
if [ -z "$printed" ]; then
    echo "nothing to check was found: UCX_SRD_ variables in ucx_info -c"
    exit 1
fi
diff <(echo "$written") <(echo "$printed") |
    sed -n 's/^</only in README.md: /p; s/^>/only in ucx_info -c: /p'
[ "$written" = "$printed" ]
