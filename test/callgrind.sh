# SPDX-License-Identifier: BSD-3-Clause
# For scripts that count instructions, which repeat exactly: to be read by them.
# shellcheck shell=sh

command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }

# count_calls PREFIX SOURCE PROGRAM ARGUMENT FOLDER: runs the program; its words
# are in FOLDER/said.ARGUMENT, the instructions of its functions PREFIX_*, which
# are in SOURCE, in FOLDER/count.ARGUMENT, a line of name and number each.
count_calls() {
    valgrind --tool=callgrind --toggle-collect="$1_*" \
        --callgrind-out-file="$5/out" "$3" "$4" >"$5/said.$4" 2>"$5/log" ||
        { cat "$5/said.$4" "$5/log"; exit 1; }
    callgrind_annotate --inclusive=yes --threshold=100 "$5/out" |
        sed -n "s/^ *\([0-9,]*\) .*$2:\($1_[a-z]*\) .*/\2 \1/p" | tr -d , |
        sort -u >"$5/count.$4"
}
