#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_shell.sh ROOT BUILD: every shell script parses in its own shell and,
# where shellcheck is installed, passes it at its level "warning".
set -u
root=$1
scripts=0
status=0
while IFS= read -r script; do
    IFS= read -r first <"$script"
    case $first in
    '#!/bin/sh'*) shell='sh' ;;
    '#!/bin/bash'* | '#!/usr/bin/env bash'*) shell='bash' ;;
    *'SPDX'*) shell='bash' ;; # a file to be sourced
    *) continue ;;
    esac
    scripts=$((scripts + 1))
    "$shell" -n "$script" || status=1
    if command -v shellcheck >/dev/null 2>&1; then
        (cd "$root" && shellcheck -x -P . -P SCRIPTDIR -s "$shell" -S warning \
            "$script") || status=1
    fi
done < <(find "$root" \( -name .git -o -name build -o -name build-aux \
    -o -name autom4te.cache \) -prune -o -type f \
    \( -name '*.sh' -o -name srdrun.in -o -path '*/.ci/run' \) -print | sort)
if [ "$scripts" = 0 ]; then
    echo "nothing to check was found: shell scripts"
    status=1
fi
command -v shellcheck >/dev/null 2>&1 || echo "shellcheck is not installed"
exit $status
