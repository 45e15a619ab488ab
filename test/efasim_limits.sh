# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The emulated device on machines that are short of shared memory, or have small limits.
# Sourced by suite efasim, after lib.sh.

# A full /dev/shm is a line that says so, at every step, and never a signal.
shm_full() {
    [ "$(id -u)" -eq 0 ] || skip_here "needs root to mount"
    unshare -m true 2>/dev/null || skip_here "no mount namespaces here"
    local kb out status
    for kb in 4 5000 $(full && echo 8600 8700) 8900 10000; do
        status=0
        out=$(unshare -m sh -c 'mount -t tmpfs -o size="$1"k none /dev/shm &&
            shift && exec "$@"' sh "$kb" "$EFASIM" run \
            --fabric "t$$" -- "$BUILD/test/gtest_verbs" --gtest_brief=1 \
            --gtest_filter='Data.send_sizes' 2>&1) || status=$?
        echo "$kb kB: status $status: $(tail -n 1 <<<"$out")"
        [ "$status" -lt 128 ] || fail "$kb kB: ended by a signal: $out"
        [ "$status" -eq 0 ] || grep -qE 'shm' <<<"$out" ||
            fail "$kb kB: nothing says why: $out"
    done
    [ "$status" -eq 0 ] || fail "$kb kB are not enough"
}

# A limit on file sizes kills nobody: the run, or the device's call, fails, and
# says what is to be done.
file_limit() {
    local status=0 files out verbs=$BUILD/test/gtest_verbs
    (ulimit -f 1000 && "$EFASIM" run --fabric "t$$" -- true) || status=$?
    [ $status = 125 ] || fail "the run: status $status"
    ! ls -d "/dev/shm"/efasim*-"t$$" 2>/dev/null || fail "a folder is left"
    status=0
    "$EFASIM" run --fabric "t$$" -- sh -c "ulimit -f 200 && exec $verbs \
        --gtest_brief=1 --gtest_filter=Data.send_sizes" || status=$?
    [ $status = 1 ] || fail "the program: status $status"
    [ "$(grep -c 'efasim.*(ulimit -f)' "$CHECK_LOG")" -ge 2 ] ||
        fail "no line for each"
    # nor does an output that reaches the limit end who writes it
    status=0
    "$EFASIM" run --fabric "t$$" --trace "$CHECK_LOG.trace" -- bash -c "ulimit -f 20000 &&
        head -c 20479999 /dev/zero >'$CHECK_LOG.trace' && exec $verbs --gtest_brief=1 \
        --gtest_filter=Data.send_sizes" || status=$?
    rm -f "$CHECK_LOG.trace"
    [ $status = 0 ] && grep -q '^efasim.*--trace: not all could be written' "$CHECK_LOG" ||
        fail "a trace: status $status"
    out=$(ulimit -f 0 && exec "$BUILD/bin/srd_info" --plan --ranks=2 --hosts=2 \
        --json="$CHECK_LOG.json" 2>&1 >/dev/null)
    grep '^srd_info: --json=.*: not all .*: File too large' <<<"$out" || fail "a report: $out"
    # /dev/shm is not full because descriptors are used up
    for files in 4 5 6 7 8 9 10; do
        "$EFASIM" run --fabric "t$$" -- sh -c "ulimit -n $files && exec $verbs \
            --gtest_brief=1 --gtest_filter=mr.keys_differ"
    done >"$CHECK_LOG.files" 2>&1
    if ! grep -q 'efasim.*(ulimit -n)' "$CHECK_LOG.files" ||
        grep 'dev/shm' "$CHECK_LOG.files"; then
        fail "$(<"$CHECK_LOG.files")"
    fi
    # nor has the run ended because there is too little address space
    "$EFASIM" run --fabric "t$$" -- sh -c "ulimit -v 1500000 && exec $verbs \
        --gtest_brief=1 --gtest_filter=mr.keys_differ" >"$CHECK_LOG.space" 2>&1
    if ! grep -q 'efasim.*no fabric.*(ulimit -v)' "$CHECK_LOG.space" ||
        grep 'ended' "$CHECK_LOG.space"; then
        fail "$(<"$CHECK_LOG.space")"
    fi
    # a fabric that cannot be looked at is left alone
    "$EFASIM" run --fabric "t$$" -- bash -c '(ulimit -v 1500000; "$0" clean
        "$0" run --fabric "$1" -- true; ulimit -n 5; "$0" clean)
        "$0" stat --fabric "$1"' "$EFASIM" "t$$" || fail "a fabric in use is gone"
}
