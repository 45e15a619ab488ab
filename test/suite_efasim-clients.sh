#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The emulated device as programs see it that nobody here wrote, from packages,
# unmodified: rdma-core's tools and tests, perftest, libfabric, Open MPI over
# libfabric; here, and in Debian 13 and sid (rdma-core 56 and 65).
# usage: suite_efasim-clients.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/matrix/system.sh
. "$TEST_DIR/matrix/system.sh"
# shellcheck source=test/matrix/fabtests.sh
. "$TEST_DIR/matrix/fabtests.sh"
# shellcheck source=test/matrix/soak.sh
. "$TEST_DIR/matrix/soak.sh"
set -u

# ------------------------------------------------------------ rdma-core

devinfo() {
    need ibv_devinfo
    "$EFASIM" run --fabric "t$$" -- ibv_devinfo -v | tee "$CHECK_LOG.out"
    local line
    for line in 'hca_id:.*rdmap0s6' 'vendor_id:.*0x1d0f' \
        'vendor_part_id:.*61345' 'max_qp:.*256' 'max_ah:.*1024' \
        'max_cqe:.*32768' 'state:.*PORT_ACTIVE' 'max_msg_sz:.*0x22e0' \
        'GID\[ *0\]:.*fe80:'; do
        grep -qE "$line" "$CHECK_LOG.out" || fail "no line $line"
    done
}

devices() {
    need ibv_devices
    "$EFASIM" run --fabric "t$$" -- ibv_devices | tee "$CHECK_LOG.out"
    [ "$(awk 'NR > 2 { print $1 }' "$CHECK_LOG.out")" = rdmap0s6 ] ||
        fail "not rdmap0s6 alone"
}

# Reasons for which rdma-core's tests may skip themselves: EFA has no parent
# domains, and tests of RDMA write need a device and an rdma-core that have it.
skips_always='Parent Domain is not supported on this device'
skips_without_write='Create custom mr with additional access flags 2 is not supported
Create SRD QPEx is not supported
Device caps doesn.t support Unsolicited RDMA Write receive .*'

# rdma_tool FOLDER: the tests of rdma-core 56 and newer ask iproute2's rdma for
# the net device of a port, and that asks the kernel by netlink, where there is
# no such device. An EFA has no net device: say so.
rdma_tool() {
    mkdir -p "$1" && cat >"$1/rdma" <<'END' && chmod +x "$1/rdma"
#!/bin/sh
echo '[{"ifindex":0,"ifname":"rdmap0s6","port":1,"state":"ACTIVE"}]'
END
}

# pyverbs RUNS DEVICE: all of rdma-core's own tests of EFA, several times, as
# they choose operations and sizes at random.
pyverbs() {
    local tests=/usr/share/doc/rdma-core/tests work run
    need python3
    [ -e "$tests/run_tests.py" ] || skip_here "python3-pyverbs is missing"
    work=$(mktemp -d) || exit 1
    # shellcheck disable=SC2064 # now
    trap "rm -rf '$work'" EXIT
    cp -r "$tests" "$work" && find "$work" -name '*.gz' -exec gunzip {} + ||
        fail "cannot copy $tests"
    rdma_tool "$work/bin"
    export PATH=$work/bin:$PATH
    cd "$work/tests" || exit 1
    for run in $(seq 1 "$1"); do
        "$EFASIM" run --fabric "t$$" --device "$2" -- /usr/bin/python3 \
            run_tests.py -v -k efa >"$CHECK_LOG.$run" 2>&1 || {
            grep -vE '\.\.\. (ok|skipped)' "$CHECK_LOG.$run"
            fail "run $run of $1"
        }
        grep -E '^(Ran|OK)' "$CHECK_LOG.$run" | xargs
        at_least "tests" "$(grep -cE '\.\.\. ok$|^ok$' "$CHECK_LOG.$run")" 14
    done
    pyverbs_skips "$2"
}

# Every reason for a skip must be one of those above.
pyverbs_skips() {
    local known=$skips_always reasons other
    case $1 in
    efa0 | efa1) known=$known$'\n'$skips_without_write ;;
    esac
    reasons=$(sed -n "s/.*skipped ['\"]\(.*\)['\"]$/\1/p" "$CHECK_LOG".[0-9]* |
        sort | uniq -c)
    echo "skipped: $reasons"
    other=$(sed 's/^ *[0-9]* //' <<<"$reasons" | grep . |
        grep -vxEf <(echo "$known"))
    [ -z "$other" ] || fail "skipped for a reason not known here: $other"
}

# ------------------------------------------------------------ perftest

