#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_headers.sh ROOT BUILD: every header compiles alone, and twice. A header
# that is compiled once for each minor of UCX is tried for one, and once.
set -u
root=$1 build=$2
list=$(find "$root/src" -name '*.h' | sort)
if [ -z "$list" ]; then
    echo "nothing to check was found: headers"
    exit 1
fi
status=0
for header in $list; do
    # A piece of another header, which is tried in its place.
    whole=$(sed -n '1,9s/.*Part of \([a-z_]*\.h\).*/\1/p' "$header")
    if [ -n "$whole" ] &&
        grep -q "#include \"${header##*/}\"" "${header%/*}/$whole"; then
        continue
    fi
    again=$header
    grep -q UCX_MINOR "$header" && again=/dev/null
    wrong=$(printf '#include "%s"\n#include "%s"\ntypedef int not_empty;\n' \
        "$header" "$again" |
        ${CC:-gcc} -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -x c \
            -D_GNU_SOURCE -DUCX_MINOR=13 -I"$root/src" -I"$build" \
            ${UCX_CFLAGS-} - 2>&1) && continue
    printf '%s\n' "$wrong" | grep -E 'error|warning' | head -n 4
    echo "${header#"$root"/}: does not compile alone"
    status=1
done
exit $status
