# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The common part of the suites. A suite sources this file, defines functions for its
# checks and a function suite_run that calls `check`, and ends with
#     suite_main NAME "$@"
#
# Each check runs in a process of its own (the suite calls itself with --call),
# under a time limit, with its output in a log that is shown when it fails. A
# check that cannot run here says why with `skip_here REASON` (status 77).

TEST_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
SKIPPED=77
# shellcheck source=contrib/ci/limit.sh
. "$TEST_DIR/../contrib/ci/limit.sh"
# shellcheck source=contrib/ci/ports.sh
. "$TEST_DIR/../contrib/ci/ports.sh"
# shellcheck source=test/turns.sh
. "$TEST_DIR/turns.sh"

# ---------------------------------------------------------------- the frame

suite_passed=0
suite_failed=0
suite_skipped=0
suite_running=0 # checks; at most suite_at_once of them
suite_at_once=1

# check NAME SECONDS COMMAND [ARG...]: one line, ok, FAIL or skip, and below it
# what the check notes or why it failed. SECONDS are quiet ones
# (contrib/ci/limit.sh). With CHECKS set only the names that it matches run;
# "CHECKS= check ..." always runs, and nothing beside it: what the others cannot do
# without.
check() {
    local beside=$((suite_at_once - 1))
    if [ -n "${CHECKS-}" ] && [[ ! $1 =~ $CHECKS ]]; then
        return
    fi
    if [ -z "${CHECKS-all}" ]; then
        checks_wait 0
        beside=0
    fi
    check_run "$@" &
    suite_running=$((suite_running + 1))
    checks_wait "$beside"
}

# at_once N: from here on N checks run at the same time, beside other suites as long
# as there is a place. The output of each stays together; the first to end comes
# first.
at_once() {
    checks_wait 0
    suite_at_once=$1
}

# checks_wait N: until no more than N checks run. Counts those that ended.
checks_wait() {
    local status
    while [ "$suite_running" -gt "$1" ]; do
        status=0
        wait -n || status=$?
        suite_running=$((suite_running - 1))
        case $status in
        0) suite_passed=$((suite_passed + 1)) ;;
        "$SKIPPED") suite_skipped=$((suite_skipped + 1)) ;;
        *) suite_failed=$((suite_failed + 1)) ;;
        esac
    done
}

# check_run NAME SECONDS COMMAND [ARG...]: a check, in a process of its own.
# Status: 0, SKIPPED or 1.
check_run() {
    local name=$1 limit=$2 log status=0 start took cpu child watch own=$BASHPID
    shift 2
    log=$SUITE_LOGS/${name//\//_}.log
    limit=$((limit * ${SLOWNESS:-1}))
    rm -rf --one-file-system "$log".* # a check that looks at them means its own
    if [ -n "${SRD_TURNS-}" ]; then
        turn_take 9>>"$SRD_TURNS/gate" && slot_take || exit 1
    fi
    start=$EPOCHREALTIME
    timeout -k 5 $((limit * LIMIT_STRETCH)) "$SUITE_SCRIPT" --call "$SUITE" \
        "$BUILD" "$PROFILE" "$log" "$@" >"$log" 2>&1 </dev/null 7>&- 8>&- &
    child=$!
    trap 'kill "$child" 2>/dev/null; exit 1' TERM
    limit_watch "$child" "$limit" 7>&- 8>&- &
    watch=$!
    wait "$child" || status=$?
    { kill "$watch" && wait "$watch"; } 2>/dev/null
    took=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }")
    cpu=$(awk "BEGIN { printf \"%.1f\", $(limit_past "$own") / 100 }")
    ! group_end "$child" ||
        echo "note: it left processes behind; they were ended" >>"$log"
    no_overruns "$log" || status=1
    no_assertions "$log" || status=1
    # in one piece: others may print at the same time
    check_lines "$@" >"$log.lines"
    cat "$log.lines"
    rm -f "$log.lines"
    case $status in
    0 | "$SKIPPED") exit "$status" ;;
    *) exit 1 ;;
    esac
}

# The lines of check_run, whose variables it reads, about its check.
check_lines() {
    case $status in
    0)
        echo "ok $name $took (CPU $cpu)"
        sed -n 's/^note: /    /p' "$log"
        ;;
    "$SKIPPED") echo "skip $name: $(grep -v "^note: " "$log" | tail -n 1)" ;;
    *)
        [ "$status" -ne 124 ] || status="$status, time limit of $limit s"
        echo "FAIL $name: status $status after $took s: $* (log: $log)"
        log_extract | cut -c 1-300 | sed 's/^/    | /'
        ;;
    esac
}

