#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# From a fresh checkout to stock UCX over SRD, on any machine: installs what
# is missing, builds, runs ucx_perftest between two emulated nodes, and reads
# the device's counters to prove which way the bytes went. See usage().

set -u
program=quickstart.sh
top=$(cd "$(dirname "$0")/.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"
# shellcheck source=contrib/ci/packages.sh
. "$top/contrib/ci/packages.sh"
# shellcheck source=contrib/ci/build.sh
. "$top/contrib/ci/build.sh"
# shellcheck source=contrib/ci/ports.sh
. "$top/contrib/ci/ports.sh"

build=$top/build
efasim=$build/bin/efasim
srdrun=$build/bin/srdrun
fabric=quickstart-$$

# Sizes that are measured: small messages for latency, large ones for bandwidth.
lat_size=8
lat_iters=10000
bw_size=1048576
bw_iters=500

usage() {
    cat <<END
Usage: contrib/quickstart.sh [--no-install]

Installs what is missing (says what), builds in build/, and runs the stock
ucx_perftest of this machine between two emulated EFA nodes with UCX_TLS=srd.

  --no-install  install nothing; say what is missing and stop
END
}

# counter NAME: the sum of a counter of the device over both nodes. A node on
# which nobody opened the device yet has no line. Status 1: no such fabric.
counter() {
    local lines
    lines=$("$efasim" stat --raw --fabric "$fabric" 2>/dev/null) || return 1
    awk -v name="$1" '
        $1 ~ /^node=/ {
            for (i = 2; i <= NF; ++i) {
                split($i, pair, "=")
                if (pair[1] == name) sum += pair[2]
            }
        }
        END { printf "%.0f\n", sum }' <<<"$lines"
}

# on_node N COMMAND...: with the device of node N and the module.
on_node() {
    local node=$1
    shift
    UCX_TLS=srd UCX_WARN_UNUSED_ENV_VARS=n timeout -k 5 90 "$efasim" run \
        --fabric "$fabric" --node "$node" -- "$srdrun" "$@"
}

# perftest TEST SIZE ITERATIONS: sets result to the client's last line of
# comma separated numbers.
perftest() {
    local test=$1 size=$2 iters=$3 port status=0
    port=$(random_port) || exit 1
    on_node 0 "${ucx_perftest[@]}" -p "$port" >"$work/server" 2>&1 &
    server=$!
    # The client does not try again: it must not start before that.
    wait_listen "$port" "$server"
    on_node 1 "${ucx_perftest[@]}" 127.0.0.1 -p "$port" -t "$test" -s "$size" \
        -n "$iters" -w 100 -f -v >"$work/client" 2>&1 || status=$?
    [ "$status" = 0 ] || kill "$server" 2>/dev/null
    wait "$server" || [ "$status" != 0 ] || status=$?
    server=
    result=$(grep -E '^ *[0-9]+(,[0-9.]+){7}$' "$work/client" | tail -n 1)
    if [ "$status" != 0 ] || [ -z "$result" ]; then
        warn "ucx_perftest -t $test failed (status $status); node 0 said:"
        tail -n 15 "$work/server" | sed 's/^/   | /' >&2
        warn "node 1 said:"
        tail -n 15 "$work/client" | sed 's/^/   | /' >&2
        return 1
    fi
}

cleanup() {
    local pid
    for pid in $holder $server; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    [ -z "$work" ] || rm -rf "$work"
}

install=yes
while [ $# -gt 0 ]; do
    case $1 in
    --no-install) install=no ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        usage >&2
        die "unknown argument $1"
        ;;
    esac
    shift
done

packages_require "$PACKAGES_BUILD$PACKAGES_RUN" "$install" \
    "to build and to run UCX programs" || exit 1
say "building in build"
# A folder that is configured otherwise, for the tests say, is good as well.
if [ -e "$build/configured-for" ]; then
    build_make "$build" "$(nproc)" all || die "the build failed"
else
    build_tree "$build" || die "the build failed"
fi

# One that was built with MPI takes itself for a rank without a terminal, but
# for -P 0 (Debian 13).
ucx_perftest=(ucx_perftest)
! ucx_perftest -h 2>&1 | grep -q '^ *-P ' || ucx_perftest+=(-P 0)

holder='' server='' work=''
trap cleanup EXIT
trap 'exit 130' INT TERM
work=$(mktemp -d "${TMPDIR:-/tmp}/srd-quickstart.XXXXXX") || exit 1

say "two emulated nodes, one EFA device each; stock $(command -v ucx_perftest)"
# The counters live as long as somebody is on the fabric.
"$efasim" run --fabric "$fabric" --node 0 -- sleep 600 2>"$work/holder" &
holder=$!
for _ in {1..50}; do
    counter tx_bytes >/dev/null && break
    sleep 0.1
done
counter tx_bytes >/dev/null ||
    die "the emulated device did not come up: $(tail -n 1 "$work/holder")"

sent_before=$(counter tx_pkts)
perftest tag_lat $lat_size $lat_iters || exit 1
latency=$(cut -d, -f2 <<<"$result")
mean=$(cut -d, -f4 <<<"$result")
sent=$(($(counter tx_pkts) - sent_before))

read_before=$(counter rdma_read_bytes)
sent_bytes_before=$(counter tx_bytes)
perftest tag_bw $bw_size $bw_iters || exit 1
bandwidth=$(cut -d, -f6 <<<"$result")
read_bytes=$(($(counter rdma_read_bytes) - read_before))
sent_bytes=$(($(counter tx_bytes) - sent_bytes_before))

# A ping-pong sends one packet each way per iteration. Large messages are fetched
# by RDMA READ, or sent where UCX takes this CPU's copies for faster.
need_sent=$((2 * lat_iters))
need_bytes=$((bw_size * bw_iters))
cat <<END

   stock ucx_perftest, UCX_TLS=srd, node 0 <-> node 1
   test      message      messages   result
   tag_lat   $(printf '%7d B %13d   %s us one way (median; mean %s)' \
    $lat_size $lat_iters "$latency" "$mean")
   tag_bw    $(printf '%7d B %13d   %s MB/s' $bw_size $bw_iters "$bandwidth")

   what the device counted meanwhile
   tag_lat   $sent packets sent (at least $need_sent expected)
   tag_bw    $read_bytes bytes by RDMA READ, $sent_bytes sent (at least $need_bytes expected)
END
[ "$sent" -ge "$need_sent" ] ||
    die "not proven: the latency test's messages did not go over SRD"
[ $((read_bytes + sent_bytes)) -ge "$need_bytes" ] ||
    die "not proven: the bandwidth test's bytes did not cross the device"

cat <<END
   so these bytes crossed SRD.

On a machine with an EFA device, leave efasim out (PATH=$build/bin:\$PATH):
   node A:  UCX_TLS=srd srdrun ucx_perftest
   node B:  UCX_TLS=srd srdrun ucx_perftest ADDRESS-OF-A -t tag_lat
   MPI:     see docs/MPI.md; in short UCX_TLS=srd,sm,self mpirun ... srdrun ./program
Here, again:
   efasim run -- srdrun ucx_info -d        contrib/test.sh

quick start: done in $SECONDS s
END
