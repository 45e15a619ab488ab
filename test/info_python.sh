# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# srd_info --python, a part of suite info, which sources this file.

# python_says STATUS TEXT...: srd_info --python on an emulated node; these are in
# what it says.
python_says() {
    local want=$1 text status=0
    shift
    "$EFASIM" run --fabric "t$$" "${SIM[@]}" -- "${WORDS[@]}" >"$OUT" 2>&1 ||
        status=$?
    cat "$OUT"
    [ "$status" = "$want" ] || fail "status $status, not $want"
    for text; do
        grep -Eq "$text" "$OUT" || fail "not said: $text"
    done
}

# A package that brings a UCX: this system's, under a wheel's name.
python_package() {
    local site=$DIR/site name
    mkdir -p "$site/brings" "$site/brings-1.2.dist-info"
    name=$(ldconfig -p | awk '/libucp\.so\.0 / { print $NF; exit }')
    cp "$name" "$site/brings/libucp-0123abcd.so.0.0.0"
    printf 'Metadata-Version: 2.1\nName: brings\nVersion: 1.2\n' \
        >"$site/brings-1.2.dist-info/METADATA"
    printf 'brings/libucp-0123abcd.so.0.0.0,,\n' \
        >"$site/brings-1.2.dist-info/RECORD"
    export PYTHONPATH=$site
}

python() {
    clean_environment
    need /usr/bin/python3
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers want their runtime first"
    local advised info=("$BUILD/bin/srd_info" --python=/usr/bin/python3)
    export UCX_TLS=srd,tcp,sm
    WORDS=("$SRDRUN" "${info[@]}")
    echo 'print("of another user")' >"$DIR/csv.py"
    cd "$DIR" || fail "cd: status $?"
    python_says 0 'no package of this .* brings a UCX; the system' \
        '^module +/.*libuct_srd.so.0$' '^  to other hosts srd on' '^1 of 1 over'
    ! grep 'of another user' "$OUT" || fail "the folder it is called in is believed"
    WORDS=("${info[@]}")
    python_says 1 'not loaded by this python' '^  module +serves it' \
        '^  to other hosts tcp on' "^0 of 1 over .*: start it as 'srdrun /.*/python3', or set"
    advised=$(sed -n 's/^0 of 1 .*, or set PYTHONPATH=//p' "$OUT")
    python_package
    WORDS=("$SRDRUN" "${info[@]}")
    python_says 0 '^package brings 1.2$' 'UCX .* in .*/libucp-0123abcd.so.0.0.0$' \
        '^  to other hosts srd on' '^1 of 1 over the EFA'
    UCX_TLS=tcp python_says 1 '^  module +serves it' '^  to other hosts tcp on'
    PYTHONPATH=$advised:$PYTHONPATH
    WORDS=("${info[@]}")
    python_says 0 '^module +/.*libuct_srd.so.0$' '^  to other hosts srd on'
    SIM=(--refuse-open)
    python_says 1 '^  module +cannot serve it: .*cannot be opened' \
        '^0 of 1 over the EFA by this module$'
    "$BUILD/bin/srd_info" --python "$DIR/no"$'\033'such >"$OUT" 2>&1
    [ $? = 2 ] && grep -q 'no?such cannot be started: No such' "$OUT" || fail "no such one"
}

# python_wrapper NAME LINE...: a program of that name that begins with these
# lines of shell, then is this system's Python.
python_wrapper() {
    local path=$DIR/$1/bin/python
    mkdir -p "$DIR/$1/bin"
    printf '%s\n' '#!/bin/sh' "${@:2}" 'exec /usr/bin/python3 "$@"' >"$path"
    chmod +x "$path"
}

# Pythons and environments as one may meet them: nothing of it is believed that
# is not so, and nothing hangs.
python_odd() {
    clean_environment
    need /usr/bin/python3
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers want their runtime first"
    local tool=$BUILD/bin/srd_info slow=$OUT.slow pid status=0 site
    export UCX_TLS=srd,tcp,sm
    python_wrapper hangs 'sleep 1000'
    "$tool" --python="$DIR/hangs/bin/python" >"$slow" 2>&1 &
    pid=$!
    python_package
    # what a start file prints is not the answer
    python_wrapper loud 'printf "python 9.9 /no\nmodule /no\npackage liar 1 /no\n"' \
        'printf "package\tliar\t1\t/no/libucp.so.0\n"'
    WORDS=("$SRDRUN" "$tool" --python="$DIR/loud") # the environment's folder
    python_says 0 '^python +3[.0-9]+ in /' '^package brings 1.2$' '^1 of 1 over'
    ! grep -E '^package liar 1$|module  +/no$' "$OUT" || fail "believed"
    # its exit fails, or never comes, after it has told all
    site=$DIR/site
    mkdir -p "$DIR/late"
    printf '%s\n' 'import atexit, os, time' 'atexit.register(time.sleep, 1000)' \
        >"$DIR/late/sitecustomize.py"
    PYTHONPATH=$site:$DIR/late python_says 0 '^package brings 1.2$'
    # paths with spaces, of the package and of the module
    mkdir -p "$DIR/with spaces"
    cp -r "$site" "$BUILD/lib/python" "$DIR/with spaces/" &&
        cp "$BUILD/lib/libuct_srd.so.0" "$DIR/with spaces/" || exit 1
    WORDS=("$tool" --python=/usr/bin/python3)
    PYTHONPATH="$DIR/with spaces/site:$DIR/with spaces/python" python_says 0 \
        '^module +/.*with spaces/libuct_srd.so.0$' \
        'UCX .* in /.*/with spaces/.*libucp-0123' '^1 of 1 over'
    # broken packages beside a good one; one of them has a UCX that is none, and
    # one that no record lists
    mkdir -p "$site"/{empty-1,bytes-2,gone-3,nothing-4}.dist-info \
        "$site"/{nothing,unlisted/lib}
    printf '\377\0\377,"\n' >"$site/bytes-2.dist-info/RECORD"
    printf '\377\0\377' >"$site/bytes-2.dist-info/METADATA"
    echo 'gone/libucp.so.0,,' >"$site/gone-3.dist-info/RECORD"
    echo 'nothing/libucp.so.0,,' >"$site/nothing-4.dist-info/RECORD"
    echo 'no library' >"$site/nothing/libucp.so.0"
    cp "$site/brings/libucp-0123abcd.so.0.0.0" "$site/unlisted/lib/libucp.so.0"
    WORDS=("$SRDRUN" "$tool" --python=/usr/bin/python3)
    python_says 1 '^package brings 1.2$' '^package nothing 4$' \
        'UCX +cannot be opened: .*nothing/libucp.so.0' '^package unlisted' \
        '^2 of 3 over'
    wait "$pid" || status=$?
    cat "$slow"
    [ $status = 2 ] && grep -q 'hangs/bin/python .*has not ended' "$slow" ||
        fail "the one that hangs: status $status"
}