# Where other programs take the processor while it looks at its clock, perftest's
# bandwidth programs end with status 1 ("Can't produce a report"), but for -F.
PERFTEST_ALWAYS=(-F -x 0 -p @PORT@)

# perftest_verbs PROGRAM KIND SIZE ITERATIONS [OPTION...]
perftest_verbs() {
    local program=$1 size=$3 iterations=$4 options
    options=(-c "$2" -d rdmap0s6 "${PERFTEST_ALWAYS[@]}" -s "$3" -n "$4" "${@:5}")
    need "$program"
    two_nodes --device "${DEVICE:-efa1}" -- "$program" "${options[@]}" -- \
        "$program" "${options[@]}" 127.0.0.1 || exit 1
    at_least "payload" "$(stat_payload "$STAT")" $((size * iterations))
}

# perftest_devices SERVER_DEVICE CLIENT_DEVICE: the traffic goes over these two
# devices and no other.
perftest_devices() {
    need ib_send_bw
    local command=(ib_send_bw -c SRD "${PERFTEST_ALWAYS[@]}" -s 8192 -n 2000) sent
    two_nodes --devices 4 -- "${command[@]}" -d "$1" -- "${command[@]}" \
        -d "$2" 127.0.0.1 || exit 1
    sent=$(stat_sum "$STAT" tx_bytes 1 "$2") || exit 1
    at_least "sent by $2" "$sent" 16384000
    at_least "received by $1" "$(stat_sum "$STAT" rx_bytes 0 "$1")" 16384000
    [ "$(stat_payload "$STAT")" -eq "$sent" ] || fail "others sent, too"
}

# UCX stripes one message over both devices of each host.
ucx_devices() {
    need_perftest
    rendezvous
    local command=(env UCX_TLS="srd,tcp" UCX_MAX_RNDV_RAILS=2 "${PERFTEST[@]}"
        -p @PORT@ -t tag_bw -s 4000000 -n 100) device
    two_nodes --devices 2 -- "${command[@]}" -- "${command[@]}" 127.0.0.1 ||
        exit 1
    for device in rdmap0s6 rdmap16s6; do
        at_least "read by $device" \
            "$(stat_sum "$STAT" rdma_read_bytes 0 "$device")" 180000000
    done
}

# Debian 12's has no RDMA write for EFA.
perftest_write() {
    local written
    DEVICE=efa2
    perftest_verbs "$@" || exit
    written=$(stat_sum "$STAT" rdma_write_bytes) || exit
    at_least rdma_write_bytes "$written" $(($3 * $4))
}

# ------------------------------------------------------------ libfabric

libfabric_info() {
    local type
    need fi_info
    "$EFASIM" run --fabric "t$$" -- fi_info -p efa | tee "$CHECK_LOG.out"
    grep -q 'provider: efa' "$CHECK_LOG.out" || fail "no provider efa"
    for type in FI_EP_RDM FI_EP_DGRAM; do
        grep -q "type: $type" "$CHECK_LOG.out" || fail "no $type"
    done
}

# A domain of each kind for each device.
libfabric_devices() {
    local device type
    need fi_info
    "$EFASIM" run --fabric "t$$" --devices 4 -- fi_info -p efa |
        tee "$CHECK_LOG.out"
    for device in rdmap0s6 rdmap16s6 rdmap32s6 rdmap48s6; do
        for type in rdm dgrm; do
            grep -q "domain: $device-$type" "$CHECK_LOG.out" ||
                fail "no domain $device-$type"
        done
    done
}

# libfabric_pingpong rdm|dgram SIZE LINES: it checks the contents itself (-c),
# and prints a line per size.
libfabric_pingpong() {
    local options=(-p efa -e "$1" -I 20 -S "$2" -c) lines
    need fi_pingpong
    two_nodes -- fi_pingpong "${options[@]}" -B @PORT@ -- \
        fi_pingpong "${options[@]}" -P @PORT@ 127.0.0.1 || exit 1
    ! grep -qiE 'error|mismatch|integrity' "$CHECK_LOG" || fail "an error line"
    lines=$(sed '/^--- server/,$d' "$CHECK_LOG" |
        grep -cE '^[0-9.]+[km]? +20 +=20 ')
    at_least "sizes" "$lines" "$3"
    at_most cq_overruns "$(stat_sum "$STAT" cq_overruns)" 0
    [ "$2" = all ] ||
        at_least payload "$(stat_payload "$STAT")" $((20 * $2 * 2))
}

# Not "all": libfabric takes the device's message size for a datagram's, and
# ends at the first size above 4 KiB.
libfabric_dgram() {
    libfabric_pingpong dgram all 27
}

