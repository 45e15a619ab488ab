#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_headers.sh ROOT BUILD: every header compiles alone, and twice. Headers
# that are compiled once for each minor of UCX are tried for one of them.
set -u
root=$1 build=$2
list=$(find "$root/src" -name '*.h' | sort)
if [ -z "$list" ]; then
    echo "nothing to check was found: headers"
    exit 1
fi
status=0
for header in $list; do
    printf '#include "%s"\n#include "%s"\ntypedef int not_empty;\n' \
        "$header" "$header" |
        ${CC:-gcc} -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -x c \
            -D_GNU_SOURCE -DUCX_MINOR=13 -I"$root/src" -I"$build" ${UCX_CFLAGS-} - || {
        echo "${header#"$root"/}: does not compile alone"
        status=1
    }
done
exit $status
