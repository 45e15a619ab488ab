#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Device memory over SRD: the UCX of PyPI's wheels with its CUDA modules, on an
# emulated GPU whose memory kills who touches it with the CPU, and the emulated
# EFA, which reaches it by dma-buf or by peer memory.
# usage: suite_gpu.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/matrix/wheels.sh
. "$TEST_DIR/matrix/wheels.sh"
# shellcheck source=test/python/environment.sh
. "$TEST_DIR/python/environment.sh"
# shellcheck source=test/openmpi.sh
. "$TEST_DIR/openmpi.sh"
# shellcheck source=test/gpu/ucx.sh
. "$TEST_DIR/gpu/ucx.sh"
# shellcheck source=test/gpu/accidents.sh
. "$TEST_DIR/gpu/accidents.sh"
# shellcheck source=test/gpu/device_api.sh
. "$TEST_DIR/gpu/device_api.sh"
set -u

# ------------------------------------------------------------ each UCX

wheel_made() {
    gpu_ucx "$1" "$2"
}

# rendezvous_direct: from here on messages of 4 KB are read by the receiver, of
# which UCX otherwise thinks only from some size on.
rendezvous_direct() {
    export UCX_RNDV_THRESH=4096 UCX_RNDV_SCHEME=get_zcopy
}

# all_by COUNTER: not a byte was staged, and all that was checked crossed the
# device so.
all_by() {
    gpu_no_trouble
    at_least "$1" "$(stat_sum "$STAT" "$1")" "$(gpu_checked)"
    at_most "staged" "$(gpu_staged)" 0
}

# direct PACKAGE VERSION HOW: messages by rendezvous, device to device, host to
# device and back: not one byte is copied by UCX, all cross the device by RDMA.
direct() {
    local memory
    gpu_ucx "$1" "$2" "$3"
    rendezvous_direct
    gpu_pair "${HOW[@]}" -- --tests tag,am,get --whole-pages --min 16384 \
        --max 4194304 --iters 5 || exit 1
    all_by rdma_read_bytes
    [ "$3" = dmabuf ] || full || return 0
    for memory in hd dh; do
        gpu_pair "${HOW[@]}" -- --memory $memory --tests tag --whole-pages \
            --min 16384 --max 1048576 --iters 5 || exit 1
        all_by rdma_read_bytes
    done
}

# sizes PACKAGE VERSION HOW: every size from 1 B on, as UCX sends them by itself;
# from 1.15 on of buffers that end within a page, too.
sizes() {
    local whole=--whole-pages
    gpu_ucx "$1" "$2" "$3"
    [ "$GPU_MINOR" -lt 15 ] || whole=
    # shellcheck disable=SC2086
    gpu_pair "${HOW[@]}" -- --max 300000 --iters 20 $whole || exit 1
    gpu_no_trouble
    at_least "payload over the device" "$(stat_payload "$STAT")" "$(gpu_checked)"
}