# The log's end, behind the first failures that gtest named where they stand
# further up.
log_extract() {
    if [ "$(wc -l <"$log")" -gt 30 ]; then
        head -n -30 "$log" | grep -A 6 -E ': Failure$|^\[  FAILED  \]' |
            head -n 40
    fi
    tail -n 30 "$log"
}

# no_overruns LOG: each `efasim run` of a check leaves its device's counters.
# None of its programs may have let a completion queue overrun, whatever else it
# looked at: on hardware completions are lost then.
no_overruns() {
    ! grep -q ' cq_overruns=[1-9]' "$1.counters" 2>/dev/null || {
        grep -o '^node=.* cq_overruns=[1-9][0-9]*' "$1.counters" |
            sed -E 's/^(.*device=[^ ]*) .* cq_/\1 cq_/' | sort -u
        echo "FAIL: a completion queue overran (cq_overruns is not 0)"
        return 1
    } >>"$1"
}

# no_assertions LOG: in no output that a check kept did the protocol core say
# that its logic is wrong; the process goes on then.
no_assertions() {
    # some checks leave folders and pipes beside their log
    ! grep -ah -d skip -D skip 'protocol core: assertion failed' "$1"* \
        >"$1.assertions" || {
        echo "FAIL: $(sort -u "$1.assertions")"
        return 1
    } >>"$1"
    rm -f "$1.assertions"
}

# For a check whose program is to overrun one.
overruns_expected() {
    export EFASIM_STAT=
}

# For a check that cannot run here; ends its process.
skip_here() {
    echo "$*"
    exit "$SKIPPED"
}

# For a check that found something wrong; ends its process.
fail() {
    echo "FAIL: $*"
    exit 1
}

# fuse_mounted FOLDER|FILE PATH: another user's file system is there while this process runs, of
# which fuse_link.py tells. Nonzero: there is no FUSE here.
fuse_mounted() {
    python3 -B "$TEST_DIR/apps/fuse_link.py" "$1" 4242 "$2" &
    local server=$!
    # shellcheck disable=SC2064  # now, not then
    trap "kill $server 2>/dev/null" EXIT
    until [ -L "$1/x" ] || { [ -f "$1" ] && [ -s "$1" ]; }; do
        kill -0 $server 2>/dev/null || return
        sleep 0.05
    done
}

# A number that the suite shows under the check's "ok".
note() {
    echo "note: $*"
}

# note_all [PATTERN]: what this check has printed until now, or its lines that
# match.
note_all() {
    local text
    text=$(<"$CHECK_LOG")
    grep -- "${1-.}" <<<"$text" | sed 's/^/note: /'
}

# tests_ran [LOG]: a program of gtest's ran at least one test. It is content with
# none, when its filter matches none any more.
tests_ran() {
    grep -q '^\[  PASSED  \] [1-9]' "${1:-$CHECK_LOG}" || fail "no test ran"
}

# one_cpu: from here on this check has one CPU only, and so all it starts.
one_cpu() {
    need taskset
    taskset -cp "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" $$ ||
        fail "taskset: status $?"
}

# need COMMAND...: skip the check if one is missing; one with a folder is of this build.
need() {
    local command
    for command; do
        case $command in
        [!/]*/*) [ -x "$BUILD/$command" ] || skip_here "$command was not built" ;;
        *) command -v "$command" >/dev/null || skip_here "$command is missing" ;;
        esac
    done
}

# need_perftest: sets PERFTEST, and STOCK_PERFTEST without the module. One that
# was built with MPI takes itself for a rank where standard input is no terminal,
# and starts MPI, which opens UCX, too (Debian 13).
need_perftest() {
    need ucx_perftest
    # shellcheck disable=SC2034 # for the suites
    STOCK_PERFTEST=(ucx_perftest)
    if ucx_perftest -h 2>&1 | grep -q '^ *-P '; then
        STOCK_PERFTEST+=(-P 0)
        export OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx
    fi
    # shellcheck disable=SC2034 # for the suites
    PERFTEST=("$SRDRUN" "${STOCK_PERFTEST[@]}")
}

# Versions that the module drives (src/ucp_hooks/minors.h): 23 for 1.23, and
# "UCX 1.13 to 1.23".
newest_minor() {
    sed -n 's/^ *X(\([0-9]*\),.*/\1/p' "$TEST_DIR/../src/ucp_hooks/minors.h" | tail -n 1
}
known_minors() {
    echo "UCX 1.13 to 1.$(newest_minor)"
}

