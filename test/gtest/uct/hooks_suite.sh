#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests of src/ucp_hooks: how the module finds, judges and joins the UCX of a
# process, with the emulated device where it matters that there is one.
#
#   hooks_suite.sh BUILD_DIR [PROFILE]      PROFILE: ci (default) or full
#
# Prints a line per test: "ok NAME", "FAIL NAME: reason" or
# "skip NAME: reason", and at the end "suite hooks: P passed, F failed, S
# skipped"; exits 1 if one failed.
set -u
build=$(cd "${1:?usage: hooks_suite.sh BUILD_DIR [PROFILE]}" && pwd) || exit 2
profile=${2:-ci}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
obj=$build/obj/hooks
module=$build/lib/libuct_srd.so.0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=0
for v in $(compgen -e UCX_); do unset "$v"; done

ok()   { echo "ok $1"; passed=$((passed + 1)); }
fail() { echo "FAIL $1: $2"; failed=$((failed + 1)); }
skip() { echo "skip $1: $2"; skipped=$((skipped + 1)); }

# check NAME EXPECTED ACTUAL
check() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        fail "$1" "expected '$2', got '$(echo "$3" | head -c 600 | tr '\n' '|')'"
    fi
}

# match NAME REGEX TEXT: some line of TEXT matches
match() {
    if echo "$3" | grep -Eq -- "$2"; then
        ok "$1"
    else
        fail "$1" "no line matches '$2' in '$(echo "$3" | head -c 600 | tr '\n' '|')'"
    fi
}

# A module with AddressSanitizer needs its runtime in front. Leaks are reported
# for the programs of this suite, not for those of others.
preload=$module
sanitized=n
runtime=$(ldd "$module" | awk '/lib(clang_rt\.)?asan/ {print $3}')
if [ -n "$runtime" ] || nm -D "$module" | grep -q __asan_init; then
    sanitized=y
    preload="$runtime $module"
fi
# without_device COMMAND...: with the module. hooked: and with a device.
without_device() {
    local leaks=0 word
    for word in "$@"; do
        [ "${word#"$obj"/}" = "$word" ] || leaks=1
    done
    env ASAN_OPTIONS=detect_leaks=$leaks LD_PRELOAD="$preload" "$@"
}
simulated() {
    "$build/bin/efasim" run --fabric "hooks$$" -- "$@"
}
hooked() {
    simulated "$build/bin/srdrun" "$@"
}

libucp=$(ldconfig -p | awk '/libucp\.so\.0 / {print $NF; exit}')
: "${CC:=cc}"

# ---- the file itself (its symbols and libraries: test/tidy/check_objects.py) ----

match "it is never unloaded" 'NODELETE' "$(readelf -d "$module")"

# ---- a UCX that the program links ----

if command -v ucx_info >/dev/null; then
    out=$(hooked ucx_info -d 2>&1)
    match "ucx_info -d shows the component" 'Component: efa$' "$out"
    match "ucx_info -d shows the other transports" 'Transport: tcp$' "$out"
    check "ucx_info -d shows ours once" 1 "$(echo "$out" | grep -c 'Transport: srd$')"
    check "log level warn hides our lines" 0 "$(echo "$out" | grep -c ' EFA ')"
    out=$(hooked ucx_info -c 2>&1)
    for v in EFA_RECORD= EFA_REG_CACHE_MAX=16384 EFA_TOP=y EFA_REG_CACHE=try \
             EFA_REG_CACHE_SIZE=inf SRD_GET_SHORT=0.00us 'SRD_WINDOW=[0-9]+' \
             SRD_MAX_NUM_EPS=inf; do
        match "ucx_info -c lists $v" "^UCX_$v\$" "$out"
    done
    match "ucx_info -cf says what is allowed" \
        '^# syntax: +unsigned integer, from 16 to 4000$' \
        "$(hooked ucx_info -cf 2>&1)"
    check "without the module nothing of it is there" 0 \
        "$(ucx_info -d -c 2>&1 | grep -cE 'Component: efa|UCX_(SRD|EFA)_')"
    match "log level info shows our lines" ' EFA +INFO +rdmap0s6: srd interface' \
        "$(hooked env UCX_LOG_LEVEL=info ucx_info -d 2>&1)"
