# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The aarch64 build under qemu-user, in Debian 12's arm64 userland. The tests are
# cross-built by the compiler of the packages, on their very objects. Sourced by
# suite_portable.sh.

ARM_TESTS='test/flow_sim test/ucp_bytes test/gtest_efasim_engine test/gtest_flow'
FUZZERS='wire rx net'

# arm_is FILE: what is built lies in $ARM; in a check that runs there nothing of this
# machine's is taken by mistake.
arm_is() {
    ARM=$BUILD/portable/aarch64
    local file=$ARM/$1
    [ "$(uname -m)" = aarch64 ] || fail "this is no aarch64: $(uname -m)"
    [ -x "$file" ] || skip_here "$1 was not built for aarch64"
    [ "$(od -An -j 18 -N 2 -t u2 "$file" | tr -d ' ')" = 183 ] ||
        fail "$file: not for aarch64"
}

# Sets what the tools of portable.sh want, and CROSS_LIBS, UCX's libraries there.
arm_tools() {
    ARM=$BUILD/portable/aarch64
    # shellcheck source=contrib/ci/cache.sh
    . "$TOP/contrib/ci/cache.sh"
    export ZIG_GLOBAL_CACHE_DIR=$srd_cache/portable/zig
    export ZIG_LOCAL_CACHE_DIR=$srd_cache/portable/zig
    [ -x "$ARM/tools/cc" ] || skip_here "contrib/package/portable.sh built nothing here"
    CROSS_LIBS=$srd_cache/chroot/bookworm-arm64/full/usr/lib/aarch64-linux-gnu
    CROSS_LIBS="$CROSS_LIBS/libucp.so.0 $CROSS_LIBS/libucs.so.0"
    CROSS_LIBS="$CROSS_LIBS -Wl,--allow-shlib-undefined"
}

# arm_run FUNCTION [ARG...]: a function of this suite, there.
arm_run() {
    "$TOP/contrib/ci/chroot.sh" --arch arm64 --made 12 || skip_here \
        "Debian 12 of arm64 is not made here: contrib/ci/chroot.sh --arch arm64 12"
    "$TOP/contrib/ci/chroot.sh" --arch arm64 --bind "$BUILD" 12 -- "$SUITE_SCRIPT" \
        --call "$SUITE" "$BUILD" "$PROFILE" "$CHECK_LOG" "$@"
}

# Once: it takes minutes, and the network.
arm_system() {
    "$TOP/contrib/ci/chroot.sh" --arch arm64 12 || exit
}

