#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_shell.sh ROOT BUILD: every shell script parses in its own shell and,
# where shellcheck is installed, passes it at its level "warning".
set -u
root=$1

# One script, in a process of its own.
if [ $# = 3 ]; then
    script=$3
    IFS= read -r first <"$script"
    case $first in
    '#!/bin/sh'*) shell='sh' ;;
    '#!/bin/bash'* | '#!/usr/bin/env bash'*) shell='bash' ;;
    *'SPDX'*) shell='bash' ;; # a file to be sourced
    *) exit 0 ;;
    esac
    status=0
    "$shell" -n "$script" || status=1
    if command -v shellcheck >/dev/null 2>&1; then
        (cd "$root" && shellcheck -x -P . -P SCRIPTDIR -s "$shell" -S warning \
            "$script") || status=1
    fi
    echo "script" >&3
    exit $status
fi

# Two at a time: shellcheck is what takes the time.
count=$(mktemp "${TMPDIR:-/tmp}/srd-shell.XXXXXX") || exit 1
trap 'rm -f "$count"' EXIT
status=0
find "$root" \( -name .git -o -name build -o -name build-aux \
    -o -name autom4te.cache -o -name venv \) -prune -o -type f \
    \( -name '*.sh' -o -name srdrun.in -o -path '*/.ci/run' \) -print0 |
    sort -z | xargs -r -0 -P 2 -n 1 "$0" "$root" one 3>>"$count" || status=1
if [ ! -s "$count" ]; then
    echo "nothing to check was found: shell scripts"
    status=1
fi
command -v shellcheck >/dev/null 2>&1 || echo "shellcheck is not installed"
exit $status