gpu_each() {
    local package version name
    while read -r package version; do
        name=${package#libucx-}_$version
        check "wheel_$name" 120 wheel_made "$package" "$version"
        check "dmabuf_$name" 40 direct "$package" "$version" dmabuf
        check "peer_$name" 40 direct "$package" "$version" peer
        check "sizes_$name" 40 sizes "$package" "$version" dmabuf
    done < <(gpu_wheels)
}

# The UCX that the checks of one version alone take, one of each protocol.
NEW=(libucx-cu13 1.22.0)
OLD=(libucx-cu12 1.15.0.post2)

# ------------------------------------------------------------ RDMA

# The old protocol of 1.14 and 1.15, which knows only peer memory.
protocol_v1() {
    UCX_PROTO_ENABLE=n gpu_ucx "${OLD[@]}"
    rendezvous_direct
    gpu_pair --peer-memory --no-dmabuf -- --tests tag,am --min 16384 \
        --iters 10 || exit 1
    all_by rdma_read_bytes
}

# mixed PACKAGE VERSION HOW: the newest UCX at one end, and that one at the other.
mixed() {
    gpu_ucx "$1" "$2"
    # shellcheck disable=SC2034 # for gpu_pair
    CLIENT_LIBS=$GPU_LIBS
    gpu_ucx "${NEW[@]}" "$3"
    rendezvous_direct
    gpu_pair "${HOW[@]}" -- --tests tag,am,get --min 1 --max 300000 --iters 5 || exit 1
    gpu_no_trouble
    at_least "read by RDMA" "$(stat_sum "$STAT" rdma_read_bytes 1)" 1000000
    at_least "read by RDMA, other end" "$(stat_sum "$STAT" rdma_read_bytes 0)" 1000000
}

# Messages that the device takes from where they lie, from 1 B on: UCX copies what
# comes to its place, and nothing that goes.
eager_zcopy() {
    gpu_ucx "${NEW[@]}"
    export UCX_ZCOPY_THRESH=1 UCX_RNDV_THRESH=inf
    gpu_pair "$@" -- --tests tag --max 20000 --iters 40 || exit 1
    gpu_no_trouble
    at_least "sent" "$(stat_sum "$STAT" tx_bytes)" "$(gpu_checked)"
    at_most "staged" "$(gpu_staged)" "$(gpu_checked)"
}

# mapped PACKAGE VERSION HOW: memory that the program maps itself, as PyTorch's
# expandable segments are, and maps anew at one address. UCX before 1.18 takes it
# for managed memory, and copies it.
mapped() {
    gpu_ucx "$1" "$2" "$3"
    rendezvous_direct
    gpu_pair "${HOW[@]}" -- --mapped --tests tag,am,get --min 16384 \
        --max "${MAPPED_MAX-1000000}" --iters 5 --reuse 200 || exit 1
    if [ "$GPU_MINOR" -ge 18 ]; then
        all_by rdma_read_bytes
    else
        at_least "staged" "$(gpu_staged)" 1
    fi
}

# A failing request of the device in the midst of it: an error, or all right, and no
# byte wrong.
injected() {
    local status=0
    gpu_ucx "${NEW[@]}"
    rendezvous_direct
    gpu_pair --inject "read:$1:1:3" -- --peer-err --tests tag --min 65536 \
        --max 1000000 --iters 5 || status=$?
    no_wrong_bytes "$1"
    [ "$status" = 1 ] || fail "status $status, not an error"
    grep -E 'FAIL: (tag|the endpoint)' "$GPU_LOG" || fail "nobody was told"
    ! grep 'Segmentation fault' "$GPU_LOG" || fail "it touched device memory"
}

# A device that writes (rdma-core 46 or newer): put, and rendezvous by writing.
rdma_write() {
    gpu_ucx "${NEW[@]}"
    unset LD_LIBRARY_PATH
    with_release 13 "${CALL[@]}" rdma_write_inside "$GPU_LIBS" || exit
}

rdma_write_inside() {
    export LD_LIBRARY_PATH=$1:/opt/ucx-1.13/lib UCX_TLS=srd,cuda_copy
    export UCX_RNDV_THRESH=4096 UCX_RNDV_SCHEME=put_zcopy
    gpu_pair --device efa2 -- --tests tag,am,put --min 16384 --iters 10 || exit 1
    all_by rdma_write_bytes
    at_most "reads" "$(stat_sum "$STAT" rdma_read_wrs)" 0
    gpu_pair --device efa2 -- --memory hd --tests put --min 1 --max 70000 || exit 1
    gpu_no_trouble
    # as GPUs before Hopper want it: each write ends with a read of a byte
    UCX_SRD_PUT_FLUSH=y gpu_pair --device efa2 -- --tests tag,am,put --min 16384 \
        --iters 10 || exit 1
    all_by rdma_write_bytes
    at_least "writes with a read behind" "$(stat_sum "$STAT" rdma_read_wrs)" \
        "$(stat_sum "$STAT" rdma_write_wrs)"
    at_most "bytes read" "$(stat_sum "$STAT" rdma_read_bytes)" \
        "$(stat_sum "$STAT" rdma_write_wrs)"
}

# Large ones; a registration and a request of the device end at 1 GB.
large() {
    gpu_ucx "${NEW[@]}"
    rendezvous_direct
    gpu_pair -- --tests tag,get --min 16777216 --max "$1" --iters 0 || exit 1
    all_by rdma_read_bytes
}

# segments [EFASIM_OPTION...]: memory that the device refuses in one piece.
segments() {
    gpu_ucx "${NEW[@]}"
    rendezvous_direct
    gpu_pair --accept registration:67108864 "$@" -- --tests tag,get \
        --min 67108865 --max 201326592 --iters 2 || exit 1
    gpu_no_trouble
    all_by rdma_read_bytes
}

# ------------------------------------------------------------ places

# nearest GPU DEVICE: on a host like a p4d, 4 EFAs and 8 GPUs, DEVICE carries more
# of that GPU's messages than any other.
nearest() {
    local device here
    gpu_pair --devices 4 --gpus 8 -- --device "$1" --tests tag --min 1000000 \
        --max 2000000 --iters 4 || exit 1
    gpu_no_trouble
    here=$(stat_sum "$STAT" rdma_read_bytes 1 "$2")
    for device in rdmap0s6 rdmap16s6 rdmap32s6 rdmap48s6; do
        [ "$device" = "$2" ] ||
            at_least "GPU $1 by $2, by $device $(stat_sum "$STAT" \
                rdma_read_bytes 1 $device)" "$here" \
                $(($(stat_sum "$STAT" rdma_read_bytes 1 $device) + 1))
    done
}

# UCX up to 1.16 takes the near one by itself; a newer one thinks that two PCI
# functions are farther from each other below one root than below two, unless
# UCX_DISTANCE_BW says otherwise (docs/GPU.md).
places_old() {
    gpu_ucx "${OLD[@]}"
    rendezvous_direct
    export UCX_MAX_RNDV_RAILS=1
    nearest 0 rdmap0s6
    nearest 3 rdmap16s6
    nearest 4 rdmap32s6
    nearest 7 rdmap48s6
}

places_new() {
    gpu_ucx "${NEW[@]}"
    rendezvous_direct
    export UCX_DISTANCE_BW=phb:16000MBs,node:8000MBs,sys:200MBs
    nearest 1 rdmap0s6
    nearest 2 rdmap16s6
    nearest 5 rdmap32s6
    nearest 6 rdmap48s6
}

# told TEXT...: srd_info said so, in the order of the texts.
told() {
    local text
    for text; do
        grep -F -- "$text" "$CHECK_LOG.info" || fail "not said: $text"
    done
}

# srd_info's lines about machines like a p4d, a p5 and the emulated one.
pictures() {
    local name dir=$CHECK_LOG.pictures
    need python3
    rm -rf "$dir"
    for name in p4d p5; do
        python3 "$TEST_DIR/gpu/pictures.py" "$dir/$name" $name || fail "$name"
        "$EFASIM" run --fabric "t$$" -- "$BUILD/bin/srd_info" --check \
            --sysroot="$dir/$name" >"$CHECK_LOG.info" 2>&1
        grep 'GPU' "$CHECK_LOG.info"
        if [ $name = p4d ]; then
            told '8 GPUs, whose memory the EFA reaches by peer memory' \
                'GPU 0 (0000:10:1c.0): near rdmap16s27' \
                'GPU 1 (0000:10:1d.0): near rdmap16s27' \
                'GPU 5 (0000:90:1d.0): near rdmap144s27' \
                'GPU 7 (0000:a0:1d.0): near rdmap160s27'
        else
            told 'GPU 0 (0000:4f:00.0): near rdmap80s0, rdmap81s0, rdmap82s0,' \
                'GPU 7 (0000:c0:00.0): near rdmap193s0, rdmap194s0,'
        fi
    done
    rm -rf "$dir"
}

# srd_info's lines about the lanes of CUDA memory.
lanes() {
    gpu_ucx "${NEW[@]}"
    unset UCX_TLS
    local option text
    for option in --no-peer-memory --no-dmabuf; do
        "$EFASIM" run --fabric "t$$" --gpus 2 $option -- "$SRDRUN" \
            "$BUILD/bin/srd_info" >"$CHECK_LOG.info" 2>&1
        grep 'memory ' "$CHECK_LOG.info"
        text='the EFA reaches it'
        [ $option = --no-peer-memory ] || text='copied through it by UCX'
        grep -q "^ *CUDA memory .*$text" "$CHECK_LOG.info" ||
            fail "$option: not said: $text"
    done
}

# ------------------------------------------------------------ staging

# warned COUNT TEXT HOW...: with these options that many processes are warned of
# copies through host memory, with TEXT, once each.
warned() {
    local count=$1 text=$2 lines
    shift 2
    gpu_pair "$@" -- --tests tag --max 65536 --iters 0 || exit 1
    lines=$(cat "$GPU_LOG" "$CHECK_LOG.server" |
        sort -u | grep -c "EFA  WARN  .*GPU memory is copied through host memory: $text")
    [ "$lines" = "$count" ] || fail "$lines warnings, not $count: $text"
}

staging_told() {
    gpu_ucx "${NEW[@]}"
    warned 2 'neither peer memory' --no-dmabuf
    UCX_EFA_DMABUF=n warned 2 'UCX_EFA_DMABUF=n forbids'
    UCX_EFA_WARN_FALLBACK=n warned 0 '' --no-dmabuf
    FAKE_GPU_DMABUF=0 warned 2 'NVIDIA.s driver exports no dma-bufs'
    warned 0 ''
    FAKE_GPU_DMABUF=0 warned 0 '' --peer-memory
}

staging_told_old() {
    UCX_PROTO_ENABLE=n gpu_ucx "${OLD[@]}"
    warned 2 '.*only with UCX_PROTO_ENABLE=y'
}

# ------------------------------------------------------------ who uses it

# python_pair NAME PROGRAM [EFASIM_OPTION...]: test/gpu/python/PROGRAM in two
# processes of the environment NAME (suite python makes it).
python_pair() {
    local name=$1 program=$TEST_DIR/gpu/python/$2
    shift 2
    environment "$name"
    export PYTHONPATH=$PYTHONPATH:$TEST_DIR/gpu/python PYTHONUNBUFFERED=1
    export LD_LIBRARY_PATH=$BUILD/test/gpu UCX_TLS=srd,tcp,sm,self,cuda_copy
    two_nodes --gpus 2 "$@" -- "$SRDRUN" "$PYTHON" "$program" @PORT@ -- \
        "$SRDRUN" "$PYTHON" "$program" @PORT@ 127.0.0.1 || exit 1
    grep -q '^ok ' "$CHECK_LOG" || fail "the program did not end"
}

# NIXL's VRAM segments, on the UCX 1.23 of its wheel: what is read comes by RDMA
# and is copied by nobody.
nixl_vram() {
    python_pair nixl nixl_vram.py
    grep -q '^READ 4096 staged 0$' "$CHECK_LOG" || fail "a read was staged"
    at_least "read by RDMA" "$(stat_sum "$STAT" rdma_read_bytes 1)" \
        $((4096 + 1048576 + 16777216))
}

# ucxx, and arrays like CuPy's: from 8 KB on nothing is copied.
ucxx_device() {
    python_pair ucxx ucxx_device.py
    at_most "staged" "$(sed -n 's/^8388608 bytes staged //p' "$CHECK_LOG")" 10000
    at_least "read by RDMA" "$(stat_sum "$STAT" rdma_read_bytes 1)" \
        $((8388608 + 1048576))
}

# Debian's Open MPI, which is built without CUDA (ompi_info says so: else more can
# be tried here), over a wheel's UCX: contiguous device buffers are UCX's matter.
openmpi_device() {
    need test/mpi_gpu ompi_info
    ompi_info --parsable --all |
        grep -qxF 'mca:opal:base:param:opal_built_with_cuda_support:value:false' ||
        fail "this Open MPI knows CUDA: try its own copies of device memory, too"
    note "Debian's Open MPI is built without CUDA"
    gpu_ucx "${NEW[@]}"
    rendezvous_direct
    EFASIM_OPTIONS=(--gpus 2)
    openmpi 2 1 srd,cuda_copy "$BUILD/test/mpi_gpu" || exit 1
    [ "$(grep -c '^ok 12 messages' "$CHECK_LOG")" = 2 ] || fail "no ok line"
    ! grep -E 'EFA +(WARN|ERROR)|UCX +(WARN|ERROR)' "$CHECK_LOG" || fail "trouble"
    at_least "read by RDMA" "$(stat_sum "$STAT" rdma_read_bytes)" \
        $((2 * 2 * (65536 + 1000001 + 4194304)))
}

# The command for real hardware, on the emulated: it runs, and finds no difference.
on_hardware() {
    gpu_ucx "${NEW[@]}"
    export EFASIM_GPUS=2
    GPU_PORT=$(random_port) GPU_LARGE=2097153 GPU_REUSE=20 GPU_COUNT=2 \
        "$TEST_DIR/gpu/on-hardware.sh" "$BUILD" || fail "status $?"
    grep -q '^== EFA: emulated$' "$CHECK_LOG" || skip_here "this machine has an EFA"
    grep -q '^no difference$' "$CHECK_LOG" || fail "facts.txt is not of this GPU"
    grep -q '^== all right$' "$CHECK_LOG" || fail "it did not end well"
    at_least "pairs whose reads were counted" \
        "$(grep -c '^rdmap0s6 read [1-9][0-9]* bytes$' "$CHECK_LOG")" 3
}

# The same where the GPU is real and the EFA is not: UCX copies, says so, and all
# bytes are right.
on_hardware_without_efa() {
    gpu_ucx "${NEW[@]}"
    export EFASIM_GPUS=2 FAKE_GPU_REAL=1
    GPU_PORT=$(random_port) GPU_LARGE=262144 GPU_REUSE=20 GPU_COUNT=0 \
        "$TEST_DIR/gpu/on-hardware.sh" "$BUILD" || fail "status $?"
    grep -q '^== EFA: emulated$' "$CHECK_LOG" || skip_here "this machine has an EFA"
    grep -q 'GPU memory is copied through host memory' "$CHECK_LOG" ||
        fail "it does not say that UCX copies"
    ! grep -q ' read [1-9][0-9]* bytes$' "$CHECK_LOG" || fail "the EFA read it"
    grep -q '^== all right$' "$CHECK_LOG" || fail "it did not end well"
}

suite_run() {
    gpu_each
    check protocol_v1 40 protocol_v1
    check eager_zcopy_dmabuf 30 eager_zcopy
    check eager_zcopy_peer 30 eager_zcopy --peer-memory --no-dmabuf
    check mixed_1.16 40 mixed libucx-cu12 1.16.0.post2 dmabuf
    full && check mixed_1.18 40 mixed libucx-cu12 1.18.1 peer
    full && check mixed_1.20 40 mixed libucx-cu13 1.20.1 dmabuf
    check mapped_1.17 40 mapped libucx-cu12 1.17.0.post1 dmabuf
    full && check mapped_1.18 40 mapped libucx-cu12 1.18.1 peer
    check mapped_dmabuf 40 mapped "${NEW[@]}" dmabuf
    # messages over the ends of handles
    UCX_CUDA_COPY_REG_WHOLE_ALLOC=off MAPPED_MAX=5000000 \
        check mapped_handles 90 mapped "${NEW[@]}" dmabuf
    check injected 40 injected 4
    check rdma_write 60 rdma_write
    check large_32M 60 large 33554433
    full && check large_1G 600 large 1073741824
    check segments_dmabuf 90 segments
    full && check segments_peer 90 segments --peer-memory --no-dmabuf
    check places_old 30 places_old
    check places_new 30 places_new
    check pictures 30 pictures
    check lanes 30 lanes
    check staging_told 40 staging_told
    check staging_told_old 20 staging_told_old
    check nixl_vram 60 nixl_vram
    device_api
    check ucxx_device 60 ucxx_device
    check openmpi_device 60 openmpi_device
    check on_hardware 120 on_hardware
    full && check on_hardware_without_efa 120 on_hardware_without_efa
    check cpu_copy 30 cpu_copy
    check reuse_dmabuf 60 reuse "${NEW[@]}" dmabuf
    check reuse_peer 60 reuse "${NEW[@]}" peer
    check reuse_old_dmabuf 60 reuse "${OLD[@]}" dmabuf
    # our own registration cache, which is for these
    UCX_PROTO_ENABLE=n check reuse_old_peer 60 reuse "${OLD[@]}" peer
    check killed 60 killed "${NEW[@]}" dmabuf
    check killed_old_peer 60 killed "${OLD[@]}" peer
    check dmabuf_refused 60 dmabuf_refused
    check registration_dmabuf 90 registration reg-dmabuf-mr dmabuf 1
    check registration_peer 90 registration reg-mr peer 8
}

suite_main gpu "$@"