else
    skip "ucx_info" "not installed (Debian: ucx-utils)"
fi

# ---- values that are refused: variable, value, what is allowed ----

bad_value() {
    local variable=$1 value=$2 allowed=$3 out
    out=$(hooked env "$variable=$value" ucx_info -d 2>&1 | grep -a "Invalid value")
    match "$variable=$value is refused" \
        "Invalid value for .*: '$value'\. Expected: $allowed \(variable $variable\)" \
        "$out"
    check "$variable=$value: one line" 1 "$(echo "$out" | grep -c .)"
}
if command -v ucx_info >/dev/null; then
    for v in abc 4001 15 -1 12x 0x 4294967296 99999999999999999999 inf ''; do
        bad_value UCX_SRD_TX_QUEUE_LEN "$v" 'unsigned integer, from 16 to 4000'
    done
    bad_value UCX_EFA_TOP maybe 'y or n'
    bad_value UCX_EFA_REG_CACHE auto 'y, n or try'
    bad_value UCX_EFA_REG_CACHE_SIZE 1q 'bytes: .*, inf or auto'
    bad_value UCX_EFA_UD_TIMER 2s 'time: .*, from 1ms to 1s'
    bad_value UCX_EFA_UD_TIMER 1us 'time: .*, from 1ms to 1s'
fi

# ---- a UCX that is opened later ----

if [ -n "$libucp" ]; then
    export UCX_TLS=srd,tcp # not UCX's ib module
    late() { hooked "$obj/hooks_late" "$@" 2>&1; }
    name=$(basename "$libucp")
    check "opened late, RTLD_LOCAL" "$name: 1 md" "$(late local "$libucp")"
    check "opened late, RTLD_GLOBAL" "$name: 1 md" "$(late global "$libucp")"
    check "closed and opened again" "$(printf "$name: 1 md\n%.0s" 1 2 3)" \
        "$(late reopen "$libucp")"
    rounds=$([ "$profile" = full ] && echo 100 || echo 10)
    bad=
    for i in $(seq "$rounds"); do
        out=$(late threads "$libucp")
        [ "$(echo "$out" | grep -c ': 1 md$')" = 8 ] || bad="round $i: $out"
    done
    check "eight threads at once, $rounds times" "" "$bad"
    out=$(late uct "$libucp")
    match "asked by a program without UCX: an error, no crash" \
        '^without a libuct: error$' "$out"
    match "asked by the main program about a late UCX" \
        '^with a libuct: OK$' "$out"
    check "opened late without the module" "$name: 0 md" \
        "$(simulated "$obj/hooks_late" local "$libucp" | tail -n 1)"

    # a second set of libraries under other names, as Python wheels carry them;
    # those of Debian 13 and sid crash by the second, whether we are there or not
    mkdir "$tmp/two"
    for l in ucp uct ucs ucm; do
        sed -e 's/libuc\([pstm]\)\.so\.0/libuc\1.so.9/g' \
            "$(dirname "$libucp")/lib$l.so.0" >"$tmp/two/lib$l.so.9"
    done
    two() { LD_LIBRARY_PATH=$tmp/two late "$@" | grep ' md$'; }
    if LD_LIBRARY_PATH=$tmp/two simulated "$obj/hooks_late" local "$libucp" \
        "$tmp/two/libucp.so.9" >/dev/null 2>&1; then
        check "two libuct in one process" \
            "$(printf "$name: 1 md\nlibucp.so.9: 1 md")" \
            "$(two local "$libucp" "$tmp/two/libucp.so.9")"
        check "two libuct, the other way round" \
            "$(printf "libucp.so.9: 1 md\n$name: 1 md")" \
            "$(two local "$tmp/two/libucp.so.9" "$libucp")"
        check "two libuct, closed and opened again" \
            "$(printf "$name: 1 md\nlibucp.so.9: 1 md\n%.0s" 1 2 3)" \
            "$(two reopen "$libucp" "$tmp/two/libucp.so.9")"
    else
        skip "two libuct in one process" "the second crashes this UCX without us"
    fi

    # two copies of the module: the second leaves its transport out
    cp "$module" "$tmp/libuct_second.so.0"
    second() {
        # shellcheck disable=SC2016 # for the inner shell
        simulated sh -c 'LD_PRELOAD="$LD_PRELOAD $0" exec "$@"' \
            "$preload $tmp/libuct_second.so.0" \
            env ASAN_OPTIONS=detect_leaks=0 "$@" 2>&1
    }
    check "the module twice: registered once, late UCX" "$name: 1 md" \
        "$(second "$obj/hooks_late" local "$libucp")"
    check "the module twice: registered once, linked UCX" 1 \
        "$(second ucx_info -d | grep -c 'Transport: srd$')"
    for file in "${module##*/} " "libuct_second.so.0 "; do
        match "the module twice: the user who asked for it is told: $file" \
            "WARN  the module is loaded twice: .*$file" \
            "$(second env UCX_TLS=srd ucx_info -d)"
    done
    unset UCX_TLS
