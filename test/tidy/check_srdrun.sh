#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_srdrun.sh ROOT BUILD: srdrun puts the module first and keeps what the
# caller preloads, touches neither arguments nor other variables, and reports
# what it cannot do in one line with the status that shells use.
set -u
build=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/srd-srdrun.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
status=0

if [ ! -x "$build/bin/srdrun" ]; then
    echo "nothing to check was found: bin/srdrun"
    exit 1
fi
# A module that does nothing: only the way into the process matters here.
mkdir -p "$work/b/bin" "$work/b/lib" "$work/empty/bin" "$work/with space/bin"
cp "$build/bin/srdrun" "$work/b/bin"
cp "$build/bin/srdrun" "$work/empty/bin"
${CC:-gcc} -shared -o "$work/b/lib/libuct_srd.so.0" -x c - <<<'int srd_test;' ||
    exit 1
cp -r "$work/b/." "$work/with space"
ln -s ../b/bin/srdrun "$work/empty/link"
module=$work/b/bin/../lib/libuct_srd.so.0

# expect NAME STATUS OUTPUT COMMAND...: both streams together, one line.
expect() {
    local name=$1 want=$2 text=$3 output got
    shift 3
    output=$(env -u LD_PRELOAD "$@" 2>&1 </dev/null)
    got=$?
    # A sanitizer's runtime may stand first.
    output=${output//*libasan.so*([!:]):/}
    # shellcheck disable=SC2053  # the text is a pattern
    if [ "$got" != "$want" ] || [[ $output != $text ]]; then
        echo "$name: status $got (expected $want): '$output' (expected '$text')"
        status=1
    fi
}
shopt -s extglob

run=$work/b/bin/srdrun
show='echo "$LD_PRELOAD"'
expect preload 0 "$module" "$run" sh -c "$show"
expect keeps_callers 0 "$module:libm.so.6:libdl.so.2" \
    sh -c "LD_PRELOAD=libm.so.6:libdl.so.2; export LD_PRELOAD; exec $run sh -c '$show'"
expect twice 0 "$module:$module" "$run" "$run" sh -c "$show"
expect symlink 0 "*/b/bin/../lib/libuct_srd.so.0" "$work/empty/../empty/link" \
    --print-path
expect from_path 0 "$module" env PATH="$work/b/bin:$PATH" srdrun --print-path
expect interpreted 0 "*/b/bin/./../lib/libuct_srd.so.0" sh -c \
    "cd $work/b/bin && sh srdrun --print-path"
expect arguments 0 '<a><b c><><\*><$x><--version>' "$run" \
    printf '<%s>' a 'b c' '' '*' '$x' --version
expect double_dash 0 'x' "$run" -- echo x
expect exit_status 7 '' "$run" sh -c 'exit 7'
variables='env | grep -E "^(UCX|EFA|FI|OMPI|LD_LIBRARY)_" | sort'
expect environment 0 "$(sh -c "$variables")" "$run" sh -c "$variables"
expect version 0 'srdrun [0-9]*.[0-9]*' "$run" --version
expect help 0 'Usage: srdrun *' "$run" --help
expect no_command 2 'srdrun: no command given*' "$run"
expect bad_option 2 'srdrun: unknown option --nope*' "$run" --nope
expect not_found 127 'srdrun: no_such_command: *' "$run" no_such_command
expect no_file 127 'srdrun: /no/such: *' "$run" /no/such
expect folder 126 'srdrun: /etc: is a directory' "$run" /etc
expect not_executable 126 'srdrun: /etc/passwd: not executable*' "$run" \
    /etc/passwd
expect no_module 1 'srdrun: libuct_srd.so.0 is neither in *' \
    "$work/empty/bin/srdrun" true
expect space 1 'srdrun: LD_PRELOAD cannot hold a path with a space*' \
    "$work/with space/bin/srdrun" true
exit $status