# gtest and the fuzzers' inputs by hand, the others by the Makefile. Warnings are
# looked at in the builds of this machine.
arm_build() {
    local gtest=/usr/src/googletest/googletest name flags
    arm_tools
    [ -e $gtest/src/gtest-all.cc ] || skip_here "gtest's sources are missing" \
        "(Debian: googletest)"
    [ -e "${CROSS_LIBS%% *}" ] || skip_here "Debian 12 of arm64 is not made here"
    mkdir -p "$ARM/gtest" "$ARM/fuzz"
    flags="-w -O1 -std=gnu++17 -I$gtest -I$BUILD/portable/include -I$TOP/src -I$TOP/test"
    # shellcheck disable=SC2016,SC2086
    {
        for name in gtest-all gtest_main; do
            echo "$gtest/src/$name.cc $ARM/gtest/$name.o"
        done
        for name in "$TEST_DIR"/fuzz/*.cc "$TEST_DIR"/driver/*.cc; do
            echo "$name $ARM/fuzz/$(basename "$name" .cc).o"
        done
    } | xargs -P 2 -L 1 sh -c '"$0" '"$flags"' -c "$1" -o "$2"' \
        "$ARM/tools/c++" || fail "gtest and the fuzzers"
    # shellcheck disable=SC2086
    make -C "$ARM/build" -j2 gtest_pch= gtest_include= \
        BASE_CXXFLAGS='-std=gnu++17 -w' UCP_LIBS="$CROSS_LIBS" \
        UCT_LIBS="${CROSS_LIBS//libucp/libuct}" GTEST_LIBS="$ARM/gtest/gtest-all.o\
 $ARM/gtest/gtest_main.o -lpthread" $ARM_TESTS >"$CHECK_LOG.make" 2>&1 ||
        { tail -n 30 "$CHECK_LOG.make"; fail "the tests"; }
    for name in $FUZZERS; do
        "$ARM/tools/c++" -o "$ARM/fuzz/replay_$name" "$ARM/fuzz/fuzz_$name.o" \
            "$ARM"/fuzz/{fuzz,replay,driver}.o "$ARM"/build/obj/flow/*.o || fail "$name"
    done
}

# arm_gtest PROGRAM [FILTER]
arm_gtest() {
    local program=build/test/$1
    arm_is "$program"
    "$ARM/$program" --gtest_brief=1 --gtest_filter="${2-*}" || fail "status $?"
    tests_ran
    note "$(grep -o '^\[  PASSED  \].*' "$CHECK_LOG" | tail -n 1)"
}

# arm_64k PROGRAM [FILTER]: the same with pages of 64 kB. From 10 on, qemu-user has those
# of this machine alone.
arm_64k() {
    [ "$(QEMU_PAGESIZE=65536 arm_run getconf PAGESIZE)" = 65536 ] ||
        skip_here "this qemu has no other pages than this machine"
    QEMU_PAGESIZE=65536 arm_run arm_gtest "$@"
}

arm_sim() {
    arm_is build/test/flow_sim
    "$ARM/build/test/flow_sim" --plan small --count "$1" --seed 1 || fail "status $?"
    "$ARM/build/test/flow_sim" --plan small --count 1 --seed 7 --wrap || fail "wrap"
}

arm_fuzz() {
    local name
    for name in $FUZZERS; do
        arm_is "fuzz/replay_$name"
        "$ARM/fuzz/replay_$name" "$TEST_DIR/fuzz/corpus/$name" ||
            fail "$name: status $?"
    done
    [ "$(grep -c '^Done [1-9][0-9]* inputs' "$CHECK_LOG")" = 3 ] || fail "not all"
}

# arm_bytes TLS: messages of all kinds between two emulated hosts.
arm_bytes() {
    local tests=(--tests "tag,am,stream" --iters 10 --dense 1500 --max 300000)
    arm_is build/test/ucp_bytes
    programs_of "$ARM/root/usr/local/bin"
    export UCX_TLS=$1
    export UCX_RNDV_THRESH=inf
    two_nodes -- \
        "$SRDRUN" "$ARM/build/test/ucp_bytes" "${tests[@]}" --port @PORT@ -- \
        "$SRDRUN" "$ARM/build/test/ucp_bytes" "${tests[@]}" --port @PORT@ \
        --client || exit 1
    at_least payload "$(stat_payload "$STAT")" "$(bytes_checked "$CHECK_LOG")"
}

# An MPI job of this machine is recorded, while the network reorders its packets
# and is cut for some seconds: aarch64's srd_replay comes to the same end as this
# machine's, file by file.
arm_record() {
    local ours=$CHECK_LOG.ours theirs=$CHECK_LOG.theirs plan=$CHECK_LOG.plan file
    [ -x "$BUILD/test/mpi_check" ] || skip_here "mpi_check was not built"
    record_begin
    record_cut "$plan"
    # shellcheck disable=SC2034 # for openmpi
    EFASIM_OPTIONS=(--reorder 0.3 --timeout-ms 60000 --plan "$plan")
    (
        export UCX_EFA_RECORD=$RECORDED
        openmpi 4 1 srd,self "$BUILD/test/mpi_check" all 65536
    ) || exit
    record_same 4 1000
    for file in "$RECORDED"/*.srdrec; do
        "$BUILD/bin/srd_replay" "$file"
    done >"$ours" || fail "status $? here"
    (arm_run arm_replay "$RECORDED") >"$theirs" || {
        local status=$?
        cat "$theirs"
        exit $status
    }
    diff "$ours" "$theirs" || fail "aarch64 says otherwise"
}

# arm_replay FOLDER: there
arm_replay() {
    local file
    arm_is root/usr/local/bin/srd_replay
    for file in "$1"/*.srdrec; do
        "$ARM/root/usr/local/bin/srd_replay" "$file" || fail "$file: status $?"
    done
}

# RDMA READ: the emulated device copies by process_vm_readv, which qemu-user, up to
# 7.2 at least, refuses with ENOSYS (38).
arm_rdma() {
    local bytes=build/test/ucp_bytes tests=(--tests tag --iters 5 --min 65536 --max
        300000)
    arm_is $bytes
    programs_of "$ARM/root/usr/local/bin"
    export UCX_TLS=srd
    rendezvous
    (two_nodes -- "$SRDRUN" "$ARM/$bytes" "${tests[@]}" --port @PORT@ -- \
        "$SRDRUN" "$ARM/$bytes" "${tests[@]}" --port @PORT@ --client) || {
        ! grep -q 'RDMA refused by the kernel (error 38)' "$CHECK_LOG" ||
            skip_here "this qemu has no process_vm_readv, with which the" \
                "emulated device reads (error 38)"
        fail "status $?"
    }
    at_least "read by RDMA" "$(stat_sum "$CHECK_LOG.stat" rdma_read_bytes)" 100000
}

# Installed programs find their parts, UCX and the device.
arm_programs() {
    local root
    arm_is root/usr/local/bin/srd_info
    root=$ARM/root/usr/local
    UCX_TLS=srd "$root/bin/efasim" run --fabric "t$$" -- "$root/bin/srdrun" \
        "$root/bin/srd_info" >"$CHECK_LOG.info" || { cat "$CHECK_LOG.info"; fail status; }
    cat "$CHECK_LOG.info"
    grep -q 'UCX takes srd on rdmap0s6' "$CHECK_LOG.info" || fail "no lane over srd"
}

# Our declarations of UCX's structures against UCX's headers, by the aarch64
# compiler.
arm_layout() {
    local tree
    arm_tools
    tree=$("$TOP/contrib/ci/ucx_source.sh" "$@") || { echo "$tree"; exit "$SKIPPED"; }
    # UCX's headers have its config.h in them, of which ours need nothing, and
    # valgrind's, where this machine has them
    mkdir -p "$ARM/headers"
    : >"$ARM/headers/config.h"
    [ ! -d /usr/include/valgrind ] ||
        ln -sfn /usr/include/valgrind "$ARM/headers/valgrind"
    # zig's -fsyntax-only looks for an object
    cat >"$ARM/headers/c++" <<END
#!/bin/bash
exec "$ARM/tools/c++" "\${@/-fsyntax-only/-c}" -I"$ARM/headers" \
    -I"$BUILD/portable/include" -o "$ARM/headers/none.o"
END
    chmod +x "$ARM/headers/c++"
    CXX=$ARM/headers/c++ \
        "$TEST_DIR/gtest/uct/hooks_layout.sh" "$tree" || fail "status $?"
    grep -q '^ok layout of UCX' "$CHECK_LOG" || fail "nothing was compared"
}

# The barriers of barriers.txt are there; without them in the source it is found out.
arm_barriers() {
    local check=$TEST_DIR/portable/check_barriers.py
    local list=$TEST_DIR/portable/barriers.txt objects broken=$CHECK_LOG.broken source
    need aarch64-linux-gnu-objdump
    arm_tools
    mapfile -t objects < <(find "$ARM/build/src" "$ARM/build/obj/flow" \
        -name '*libuct_srd_so_0*.o' -o -path '*/obj/flow/*.o')
    "$check" "$list" "${objects[@]}" || exit 1
    rm -rf "$broken" && mkdir -p "$broken"
    cat >"$broken/none.h" <<'END'
#define EFA_BARRIER_H_
static inline void efa_barrier_completion(void) {}
static inline void efa_barrier_recv(void) {}
static inline void efa_barrier_send(void) {}
END
    source=$TOP/src/uct/ib/efa/efa_direct.c
    "$ARM/tools/cc" -std=gnu11 -O2 -fPIC -include "$broken/none.h" -I"$TOP/src" \
        -I"$BUILD/portable/include" -c "$source" -o "$broken/x-efa_direct.o" ||
        fail "efa_direct.c does not compile"
    mapfile -t objects < <(printf '%s\n' "${objects[@]}" "$broken/x-efa_direct.o" |
        grep -v '/src/.*-efa_direct\.o$')
    ! "$check" "$list" "${objects[@]}" >"$broken/log" || fail "nothing is missed"
    [ "$(grep -c 'efa_direct.c.*named, but not there' "$broken/log")" = 4 ] ||
        { cat "$broken/log"; fail "not each of the four is missed"; }
}
