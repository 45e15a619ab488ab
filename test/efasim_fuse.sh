# SPDX-License-Identifier: BSD-3-Clause
#
# File systems of another user (FUSE) on the way to what programs write. Sourced by
# suite_efasim.sh, after efasim_hosts.sh.
# shellcheck shell=bash

# planted_unasked PATH: no program that writes or makes it asks whose file system it is in.
planted_unasked() {
    local way status
    for way in "$EFASIM run --trace $1 -- true" "$BUILD/bin/srd_info --top --json=$1" \
        "$BUILD/bin/efapci efa1:$1"; do
        $way
        status=$?
        [ $status != 0 ] && [ $status -lt 124 ] || fail "$way: status $status"
    done
}

# planted_fuse: links and folders that their file system, another user's, calls root's are
# not followed, nor believed.
planted_fuse() {
    unshare -m true 2>/dev/null || skip_here "no FUSE here"
    user_home
    mkdir -p "$USER_HOME/all/ucx-efa-srd" "$USER_HOME/kept" && : >"$USER_HOME/all/fifo" &&
        : >"$USER_HOME/all/plant" && chmod 1777 "$USER_HOME/all" &&
        echo mine >"$USER_HOME/kept/file" && echo '{}' >"$USER_HOME/json" || fail "mkdir"
    timeout -s KILL 60 unshare -m "${CALL[@]}" planted_fuse_inside "$USER_HOME" || exit
}

planted_fuse_inside() {
    # shellcheck disable=SC2034 # planted_output uses HIS
    local to=$1/all/ucx-efa-srd kept=$1/kept top=${TEST_DIR%/*} USER_HOME=$1 HIS=all home out
    fuse_mounted "$to" "$kept/file" || skip_here "no FUSE here"
    "$EFASIM" run --stat="$to/x" -- true
    [ "$(<"$kept/file")" = mine ] || fail "a link was followed"
    ! python3 -B "$top/contrib/examples/efa_top_prom.py" "$1/json" "$to/up/efa.prom" &&
        [ ! -e "$kept/efa.prom" ] || fail "efa_top_prom: a link was followed"
    out=$(python3 -B "$top/contrib/examples/efa_top_prom.py" "$to/a.so" "$kept/efa.prom" 2>&1)
    grep 'it is in a file system of another user' <<<"$out" || fail "efa_top_prom: his file: $out"
    for home in "$1/all" "$to"; do
        # shellcheck source=contrib/ci/cache.sh
        out=$(XDG_CACHE_HOME=$home && . "$top/contrib/ci/cache.sh" 2>&1) &&
            fail "his cache in $home is believed"
        grep "is not this user's alone" <<<"$out" || fail "the cache: $out"
    done
    # shellcheck source=contrib/ci/cache.sh
    (SUDO_UID=4242 XDG_CACHE_HOME=$to && . "$top/contrib/ci/cache.sh") || fail "his own: status $?"
    # nor is that file system waited for where it answers no more
    kill -STOP $!
    planted_unasked "$to/x" && planted_unasked "$to/lib/x" && kill -CONT $! ||
        fail "it is waited for"
    ! unshare -U --map-user=4242 true 2>/dev/null || { # his number there, not his user
        kill -STOP $!
        unshare -U --map-user=4242 "$EFASIM" run --trace "$to/x" -- true
        [ $? = 2 ] && kill -CONT $! || fail "in a namespace: not refused"
    }
    # nor is the link followed when the folder, once open, is in no list of mounts any more
    preload plant_link
    PLANT_AWAY=$to LD_PRELOAD=$1/lib/plant_link.so "$EFASIM" run --stat="$to/x" -- true
    ! mountpoint -q "$to" || fail "it is mounted still"
    [ "$(<"$kept/file")" = mine ] || fail "a link in what is unmounted was followed"
    # a file may be such a file system, too, and then answer no more
    kill $!
    fuse_mounted "$1/all/fifo" none && planted_output fifo && kill -STOP $! &&
        planted_output fifo || fail "no file system on a file"
    # nor when it is there for a moment; and no file beside it is taken for his
    PLANT_MOUNT=$1/all/fifo LD_PRELOAD=$1/lib/plant_link.so \
        "$EFASIM" run --trace "$1/all/plant" -- true
    [ $? = 2 ] && "$EFASIM" run --trace "$1/all/plant" -- true || fail "the file beneath"
    out=$("$BUILD/bin/srd_info" --top --json="$1/all/fifo" 2>&1)
    kill -CONT $! && grep "it is no file" <<<"$out" || fail "--top: $out"
    # nor on a file in a folder that only this user may write to
    mkdir "$1/mine" && : >"$1/mine/x" && chmod 666 "$1/mine/x"
    kill $!
    fuse_mounted "$1/mine/x" none && kill -STOP $! && planted_unasked "$1/mine/x" &&
        kill -CONT $! || fail "a file of one's own folder"
}
