# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Checks of srd_info --plan. Sourced by suite_selftest.sh.

# plan_counts RANKS HOSTS: a job of MPI in which every rank talks to every other, and
# then all to one that asks for a message of each in turn, takes what --plan says, as
# far as the device counts it: queue pairs, queues, handles (none of the own host),
# bytes locked.
plan_counts() {
    need mpirun python3 test/mpi_check
    local ranks=$1 hosts=$2 trace=$CHECK_LOG.trace root=()
    [ "$(id -u)" -ne 0 ] || root=(--allow-run-as-root)
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    with_stat --per-node "$ranks" --trace "$trace" -- mpirun \
        -np $((ranks * hosts)) --oversubscribe "${root[@]}" --mca pml ucx \
        --mca btl '^openib,ofi' --mca pml_ucx_tls any \
        --mca pml_ucx_devices any -x UCX_TLS=srd,sm,self "$SRDRUN" \
        "$BUILD/test/mpi_check" all,sleeper 64 || fail "mpirun: status $?"
    "$BUILD/bin/srd_info" --plan --ranks "$ranks" --hosts "$hosts" \
        --devices 1 >"$CHECK_LOG.plan"
    cat "$CHECK_LOG.plan"
    python3 "$TEST_DIR/plan_counts.py" "$trace" "$CHECK_LOG.plan" "$ranks" \
        "$hosts" >"$CHECK_LOG.counts" || {
        cat "$CHECK_LOG.counts"
        fail "the plan is not what was counted"
    }
    sed 's/^/note: /' "$CHECK_LOG.counts"
    rm -f "$trace"
}

# planned STATUS TEXT [OPTION...]: --plan says this, and ends so.
planned() {
    local want=$1 text=$2 status=0
    shift 2
    "$BUILD/bin/srd_info" --plan "$@" >"$CHECK_LOG.plan" 2>&1 || status=$?
    cat "$CHECK_LOG.plan"
    [ "$status" = "$want" ] || fail "status $status, not $want: $*"
    grep -qE "$text" "$CHECK_LOG.plan" || fail "not said: $text"
}

# Huge pages: none at all is as well as enough; some, and not enough, is not.
planned_huge() {
    local sysroot=$CHECK_LOG.root pool=$CHECK_LOG.root/sys/kernel/mm/hugepages
    mkdir -p "$pool/hugepages-2048kB"
    huge() { # FREE RESERVED TEXT
        echo "$1" >"$pool/hugepages-2048kB/free_hugepages"
        echo "$2" >"$pool/hugepages-2048kB/resv_hugepages"
        planned 0 "$3" --ranks 8 --hosts 8 --sysroot="$sysroot"
    }
    huge 0 0 '^ok +huge pages, if any +8 +64 +0 free'
    huge 63 0 '^warn +huge pages, if any +8 +64 +63 free'
    huge 64 0 '^ok +huge pages, if any +8 +64 +64 free'
    huge 65 2 '^warn +huge pages, if any +8 +64 +63 free'
    UCX_EFA_HUGE_PAGES=n huge 63 0 '^it fits: 0 short'
    ! grep 'huge pages' "$CHECK_LOG.plan" || fail "huge pages, which nobody wants"
}

# Memory that is enough for what is locked is not always enough for the rest.
planned_records() {
    local sysroot=$CHECK_LOG.memory
    mkdir -p "$sysroot/proc"
    memory() { # MIB WORD
        echo "MemAvailable: $(($1 * 1024)) kB" >"$sysroot/proc/meminfo"
        planned 0 "^$2 +records, with all peers .* of $1 MiB free" --ranks 2 \
            --hosts 4000 --sysroot="$sysroot"
    }
    memory 100 ok
    memory 88 warn
}

plans() {
    ulimit -n 1024 || fail "the limit of descriptors cannot be set"
    planned 0 '^it fits: 0 short' --ranks 8 --hosts 8
    planned 1 '^SHORT +queue pairs, a device +1 +300 +256' --ranks 300 --hosts 2
    planned 1 '^SHORT +peers of an interface' --ranks 192 --hosts 10000
    planned 1 '^SHORT +peers of an interface' --ranks 96 --hosts 1366
    planned 0 '^ok +peers of an interface +100 ' --ranks 192 --hosts 10000 \
        --peers 100
    (unset UCX_TLS && planned 0 '^warn +the transport ud, too' --ranks 200 --hosts 2) ||
        exit 1
    UCX_TLS=srd,sm planned 0 '^it fits: 0 short' --ranks 200 --hosts 2
    ! grep 'transport ud, too' "$CHECK_LOG.plan" || fail "ud, without UCX_TLS having it"
    UCX_SRD_TX_QUEUE_LEN=4000 planned 0 '^ok +sends of a queue pair +4096 ' \
        --ranks 8 --hosts 8
    UCX_SRD_WINDOW=0 planned 2 'UCX_SRD_WINDOW=0: allowed .* from 1 to [0-9]+' \
        --ranks 8 --hosts 8
    planned 2 '^srd_info: --ranks=0: allowed is a whole number from 1' \
        --ranks 0 --hosts 8
    planned 2 'add --ranks=N' --hosts 8
    (ulimit -n 66 && planned 1 '^SHORT +file descriptors +7 ' --ranks 8 \
        --hosts 8) || exit 1
    (ulimit -l 2048 && planned 1 '^SHORT +locked memory, at first' --ranks 8 \
        --hosts 8) || exit 1
    (ulimit -l 8192 && planned 0 '^warn +when all peers send' --ranks 8 \
        --hosts 8) || exit 1
    planned_huge
    planned_records
    "$EFASIM" run --devices 2 -- "$BUILD/bin/srd_info" --plan --ranks 8 \
        --hosts 8 >"$CHECK_LOG.plan"
    grep -E "^8 ranks on each of 8 hosts, 2 devices" "$CHECK_LOG.plan" &&
        grep "^device: this host's device" "$CHECK_LOG.plan" ||
        fail "this host's devices are not seen"
    at_least "rows of the table" \
        "$("$BUILD/bin/srd_info" --plan --table | grep -cE '^\| [0-9]+ \|')" 10
}

# The limit on locked memory that --plan names is the one: with it srd is taken,
# with less it is not.
plan_memory() {
    need_perftest
    local bytes
    "$BUILD/bin/srd_info" --plan --ranks 1 --hosts 2 --devices 1 \
        >"$CHECK_LOG.plan"
    bytes=$(awk '/locked memory, at first/ { print int($6 * 1024) }' \
        "$CHECK_LOG.plan")
    [ "$bytes" -gt 1024 ] || fail "no number: $bytes"
    lanes() {
        # shellcheck disable=SC2016  # for the inner shell
        UCX_TLS=srd,tcp,self "$EFASIM" run --memlock 2 -- bash -c \
            'ulimit -l "$1"; shift; exec "$@"' - "$1" "$SRDRUN" ucx_info -d |
            grep -c 'Transport: srd'
    }
    [ "$(lanes "$((bytes + 4))")" = 1 ] || fail "with $bytes KiB: no srd"
    [ "$(lanes "$((bytes - 100))")" = 0 ] || fail "with less: srd all the same"
    note "an interface takes $bytes KiB of locked memory at first"
}
