# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Fabrics of several users and containers, and of machines that are short of
# shared memory. Sourced by suite efasim, after lib.sh.

# Another user has fabrics of his own, also of the same name.
two_users() {
    local status=0
    user_home
    "$EFASIM" run --fabric "t$$" -- "${AS_USER[@]}" env -u LD_PRELOAD \
        -u EFASIM_FABRIC -u SYSFS_PATH -u EFASIM_NODE \
        "$USER_HOME/bin/efasim" run --fabric "t$$" -- ibv_devinfo \
        >"$CHECK_LOG.user" 2>&1 || status=$?
    cat "$CHECK_LOG.user"
    [ "$status" -eq 0 ] || fail "the other user: status $status"
    grep -q rdmap0s6 "$CHECK_LOG.user" || fail "no device"
}

# user_home: sets USER_HOME, a folder with efasim that another user can reach,
# and AS_USER, what makes that user of root.
user_home() {
    need setpriv ibv_devinfo
    [ "$(id -u)" -eq 0 ] || skip_here "needs root to become another user"
    USER_HOME=/tmp/efasim-user.$$
    AS_USER=(setpriv --reuid 4242 --regid 4242 --clear-groups)
    trap 'rm -rf "$USER_HOME"' EXIT
    mkdir -p "$USER_HOME/bin" "$USER_HOME/lib"
    cp "$BUILD/bin/efasim" "$USER_HOME/bin/"
    cp "$BUILD/lib/libefasim.so" "$USER_HOME/lib/"
    chmod -R a+rX "$USER_HOME"
}

# user_nodes OUT: another user runs programs on nodes 0 and 1 of one fabric; for each
# node OUT has its IPC namespace, the number of the user, and a device.
user_nodes() {
    # shellcheck disable=SC2016 # for the shell in there
    "${AS_USER[@]}" "$USER_HOME/bin/efasim" run --fabric "u$$" -- bash -c '
        for node in 0 1; do
            "$0" run --node $node -- bash -c "readlink /proc/self/ns/ipc
                id -u; ibv_devinfo" || exit
        done' "$USER_HOME/bin/efasim" >"$1" 2>&1 ||
        { cat "$1"; fail "status $?"; }
    [ "$(grep -c 'hca_id:.*rdmap0s6' "$1")" = 2 ] || fail "no device: $1"
    [ "$(grep -cx 4242 "$1")" = 2 ] || fail "not the same user: $1"
}

# What a user who is not root gets: a namespace for each node; where that is not
# allowed, one line that says so, and the rest.
user_namespaces() {
    local out=$CHECK_LOG.out refuse
    user_home
    need cc
    cc -shared -fPIC -o "$USER_HOME/lib/refuse_ns.so" \
        "$TEST_DIR/apps/refuse_ns.c" || fail "cc: status $?"
    if "${AS_USER[@]}" unshare -Ui true 2>/dev/null; then
        user_nodes "$out"
        ! grep 'IPC namespace of its own' "$out" || fail "no namespace"
        [ "$(grep '^ipc:' "$out" | sort -u | wc -l)" = 2 ] ||
            fail "the nodes share one"
    fi
    for refuse in user rights; do
        REFUSE=$refuse LD_PRELOAD=$USER_HOME/lib/refuse_ns.so user_nodes "$out"
        [ "$(grep -c 'node 1 has no IPC namespace .*Run as root' "$out")" = 1 ] ||
            { cat "$out"; fail "$refuse: not one line"; }
    done
}

# What another container does (a PID namespace of its own, or no /proc) leaves a
# fabric alone that is in use, though it cannot see who uses it.
other_container() {
    [ "$(id -u)" -eq 0 ] || skip_here "needs root to mount"
    unshare -mpf --mount-proc true 2>/dev/null || skip_here "no mount namespaces here"
    local go=$CHECK_LOG.go name="t$$x$RANDOM"
    rm -f "$go"
    # shellcheck disable=SC2016 # expanded there
    timeout 60 "$EFASIM" run --fabric "$name" -- sh -c \
        'until [ -e "$0" ]; do sleep 0.05; done; exec "$@"' "$go" \
        "$BUILD/test/gtest_verbs" --gtest_brief=1 --gtest_filter='Data.send_sizes' &
    until ls -d /dev/shm/efasim*-"$name" >/dev/null 2>&1; do sleep 0.05; done
    unshare -mpf --mount-proc "$EFASIM" run --fabric "u$$" -- true || fail "status $?"
    # /proc of this namespace, which tells of other processes by those numbers
    unshare -pf "$EFASIM" clean || fail "status $?"
    unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$EFASIM" clean ||
        fail "status $?"
    # shellcheck disable=SC2016
    ! unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$EFASIM" run \
        --fabric "v$$" -- true 2>"$CHECK_LOG.proc" || fail "it ran without /proc"
    grep -q '^efasim: /proc/self/exe .*: mount /proc$' "$CHECK_LOG.proc" ||
        fail "no line, without /proc: $(<"$CHECK_LOG.proc")"
    : >"$go"
    wait $! || fail "the fabric is gone: status $?"
    tests_ran
}

# A full /dev/shm is a line that says so, at every step, and never a signal.
shm_full() {
    [ "$(id -u)" -eq 0 ] || skip_here "needs root to mount"
    unshare -m true 2>/dev/null || skip_here "no mount namespaces here"
    local kb out status
    for kb in 4 800 $(full && echo 1000 1200) 1300 1800; do
        status=0
        out=$(unshare -m sh -c 'mount -t tmpfs -o size="$1"k none /dev/shm &&
            shift && exec "$@"' sh "$kb" timeout 60 "$EFASIM" run \
            --fabric "t$$" -- "$BUILD/test/gtest_verbs" --gtest_brief=1 \
            --gtest_filter='Data.send_sizes' 2>&1) || status=$?
        echo "$kb kB: status $status: $(tail -n 1 <<<"$out")"
        [ "$status" -lt 128 ] || fail "$kb kB: ended by a signal: $out"
        [ "$status" -eq 0 ] || grep -qE 'shm' <<<"$out" ||
            fail "$kb kB: nothing says why: $out"
    done
    [ "$status" -eq 0 ] || fail "$kb kB are not enough"
}