# Open MPI's mtl/ofi, four ranks on four nodes, every byte checked.
mpi_ofi() {
    local run node
    need mpirun test/mpi_check
    run=(mpirun -np 4 --oversubscribe --mca pml cm --mca mtl ofi
        --mca btl self --mca mtl_ofi_provider_include efa
        --mca opal_common_ofi_provider_include efa)
    [ "$(id -u)" -ne 0 ] || run+=(--allow-run-as-root)
    with_stat -- "${run[@]}" "$EFASIM" run --per-node 1 -- \
        "$BUILD/test/mpi_check" all 262144 || fail "mpirun: status $?"
    grep -q '^ok 4 ranks' "$CHECK_LOG" || fail "no ok line"
    for node in 0 1 2 3; do
        at_least "bytes of node $node" \
            "$(pair_bytes "$STAT" "$node" $(((node + 1) % 4)))" 262144
    done
}

# soak_without CHROOT: programs of the soak that need RDMA write do nothing where
# Debian 13 is not made, and say so.
soak_without() {
    CHROOT=$1
    (soak_program write 6 7 1 64 1 1) >"$CHECK_LOG.out" 2>&1 || fail "status $?"
    [ "$(tail -n 1 "$CHECK_LOG.out")" = "payload 0" ] || fail "no payload line"
}

# ------------------------------------------------------------ which, where

here() {
    local name=$1 limit=$2
    shift 2
    check "$name" "$limit" "$@"
}

# there RELEASE NAME SECONDS FUNCTION [ARG...]: a check in the chroot of RELEASE.
there() {
    local release=$1 name=$2 limit=$3
    shift 3
    check "${release}_$name" "$limit" in_system "$release" efasim-clients "$@"
}

# clients HOW...: all checks, each made by HOW NAME SECONDS FUNCTION [ARG...].
clients() {
    local program runs=2
    ! full || runs=10
    ci || runs=1
    "$@" ibv_devinfo 20 devinfo
    "$@" ibv_devices 20 devices
    "$@" pyverbs $((runs * 20)) pyverbs $runs efa1
    for program in ib_send_lat ib_send_bw; do
        "$@" "${program}_SRD" 30 perftest_verbs $program SRD 16 2000
        "$@" "${program}_SRD_8K" 30 perftest_verbs $program SRD 8192 2000
    done
    # EFA has no sends without completion: -Q 1. (Over SRD perftest knows.)
    "$@" ib_send_lat_UD 30 perftest_verbs ib_send_lat UD 16 2000
    "$@" ib_send_bw_UD 30 perftest_verbs ib_send_bw UD 4096 2000 -Q 1
    "$@" ib_read_lat 30 perftest_verbs ib_read_lat SRD 4096 1000
    "$@" ib_read_bw 30 perftest_verbs ib_read_bw SRD 1048576 200
    "$@" ib_send_bw_devices 60 perftest_devices rdmap16s6 rdmap48s6
    "$@" fi_info 20 libfabric_info
    "$@" fi_info_devices 20 libfabric_devices
    "$@" fi_pingpong_rdm 60 libfabric_pingpong rdm all 27
    "$@" fi_pingpong_dgram 60 libfabric_dgram
    "$@" mpi_ofi 60 mpi_ofi
}

# With an rdma-core that knows RDMA write.
writes() {
    local runs=2
    ! full || runs=10
    "$@" pyverbs_efa3 $((runs * 20)) pyverbs $runs efa3
    "$@" ib_write_lat 30 perftest_write ib_write_lat SRD 4096 1000
    "$@" ib_write_bw 30 perftest_write ib_write_bw SRD 1048576 200
}

# libfabric's tests; in CI a ninth of them in each of the nine ways.
fabtests_ways() {
    local device option part=0 parts=9
    CHECKS='' check fabtests_made 900 fabtests_made
    for device in efa1 efa2 efa3; do
        for option in '' --eager '--reorder 0.3'; do
            full && parts=1 part=0
            # shellcheck disable=SC2086 # one word each
            check "fabtests_$device${option:+_${option//[- 0.3]/}}" $((1800 / parts)) \
                fabtests_in $part $parts "$device" $option
            part=$((part + 1))
        done
    done
}

suite_run() {
    local release releases='13'
    clients here
    check ucx_devices 60 ucx_devices
    check soak_without_13 10 soak_without false
    ci || return
    ! full || releases='12 13 sid'
    for release in $releases; do
        check "$release" 700 system_made "$release"
        "$CHROOT" --made "$release" || continue
        clients there "$release"
        [ "$release" = 12 ] || writes there "$release"
    done
    fabtests_ways
    if full; then
        check soak 2100 soak 1800
    else
        check soak 120 soak 60
    fi
}

suite_main efasim-clients "$@"
