#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of docs/VARIABLES.md, from the tables in the code, as
# "ucx_info -cf" prints them: name, default, what is allowed, meaning.
# usage: variables.sh BUILD_DIR       prints the rows
#        variables.sh BUILD_DIR FILE  puts them into FILE
set -eu
case $#:${1-} in
*:--help | *:-h)
    echo "usage: variables.sh BUILD_DIR [FILE]"
    exit 0
    ;;
[12]:*) ;;
*)
    echo "usage: variables.sh BUILD_DIR [FILE]" >&2
    exit 2
    ;;
esac
if [ ! -x "$1/bin/srdrun" ]; then
    echo "variables.sh: no srdrun in $1/bin: name the folder of a build" >&2
    exit 2
fi
if ! command -v ucx_info >/dev/null; then
    echo "variables.sh: no ucx_info: install ucx-utils (contrib/test.sh uct does)" >&2
    exit 2
fi
export LC_ALL=C

# Variables that UCX gives to every transport are not ours to explain.
rows() {
    "$1/bin/srdrun" ucx_info -cf 2>/dev/null | awk '
        # (gsub treats a backslash differently from awk to awk.)
        function escaped(text,    part, count, i) {
            count = split(text, part, "|")
            text = part[1]
            for (i = 2; i <= count; ++i) text = text "\\|" part[i]
            return text
        }
        /^#/ {
            sub(/^# ?/, "")
            if (sub(/^syntax: */, "")) {
                syntax = $0
            } else if ($0 != "" && !/^(inherits|alias):?/) {
                doc = $0
            }
            next
        }
        /^UCX_(SRD|EFA)_/ && !/_(ALLOC|FAILURE|MAX_NUM_EPS)=/ {
            at = index($0, "=")
            printf "| `%s` | `%s` | %s | %s |\n", substr($0, 1, at - 1),
                   substr($0, at + 1), escaped(syntax), doc
        }
        /^$/ { doc = syntax = "" }' | sort -u
}

table=$(rows "$1")
if [ -z "${2-}" ]; then
    [ -z "$table" ] || echo "$table"
    exit
fi
[ -n "$table" ] || {
    echo "variables.sh: ucx_info -cf shows no variable of ours" >&2
    exit 1
}
awk -v table="$table" '
    /^\| `UCX_(SRD|EFA)_/ {
        if (!done++) print table
        next
    }
    { print }' "$2" >"$2.new"
mv "$2.new" "$2"
