# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The wheel in a fresh virtual environment. Sourced by suite_portable.sh.

# wheel_venv PYTHON [PIP]: makes the environment $VENV and installs the wheel in it;
# with PIP, a folder with pip's package, where PYTHON brings none.
wheel_venv() {
    VENV=$CHECK_LOG.venv
    local wheel options=()
    wheel=$(wheel_of x86_64) || exit
    rm -rf "$VENV"
    unset PYTHONPATH LD_PRELOAD
    [ -z "${2-}" ] || options=(--without-pip)
    "$1" -m venv "${options[@]}" "$VENV" ||
        skip_here "$1 makes no virtual environment (python3-venv is missing?)"
    PYTHONPATH=${2-} "$VENV/bin/python" -m pip install -q --no-index \
        --disable-pip-version-check "$wheel" || fail "pip install: status $?"
    # from here on they are the wheel's
    programs_of "$VENV/bin"
    export PATH=$VENV/bin:$PATH
    note "Python $("$VENV/bin/python" -c 'import platform as p
print(p.python_version())'), UCX 1.$(ucx_minor)"
}

# The wheel's programs are on PATH, find the rest of it, and carry data.
wheel_programs() {
    local name
    for name in srdrun srd_info efasim; do
        [ "$(command -v $name)" = "$VENV/bin/$name" ] || fail "$name: not on PATH"
    done
    [ "$(readlink -f "$(srdrun --print-path)")" = "$(readlink -f "$VENV")/lib/ucx/$MODULE" ] ||
        fail "srdrun takes $(srdrun --print-path)"
    UCX_TLS=srd efasim run --fabric "t$$i" -- srdrun srd_info >"$CHECK_LOG.info" ||
        { cat "$CHECK_LOG.info"; fail "srd_info: status $?"; }
    grep srd "$CHECK_LOG.info" || fail "srd_info: no srd"
    srd_info --top --json - | grep '"headline"' || fail "srd_info --top shows nothing"
    perftest_pair 65536 500
}

# loads yes|no COMMAND...: whether COMMAND's process has the wheel's module, and
# UCX our component with it.
loads() {
    local want=$1 out
    shift
    out=$("$EFASIM" run --fabric "t$$l" -- "$@" 2>&1) || fail "$out"
    echo "$out"
    case $want:$out in
    yes:*components*efa*module*"$VENV/lib"*"$MODULE"*) ;;
    no:*module*) fail "it is loaded: $*" ;;
    no:*components*) ;;
    *) fail "expected $want: $*" ;;
    esac
}

# The four ways into a process, and the .pth file that comes and goes.
wheel_python() {
    local python=$VENV/bin/python program=$TEST_DIR/portable/uct_components.py
    local enable=("$VENV/bin/python" -m ucx_efa_srd) out
    loads no "$python" "$program"
    loads yes "$SRDRUN" "$python" "$program"
    loads yes "$python" "$program" --import

    "${enable[@]}" status && fail "status: enabled before"
    out=$("${enable[@]}" enable) || fail "enable"
    echo "$out"
    [ -f "$(sed -n 's/^wrote \([^:]*\):.*/\1/p' <<<"$out")" ] ||
        fail "enable does not say what it wrote"
    "${enable[@]}" enable | grep 'enabled already' || fail "enabled twice"
    "${enable[@]}" status | grep "^enabled: .*$MODULE" || fail "status"
    loads yes "$python" "$program"
    loads no "$python" -S "$program"
    "${enable[@]}" disable | grep "^removed .*ucx_efa_srd.pth" || fail "disable"
    "${enable[@]}" disable | grep "nothing to remove" || fail "disabled twice"
    loads no "$python" "$program"

    out=$("${enable[@]}" nonsense 2>&1) && fail "nonsense is accepted"
    [[ $out == Usage:* ]] || fail "nonsense: $out"
}

# The wheel goes and leaves nothing, and a .pth file that stayed says nothing.
wheel_goes() {
    local python=$VENV/bin/python
    "$python" -m ucx_efa_srd enable || fail "enable"
    PYTHONPATH=${1-} "$python" -m pip uninstall -q -y ucx-efa-srd || fail "pip"
    [ -z "$("$python" -c '' 2>&1)" ] || fail "the .pth file complains"
    [ "$(find "$VENV" -name '*srd*' -o -name '*efasim*' | grep -cv '\.pth$')" = 0 ] ||
        fail "left: $(find "$VENV" -name '*srd*' -o -name '*efasim*')"
}

