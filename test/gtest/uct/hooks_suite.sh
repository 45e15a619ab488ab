#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests of src/ucp_hooks: how the module finds, judges and joins the UCX of a
# process. Needs no device.
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
module=$obj/libuct_hooktest.so.0
product=$build/lib/libuct_srd.so.0
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
hooked() {
    local leaks=0 word
    for word in "$@"; do
        [ "${word#"$obj"/}" = "$word" ] || leaks=1
    done
    timeout 120 env ASAN_OPTIONS=detect_leaks=$leaks LD_PRELOAD="$preload" "$@"
}

libucp=$(ldconfig -p | awk '/libucp\.so\.0 / {print $NF; exit}')
: "${CC:=cc}"

# ---- the file itself ----

file_tests() {
    local name=$1 file=$2
    check "$name exports one function" "uct_query_components" \
        "$(nm -D --defined-only "$file" | awk '{print $3}' | tr -d '\n')"
    check "$name leaves no UCX, verbs or efa symbol undefined" "" \
        "$(nm -D --undefined-only "$file" | awk '{print $2}' |
           grep -E '^(uc[tspm]_|ibv_|efadv_|__uc)')"
    match "$name is never unloaded" 'NODELETE' "$(readelf -d "$file")"
    if [ $sanitized = n ]; then
        check "$name needs libc alone" "libc.so.6" \
            "$(readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
               tr '\n' ' ' | sed 's/ $//')"
    fi
}
file_tests "test module" "$module"
if [ -e "$product" ]; then
    file_tests "libuct_srd.so.0" "$product"
else
    skip "libuct_srd.so.0" "not built"
fi

# ---- a UCX that the program links ----

if command -v ucx_info >/dev/null; then
    out=$(hooked ucx_info -d 2>&1)
    match "ucx_info -d shows the component" 'Component: hooktest$' "$out"
    match "ucx_info -d shows the transport" 'Transport: hooktl$' "$out"
    match "ucx_info -d shows the other transports" 'Transport: tcp$' "$out"
    check "ucx_info -d shows it once" 1 "$(echo "$out" | grep -c 'Transport: hooktl$')"
    out=$(hooked ucx_info -c 2>&1)
    for v in HOOKMD_NAME=none HOOKMD_DEPTH=128 \
             HOOKMD_FACTOR=1.500 HOOKMD_FLAG=y HOOKMD_TERNARY=try \
             HOOKMD_SIZE=8K HOOKMD_TIMEOUT=1000000.00us \
             HOOKTL_DEPTH=64 \
             HOOKTL_MAX_NUM_EPS=inf; do
        match "ucx_info -c lists $v" "^UCX_$v\$" "$out"
    done
    match "ucx_info -cf says what is allowed" \
        '^# syntax: +unsigned integer, from 16 to 4096$' \
        "$(hooked ucx_info -cf 2>&1)"
    check "without the module nothing of it is there" 0 \
        "$(ucx_info -d -c 2>&1 | grep -ci 'hook[mt]')"

    # log lines go through UCX's logger, at UCX's level
    match "log level info shows our lines" \
        ' EFA +INFO +hooktest name=none depth=128 ' \
        "$(hooked env UCX_LOG_LEVEL=info ucx_info -d 2>&1)"
    check "log level warn hides them" 0 \
        "$(hooked ucx_info -d 2>&1 | grep -c ' EFA ')"
    match "variables arrive" \
        ' name=x depth=16 factor=2 flag=0 size=1073741824 timeout=0.25$' \
        "$(hooked env UCX_LOG_LEVEL=info UCX_HOOKMD_NAME=x \
           UCX_HOOKMD_DEPTH=16 UCX_HOOKMD_FACTOR=2 \
           UCX_HOOKMD_FLAG=n UCX_HOOKMD_SIZE=1g UCX_HOOKMD_TIMEOUT=250ms \
           ucx_info -d 2>&1)"
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
    for v in abc 5000 15 -1 12x 0x 4294967296 99999999999999999999 inf ''; do
        bad_value UCX_HOOKMD_DEPTH "$v" 'unsigned integer, from 16 to 4096'
    done
    bad_value UCX_HOOKMD_FACTOR nan 'number, from 0.5 to 2'
    bad_value UCX_HOOKMD_FACTOR 2.1 'number, from 0.5 to 2'
    bad_value UCX_HOOKMD_FLAG maybe 'y or n'
    bad_value UCX_HOOKMD_TERNARY auto 'y, n or try'
    bad_value UCX_HOOKMD_SIZE 1k 'bytes: .*, inf or auto, from 4kb to 1gb'
    bad_value UCX_HOOKMD_SIZE 2g 'bytes: .*, inf or auto, from 4kb to 1gb'
    bad_value UCX_HOOKMD_TIMEOUT 2h 'time: .*, from 1ms to 60s'
    bad_value UCX_HOOKMD_TIMEOUT 1us 'time: .*, from 1ms to 60s'
    bad_value UCX_HOOKTL_DEPTH 257 'unsigned integer, from 8 to 256'
fi

# ---- UCX calls no variable of ours unknown, also when it is not used ----

if command -v ucx_info >/dev/null; then
    match "only an unknown variable is called unknown" \
        'unused env(ironment)? variable: UCX_HOOKMD_NOSUCH( |$)' \
        "$(hooked env UCX_TLS=tcp,self UCX_HOOKMD_DEPTH=77 UCX_HOOKTL_DEPTH=99 \
           UCX_HOOKMD_NOSUCH=1 ucx_info -w -u t 2>&1)"
