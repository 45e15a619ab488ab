#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The module beside others: UCX's ib module, an srd of UCX's own,
# other transports, peers of other kinds; and the ways to get it loaded.
# usage: suite_load.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/fallback.sh
. "$(dirname "$0")/fallback.sh"
# shellcheck source=test/errors.sh
. "$(dirname "$0")/errors.sh"
# shellcheck source=test/systemwide.sh
. "$(dirname "$0")/systemwide.sh"
set -u

# no_errors FILE...: there is no error or warning of UCX in it.
no_errors() {
    ! grep -hE ' (ERROR|WARN|FATAL) ' "$@" || fail "lines of trouble"
}

# on_node COMMAND...: on one emulated node, the module loaded.
on_node() {
    "$EFASIM" run --fabric "t$$" -- "$SRDRUN" "$@"
}

# says PATTERN FILE, says_not PATTERN FILE
says() {
    grep -aE -m 1 -- "$1" "$2" || fail "no line '$1' in $2"
}

says_not() {
    ! grep -aE -- "$1" "$2" || fail "a line '$1' in $2"
}

need_ib_module() {
    local libuct
    libuct=$(ldconfig -p | awk '/libuct\.so\.0 / { print $NF; exit }')
    [ -e "$(dirname "$libuct")/ucx/libuct_ib.so.0" ] ||
        skip_here "this UCX has no ib module"
}

# ------------------------------------------------------------ UCX's ib module

beside_ib() {
    need_ib_module
    takes_srd "$@"
}