# ucx_minor: of the UCX whose programs run here, 13 for 1.13.
ucx_minor() {
    local version
    # (newer ones tell the version of the library and of the headers)
    version=$(ucx_info -v | sed -nE '/.*ersion:? 1\.([0-9]+)\..*/ { s//\1/p; q }')
    echo "${version:-0}"
}

# libefa_is_direct: this machine's tells where its queues are (rdma-core 60), so that the
# module writes them itself and tries that first, by a queue pair of its own.
libefa_is_direct() {
    grep -aq efadv_query_qp_wqs \
        "$(ldconfig -p | awk '/libefa\.so\.1 / { print $NF; exit }')"
}

# rendezvous: from here on messages of 64 KB are fetched or written. UCX's own
# threshold follows its version, the device and the number of devices.
rendezvous() {
    export UCX_RNDV_THRESH=65536
}

suite_stop() {
    jobs -p | xargs -r kill 2>/dev/null
    exit 143
}

# suite_main NAME BUILD_DIR PROFILE, or the --call of one check.
suite_main() {
    SUITE=$1
    shift
    if [ "${1-}" = --call ]; then
        BUILD=$3 PROFILE=$4 CHECK_LOG=$5
        shift 5
        unset SRD_TURNS # a suite that a check starts has the check's turn
        suite_environment
        # in front of a function: it is called in another process
        CALL=("$SUITE_SCRIPT" --call "$SUITE" "$BUILD" "$PROFILE" "$CHECK_LOG")
        export EFASIM_STAT=${EFASIM_STAT-$CHECK_LOG.counters}
        # not the default one, which whoever uses this machine may be in, too
        export EFASIM_FABRIC=${EFASIM_FABRIC-t$$}
        "$@"
        exit
    fi
    if [ $# -lt 1 ] || [ ! -d "$1" ]; then
        echo "usage: suite_$SUITE.sh BUILD_DIR [quick|ci|full]" >&2
        echo "CHECKS=REGEX in the environment runs the checks it matches" >&2
        exit 2
    fi
    BUILD=$(cd "$1" && pwd -P)
    PROFILE=${2:-ci}
    suite_environment
    mkdir -p "$SUITE_LOGS"
    trap suite_stop TERM INT
    suite_run
    checks_wait 0
    suite_ran
    echo "suite $SUITE: $suite_passed passed, $suite_failed failed," \
        "$suite_skipped skipped"
    [ "$suite_failed" -eq 0 ]
    exit
}

# A suite that ran nothing proves nothing.
suite_ran() {
    if [ $((suite_passed + suite_failed + suite_skipped)) -eq 0 ]; then
        if [ -n "${CHECKS-}" ]; then
            echo "skip checks: no name matches CHECKS=$CHECKS"
            suite_skipped=1
        else
            echo "FAIL checks: there is none"
            suite_failed=1
        fi
    fi
}

suite_environment() {
    cd "$TEST_DIR/.." || exit 1 # Python would run modules of the folder it is called in
    SUITE_SCRIPT=$TEST_DIR/suite_$SUITE.sh
    SUITE_LOGS=$BUILD/logs/$SUITE
    EFASIM=${SUITE_PROGRAMS:-$BUILD/bin}/efasim
    # shellcheck disable=SC2034 # for the suites
    SRDRUN=${SUITE_PROGRAMS:-$BUILD/bin}/srdrun
    export UCX_WARN_UNUSED_ENV_VARS=n
    # 50 ms of a CPU for each function of libc that UCX 1.21 and newer patch at their
    # start, in which others could be inside it
    export UCX_MEM_BISTRO_GRACE_DURATION=0
    # A build with sanitizers is several times slower.
    [ -z "${SRD_SANITIZE-}" ] || SLOWNESS=${SLOWNESS:-4}
}

full() {
    [ "$PROFILE" = full ]
}

# ci: what the quick profile leaves out is behind it.
ci() {
    [ "$PROFILE" != quick ]
}

# seeds CI FULL: that many seeds, one per line; one in the quick profile.
seeds() {
    if full; then seq 1 "$2"; elif ci; then seq 1 "$1"; else echo 1; fi
}

# ------------------------------------------------------------ two processes

# with_stat [EFASIM_OPTION...] -- COMMAND...: a fresh fabric around COMMAND; at
# its end the counters of all nodes are in $STAT. They must be there, unless
# DEVICE_MAY_IDLE is set: nobody need open a device then.
with_stat() {
    local status=0
    STAT=$CHECK_LOG.stat
    rm -f "$STAT"
    "$EFASIM" run --fabric "t$$x$RANDOM" --stat="$STAT" "$@" || status=$?
    [ "$status" -eq 0 ] || return "$status"
    [ -s "$STAT" ] || [ -n "${DEVICE_MAY_IDLE-}" ] ||
        fail "efasim run --stat left no counters"
    cat "$STAT"
}

# two_nodes [EFASIM_OPTION...] -- SERVER_CMD... -- CLIENT_CMD...
# The server on node 0, the client on node 1, of a fresh fabric; @PORT@ in
# either is a free port that the client's start waits for. Both must end well,
# unless SERVER_MAY_DIE is set. Counters: $STAT.
two_nodes() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    local port
    port=$(random_port) || exit 1
    local words=("${@//@PORT@/$port}")
    with_stat "${options[@]}" -- "${CALL[@]}" two_nodes_inside "$port" "${words[@]}"
}