# In a folder with spaces, with a .pth file that is damaged, and with a module that
# is gone: every other program of the environment runs on, with one line.
wheel_python_odd() {
    local dir=$CHECK_LOG.odd python program=$TEST_DIR/portable/uct_components.py pth
    rm -rf "$dir"
    CHECK_LOG=$dir/two\ spaces\ in wheel_venv python3
    VENV=$dir/two\ spaces\ in.venv python=$VENV/bin/python
    programs_of "$BUILD/bin"
    [ "$("$VENV/bin/srdrun" true 2>&1)" = "srdrun: LD_PRELOAD cannot hold a path with a \
space or a colon: $("$VENV/bin/srdrun" --print-path) (install the module elsewhere)" ] ||
        fail "srdrun: $("$VENV/bin/srdrun" true 2>&1)"
    pth=$("$python" -m ucx_efa_srd enable | sed -n 's/^wrote \([^:]*\):.*/\1/p')
    loads yes "$python" "$program"
    # half of it, as a full disk leaves it
    head -c 40 "$pth" >"$pth.half" && mv "$pth.half" "$pth"
    "$python" -m ucx_efa_srd status >"$dir/status" 2>&1 && fail "damaged: enabled"
    grep "^damaged, .*$pth" "$dir/status" || fail "damaged: not said"
    "$python" -m ucx_efa_srd enable 2>/dev/null | grep "^wrote $pth:" ||
        fail "damaged: not mended"
    loads yes "$python" "$program"
    # no room for it: the old one stays
    "$python" -m ucx_efa_srd disable || fail "disable"
    (ulimit -f 0 && "$python" -B -m ucx_efa_srd enable 2>&1
        echo "status $?") | cat >"$dir/full" # no file may have a byte in there
    cat "$dir/full"
    grep -q '^ucx_efa_srd: enable: /.*pth: File too large' "$dir/full" &&
        [ "$(tail -n +2 "$dir/full")" = 'status 1' ] || fail "no room: not so"
    [ -z "$(find "$VENV" -name 'ucx*.pth*')" ] || fail "no room: half of it stays"
    "$python" -m ucx_efa_srd enable || fail "enable"
    # a copy of another installation is in the process: it stays, alone
    "$EFASIM" run --fabric "t$$w" -- "$SRDRUN" "$python" "$program" >"$dir/two" ||
        fail "two copies: status $?"
    [ "$(grep '^module ' "$dir/two")" = "module $(readlink -f "$BUILD/lib/$MODULE")" ] ||
        fail "two copies: $(cat "$dir/two")"
    # pip was killed in the middle, a disk was taken away
    mv "$VENV/lib/ucx" "$VENV/lib/gone"
    "$python" -c 'print("runs")' >"$dir/runs" 2>&1 || fail "no program runs"
    cat "$dir/runs"
    [ "$(grep -cv '^runs$' "$dir/runs")" = 1 ] || fail "gone: not one line"
    grep -q '^ucx_efa_srd.pth: no SRD transport: .*install' "$dir/runs" || fail "gone"
    "$python" -m ucx_efa_srd status && fail "gone: enabled"
    "$python" -m ucx_efa_srd enable 2>&1 | grep '^ucx_efa_srd: enable: no SRD' ||
        fail "gone: enabled"
    "$python" -m ucx_efa_srd disable | grep '^removed' || fail "gone: disable"
    [ "$("$python" -c 'print("runs")' 2>&1)" = runs ] || fail "disabled"
    rm -rf "$dir"
}

# wheel_beneath PIP: it is in the system's Python, and a virtual environment sees it
# there: each is enabled by itself.
wheel_beneath() {
    local python=$CHECK_LOG.beneath/bin/python program=$TEST_DIR/portable/uct_components.py
    PYTHONPATH=$1 python3 -m pip install -q --no-index --break-system-packages \
        --root-user-action ignore --disable-pip-version-check \
        "$(wheel_of x86_64)" || fail "pip install: status $?"
    VENV=/usr/local
    rm -rf "$CHECK_LOG.beneath"
    python3 -m venv --without-pip --system-site-packages "${python%/bin/*}" ||
        fail "no virtual environment"
    "$python" -m ucx_efa_srd enable | grep "^wrote ${python%/bin/*}/" ||
        fail "enabled for all"
    loads yes "$python" "$program"
    loads no python3 "$program"
    "$python" -m ucx_efa_srd disable | grep '^removed' || fail "disable"
    python3 -m ucx_efa_srd enable | grep '^wrote /usr/local/' || fail "of the system"
    loads yes python3 "$program"
    loads yes "$python" "$program"
    "$python" -m ucx_efa_srd disable | grep '^enabled still, .*: /usr/local/' ||
        fail "what the system has is not said"
    loads yes python3 "$program"
    python3 -m ucx_efa_srd disable | grep '^removed /usr/local/' || fail "system"
    loads no python3 "$program"
}

wheel_python_of() {
    wheel_venv "$@"
    wheel_programs
    wheel_python
    wheel_goes "${2-}"
}

# In Debian 13, with its Python and its UCX; pip is this machine's.
wheel_debian_13() {
    local chroot=$TEST_DIR/../contrib/ci/chroot.sh pip=$BUILD/portable/pip
    "$chroot" --made 13 || skip_here "Debian 13 is not made here:" \
        "contrib/ci/chroot.sh 13 makes it"
    wheel_of x86_64 || exit
    rm -rf "$pip" && mkdir -p "$pip" && cp -r "$(python3 -c 'import os, pip
print(os.path.dirname(pip.__file__))')" "$pip/" || skip_here "pip is missing"
    "$chroot" --bind "$BUILD" 13 -- "${CALL[@]}" wheel_in_debian_13 "$pip"
}

wheel_in_debian_13() {
    (wheel_python_of python3 "$1") || exit
    programs_of "$BUILD/bin"
    wheel_beneath "$1"
}

# wheel_environment NAME PROGRAM COUNTER: PROGRAM of contrib/examples in suite
# python's environment NAME, whose wheels bring a UCX, by the wheel's srdrun.
wheel_environment() {
    local program=$PYTHON_EXAMPLES/$2
    environment "$1"
    wheel_venv python3
    two_nodes --device efa2 -- "$SRDRUN" "$PYTHON" "$program" --port @PORT@ -- \
        "$SRDRUN" "$PYTHON" "$program" --port @PORT@ 127.0.0.1 || exit 1
    at_least payload "$(stat_payload "$STAT")" 1000000
}