else
    skip "late" "libucp.so.0 is not installed"
fi

# ---- programs without UCX (as ever: suite ucp, no_ucx) ----

# Instructions of a program that has no UCX, with this preloaded.
cost() {
    env -i PATH="$PATH" LD_PRELOAD="$1" valgrind --tool=callgrind \
        --callgrind-out-file=/dev/null true 2>&1 |
        sed -n 's/^==[0-9]*== Collected : //p'
}
if [ $sanitized = y ] || ! command -v valgrind >/dev/null; then
    skip "exec" "sanitizers or no valgrind"
else
    more=$(($(cost "$module") - $(cost "")))
    echo "# one exec of true: $more instructions more"
    if [ $more -gt 0 ] && [ $more -lt 100000 ]; then
        ok "an exec costs less than 100,000 instructions more"
    else
        fail "an exec costs less than 100,000 instructions more" "$more"
    fi
fi

# ---- UCX we do not know ----

# fake NAME UCT_FLAGS UCP_FLAGS: a libucp over a libuct in $tmp/NAME
fake() {
    local dir=$tmp/$1
    mkdir "$dir" &&
    $CC -shared -fPIC -I"$top/src" $2 -Wl,-soname,libuct.so.0 -o "$dir/libuct.so.0" \
        "$here/hooks_fake_uct.c" &&
    $CC -shared -fPIC $3 -Wl,-soname,libucp.so.0 -o "$dir/libucp.so.0" \
        "$here/hooks_fake_ucp.c" "$dir/libuct.so.0" -Wl,-rpath,"$dir"
}