two_nodes_inside() {
    local port=$1 server=() pid status=0 server_status=0
    shift
    while [ "$1" != -- ]; do
        server+=("$1")
        shift
    done
    shift
    "$EFASIM" run --node 0 -- "${server[@]}" >"$CHECK_LOG.server" 2>&1 &
    pid=$!
    if ! wait_listen "$port" "$pid"; then
        cat "$CHECK_LOG.server"
        fail "the server did not listen on port $port"
    fi
    "$EFASIM" run --node 1 -- "$@" || status=$?
    if [ "$status" -ne 0 ]; then
        # It may wait for its client for ever: the client's end tells enough.
        sleep 1
        kill "$pid" 2>/dev/null
    fi
    wait "$pid" || server_status=$?
    echo "--- server"
    tail -n 30 "$CHECK_LOG.server"
    [ "$status" -eq 0 ] || fail "client: status $status"
    [ "$server_status" -eq 0 ] || [ -n "${SERVER_MAY_DIE-}" ] ||
        fail "server: status $server_status"
}

# with_release RELEASE COMMAND...: in a chroot of Debian RELEASE, for its
# rdma-core; UCX is Debian 12's, which our programs are built for. Variables
# UCX_* and EFASIM_* reach COMMAND, and the folders in RELEASE_BINDS are there.
RELEASE_BINDS=()
with_release() {
    local chroot=$TEST_DIR/../contrib/ci/chroot.sh release=$1 sanitized=() dir binds=()
    shift
    for dir in "$BUILD" "${RELEASE_BINDS[@]}"; do
        binds+=(--bind "$dir")
    done
    "$chroot" --made "$release" || skip_here "Debian $release is not made here:" \
        "contrib/ci/chroot.sh $release makes it"
    [ -z "${SRD_SANITIZE-}" ] || sanitizers_carry
    "$chroot" "${binds[@]}" "$release" -- "${sanitized[@]}" \
        env LD_LIBRARY_PATH=/opt/ucx-1.13/lib "$@"
}

