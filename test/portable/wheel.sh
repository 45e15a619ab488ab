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

# What the wheel brings is on PATH, finds the rest of it, and carries data.
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
    need_perftest
    export UCX_TLS=srd
    two_nodes -- "${PERFTEST[@]}" -p @PORT@ -- "${PERFTEST[@]}" 127.0.0.1 \
        -p @PORT@ -t tag_bw -s 65536 -n 500 || exit 1
    at_least payload "$(stat_payload "$STAT")" $((65536 * 500))
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

wheel_python_of() {
    wheel_venv "$@"
    wheel_programs
    wheel_python
    wheel_goes "${2-}"
}

# In Debian 13, with its Python and its UCX; pip is this machine's.
wheel_debian_13() {
    local chroot=$TEST_DIR/../contrib/chroot.sh pip=$BUILD/portable/pip
    "$chroot" --made 13 || skip_here "Debian 13 is not made here:" \
        "contrib/chroot.sh 13 makes it"
    wheel_of x86_64 || exit
    rm -rf "$pip" && mkdir -p "$pip" && cp -r "$(python3 -c 'import os, pip
print(os.path.dirname(pip.__file__))')" "$pip/" || skip_here "pip is missing"
    "$chroot" --bind "$BUILD" 13 -- "$SUITE_SCRIPT" --call "$SUITE" "$BUILD" \
        "$PROFILE" "$CHECK_LOG" wheel_python_of python3 "$pip"
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