# refused NAME UCT_FLAGS UCP_FLAGS REGEX
refused() {
    local out
    if ! fake "$1" "$2" "$3" 2>"$tmp/err"; then
        fail "refused: $1" "compiler: $(head -c 300 "$tmp/err")"
        return
    fi
    run_fake() {
        without_device env "$@" "$obj/hooks_fake_user" "$dir/libucp.so.0" 2>&1
    }
    local dir=$tmp/$1
    out=$(run_fake UCX_TLS=tcp,srd)
    match "refused: $1, asked for by name: says so" \
        "WARN +libuct_srd: not used with $dir/libuct.so.0: $4" "$out"
    check "refused: $1: one line, and UCX works on" 2 \
        "$(echo "$out" | grep -c -e WARN -e '^4711 4711 components$')"
    check "refused: $1, not asked for: silence" "4711 4711 components" \
        "$(run_fake UCX_TLS=tcp)"
    check "refused: $1, excluded: silence" "4711 4711 components" \
        "$(run_fake UCX_TLS=^srd)"
    match "refused: $1, at level debug: says so" \
        "DEBUG +libuct_srd: not used with" "$(run_fake UCX_LOG_LEVEL=debug)"
    check "refused: $1, warnings off: silence" "4711 4711 components" \
        "$(run_fake UCX_TLS=srd UCX_LOG_LEVEL=error)"
}
if $CC -x c -c -o "$tmp/probe.o" /dev/null 2>/dev/null; then
    minors=$(sed -n 's/^ *X(\([0-9]*\),.*/\1/p' "$top/src/ucp_hooks/minors.h")
    last=${minors##*[!0-9]} next=$((${minors##*[!0-9]} + 1))
    known="1\.13 to 1\.$last"
    refused too-old "-DFAKE_MINOR=0" "-DFAKE_UCP=12" \
        "UCX 1\.12 is too old \(supported: UCX $known\): update UCX$"
    refused too-old-unnamed "-DFAKE_MINOR=0" "" \
        "UCX older than 1\.13 \(supported: UCX $known\): update UCX$"
    refused too-new "-DFAKE_MINOR=$last" "-DFAKE_UCP=$next" \
        "UCX 1\.$next is newer than what .* \(UCX $known\): .*UCX_EFA_ABI=1\.$last tries it .*$"
    # the override lets it pass on to the check of sizes, and no other does
    newer() {
        without_device env UCX_TLS=srd UCX_EFA_ABI="$1" "$obj/hooks_fake_user" \
            "$tmp/too-new/libucp.so.0" 2>&1
    }
    match "too new, UCX_EFA_ABI=1.$last: tried" \
        "looks like UCX 1\.$last, but uct_" "$(newer "1.$last")"
    for v in "1.$((last - 1))" "1.$next" 1.99 "$last" x; do
        match "too new, UCX_EFA_ABI=$v: refused" \
            "newer than .*UCX_EFA_ABI=$v is not .*: 1\.$last is allowed$" \
            "$(newer $v)"
    done
    refused too-new-gap "-DFAKE_MINOR=18 -DFAKE_GAP" "-DFAKE_UCP=$next" \
        "UCX 1\.$next is newer .* \(UCX $known\), and looks like none of these: update .*$"
    refused too-new-bare "-DFAKE_MINOR=0" "-DFAKE_UCP=$next" \
        "UCX 1\.$next is newer .*, and looks like none of these: .*$"
    refused mixed "-DFAKE_MINOR=13" "-DFAKE_UCP=18" \
        "its symbols say UCX 1\.13, and .*/mixed/libucp.so.0 says UCX 1\.18: two .*$"
    refused mixed-old "-DFAKE_MINOR=0" "-DFAKE_UCP=14" \
        "it is older than UCX 1\.13, and .*/libucp.so.0 says UCX 1\.14: two .*$"
    refused gap "-DFAKE_MINOR=18 -DFAKE_GAP" "-DFAKE_UCP=18" \
        "the exported symbols match no UCX release, .*$"
    refused wrong-sizes "-DFAKE_MINOR=13 -DFAKE_BAD_SIZE" "-DFAKE_UCP=13" \
        "looks like UCX 1\.13, but uct_tcp_component has 216 bytes where 1\.13 has 208, .*$"
    refused stripped "-DFAKE_MINOR=13" "-DFAKE_UCP=13" \
        "probably a stripped or modified build: missing symbol uct_component_register$"
    for minor in $(echo "$minors" | sed '1,/^14$/d'); do # 14 is 13 in size
        refused "1.$minor-wrong-sizes" "-DFAKE_MINOR=$minor" \
            "-DFAKE_UCP=$minor" "looks like UCX 1\.$minor, but uct_.* bytes .*$"
        [ "$profile" = full ] || break
    done
else
    skip "refused" "no C compiler"
fi

echo "suite hooks: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
