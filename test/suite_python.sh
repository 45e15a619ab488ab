#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Python over SRD, with wheels of PyPI as they are: NIXL, ucxx, Dask, mpi4py on
# Open MPI's wheel. Each in a virtual environment of the cache. The device's
# counters show that the bytes crossed it.
# usage: suite_python.sh BUILD_DIR [ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/python/environment.sh
. "$TEST_DIR/python/environment.sh"
# shellcheck source=test/python/nixl_lists.sh
. "$TEST_DIR/python/nixl_lists.sh"
# shellcheck source=test/python/dask.sh
. "$TEST_DIR/python/dask.sh"
set -u

export PYTHONUNBUFFERED=1

# sides PROGRAM [ARG...] -- [ARG...] [: EFASIM_OPTION...]: PROGRAM on node 0, and
# on node 1 with 127.0.0.1 and the other arguments, under srdrun. @PORT@ is a
# free port that the second waits for.
sides() {
    local first=() second=()
    while [ "$1" != -- ]; do first+=("$1"); shift; done
    shift
    while [ $# -gt 0 ] && [ "$1" != : ]; do second+=("$1"); shift; done
    [ $# = 0 ] || shift
    two_nodes "$@" -- "$SRDRUN" "$PYTHON" "${first[@]}" -- \
        "$SRDRUN" "$PYTHON" "${second[@]}"
}

# no_trouble FILE...: nothing of ours, and no error of UCX, in them.
no_trouble() {
    ! grep -hE 'EFA +(WARN|ERROR)|UCX +ERROR|is left out|falls? back' "$@" ||
        fail "lines of trouble"
}

# ------------------------------------------------------------ NIXL

nixl_environment() {
    environment nixl
    export UCX_TLS=srd,sm,self,tcp
}

# The example as it stands: READ by RDMA, and every byte compared by the program.
# efa2 has RDMA write; rdma-core 44, whose libefa has not, sends messages.
nixl_example() {
    nixl_environment
    local sizes=1024,65536,1048576,16777216 bytes
    ! full || sizes=$sizes,268435456
    bytes=$((${sizes//,/+}))
    sides "$PYTHON_EXAMPLES/nixl_transfer.py" --port @PORT@ -- \
        "$PYTHON_EXAMPLES/nixl_transfer.py" --port @PORT@ --sizes $sizes \
        127.0.0.1 : --device efa2 || exit 1
    no_trouble "$CHECK_LOG" "$CHECK_LOG.server"
    [ "$(stat_sum "$STAT" rdma_read_bytes 1)" = $bytes ] ||
        fail "not all was read by RDMA"
    at_least "written to the other" \
        $(($(stat_sum "$STAT" rdma_write_bytes 1) +
        $(stat_sum "$STAT" send_bytes 1))) $bytes
    # WRITE in messages fills them: docs/BENCH.md
    at_most "packets" "$(stat_sum "$STAT" tx_pkts 1)" $((bytes / 8192 + 1000))
    grep -q "EFA bytes: .*rdma_read $bytes" "$CHECK_LOG" ||
        fail "the example does not tell what went over the EFA"
}

# A peer that connects to the example sends it values, nothing that is run.
nixl_stranger() {
    nixl_environment
    export SERVER_MAY_DIE=1
    two_nodes -- "$SRDRUN" "$PYTHON" "$PYTHON_EXAMPLES/nixl_transfer.py" --port @PORT@ -- \
        "$PYTHON" -c 'import pickle, socket, struct, sys
class Planted:
    def __reduce__(self):
        return open, (sys.argv[2], "w")
data = pickle.dumps(Planted())
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as stranger:
    stranger.sendall(struct.pack("!Q", len(data)) + data)
    stranger.recv(1)' @PORT@ "$CHECK_LOG.planted" || exit 1
    [ ! -e "$CHECK_LOG.planted" ] || fail "a stranger opens files"
}

# nixl_in RELEASE FUNCTION
nixl_in() {
    nixl_environment
    local base
    base=$("$PYTHON" -c 'import os, sys; print(os.path.realpath(sys.base_prefix))')
    [ "$base" != /usr ] || skip_here "Debian $1 has another Python than this one"
    RELEASE_BINDS=("$base" "$PYTHON_CACHE")
    with_release "$1" "${CALL[@]}" "$2" "$PYTHON" || exit
}

# Left alone NIXL's UCX would use its own srd; with UCX_EFA_CLAIM=n one line says
# that ours stays out.
nixl_claim() {
    nixl_environment
    local out=$CHECK_LOG.out claim
    for claim in unset try y n; do
        local words=(env UCX_EFA_CLAIM="$claim")
        [ "$claim" != unset ] || words=(env -u UCX_EFA_CLAIM)
        UCX_LOG_LEVEL=info "$EFASIM" run --fabric "t$$" -- "$SRDRUN" "${words[@]}" \
            "$PYTHON" -c 'import os
from nixl import nixl_agent, nixl_agent_config
agent = nixl_agent("a", nixl_agent_config(backends=["UCX"]))
agent.add_remote_agent
del agent' >"$out" 2>&1
        grep -E 'EFA|srd' "$out"
        if [ "$claim" = n ]; then
            grep -q 'WARN +*.*of this module is left out: .*UCX_EFA_CLAIM' "$out" ||
                fail "$claim: not said"
        else
            grep -q 'EFA  INFO  .*srd interface closed' "$out" ||
                fail "$claim: not ours"
        fi
    done
}

# The two sides decide differently: each says so, and the data arrives all the
# same. (Left to its own srd NIXL may crash at its end.)
nixl_claims_differ() {
    nixl_environment
    export SERVER_MAY_DIE=1
    local program=("$PYTHON_EXAMPLES/nixl_transfer.py" --port @PORT@)
    two_nodes --device efa2 -- env UCX_EFA_CLAIM=n "$SRDRUN" "$PYTHON" \
        "${program[@]}" -- "$SRDRUN" "$PYTHON" "${program[@]}" --sizes 1024,65536 \
        127.0.0.1 || exit 1
    grep -q 'WARN .*uses another srd.*UCX_EFA_CLAIM not n' "$CHECK_LOG" ||
        fail "not said by the side with our srd"
    grep -q 'WARN .*is left out: .*unset UCX_EFA_CLAIM, on all' "$CHECK_LOG.server" ||
        fail "not said by the other"
    at_least "transfers that arrived" "$(grep -c '^\(READ\|WRITE\).* ok$' "$CHECK_LOG")" 4
}

# nixl_check NAME BYTES: a check of nixl_checks.py; at least BYTES cross the device.
nixl_check() {
    nixl_environment
    [ "$1" != killed ] || export SERVER_MAY_DIE=1
    sides "$PYTHON_DIR/nixl_checks.py" "$1" @PORT@ -- \
        "$PYTHON_DIR/nixl_checks.py" "$1" @PORT@ 127.0.0.1 : --device efa2 ||
        exit 1
    grep -q '^ok ' "$CHECK_LOG" || fail "the check did not end"
    at_least payload "$(stat_payload "$STAT")" "$2"
}

# Its progress thread and the one that sends contend for UCX's lock of the worker.
nixl_one_cpu() {
    one_cpu
    nixl_check "$@"
}

# Two libibverbs in the process, in each order of loading: READ by RDMA, ours.
nixl_orders() {
    nixl_environment
    local order words
    # (not by PYTHONPATH: sitecustomize would load it first)
    export UCX_TLS=srd UCX_LOG_LEVEL=info MODULE_FOLDER=$BUILD/lib/python
    local orders=('listed nixl' 'nixl module' 'efa listed module nixl')
    ! full || orders+=('efa listed nixl' 'module nixl' 'listed nixl module'
        'system listed module nixl')
    for order in "${orders[@]}"; do
        words=("$SRDRUN")
        [[ $order != *module* ]] || words=()
        # shellcheck disable=SC2086 # words
        with_stat --device efa2 -- "${words[@]}" "$PYTHON" \
            "$PYTHON_DIR/nixl_orders.py" $order >"$CHECK_LOG.out" 2>&1 ||
            { cat "$CHECK_LOG.out"; fail "$order: status $?"; }
        grep -q 'EFA  INFO .*srd interface closed' "$CHECK_LOG.out" ||
            fail "$order: not ours"
        no_trouble "$CHECK_LOG.out"
        [ "$(stat_sum "$STAT" rdma_read_bytes)" = 1048576 ] ||
            fail "$order: not read by RDMA"
        echo "ok $order"
    done
}

# NIXL's own tests, which are in no wheel. torch, which PyPI has with CUDA's 3 GB
# only, they ask for the number of GPUs, and for tensors in the one left out.
nixl_own_tests() {
    nixl_environment
    [ -n "${SRD_NIXL_SOURCE-}" ] ||
        skip_here "NIXL's own tests are not on PyPI (SRD_NIXL_SOURCE names them)"
    export PYTHONPATH=$PYTHONPATH:$PYTHON_DIR/without_torch
    compared_over srd 20 -k 'not tensor' "$SRD_NIXL_SOURCE/test/python"
}

# ------------------------------------------------------------ ucxx

ucxx_environment() {
    environment ucxx
    export UCX_TLS=srd,tcp,sm,self
}

# The example between two nodes: all bytes that it says it compared crossed the device.
pingpong() {
    local program=("$PYTHON" "$PYTHON_EXAMPLES/ucxx_pingpong.py" --port @PORT@
        --rounds 1)
    two_nodes -- "${program[@]}" -- "${program[@]}" 127.0.0.1 || exit 1
    pingpong_crossed
}

pingpong_crossed() {
    no_trouble "$CHECK_LOG" "$CHECK_LOG.server"
    at_least payload "$(stat_payload "$STAT")" "$(grep -a '^compared ' "$CHECK_LOG" |
        sed -n 's/^compared \([1-9][0-9]*\) bytes.*/\1/p')"
    grep -q '^EFA bytes: .*rdma_read ' "$CHECK_LOG" || fail "no bytes are told"
}

# docs/PYTHON.md starts both sides at once: the client waits for the other one.
ucxx_late() {
    ucxx_environment
    with_stat -- "${CALL[@]}" ucxx_late_inside "$(random_port)" || fail "status $?"
    pingpong_crossed
}

ucxx_late_inside() {
    ucxx_environment
    local program=("$SRDRUN" "$PYTHON" "$PYTHON_EXAMPLES/ucxx_pingpong.py" --port
        "$1" --rounds 1) client status=0
    "$EFASIM" run --node 1 -- "${program[@]}" 127.0.0.1 &
    client=$!
    wait_until $client grep -q '^waiting for 127.0.0.1, ' "$CHECK_LOG" || exit 1
    "$EFASIM" run --node 0 -- "${program[@]}" >"$CHECK_LOG.server" 2>&1 &
    wait $client || status=$?
    [ $status = 0 ] || kill %2
    wait
    exit $status
}

ucxx_churn() {
    ucxx_environment
    local count=1000 trace=$CHECK_LOG.trace pid
    rm -f "$trace"
    ! full || count=3000
    sides "$PYTHON_DIR/churn.py" @PORT@ -- "$PYTHON_DIR/churn.py" @PORT@ \
        127.0.0.1 $count : --max-ah 3 --accept queue-pairs:6 --trace "$trace" ||
        exit 1
    # handles and queue pairs had to come back, there were few; registrations
    for pid in $(sed -nE 's/.* pid=([0-9]+) .* cmd create-qp ret=0.*/\1/p' "$trace" |
        sort -u); do
        awk -v pid="pid=$pid" '$2 == pid && $5 == "cmd" && $7 == "ret=0" {
                if ($6 == "reg-mr") ++now
                if ($6 == "destroy-mr") --now
                most = now > most ? now : most }
            END { print "note: " pid ": " most " registrations at most"
                exit !(most > 0 && most < 100) }' "$trace" ||
            fail "registrations leak"
    done
    at_least payload "$(stat_payload "$STAT")" $((200000 * count))
}

# In a fork, spawn or forkserver child.
ucxx_starts() {
    ucxx_environment
    with_stat -- "$SRDRUN" "$PYTHON" "$PYTHON_DIR/starts.py" "$1" ||
        fail "status $?"
    at_least payload "$(stat_payload "$STAT")" $((6 * 6 << 20))
}

# The peer's worker has been closed: what sends and keepalive make of it.
ucxx_gone() {
    ucxx_environment
    export UCXPY_PROGRESS_MODE=$1
    with_stat -- "$SRDRUN" "$PYTHON" "$PYTHON_DIR/gone.py" || fail "status $?"
    [ "$(grep -c '^ok ' "$CHECK_LOG")" = 3 ] || fail "not all kinds"
    at_least payload "$(stat_payload "$STAT")" 100
}

ucxx_idle() {
    ucxx_environment
    export MODE=$1 MOST=0.05
    local sides=("$PYTHON_DIR/idle.py" @PORT@ -- "$PYTHON_DIR/idle.py" @PORT@
        127.0.0.1)
    if [ "$1" = blocking ]; then
        export LATER=n
    else # ucxx's thread looks 800 times a second, which costs over tcp, too
        (export UCX_TLS=tcp,self DEVICE_MAY_IDLE=y MOST=0.5 && sides "${sides[@]}") \
            >"$CHECK_LOG.tcp" 2>&1 || { cat "$CHECK_LOG.tcp" && fail "over tcp"; }
        MOST=$(cat "$CHECK_LOG.tcp" "$CHECK_LOG.server" |
            awk '/: idle for / && $(NF - 8) > most { most = $(NF - 8) }
                END { print 2 * most + 0.05 }')
        note "allowed: $MOST of a CPU, by what it takes over tcp"
    fi
    sides "${sides[@]}" || exit 1
    at_least payload "$(stat_payload "$STAT")" $((8 << 20))
}

# Its port in use, and what it could only wait for in vain: a line says so.
pingpong_busy() {
    ucxx_environment
    local port pid status=0 tls argument text
    port=$(random_port)
    "$PYTHON" -c 'import socket, sys, time
it = socket.create_server(("0.0.0.0", int(sys.argv[1])))
time.sleep(6000)' "$port" &
    pid=$!
    wait_listen "$port" $pid || fail "nobody listens"
    "$EFASIM" run -- "$SRDRUN" "$PYTHON" "$PYTHON_EXAMPLES/ucxx_pingpong.py" \
        --port "$port" >"$CHECK_LOG.out" 2>&1 || status=$?
    kill $pid
    cat "$CHECK_LOG.out"
    [ $status = 1 ] && ! grep -q Traceback "$CHECK_LOG.out" || fail "status $status"
    [ "$(grep -c "^ucxx_pingpong.py: cannot listen on port $port" "$CHECK_LOG.out")" = 1 ] ||
        fail "no such line"
    while read -r tls argument text; do
        UCX_TLS=$tls "$PYTHON" "$PYTHON_EXAMPLES/ucxx_pingpong.py" "$argument" 2>&1 |
            grep "error: .*$text" || fail "no '$text'"
    done <<<$'srd,sm 127.0.0.1 lacks tcp\ntcp --port=0 allowed is 1\ntcp host.invalid give the name'
}

# A client without its server says for whom it waits, long before it gives up.
pingpong_waits() {
    ucxx_environment
    local port pid
    port=$(random_port)
    "$EFASIM" run -- "$SRDRUN" "$PYTHON" "$PYTHON_EXAMPLES/ucxx_pingpong.py" \
        --port "$port" 127.0.0.1 >"$CHECK_LOG.out" 2>&1 &
    pid=$!
    wait_until $pid grep -q "^waiting for 127.0.0.1, port $port, at most .*started there" \
        "$CHECK_LOG.out" || { cat "$CHECK_LOG.out" && fail "not a word"; }
    kill $pid
    cat "$CHECK_LOG.out"
}

# A program that knows nothing of us: PYTHONPATH has the folder of sitecustomize.
ucxx_by_path() {
    ucxx_environment
    export PYTHONPATH=$BUILD/lib/python:$PYTHONPATH
    pingpong
}

# page PAGE PATTERN: the lines of that page behind the one with the pattern, to the
# letter, in a folder where build/ and contrib/ stand as in this tree.
page() {
    ucxx_environment # that its packages can be had
    unset PYTHONPATH UCX_TLS
    local dir=$CHECK_LOG.dir
    rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || exit 1
    ln -s "$BUILD" build && ln -s "$TEST_DIR/../contrib" contrib || exit 1
    page_block "$1" "$2" | grep -v '^sudo apt-get' >lines
    at_least "lines" "$(grep -c . lines)" 5
    echo 'wait $!' >>lines
    export PATH=$BUILD/bin:$PATH
    export PIP_NO_COMPILE=1 # what runs is compiled all the same
    bash -eu lines >out 2>&1 || {
        cat out
        ! grep -q '^ERROR: No matching distribution' out ||
            skip_here "pip cannot get ucxx"
        fail "status $?"
    }
    cat out
    [ "$(grep -c '^EFA bytes: .*rdma_read' out)" = 2 ] || fail "not over SRD"
    grep -q '^1 of 1 over the EFA' out || fail "srd_info does not say so"
    rm -rf venv
}

# The same by the .pth that `python -m ucx_efa_srd enable` writes, where the wheel
# of this module puts its files.
ucxx_by_pth() {
    ucxx_environment
    unset PYTHONPATH
    local venv=$CHECK_LOG.venv site
    rm -rf "$venv"
    python3 -m venv --without-pip "$venv" || fail "no virtual environment"
    site=$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')
    "$PYTHON" -c 'import site; print(site.getsitepackages()[0])' >"$site/a.pth"
    mkdir -p "$venv/lib/ucx" && cp "$BUILD/lib/libuct_srd.so.0" "$venv/lib/ucx/" &&
        cp -r "$BUILD/lib/python/ucx_efa_srd" "$site/" || fail "no package"
    (umask 000 && "$venv/bin/python" -m ucx_efa_srd enable) || fail "not enabled"
    ! find "$site/ucx_efa_srd.pth" -perm /022 | grep . || fail "any user may write to it"
    PYTHON=$venv/bin/python
    UCX_TLS=srd,tcp with_stat -- srd_info --python="$PYTHON" || fail "status $?"
    pingpong
}

# pytest_run NAME UCX_TLS [EFASIM_OPTION...] : TEST...: into $CHECK_LOG.NAME.xml.
pytest_run() {
    local name=$1 tls=$2 options=()
    shift 2
    while [ "$1" != : ]; do options+=("$1"); shift; done
    shift
    export UCX_TLS=$tls PYTHONPATH=$PYTHONPATH:$PYTHON_DIR
    DEVICE_MAY_IDLE=1 with_stat "${options[@]}" -- "$SRDRUN" "$PYTHON" -m pytest \
        -q -p no:cacheprovider -p patient --import-mode=importlib \
        --junit-xml="$CHECK_LOG.$name.xml" "$@" >"$CHECK_LOG.$name" 2>&1
    tail -n 1 "$CHECK_LOG.$name"
    [ -s "$CHECK_LOG.$name.xml" ] || { tail -n 20 "$CHECK_LOG.$name"; fail "$name"; }
}

SIM=() # options of efasim for it

# compared MINIMUM TEST...: over tcp, then over srd: nothing that passes there
# fails here. The counters of the second run are in $STAT.
compared() {
    compared_over srd,tcp,sm,self "$@"
    at_least payload "$(stat_payload "$STAT")" 200000
}

pytest_over_tcp() {
    pytest_run tcp tcp,sm,self : "${@:2}"
    "$PYTHON" "$PYTHON_DIR/compare.py" "$CHECK_LOG.tcp.xml" "$CHECK_LOG.tcp.xml" \
        "$1" || fail "not even over tcp"
}

# compared_over UCX_TLS MINIMUM TEST...
compared_over() {
    local tls=$1 minimum=$2
    shift 2
    over_tcp "$CHECK_LOG.tcp.xml" "$@" "${UCXPY_PROGRESS_MODE-}" : \
        pytest_over_tcp "$minimum" "$@"
    pytest_run srd "$tls" "${SIM[@]}" : "$@"
    "$PYTHON" "$PYTHON_DIR/compare.py" "$CHECK_LOG.tcp.xml" "$CHECK_LOG.srd.xml" \
        "$minimum" || fail "not the same"
    at_least payload "$(stat_payload "$STAT")" 5000
}

distributed_tests() {
    ucxx_environment
    local package folder=$CHECK_LOG.tests
    package=$("$PYTHON" -c 'import distributed_ucxx as d; print(d.__path__[0])')
    rm -rf "$folder"
    cp -r "$package/tests" "$folder" || fail "no tests in the wheel"
    if full; then
        compared 24 "$folder"
    else
        compared 20 "$folder"/test_{comms,deserialize,ucxx,worker,version}.py
    fi
}

# ucxx_tests MODE [EFASIM_OPTION...]: ucxx's own, with this mode of progress. They
# are in no wheel. test_cython is to be built, test_benchmark_cluster wants a GPU.
ucxx_tests() {
    ucxx_environment
    export UCXPY_PROGRESS_MODE=$1
    SIM=("${@:2}")
    local folder=$CHECK_LOG.tests source=${SRD_UCXX_SOURCE-}/python/ucxx/ucxx tests
    [ -n "${SRD_UCXX_SOURCE-}" ] ||
        skip_here "ucxx's own tests are not on PyPI (SRD_UCXX_SOURCE names them)"
    rm -rf "$folder"
    mkdir -p "$folder"
    cp -r "$source/_lib_async/tests" "$folder/async" &&
        cp -r "$source/_lib/tests" "$folder/lib" || fail "no tests in $source"
    rm -f "$folder"/*/test_cython.py "$folder"/*/test_benchmark_cluster.py
    tests=("$folder/async/test_send_recv.py" "$folder/async/test_tags.py"
        "$folder/async/test_endpoint.py" "$folder/lib/test_cancel.py")
    ! full || tests=("$folder/async" "$folder/lib")
    compared 30 "${tests[@]}"
}

# ------------------------------------------------------------ Open MPI's wheel

# mpi_run RANKS UCX_TLS PROGRAM...: a node each; srdrun's module beside the UCX in
# the wheel; sitecustomize for processes that ranks spawn, which have no srdrun in
# front. Standard error of rank N is in $CHECK_LOG.N.
mpi_run() {
    local ranks=$1 bin
    bin=$(dirname "$PYTHON")
    export UCX_TLS=$2
    shift 2
    export PATH=$bin:$PATH PYTHONPATH=$BUILD/lib/python OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # shellcheck disable=SC2016 # for the inner shell
    with_stat -- "$bin/mpirun" -np "$ranks" --oversubscribe --mca pml ucx \
        --mca pml_ucx_tls any --mca pml_ucx_devices any -x UCX_TLS -x PYTHONPATH \
        -x UCX_WARN_UNUSED_ENV_VARS "$EFASIM" run --per-node 1 -- "$SRDRUN" \
        bash -c 'log=$0.$OMPI_COMM_WORLD_RANK; exec "$@" 2>"$log"' \
        "$CHECK_LOG" "$PYTHON" "$@"
}

mpi_contents() {
    environment mpi
    mpi_run "$1" srd,sm,self "$PYTHON_DIR/mpi_contents.py" || {
        cat "$CHECK_LOG".[0-9]
        fail "status $?"
    }
    no_trouble "$CHECK_LOG".[0-9]
    at_least payload "$(stat_payload "$STAT")" $((8 << 20))
}

# mpi_results NAME UCX_TLS: what each of $ranks says of each of $tests, to
# $CHECK_LOG.NAME.
mpi_results() {
    local rank
    DEVICE_MAY_IDLE=1 mpi_run "$ranks" "$2" "$SOURCE/test/main.py" -v \
        "${tests[@]}" || echo "$2: status $?"
    for ((rank = 0; rank < ranks; rank++)); do
        sed -nE "s/^(test.*) \.\.\. (ok|skipped|FAIL|ERROR).*/\2 \1, rank $rank/p" \
            "$CHECK_LOG.$rank"
    done | sort >"$CHECK_LOG.$1"
    at_least "tests that pass over $1" \
        "$(grep -c '^ok.*rank 0$' "$CHECK_LOG.$1")" $minimum
}

# mpi4py's own tests, test by test like over tcp.
mpi_tests() {
    environment mpi
    local ranks=$1 tests=(-i test_p2p_obj -i test_cco_obj -i test_spawn) minimum=200
    source_of mpi4py 4.1.2
    if full; then
        tests=() minimum=1000
    fi
    over_tcp "$CHECK_LOG.tcp" "$SOURCE/test" "$ranks" "${tests[*]}" : \
        mpi_results tcp tcp,sm,self
    mpi_results srd srd,sm,self
    comm -23 <(grep '^ok' "$CHECK_LOG.tcp") <(grep '^ok' "$CHECK_LOG.srd") \
        >"$CHECK_LOG.worse"
    [ ! -s "$CHECK_LOG.worse" ] || {
        cat "$CHECK_LOG.worse"
        fail "these pass over tcp alone"
    }
    note "$(grep -c '^ok.*rank 0$' "$CHECK_LOG.srd") tests pass over both"
    at_least payload "$(stat_payload "$STAT")" 100000
}

suite_run() {
    local name more=1
    ! full || more=4 # what moves more there
    at_once 3 # they wait for PyPI
    for name in nixl mpi ucxx; do
        check "environment_$name" 500 environment_make $name
    done
    at_once 1
    check nixl_example $((60 * more)) nixl_example
    check nixl_stranger 60 nixl_stranger
    nixl_lists_checks
    check nixl_claim 30 nixl_claim
    check nixl_claims_differ 40 nixl_claims_differ
    check nixl_many 60 nixl_check many $((4096 * 1000))
    alone_begin
    alone nixl_notes 60 nixl_check notes 6000000
    alone nixl_notes_one_cpu 60 nixl_one_cpu notes 6000000
    alone_end
    check nixl_killed 60 nixl_check killed $((64 << 20))
    check nixl_orders 60 nixl_orders
    check nixl_own_tests 600 nixl_own_tests
    check ucxx_busy 30 pingpong_busy
    check ucxx_waits 30 pingpong_waits
    check page_python 200 page docs/PYTHON.md '^In a fresh environment'
    check ucxx_late 40 ucxx_late
    check ucxx_by_path 40 ucxx_by_path
    check ucxx_by_pth 40 ucxx_by_pth
    check ucxx_churn $((120 * more)) ucxx_churn
    for name in fork spawn forkserver; do
        check "ucxx_$name" 40 ucxx_starts $name
    done
    check ucxx_gone_thread 40 ucxx_gone thread
    check ucxx_gone_polling 40 ucxx_gone polling
    alone_begin
    alone ucxx_idle_thread 40 ucxx_idle thread
    alone ucxx_idle_blocking 40 ucxx_idle blocking
    alone_end
    check ucxx_tests_thread 1500 ucxx_tests thread
    check ucxx_tests_reorder 1500 ucxx_tests polling --reorder 0.2 --devices 2
    full && check ucxx_tests_blocking 1500 ucxx_tests blocking
    check distributed_tests 900 distributed_tests
    # eight processes of Python on two cores: where these are slow, a minute each
    check dask_tcp "$(dask_seconds)" dask_reference
    check dask_example "$(dask_seconds)" dask_example
    ci && check dask_without_efa "$(dask_seconds)" dask_without_efa
    check dask_killed "$(dask_seconds)" dask_killed
    check dask_added "$(dask_seconds)" dask_added
    check mpi_contents_2 40 mpi_contents 2
    check mpi_contents_4 60 mpi_contents 4
    check mpi_tests_2 1500 mpi_tests 2
    full && check mpi_tests_4 3000 mpi_tests 4
}

suite_main python "$@"