# takes_srd [UCX_TLS]: with UCX_TLS unset or "all" a worker opens without an error
# or warning, and the bytes go over srd (the nodes share no memory), none over ud,
# which is open, too.
takes_srd() {
    local side
    need_perftest
    unset UCX_TLS
    [ $# = 0 ] || export UCX_TLS=$1
    export UCX_LOG_LEVEL=info
    two_nodes -- "${PERFTEST[@]}" -p @PORT@ -- \
        "${PERFTEST[@]}" 127.0.0.1 -p @PORT@ -t tag_bw -s 65536 -n 200 \
        -w 5 || exit 1
    no_errors "$CHECK_LOG" "$CHECK_LOG.server"
    at_least payload "$(stat_payload "$STAT")" $((200 * 65536))
    cp "$CHECK_LOG" "$CHECK_LOG.client"
    for side in "$CHECK_LOG.client" "$CHECK_LOG.server"; do
        says 'srd interface closed: ([1-9]|0 messages sent, [1-9])' "$side"
        says 'ud interface closed: 0 messages sent, 0 received' "$side"
        says_not 'ud interface closed: ([1-9]|0 messages sent, [1-9])' "$side"
    done
}

# No lane to a peer is of ud, whatever a program wants of UCX, also where UCX takes
# several devices, or copying for slow.
chosen() {
    need ucx_info
    local out=$CHECK_LOG.out features
    export UCX_TLS=^sm,self UCX_MAX_RNDV_RAILS=4 UCX_MAX_EAGER_RAILS=4 \
        UCX_MAX_EAGER_LANES=4 UCX_MAX_RNDV_LANES=4 UCX_LOG_LEVEL=debug
    for features in t a r te tr tarew tare; do
        [ $features != tare ] || export UCX_BCOPY_BW=300MBs
        "$EFASIM" run --fabric "t$$" --devices 2 -- "$SRDRUN" ucx_info -e \
            -u $features >"$out.$features" 2>&1 || fail "$features: status $?"
        says ' lane\[[0-9]*\]: .*srd/rdmap' "$out.$features"
        says_not ' lane\[[0-9]*\]: .*ud/rdmap' "$out.$features"
        says 'rdmap16s6: ud interface open' "$out.$features"
    done
    UCX_TLS=ud "$EFASIM" run --fabric "t$$" --devices 2 -- "$SRDRUN" ucx_info -e \
        -u r >"$out" 2>&1 || fail "ud: status $?"
    says ' lane\[[0-9]*\]: .*ud/rdmap' "$out"
}

# The ib component has no device here but the EFA, so it has none at all.
claim() {
    need ucx_info
    need_ib_module
    local out=$CHECK_LOG.out
    UCX_EFA_CLAIM=n on_node ucx_info -d >"$out" 2>&1
    grep -q 'Component: ib$' "$out" ||
        skip_here "the ib module of this UCX takes no EFA device by itself"
    UCX_LOG_LEVEL=debug on_node ucx_info -d >"$out" 2>&1
    says 'EFA +DEBUG +rdmap0s6 is an EFA device: kept from UCX.s ib' "$out"
    says_not 'Component: ib$' "$out"
    UCX_EFA_CLAIM=perhaps on_node ucx_info -d >"$out" 2>&1
    says "Invalid value for .*'perhaps'\. Expected: y, n or try .*UCX_EFA_CLAIM" \
        "$out"
    says_not 'Component: ib$' "$out"
}

# Without a device the ib component answers as it does without our module, and no
# line of ours is printed.
claim_idle() {
    need ucx_info
    local dir=$CHECK_LOG.dir
    mkdir -p "$dir"
    SYSFS_PATH=$dir ucx_info -d >"$dir/plain" 2>&1
    SYSFS_PATH=$dir "$SRDRUN" ucx_info -d >"$dir/hooked" 2>&1
    diff <(grep -E 'Component|Transport' "$dir/plain") \
        <(grep -E 'Component|Transport' "$dir/hooked") || fail "other components"
}

# ------------------------------------------------------------ UCX's own srd

# with_standin COMMAND...: on a host that has another device for RDMA, too.
with_standin() {
    local dir=$CHECK_LOG.standin
    ucx_with_standin "$dir"
    # shellcheck disable=SC2016 # expanded there
    LD_LIBRARY_PATH=$dir "$EFASIM" run --fabric "t$$" -- sh -c '
        mkdir -p "$SYSFS_PATH/class/infiniband_verbs/uverbs9" && exec "$@"' \
        sh "$SRDRUN" "$@"
}

# The stand-in is loaded while UCX is asked for its components, after us. Where all
# devices for RDMA are ours it is not asked for its own (ten files of each of 32).
intree_ib() {
    need ucx_info
    local out=$CHECK_LOG.out
    with_standin ucx_info -d >"$out" 2>&1 || exit
    says 'asked to open other0' "$out"
    says_not 'asked to open rdmap0s6' "$out"
    says 'Transport: srd$' "$out"
    LD_LIBRARY_PATH=$CHECK_LOG.standin on_node ucx_info -d >"$out" 2>&1 || exit
    says_not 'asked to open' "$out"
    says 'Transport: srd$' "$out"
}

# UCX's own srd is set aside, unless UCX_EFA_CLAIM=n: then ours is, and says so.
intree_srd() {
    need ucx_info
    local out=$CHECK_LOG.out claim
    export INTREE_SRD=1
    for claim in unset try y; do
        local words=(env UCX_EFA_CLAIM="$claim")
        [ "$claim" != unset ] || words=(env -u UCX_EFA_CLAIM)
        UCX_TLS=srd with_standin "${words[@]}" ucx_info -d >"$out" 2>&1 || exit
        says 'Transport: srd$' "$out"
        says 'Transport: ud$' "$out"
        says 'asked to open other0' "$out"
        says_not 'asked to open rdmap0s6|is left out|WARN' "$out"
    done
    export UCX_EFA_CLAIM=n
    UCX_TLS=srd with_standin ucx_info -d >"$out" 2>&1 || exit
    says 'WARN +transport srd and ud of this module is left out: .*UCX_EFA_CLAIM' \
        "$out"
    says 'asked to open rdmap0s6' "$out"
    says_not 'Transport: srd$' "$out"
    [ "$(grep -c 'is left out' "$out")" = 1 ] || fail "said more than once"
    UCX_TLS=tcp with_standin ucx_info -d >"$out" 2>&1
    says_not 'WARN|ERROR' "$out"
}

# Our ud is left out with our srd: one component, of the same devices. A user who asks
# for it is told so, where "ud" cannot mean UCX's own alias.
intree_ud() {
    need ucx_info
    local out=$CHECK_LOG.out tls
    export INTREE_SRD=1 UCX_EFA_CLAIM=n
    for tls in ud '\ud' ud:aux,tcp; do
        UCX_TLS=$tls with_standin ucx_info -d >"$out" 2>&1 || exit
        says 'WARN +transport srd and ud of this module is left out: ' "$out"
        says_not 'Transport: (srd|ud)$' "$out"
        [ "$(grep -c 'is left out' "$out")" = 1 ] || fail "said more than once"
    done
    for tls in '^ud' ib,tcp all; do
        UCX_TLS=$tls with_standin ucx_info -d >"$out" 2>&1
        says_not WARN "$out"
    done
    mkdir -p "$CHECK_LOG.none/class"
    UCX_TLS=ud SYSFS_PATH=$CHECK_LOG.none \
        LD_LIBRARY_PATH=$CHECK_LOG.standin "$SRDRUN" ucx_info -d >"$out" 2>&1
    says_not 'EFA +WARN' "$out"
}

# Where ours cannot serve, UCX's own does, and one line says why.
intree_srd_instead() {
    need ucx_info
    local out=$CHECK_LOG.out
    export INTREE_SRD=1
    ucx_with_standin "$CHECK_LOG.standin"
    echo 'no library' >"$CHECK_LOG.standin/libefa.so.1"
    UCX_TLS=srd with_standin ucx_info -d >"$out" 2>&1 || exit
    says 'WARN +no srd, no ud: libefa cannot be opened' "$out"
    says 'asked to open rdmap0s6' "$out"
    rm "$CHECK_LOG.standin/libefa.so.1"
}

# other_verbs DIR: a second libibverbs under another name, as wheels bring one,
# and an ib module that has libefa and that one loaded, first in libefa's view.
other_verbs() {
    need cc
    local dir=$1 verbs efa
    rm -rf "$dir"
    ucx_with_standin "$dir"
    verbs=$(ldconfig -p | awk '/libibverbs\.so\.1 / { print $NF; exit }')
    efa=$(ldconfig -p | awk '/libefa\.so\.1 / { print $NF; exit }')
    sed 's/libibverbs\.so\.1/libibverbs.so.9/g' "$verbs" >"$dir/libibverbs.so.9"
    mv "$dir/ucx/libuct_ib.so.0" "$dir/libuct_ib.so.0"
    cc -shared -o "$dir/ucx/libuct_ib.so.0" -Wl,--no-as-needed "$efa" \
        "$dir/libibverbs.so.9" "$dir/libuct_ib.so.0" -Wl,-rpath,"$dir" ||
        fail "the stand-in does not link"
}

# libefa announces itself to one libibverbs of a process: with the module in place
# before UCX loads its own, that is the system's.
two_libibverbs() {
    need ucx_info
    local dir=$CHECK_LOG.standin out=$CHECK_LOG.out
    other_verbs "$dir"
    export LD_LIBRARY_PATH=$dir UCX_TLS=srd INTREE_SRD=1
    LD_DEBUG=files on_node ucx_info -d >"$out" 2>&1
    says 'calling init: .*libibverbs.so.9' "$out" # both are there
    on_node ucx_info -d >"$out" 2>&1 || exit
    says 'Transport: srd$' "$out"
    says_not 'WARN|asked to open rdmap0s6' "$out"
    # somebody was there before us
    LD_PRELOAD=$dir/ucx/libuct_ib.so.0 on_node ucx_info -d >"$out" 2>&1
    says 'WARN .*two libibverbs, .*libefa serves the other, .*.so.9' "$out"
}

# UCX calls none of our variables unknown, whether our transport is in use, has no
# device, or is set aside by UCX's own srd. A name that nobody has it does.
variables() {
    need ucx_info
    local out=$CHECK_LOG.out how
    unset UCX_MEM_BISTRO_GRACE_DURATION # old UCX does not know it
    export UCX_WARN_UNUSED_ENV_VARS=y UCX_SRD_WINDOW=3 UCX_EFA_REG_CACHE=n \
        UCX_EFA_UD_WINDOW=3 UCX_EFA_UD_TRIES=9 \
        UCX_EFA_WARN_FALLBACK=n UCX_EFA_ABI='' UCX_EFA_NOSUCH=1
    for how in on_node "$SRDRUN" with_own_srd; do
        UCX_TLS=tcp,self "$how" ucx_info -w -u t >"$out" 2>&1
        says 'unused env(ironment)? variable: UCX_EFA_NOSUCH' "$out"
        says_not 'variable.*UCX_(EFA_[^N]|SRD)' "$out"
    done
}

with_own_srd() {
    INTREE_SRD=1 UCX_EFA_CLAIM=n with_standin "$@"
}

# ------------------------------------------------------------ peers

peer_kinds() {
    local out=$CHECK_LOG.out kind
    local peer=("$BUILD/test/gtest_uct" --gtest_filter='UctFailure.foreign*')
    [ -x "${peer[0]}" ] || skip_here "gtest_uct was not built"
    for kind in own other newer older; do
        export PEER_KIND=$kind
        UCX_TLS=srd on_node "${peer[@]}" >"$out.$kind" 2>&1 ||
            fail "$kind: status $?"
        UCX_TLS=all on_node "${peer[@]}" >"$out" 2>&1
        says_not WARN "$out"
    done
    says_not WARN "$out.own"
    says "WARN .*uses another srd" "$out.other"
    says 'WARN .*update the module on this side' "$out.newer"
    says "WARN .*update the module on the peer's side" "$out.older"
}

# memlock KIB UCX_TLS OPENED [EFASIM_OPTION...]: with this limit the worker opens,
# with these interfaces of ours and without a line of trouble.
memlock() {
    local out=$CHECK_LOG.out words=(UCX_TLS="$2") kib=$1 want=$3 opened
    [ "$2" != unset ] || words=(-u UCX_TLS)
    shift 3
    # shellcheck disable=SC2016 # for the inner shell
    "$EFASIM" run --fabric "t$$" --memlock 2 "$@" -- env "${words[@]}" \
        UCX_LOG_LEVEL=info bash -c 'ulimit -l "$0"; exec "$@"' "$kib" \
        "$SRDRUN" ucx_info -w -u t >"$out" 2>&1
    opened=$(grep -aoE 'rdmap[0-9]*s6: (srd|ud) interface closed' "$out" |
        sed 's/^rdmap//; s/s6: / /; s/ interface.*//' | sort | xargs)
    echo "$kib KiB, ${words[*]} $*: $opened"
    [ "$opened" = "$want" ] || { cat "$out"; fail "not '$want'"; }
    ! grep -aE ' (WARN|ERROR) ' "$out" || fail "it tells of trouble"
}

# UCX ends the worker when one of the interfaces does not open: where locked memory
# does not do for both transports srd serves, on as many devices as it can.
memlock_both() {
    need ucx_info
    [ "$(id -u)" = 0 ] || skip_here "needs root"
    memlock 4095 unset ''
    memlock 4096 unset '0 srd'
    memlock 5500 unset '0 srd'
    memlock 6400 all '0 srd'
    memlock 8191 unset '0 srd'
    memlock 8192 unset '0 srd 0 ud'
    memlock 8192 '^tcp,srd' '0 ud'
    memlock 6400 '^tcp' '0 srd'
    memlock 4096 ud '0 ud'
    memlock 4096 '^srd' '0 ud'
    memlock 6400 unset '0 srd' --devices 2
    memlock 8192 unset '0 srd 16 srd' --devices 2
    memlock 8192 ud,tcp '0 ud 16 ud' --devices 2
    memlock 8192 unset '0 srd 16 srd' --devices 4
    memlock 2000 unset '' --devices 8
    # what a line says cannot be registered is more than the limit that it names
    UCX_TLS=srd "$EFASIM" run --fabric "t$$" --memlock 2 --devices 2 -- bash -c \
        'ulimit -l 6000; exec "$@"' bash "$SRDRUN" ucx_info -w -u t \
        >"$CHECK_LOG.out" 2>&1
    says 'rdmap16s6: cannot register 6291456 bytes .* is 6000 KiB' "$CHECK_LOG.out"
}

# ------------------------------------------------------------ Python

# ucp.py WHEN: opens UCX by ctypes, the module before or after it or not at all,
# then prints the memory domains that a context has.
write_python() {
    cat >"$1" <<'END'
import ctypes, sys
when, module = sys.argv[1], sys.argv[2]
if when == 'before':
    ctypes.CDLL(module, ctypes.RTLD_GLOBAL)
ucp = ctypes.CDLL('libucp.so.0')
if when == 'after':
    ctypes.CDLL(module, ctypes.RTLD_GLOBAL)
config, context = ctypes.c_void_p(), ctypes.c_void_p()
params = (ctypes.c_uint64 * 32)(1, 1)           # features: tag
assert ucp.ucp_config_read(None, None, ctypes.byref(config)) == 0
assert ucp.ucp_init_version(1, 13, params, config, ctypes.byref(context)) == 0
stdout = ctypes.c_void_p.in_dll(ctypes.CDLL(None), 'stdout')
ucp.ucp_context_print_info(context, stdout)
END
}

# python_says COUNT ENV... -- ARGUMENT...: ucp.py prints the device COUNT times.
python_says() {
    local want=$1 words=() out=$CHECK_LOG.out
    shift
    while [ "$1" != -- ]; do words+=("$1"); shift; done
    shift
    "$EFASIM" run --fabric "t$$" -- env "${words[@]}" /usr/bin/python3 \
        "$CHECK_LOG.py" "$@" "$BUILD/lib/libuct_srd.so.0" >"$out" 2>&1 ||
        { cat "$out"; fail "$*: status $?"; }
    grep ' rdmap0s6 ' "$out"
    [ "$(grep -c ' rdmap0s6 $' "$out")" = "$want" ] ||
        fail "${words[*]} $*: not $want times in $out"
}

python_ways() {
    need /usr/bin/python3
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers want their runtime first"
    local dir=$CHECK_LOG.dir path=$BUILD/lib/python
    write_python "$CHECK_LOG.py"
    mkdir -p "$dir/next"
    echo 'print("the next sitecustomize")' >"$dir/next/sitecustomize.py"
    export UCX_EFA_CLAIM=n UCX_TLS=srd,tcp # (one line for each domain)
    python_says 1 A=1 -- before
    python_says 1 A=1 -- after
    UCX_TLS=tcp python_says 0 A=1 -- never
    python_says 1 PYTHONPATH="$path" -- never
    python_says 1 PYTHONPATH="$path:$dir/next" -- before
    says '^the next sitecustomize$' "$CHECK_LOG.out"
    # by name: in a program that is started in an ordinary way
    sed 's/^import ctypes/import ucx_efa_srd, ctypes/' "$CHECK_LOG.py" \
        >"$dir/named.py"
    mkdir -p "$dir/named"
    ln -sfn "$path/ucx_efa_srd" "$dir/named/ucx_efa_srd"
    cp "$dir/named.py" "$CHECK_LOG.py"
    python_says 1 PYTHONPATH="$dir/named" -- never
    says_not 'too late' "$CHECK_LOG.out"
    write_python "$CHECK_LOG.py"
    echo 'import ucx_efa_srd' >>"$CHECK_LOG.py" # behind UCX: of no use, and said
    UCX_TLS=tcp python_says 0 PYTHONPATH="$dir/named" -- never
    says '^ucx_efa_srd: imported too late: ' "$CHECK_LOG.out"
    # without the module: one line, and Python runs on
    mkdir -p "$dir/python"
    cp -r "$path/sitecustomize.py" "$path/ucx_efa_srd" "$dir/python/"
    [ "$(PYTHONPATH=$dir/python /usr/bin/python3 -c 'print(6 * 7)' \
        2>"$CHECK_LOG.out")" = 42 ] || fail "Python is disturbed"
    says '^sitecustomize: no SRD transport: ' "$CHECK_LOG.out"
}

# ------------------------------------------------------------ copied, and in error

# Programs that were copied to a folder in a place of all users (sbcast, to /tmp/JOB), where
# another has made what else they look for, one folder up.
copied() {
    local at=$CHECK_LOG.at name
    rm -rf "$at" && mkdir -p "$at/job" "$at/lib" || fail "mkdir: status $?"
    cp -r "$BUILD"/bin/{srdrun,srd_info,efasim} "$BUILD/lib/python/ucx_efa_srd" "$at/job/" &&
        cp "$BUILD"/lib/*.so* "$at/lib/" && cp "$BUILD/lib/libuct_srd.so.0" "$at/" &&
        chmod 1777 "$at" || fail "cp: status $?"
    for name in "$at/job/srdrun --print-path" "$EFASIM run $at/job/srd_info --check" \
        "$at/job/efasim run printenv LD_PRELOAD" \
        "env PYTHONPATH=$at/job python3 -c print(__import__('ucx_efa_srd').MODULE)"; do
        EFASIM_FABRIC=t$$c $name >"$CHECK_LOG.out" 2>&1
        cat "$CHECK_LOG.out"
        says_not "$at/(.*lib/)?lib(uct|efa)" "$CHECK_LOG.out"
    done
    rm -rf "$at"
}

# ------------------------------------------------------------ UCX's layouts

# Against the private headers of UCX 1.13.1, from its source package.
layout() {
    need c++ python3
    local source
    source=$("$TEST_DIR/../contrib/ci/ucx_source.sh" 1.13.1 2>"$CHECK_LOG.source") ||
        skip_here "$(tail -n 1 "$CHECK_LOG.source")"
    "$TEST_DIR/gtest/uct/hooks_layout.sh" "$source"
}

suite_run() {
    check takes_srd 30 takes_srd
    check beside_ib_unset 30 beside_ib
    check beside_ib_all 30 beside_ib all
    check beside_ib_not_sm 30 beside_ib '^sm'
    check chosen 30 chosen
    check claim 30 claim
    check claim_idle 30 claim_idle
    check intree_ib 30 intree_ib
    check intree_srd 30 intree_srd
    check intree_srd_instead 30 intree_srd_instead
    check two_libibverbs 30 two_libibverbs
    check intree_ud 30 intree_ud
    check variables 30 variables
    check peer_kinds 30 peer_kinds
    ci && check fallback_table 120 fallback_table
    check fallback_nodes 30 fallback_nodes
    check apart 40 apart
    check tls_names 60 tls_names
    check tls_ib 30 tls_ib
    check memlock_both 30 memlock_both
    check python_ways 30 python_ways
    check systemwide 60 systemwide
    check copied 30 copied
    ci && check layout 100 layout
    check errors 90 errors
}

suite_main load "$@"