# A chroot has no runtime of the sanitizers: this machine's goes along, to the
# path that it has here, by which it is preloaded. Sets `sanitized`, what a
# command in there begins with.
sanitizers_carry() {
    local dir=$BUILD/sanitizers lib home
    mkdir -p "$dir"
    while read -r lib; do
        lib=$(readlink -f "$lib")
        home=${lib%/*}
        cp -u "$lib" "$dir/"
    done < <(ldd "$BUILD/lib/libuct_srd.so.0" | awk '/san\.so/ { print $3 }')
    # shellcheck disable=SC2016 # for the shell in there
    sanitized=(sh -c 'cp "$0"/* "$1" && ldconfig && shift && exec "$@"' "$dir"
        "$home" env "ASAN_OPTIONS=$ASAN_OPTIONS" "UBSAN_OPTIONS=$UBSAN_OPTIONS")
}

# in_release RELEASE [EFASIM_OPTION...] -- COMMAND...: with_stat in with_release.
in_release() {
    local release=$1
    shift
    STAT=$CHECK_LOG.stat
    with_release "$release" "$EFASIM" run --fabric "t$$x$RANDOM" \
        --stat="$STAT" "$@"
}

# ucx_with_standin DIR: UCX's libraries in DIR, with the stand-in that has an srd
# of its own in the place of the ib module.
ucx_with_standin() {
    local name file standin=$BUILD/obj/hooks/intree/libuct_ib.so.0
    [ -e "$standin" ] || skip_here "the stand-in was not built"
    grep -aqF "speaks UCX 1.$(ucx_minor)." "$standin" ||
        skip_here "the stand-in $(grep -aoE 'speaks UCX [0-9.]+' "$standin")"
    mkdir -p "$1/ucx"
    for name in ucp uct ucs ucm; do
        file=$(ldconfig -p | awk -v n="lib$name.so.0" '$1 == n { print $NF; exit }')
        ln -sf "$file" "$1/"
    done
    ln -sf "$standin" "$1/ucx/"
}

# elf_resize FILE SYMBOL: writes FILE again with another size of SYMBOL, as if it
# were of a UCX that nobody knows.
elf_resize() {
    python3 - "$1" "$2" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
name = sys.argv[2].encode() + b'\0'
shoff, = struct.unpack_from('<Q', data, 0x28)
size, count = struct.unpack_from('<HH', data, 0x3a)
sections = [struct.unpack_from('<IIQQQQIIQQ', data, shoff + i * size)
            for i in range(count)]
done = 0
for section in sections:
    if section[1] != 11:                                   # SHT_DYNSYM
        continue
    strings = sections[section[6]][4]
    for at in range(section[4], section[4] + section[5], 24):
        text = strings + struct.unpack_from('<I', data, at)[0]
        if data[text:text + len(name)] == name:
            struct.pack_into('<Q', data, at + 16, 8)
            done += 1
open(sys.argv[1], 'wb').write(data)
sys.exit(done != 1)
END
}

# ------------------------------------------------------------ counters

# stat_sum FILE COUNTER [NODE [DEVICE]]: over all nodes, or of one, and all of
# its devices, or one.
stat_sum() {
    awk -v want="$2=" -v node="node=${3-}" -v device="device=${4-}" '
        /^node=/ && (node == "node=" || $1 == node) &&
            (device == "device=" || $2 == device) {
            for (i = 1; i <= NF; ++i) {
                if (index($i, want) == 1) {
                    sum += substr($i, length(want) + 1)
                    found = 1
                }
            }
        }
        END { if (!found) exit 1; printf "%.0f\n", sum }' "$1" ||
        fail "no counter $2 in $1"
}

# pair_bytes FILE SRC DST: bytes that node SRC moved to node DST.
pair_bytes() {
    awk -v s="src=$2" -v d="dst=$3" '
        $1 == "pair" && $2 == s && $3 == d { sub("bytes=", "", $4); n += $4 }
        END { printf "%.0f\n", n }' "$1"
}

# page_block PAGE PATTERN: the first block of indented lines of that page of the tree
# behind the line with the pattern.
page_block() {
    awk -v pattern="$2" '
        $0 ~ pattern { found = 1; next }
        found && /^    / { sub(/^    /, ""); print; some = 1; next }
        found && some { exit }' "$TEST_DIR/../$1"
}

# at_least WHAT VALUE MINIMUM, at_most WHAT VALUE MAXIMUM
at_least() {
    [ "$2" -ge "$3" ] || fail "$1: $2, expected at least $3"
    echo "$1: $2 (at least $3)"
}

at_most() {
    [ "$2" -le "$3" ] || fail "$1: $2, expected at most $3"
    echo "$1: $2 (at most $3)"
}

# All payload that crossed the fabric, by messages, RDMA reads and writes.
stat_payload() {
    local sent read written
    sent=$(stat_sum "$1" tx_bytes) || exit 1
    read=$(stat_sum "$1" rdma_read_bytes) || exit 1
    written=$(stat_sum "$1" rdma_write_bytes) || exit 1
    echo $((sent + read + written))
}

# bytes_checked LOG: what a client of ours says that it received and compared.
bytes_checked() {
    awk '$1 == "ok" { n += $4 } END { if (!n) exit 1; printf "%.0f\n", n }' \
        "$1" || fail "nothing was received and checked"
}

# ------------------------------------------------------------ traces left

# Shared memory and other files of the emulator, one per line.
shm_list() {
    find /dev/shm /tmp -maxdepth 1 -name '*efasim*' 2>/dev/null | sort
}

# nothing_left COMMAND...: run it; no shared memory of its fabrics, which are named
# after this process, may be left. Others use the machine, too: a name counts only
# if it is still there a second later and no process has it open.
nothing_left() {
    local after name
    ("$@") || return
    sleep 1
    after=$(shm_list | grep -E -- "-[a-z]$$(x[0-9]+)?\$")
    for name in $after; do
        [ -e "$name" ] || continue
        if ! find /proc/[0-9]*/fd -lname "$name" 2>/dev/null | grep -q . &&
            ! grep -lq "$name" /proc/[0-9]*/maps 2>/dev/null; then
            fail "left behind: $name"
        fi
    done
}
