#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The one module built here under other UCX: those of Debian 12, 13 and sid,
# each in its own system (contrib/ci/chroot.sh) with its rdma-core and Open MPI,
# and the wheels of PyPI. The checks of the suites ucp, mpi and load run there.
# contrib/ci/chroot.sh makes the systems.
# usage: suite_matrix.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/matrix/system.sh
. "$TEST_DIR/matrix/system.sh"
# shellcheck source=test/ucp_checks.sh
. "$TEST_DIR/ucp_checks.sh"
# shellcheck source=test/matrix/wheels.sh
. "$TEST_DIR/matrix/wheels.sh"
set -u

# ------------------------------------------------------------ systems

# Loaded by UCX itself (from 1.22 on): no srdrun.
plugin_path() {
    need ucx_info
    UCX_PLUGIN_PATH=$BUILD/lib "$EFASIM" run --fabric "t$$" -- ucx_info -d |
        grep 'Transport: srd' || fail "no transport srd by UCX_PLUGIN_PATH"
}

# ours RELEASE NAME SECONDS SUITE FUNCTION [ARG...]: a check of SUITE there.
ours() {
    local release=$1 name=$2 limit=$3
    shift 3
    check "${release}_$name" "$limit" in_system "$release" "$@"
}

# Checks that each release must pass, also in the CI profile.
release_core() {
    local r=$1 test
    ours "$r" info 30 ucp ucx_info_values
    ours "$r" eager 30 ucp perftest_eager
    for test in tag_bw ucp_am_bw stream_bw ucp_get ucp_put_bw; do
        ours "$r" "perftest_$test" 60 ucp perftest $test
    done
    ours "$r" error_mode 30 ucp perftest_error_mode tag_bw
    ours "$r" wakeup 30 ucp perftest_sleep 8
    ours "$r" bytes 60 ucp bytes_check ""
    UCX_EFA_REG_CACHE=y ours "$r" bytes_reg_cache 60 ucp bytes_check ""
    ours "$r" gtest_rma 60 ucp gtest_ucp '*Rma*' 1000000 --device efa2
    ours "$r" killed_both 30 ucp killed_check both 64
    ours "$r" mpi_2 60 mpi mpi_between 2 1048576
    # UCX from 1.16 on spreads a message within a node over cma and srd, here
    # about 79 % and 21 %, unless one lane is all it may take.
    UCX_MAX_RNDV_LANES=1 ours "$r" mpi_4_sm 60 mpi mpi_mixed 262144
    ours "$r" ud_tag_bw 60 ucp with_ud perftest tag_bw --loss 0.02
    ours "$r" ud_bytes 90 ucp with_ud bytes_check \
        "--loss 0.05 --duplicate 0.05 --reorder 0.3" --max 300000
    # 9 time-outs of at most 0.5 s end within the check's limit
    UCX_EFA_UD_TRIES=9 ours "$r" ud_killed 30 ucp with_ud killed_check both 64
    ours "$r" ud_mpi_4 90 mpi mpi_ud 4 100000 --loss 0.05
    ours "$r" tls_unset 30 load beside_ib
    ours "$r" tls_all 30 load beside_ib all
    ours "$r" takes_srd 30 load takes_srd
    ours "$r" chosen 30 load chosen
    ours "$r" tls_names 60 load tls_names
    ours "$r" tls_ib 30 load tls_ib
    # Newer ib modules leave a device of that type alone by themselves.
    [ "$r" != 12 ] || ours "$r" claim 30 load claim
}

release_full() {
    local r=$1 test mode size
    for test in tag_lat tag_sync_lat ucp_am_lat stream_lat ucp_put_lat; do
        ours "$r" "perftest_$test" 120 ucp perftest $test
    done
    for test in tag_bw ucp_am_bw; do
        ours "$r" "by_rdma_$test" 60 ucp perftest_rdma $test
    done
    ours "$r" reorder 180 ucp bytes_check "--reorder 0.3 --seed 7"
    # Not the atomics, for which UCX from 1.16 on has no protocol in that mode,
    # whatever the transport.
    ours "$r" bytes_peer 120 ucp bytes_check "" --peer-err \
        --tests "tag,tag_order,am,am_rndv,stream,put,get"
    ours "$r" bytes_wakeup 120 ucp bytes_check "" --wakeup
    ours "$r" wakeup_1M 60 ucp perftest_sleep 1048576
    for mode in send recv both get; do
        for size in 64 2000000; do
            ours "$r" "killed_${mode}_$size" 60 ucp killed_check $mode $size
        done
    done
    ours "$r" killed_wakeup 60 ucp killed_check both 64 --wakeup
    ours "$r" mpi_4 90 mpi mpi_between 4 4194304
    ours "$r" mpi_4_reorder 120 mpi mpi_between 4 4194304 \
        --reorder 0.3 --seed 3
    ours "$r" tls_not_sm 30 load beside_ib ^sm
    ours "$r" peer_kinds 30 load peer_kinds
}

release_checks() {
    check "$1" 700 system_made "$1"
    # where it is not made, the check above said why
    "$CHROOT" --made "$1" || return
    release_core "$1"
    ! full || release_full "$1"
    [ "$1" != sid ] || ours "$1" plugin_path 30 matrix plugin_path
}

# ------------------------------------------------------------ wheels

# wheel_check PACKAGE VERSION: every byte of tag, active message and get.
wheel_check() {
    local program=("$SRDRUN" "$BUILD/test/ucp_bytes" --port @PORT@
        --tests 'tag,tag_order,am,am_rndv,put,get' --max 2000000)
    wheel_get "$1" "$2"
    export UCX_TLS=srd LD_LIBRARY_PATH=$WHEEL_LIB
    ldd "$BUILD/test/ucp_bytes" | grep -F "$WHEEL_LIB/libucp.so.0" ||
        fail "ucp_bytes does not take the wheel's libucp"
    two_nodes -- "${program[@]}" -- "${program[@]}" --client || exit 1
    at_least "tests" "$(grep -c ' messages  *[0-9.]* s$' "$CHECK_LOG")" 6
    at_least "payload over the device" "$(stat_payload "$STAT")" \
        "$(bytes_checked "$CHECK_LOG")"
    threshold y
    threshold n
}

wheels() {
    local package version
    while read -r package version; do
        check "${package#libucx-}_$version" 200 wheel_check "$package" \
            "$version"
    done < <(wheels_listed "$PROFILE"; ! full || wheels_unlisted)
}

suite_run() {
    local release
    wheels
    if full; then
        for release in 12 13 sid; do
            release_checks $release
        done
    else
        release_checks 13
        # sid is made for its rdma-core, which checks of other suites use
        check sid 700 system_made sid
    fi
}

suite_main matrix "$@"
