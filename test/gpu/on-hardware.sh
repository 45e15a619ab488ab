#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Device memory over SRD on a machine with an NVIDIA GPU: what srd_info says, what
# the driver does where the tests lean on it, contents of every size between the
# memories of two processes, what each EFA read for each GPU, bytes that UCX copied,
# and, where ucx_perftest knows CUDA, latency and bandwidth. On a p4d or p5 over its
# EFA; elsewhere over the emulated one, which cannot reach a real GPU: UCX then
# copies, and says so.
# usage: on-hardware.sh [BUILD_DIR]
#
# UCX is the one that the loader finds (LD_LIBRARY_PATH), 1.16 or newer, with its
# CUDA modules; GPU_LARGE is the largest message in bytes, GPU_REUSE the rounds of
# reuse, GPU_COUNT how many GPUs are tried (all of nvidia-smi's). NIXL_EP is the
# folder of elastic.py in NIXL's source, whose kernels put and count, to be run with
# the nixl_ep that python3 imports.
# Status: 0, or 1 if a byte was wrong, a program failed, or UCX copied what the EFA
# can read.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd -P)
build=$(cd "${1:-$top/build}" && pwd -P) || exit 2
here=$top/test/gpu
port=${GPU_PORT:-$((20000 + RANDOM % 12000))}
logs=$(mktemp -d)
holder=
trap '[ -z "$holder" ] || kill "$holder"; rm -rf "$logs"' EXIT
failed=0
large=${GPU_LARGE:-1073741824} reuse=${GPU_REUSE:-1000}
most=$((large < 67108864 ? large : 67108864))

say() {
    printf '\n== %s\n' "$*"
}

wrong() {
    echo "FAIL: $*"
    failed=1
}

for file in bin/srdrun bin/srd_info bin/efasim test/ucp_gpu; do
    [ -x "$build/$file" ] || {
        echo "$build/$file is not built: ./contrib/test.sh --build" >&2
        exit 2
    }
done
if ! ldconfig -p | grep -q 'libcuda\.so\.1' && [ -z "${LD_LIBRARY_PATH-}" ]; then
    echo "no libcuda.so.1: this machine has no NVIDIA driver" >&2
    exit 2
fi

# on NODE COMMAND...: over the EFA, or on a host of the emulated fabric.
if grep -qs v00001D0F /sys/class/infiniband/*/device/modalias; then
    emulated=no
    on() { shift; "$@"; }
else
    emulated=yes
    export EFASIM_FABRIC=gpu$$
    on() {
        local node=$1
        shift
        "$build/bin/efasim" run --node "$node" -- "$@"
    }
    # A real GPU's dma-bufs are no memory that the emulated EFA can map, so each
    # registration would fail; without dma-bufs UCX copies.
    "$here/gpu_facts.py" --emulated || export EFASIM_DMABUF=0
    # while nobody is there the emulated fabric forgets what it has counted
    "$build/bin/efasim" run --node 0 -- sleep 7200 &
    holder=$!
fi
say "EFA: $([ $emulated = no ] && echo this machine\'s || echo emulated)"
command -v nvidia-smi >/dev/null && nvidia-smi -L

say "srd_info --check"
on 0 "$build/bin/srdrun" "$build/bin/srd_info" --check >"$logs/check" 2>&1
grep -E 'GPU|fail|warn|device' "$logs/check"

say "facts of the driver (< the emulated one, > this one)"
"$here/gpu_facts.py" >"$logs/facts" 2>&1 || wrong "gpu_facts.py"
diff "$here/facts.txt" "$logs/facts" && echo "no difference"

# pair NAME OPTION...: the program in two processes.
pair() {
    local name=$1 server status=0
    shift
    say "$name"
    port=$((port + 1))
    on 0 timeout 900 "$build/bin/srdrun" "$build/test/ucp_gpu" --port $port "$@" \
        >"$logs/server" 2>&1 &
    server=$!
    on 1 timeout 900 "$build/bin/srdrun" "$build/test/ucp_gpu" --port $port --client "$@" \
        >"$logs/pair" 2>&1 || {
        status=$?
        kill $server 2>/dev/null # who waits for a client that is gone
    }
    cat "$logs/pair"
    wait $server || status=$?
    [ $status = 0 ] || { tail -n 5 "$logs/server"; wrong "$name: status $status"; }
}

export UCX_TLS=${UCX_TLS:-srd,cuda_copy} UCX_WARN_UNUSED_ENV_VARS=n
for memory in dd hd dh; do
    pair "every size, $memory" --memory $memory --max $most --iters 20
done

# A real GPU's memory is out of the emulated EFA's reach.
direct=no
if grep -q 'whose memory the EFA reaches by' "$logs/check" &&
    { [ $emulated = no ] || grep -q ' staged ' "$logs/pair"; }; then
    direct=yes
fi

# reads: "EFA BYTES" of each one, read by RDMA until now.
reads() {
    # shellcheck disable=SC2016 # it expands there
    on 0 sh -c 'for efa in "${SYSFS_PATH:-/sys}"/class/infiniband/*; do
        echo "${efa##*/} $(cat "$efa/ports/1/hw_counters/rdma_read_bytes")"
    done'
}

