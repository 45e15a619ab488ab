# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The UCX of a wheel, with its CUDA modules, over the emulated GPU. Sourced by
# suite_gpu.sh, after lib.sh and matrix/wheels.sh.

# One wheel for each minor version, as PACKAGE VERSION lines; all with --full.
gpu_wheels() {
    if full; then
        wheels_listed full
    else
        cat <<END
libucx-cu12 1.14.1.post2
libucx-cu12 1.15.0.post2
libucx-cu12 1.16.0.post2
libucx-cu12 1.17.0.post1
libucx-cu12 1.18.1
libucx-cu12 1.19.0
libucx-cu13 1.20.1
libucx-cu13 1.21.0
libucx-cu13 1.22.0
END
    fi
}

# gpu_ucx PACKAGE VERSION [dmabuf|peer]: from here on programs take that wheel's UCX, and
# the emulated GPU's libraries as CUDA's. The wheel is copied, for it holds a CUDA
# runtime of its own; UCX's files stay as they are. Sets GPU_MINOR, and HOW, the
# emulated EFA's options of a host whose GPU memory is registered in that way alone.
gpu_ucx() {
    # shellcheck disable=SC2034 # for the scripts that source this
    case ${3-} in
    dmabuf) HOW=(--no-peer-memory) ;;
    peer) HOW=(--peer-memory --no-dmabuf) ;;
    esac
    local cuda=${1#libucx-cu} to=$BUILD/gpu/$1-$2 new runtime
    GPU_MINOR=${2#*.}
    GPU_MINOR=${GPU_MINOR%%.*}
    wheel_get "$1" "$2"
    if [ ! -e "$to/libucx/lib/libucp.so.0" ]; then
        new=$(mkdir -p "$BUILD/gpu" && mktemp -d "$BUILD/gpu/new.XXXXXX") ||
            fail "cannot write to $BUILD/gpu"
        cp -a "$WHEEL_LIB/../.." "$new/wheel" || fail "cannot copy the wheel"
        for runtime in "$new"/wheel/*.libs/libcudart*; do
            [ -e "$runtime" ] || continue
            rm -f "$runtime"
            ln -s "$BUILD/test/gpu/libcudart.so.$cuda" "$runtime"
        done
        mv -T "$new/wheel" "$to" 2>/dev/null || [ -e "$to" ] || fail "no room"
        rm -rf "$new"
    fi
    GPU_LIBS=$BUILD/test/gpu:$to/libucx/lib
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers want their runtime first"
    [ -e "$BUILD/test/gpu/libcuda.so.1" ] || fail "the emulated GPU is not built"
    export LD_LIBRARY_PATH=$GPU_LIBS
    export UCX_TLS=srd,cuda_copy
    [ "$GPU_MINOR" -ge 16 ] || export UCX_PROTO_ENABLE=${UCX_PROTO_ENABLE:-y}
}

# gpu_pair [EFASIM_OPTION...] -- [UCP_GPU_OPTION...]: the program on two nodes, with
# two GPUs each. GPU_LOG holds what both printed, CLIENT and SERVER add options, and
# CLIENT_LIBS is where the client finds another UCX.
gpu_pair() {
    local options=() status=0
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    # shellcheck disable=SC2034 # for the suite
    GPU_LOG=$CHECK_LOG.pair STAT=$CHECK_LOG.stat
    # (options of their own come first)
    # shellcheck disable=SC2086
    (two_nodes --gpus 2 "${options[@]}" -- \
        "$SRDRUN" "$BUILD/test/ucp_gpu" --port @PORT@ ${SERVER-} "$@" -- \
        env "LD_LIBRARY_PATH=${CLIENT_LIBS:-$LD_LIBRARY_PATH}" \
        "$SRDRUN" "$BUILD/test/ucp_gpu" --port @PORT@ --client ${CLIENT-} "$@") \
        >"$GPU_LOG" 2>&1 || status=$?
    cat "$GPU_LOG"
    return "$status"
}

# gpu_no_trouble: nobody complained.
gpu_no_trouble() {
    ! grep -hE 'EFA +(WARN|ERROR)|UCX +(WARN|ERROR)' "$GPU_LOG" \
        "$CHECK_LOG.server" || fail "lines of trouble"
}

# gpu_staged: bytes that UCX copied to or from device memory, in both processes.
gpu_staged() {
    sed -n 's/.* staged \([0-9]*\)$/\1/p' "$GPU_LOG" |
        awk '{ n += $1; ++lines } END { if (!lines) exit 1; printf "%.0f\n", n }' ||
        fail "the program tells no staged bytes: is it the emulated GPU?"
}

# gpu_checked: bytes that both received and compared.
gpu_checked() {
    awk '$1 == "ok" { n += $4 } END { if (!n) exit 1; printf "%.0f\n", n }' \
        "$GPU_LOG" || fail "nothing was received and checked"
}