fi

# ---- UCT programs: every callback of the tables ----

if [ -x "$obj/hooks_glue" ]; then
    out=$(hooked "$obj/hooks_glue" 2>&1); status=$?
    if [ $status = 0 ]; then
        ok "glue: $(echo "$out" | grep -c '       OK ') gtests"
    else
        fail "glue" "exit $status: $(echo "$out" | grep -E 'FAILED|Failure|ERROR: Add' |
             head -5 | tr '\n' '|')"
    fi
else
    skip "glue" "gtest was not found by configure"
fi

# ---- a UCX that is opened later ----

if [ -n "$libucp" ]; then
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
        "$("$obj/hooks_late" local "$libucp" 2>&1)"

    # a second set of libraries under other names, as Python wheels carry them;
    # those of Debian 13 abort on the second, whether we are there or not
    mkdir "$tmp/two"
    for l in ucp uct ucs ucm; do
        sed -e 's/libuc\([pstm]\)\.so\.0/libuc\1.so.9/g' \
            "$(dirname "$libucp")/lib$l.so.0" >"$tmp/two/lib$l.so.9"
    done
    two() { LD_LIBRARY_PATH=$tmp/two late "$@" | grep ' md$'; }
    if ! LD_LIBRARY_PATH=$tmp/two "$obj/hooks_late" local "$libucp" \
        "$tmp/two/libucp.so.9" 2>&1 | grep -q 'ucs_debug_initialized. failed'; then
        check "two libuct in one process" \
            "$(printf "$name: 1 md\nlibucp.so.9: 1 md")" \
            "$(two local "$libucp" "$tmp/two/libucp.so.9")"
        check "two libuct, the other way round" \
            "$(printf "libucp.so.9: 1 md\n$name: 1 md")" \
            "$(two local "$tmp/two/libucp.so.9" "$libucp")"
        check "two libuct, closed and opened again" \
            "$(printf "$name: 1 md\nlibucp.so.9: 1 md\n%.0s" 1 2 3)" \
            "$(two reopen "$libucp" "$tmp/two/libucp.so.9")"
    fi

    # two copies of the module: the second leaves its transport out
    cp "$module" "$tmp/libuct_second.so.0"
    second() {
        timeout 60 env ASAN_OPTIONS=detect_leaks=0 \
            LD_PRELOAD="$preload $tmp/libuct_second.so.0" "$@" 2>&1
    }
    check "the module twice: registered once, late UCX" "$name: 1 md" \
        "$(second "$obj/hooks_late" local "$libucp")"
    check "the module twice: registered once, linked UCX" 1 \
        "$(second ucx_info -d | grep -c 'Transport: hooktl$')"
    for file in "${module##*/} " "libuct_second.so.0 "; do
        match "the module twice: the user who asked for it is told: $file" \
            "WARN  the module is loaded twice: .*$file" \
            "$(second env UCX_TLS=hooktl ucx_info -d)"
    done
else
    skip "late" "libucp.so.0 is not installed"
fi

# ---- programs without UCX ----

same_as_ever() {
    local plain hooked_out
    plain=$("$@" 2>&1; echo "exit $?")
    hooked_out=$(hooked "$@" 2>&1; echo "exit $?")
    check "as ever: $*" "$plain" "$hooked_out"
}
same_as_ever true
same_as_ever false
same_as_ever bash -c 'echo $((6 * 7)); kill -0 $$'
same_as_ever ls -d /
command -v python3 >/dev/null &&
    same_as_ever python3 -c 'import sys, json; print(json.dumps([1, {"a": 2}]))'
command -v git >/dev/null && same_as_ever git --version
command -v perl >/dev/null && same_as_ever perl -e 'print 6 * 7'

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
        hooked env "$@" "$obj/hooks_fake_user" "$dir/libucp.so.0" 2>&1
    }
    local dir=$tmp/$1
    out=$(run_fake UCX_TLS=tcp,hooktl)
    match "refused: $1, asked for by name: says so" \
        "WARN +libuct_srd: not used with $dir/libuct.so.0: $4" "$out"
    check "refused: $1: one line, and UCX works on" 2 \
        "$(echo "$out" | grep -c -e WARN -e '^4711 4711 components$')"
    check "refused: $1, not asked for: silence" "4711 4711 components" \
        "$(run_fake UCX_TLS=tcp)"
    check "refused: $1, excluded: silence" "4711 4711 components" \
        "$(run_fake UCX_TLS=^hooktl)"
    match "refused: $1, at level debug: says so" \
        "DEBUG +libuct_srd: not used with" "$(run_fake UCX_LOG_LEVEL=debug)"
    check "refused: $1, warnings off: silence" "4711 4711 components" \
        "$(run_fake UCX_TLS=hooktl UCX_LOG_LEVEL=error)"
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
        hooked env UCX_TLS=hooktl UCX_EFA_ABI="$1" "$obj/hooks_fake_user" \
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
        "libucp says UCX 1\.18, the symbols of libuct say 1\.13, .*$"
    refused mixed-old "-DFAKE_MINOR=0" "-DFAKE_UCP=14" \
        "libucp says UCX 1\.14, but libuct is older than 1\.13, .*$"
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