# by_efa NAME OPTION...: a pair that reads by rendezvous, then which EFA read how
# much for it: all that was received and checked, where the EFA can.
by_efa() {
    local name=$1 total bytes
    shift
    reads >"$logs/before"
    UCX_RNDV_THRESH=4096 UCX_RNDV_SCHEME=get_zcopy pair "$name" --tests tag "$@"
    reads | awk 'NR == FNR { before[$1] = $2; next }
        $2 > before[$1] { printf "%s read %.0f bytes\n", $1, $2 - before[$1] }' \
        "$logs/before" - | tee "$logs/by"
    total=$(awk '{ sum += $3 } END { printf "%.0f", sum }' "$logs/by")
    bytes=$(awk '$1 == "ok" { print $4 }' "$logs/pair")
    [ $direct = no ] || [ "$total" -ge "${bytes:-1}" ] ||
        wrong "$name: $total bytes were read by RDMA, not ${bytes:-all}"
}

by_efa "rendezvous up to $large" --min 65536 --max "$large" --iters 0
count=${GPU_COUNT:-$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')}
for gpu in $(seq 0 $((count - 1))); do
    by_efa "GPU $gpu" --device "$gpu" --min 1048576 --max $most --iters 4
done
UCX_RNDV_THRESH=4096 pair "freed and allocated again, $reuse times" --tests none \
    --reuse "$reuse" --max 65536 --whole-pages

# perftest WORD...: ucx_perftest in two processes.
perftest() {
    port=$((port + 1))
    on 0 timeout 120 "$build/bin/srdrun" ucx_perftest -p $port >"$logs/server" 2>&1 &
    local server=$!
    sleep 2
    on 1 timeout 120 "$build/bin/srdrun" ucx_perftest -p $port "$@" 127.0.0.1 \
        >"$logs/client" 2>&1
    local status=$?
    [ $status = 0 ] || kill $server 2>/dev/null
    wait $server
    return $status
}

# Debian's knows no CUDA, and another UCX's may not run with this one.
if perftest -t tag_lat -s 8 -n 10 -m cuda,cuda; then
    for memory in host,host cuda,cuda host,cuda cuda,host; do
        for measure in "tag_lat -s 8 -n 10000" "tag_bw -s 8388608 -n 500"; do
            say "ucx_perftest -t $measure -m $memory"
            # shellcheck disable=SC2086
            perftest -t $measure -m $memory || wrong "ucx_perftest"
            tail -n 1 "$logs/client"
        done
    done
else
    say "no ucx_perftest that goes with this UCX and CUDA: no latency, no bandwidth"
    grep . "$logs/client" | tail -n 1
fi
# kernels NAME COMMAND...: it runs, and its kernels' puts were written by RDMA.
kernels() {
    local name=$1 before
    shift
    say "$name"
    before=$(written)
    "$@" >"$logs/kernels" 2>&1 || wrong "$name"
    tail -n 2 "$logs/kernels"
    [ "$(written)" -gt "$before" ] || wrong "$name: nothing was written by RDMA"
}

written() {
    cat /sys/class/infiniband/*/ports/1/hw_counters/rdma_write_bytes |
        awk '{ sum += $1 } END { printf "%.0f", sum }'
}

device_perftest() {
    UCX_TLS=$UCX_TLS,srd_gpu UCX_RESOLVE_REMOTE_EP_ID=y perftest -m cuda -a cuda:0 "$@"
    local status=$?
    cat "$logs/client"
    return $status
}

# The ranks are told not to use NVLink, so all of it goes by UCX.
nixl_ep() {
    echo '[[0, 1]]' >"$logs/plan.json"
    (cd "$NIXL_EP" && UCX_TLS=^cuda_ipc,sm timeout 600 "$build/bin/srdrun" python3 \
        elastic.py --plan "$logs/plan.json" --num-processes 2 --disable-ll-nvlink)
}

if [ $emulated = yes ]; then
    say "kernels that put and count: not tried, for the emulated EFA reaches no GPU"
else
    if ucx_perftest -h 2>&1 | grep -q '^ *-a <send-device'; then
        for measure in "ucp_put_lat -s 8 -n 10000" "ucp_put_bw -s 1024 -n 10000" \
            "ucp_put_bw -s 1024 -n 10000 -T 32" "ucp_put_lat -s 1024 -n 10000 -T 32 -L warp"; do
            # shellcheck disable=SC2086
            kernels "ucx_perftest -a cuda:0 -t $measure" device_perftest -t $measure
        done
    else
        say "no ucx_perftest with kernels (UCX 1.22 or newer, built with CUDA)"
    fi
    if [ -n "${NIXL_EP-}" ]; then
        kernels "NIXL EP, two ranks" nixl_ep
    fi
fi
say "$([ $failed = 0 ] && echo all right || echo something failed)"
exit $failed
