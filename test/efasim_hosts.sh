# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Fabrics of several users and containers, and of machines that have large pages. Sourced
# by suite efasim, after lib.sh.

# Eight nodes, with a GID each.
gids_differ() {
    local node gid gids=
    need ibv_devinfo
    for node in 0 1 2 3 4 5 6 7; do
        gid=$("$EFASIM" run --fabric "t$$" --node $node -- ibv_devinfo -v |
            sed -n 's/.*GID\[ *0\]: *\([^ ]*\).*/\1/p')
        case " $gids " in *" $gid "*) fail "node $node: $gid again" ;; esac
        gids="$gids $gid"
    done
    echo "$gids"
}

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

# user_home: sets USER_HOME, a folder with efasim that another user can reach, and no third, who
# might lead root elsewhere by links in there, and AS_USER, what makes that user of root.
user_home() {
    need setpriv ibv_devinfo
    [ "$(id -u)" -eq 0 ] || skip_here "needs root to become another user"
    USER_HOME=$(mktemp -d /tmp/efasim-user.XXXXXX) || fail "mktemp: status $?"
    AS_USER=(setpriv --reuid 4242 --regid 4242 --clear-groups)
    trap 'rm -rf "$USER_HOME"' EXIT
    mkdir -p "$USER_HOME/bin" "$USER_HOME/lib"
    cp "$BUILD/bin/efasim" "$USER_HOME/bin/"
    cp "$BUILD/lib/libefasim.so" "$USER_HOME/lib/"
    chmod -R a+rX "$USER_HOME/bin" "$USER_HOME/lib"
    chown 0:4242 "$USER_HOME" && chmod 710 "$USER_HOME" || fail "chown: status $?"
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

# A user who is not root gets a namespace for each node; where that is not allowed, one
# line that says so, and the rest.
user_namespaces() {
    local out=$CHECK_LOG.out refuse
    user_home
    preload refuse_ns
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

# planted_at NAME: where the fabric of that name of root would be.
planted_at() {
    # shellcheck disable=SC2016 # for the shell in there
    "$EFASIM" run --fabric "$1" -- sh -c 'echo "${SYSFS_PATH%/*}"'
}

# planted_refused WHAT NAME PATTERN: each command refuses the fabric in one line that
# has PATTERN; what is kept in $CHECK_LOG.kept stays.
planted_refused() {
    local out status arguments
    for arguments in "run --fabric $2 -- true" "stat --fabric $2" \
        "clean --fabric $2"; do
        status=0
        # shellcheck disable=SC2086
        out=$("$EFASIM" $arguments 2>&1) || status=$?
        [ "$status" != 0 ] && [ "$(grep -c . <<<"$out")" = 1 ] &&
            grep -E "^efasim: $3" <<<"$out" || fail "$1: $arguments: status $status: $out"
    done
    out=$(EFASIM_FABRIC=$2 EFASIM_NODE=0 LD_PRELOAD=$BUILD/lib/libefasim.so \
        "$BUILD/test/gtest_verbs" --gtest_filter=mr.keys_differ 2>&1) &&
        fail "$1: a program has a device: $out"
    "$EFASIM" clean || fail "$1: clean: status $?"
    [ -e "$CHECK_LOG.kept/deep/file" ] || fail "$1: what it led to is gone"
}

# planted_live NAME AT: a fabric of the other user, in use, gets root's name.
planted_live() {
    local pid out
    # shellcheck disable=SC2016 # for the shell in there
    "${AS_USER[@]}" "$USER_HOME/bin/efasim" run --fabric "$1" -- sh -c \
        'mv "${SYSFS_PATH%/*}" "$0" && touch "$1" && exec sleep 6000' "$2" \
        "$USER_HOME/his/moved" &
    pid=$!
    until [ -e "$USER_HOME/his/moved" ]; do sleep 0.05; done
    planted_refused "another's fabric" "$1" "$2 is a folder of user 4242 with mode 0700: "
    [ -e "$2/directory" ] || fail "another's fabric is gone"
    kill "$pid"
    wait "$pid"
    rm -rf "$2"
}

# planted_mount NAME AT REFUSED: what is mounted there may say that it is root's.
planted_mount() {
    local out
    unshare -m true 2>/dev/null || return 0
    # shellcheck disable=SC2016 # for the shell in there
    out=$(REFUSE=$3 LD_PRELOAD=$USER_HOME/lib/refuse_ns.so unshare -m sh -c 'mkdir "$2" &&
        mount -t tmpfs -o mode=700 none "$2" && "$0" run --fabric "$1" -- true' "$EFASIM" \
        "$1" "$2" 2>&1) && fail "a mount is believed: $out"
    grep "^efasim: $2 is a mount, perhaps of another user" <<<"$out" || fail "a mount: $out"
    rmdir "$2"
}

# planted_moment AT: nor is what is mounted on a folder only while that is opened.
planted_moment() {
    local out
    unshare -m true 2>/dev/null || return 0
    preload plant_link
    mkdir -m 700 "$1-plant" "$USER_HOME/moment" || fail "mkdir: status $?"
    out=$(PLANT_MOUNT=$USER_HOME/moment LD_PRELOAD=$USER_HOME/lib/plant_link.so \
        unshare -m "$EFASIM" clean --fabric "${1##*-}-plant" 2>&1)
    [ $? = 1 ] && grep "^efasim: $1-plant is a " <<<"$out" || fail "a moment's mount: $out"
    rmdir "$1-plant"
}

# Anybody may make what he likes in shared memory, by a name that a fabric of root's
# would have: nothing of it is removed, joined or believed.
# Where that is possible, in memory of its own: who makes room among everybody's may
# remove what is planted there.
planted() {
    local own=()
    if unshare -m true 2>/dev/null; then
        own=(unshare -m sh -c 'mount -t tmpfs -o mode=1777 none /dev/shm && exec "$@"' sh)
    fi
    "${own[@]}" "${CALL[@]}" planted_inside
}

planted_inside() {
    local at name="t$$" kept=$CHECK_LOG.kept
    user_home
    mkdir "$USER_HOME/his" && chown 4242 "$USER_HOME/his"
    rm -rf "$kept" && mkdir -p "$kept/deep" && : >"$kept/deep/file"
    at=$(planted_at "$name")
    # shellcheck disable=SC2064  # now, not then
    trap "rm -rf '$at' '$at-plant' '$USER_HOME'" EXIT
    "${AS_USER[@]}" ln -s "$kept" "$at"
    planted_refused "a link" "$name" "$at is a symbolic link of user 4242 with mode 0777: "
    rm "$at"
    "${AS_USER[@]}" mkdir -m 755 "$at"
    "${AS_USER[@]}" ln -s "$kept" "$at/node0"
    planted_refused "a folder" "$name" "$at is a folder of user 4242 with mode 0755: "
    [ -L "$at/node0" ] || fail "another's folder was emptied"
    rm "$at/node0" && rmdir "$at" && mkdir -m 777 "$at" && # as root's once was
        "${AS_USER[@]}" ln -s "$kept" "$at/node0" || fail "mkdir: status $?"
    planted_refused "an open folder" "$name" "$at is a folder of user 0 with mode 0777: "
    rm "$at/node0" && rmdir "$at"
    preload refuse_ns && planted_mount "$name" "$at" no && planted_mount "$name" "$at" statx
    planted_moment "$at"
    planted_live "$name" "$at"
    planted_while_removed "$name" "$at"
}

# listed FOLDER [KIND]: a list of access lets user 4243 write there; of KIND default: to what is
# made there.
listed() {
    python3 -I -c 'import os, struct, sys
entries = (1, 7, ~0), (2, 7, 4243), (4, 5, ~0), (16, 7, ~0), (32, 5, ~0)
value = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, right, number & 0xffffffff) for tag, right, number in entries)
os.setxattr(sys.argv[1], "system.posix_acl_" + sys.argv[2], value,
            follow_symlinks=False)' "$1" "${2-access}"
}

# planted_output KIND: what has the name of an output, in a folder where others may
# write too, is refused in one line and stays as it was.
planted_output() {
    local out command name=$USER_HOME/$HIS/$1
    [ "$1" = fifo ] || cp --preserve=all "$name" "$CHECK_LOG.before"
    for command in "$EFASIM run --trace $name -- true" \
        "$EFASIM run --stat=$name -- true" \
        "env EFASIM_STAT=$name $EFASIM run -- true" \
        "$BUILD/bin/srd_info --plan --ranks=2 --hosts=2 --json=$name" \
        "$BUILD/bin/efapci --trace=$name efa1:$USER_HOME/socket"; do
        # shellcheck disable=SC2086
        out=$($command 2>&1 >/dev/null)
        [ "$(grep -c . <<<"$out")" = 1 ] && grep -F "$name: a link, a pipe, or another" \
            <<<"$out" || fail "$1: $command: $out"
        [ "$1" = fifo ] || cmp "$name" "$CHECK_LOG.before" ||
            fail "$1: $command: it was written to"
    done
}

# Nor are recordings led elsewhere, and a report that replaces a file.
planted_led() {
    local out up=$USER_HOME/$HIS/up
    out=$("$BUILD/bin/srd_info" --top --json="$up/top.json" 2>&1) &&
        fail "--top: status 0"
    grep -F "$up/top.json: a link, a pipe, or another" <<<"$out" || fail "--top: $out"
    if command -v ucx_info >/dev/null; then
        UCX_EFA_RECORD=$up "$EFASIM" run -- "$BUILD/bin/srdrun" ucx_info -d -t srd \
            >"$CHECK_LOG.led" 2>&1 || fail "ucx_info: status $?"
        grep -F "$up" "$CHECK_LOG.led" || fail "no line: $(<"$CHECK_LOG.led")"
    fi
    ! ls -d "$USER_HOME"/top.json* "$USER_HOME"/*.srdrec 2>/dev/null || fail "it was led"
}

# A folder on the way becomes another user's link while an output is opened, or a socket
# made, which is then removed where it is.
planted_amid() {
    local plant=$USER_HOME/$HIS/plant command
    echo precious >"$USER_HOME/alone"
    for command in "$EFASIM run --trace $plant/alone -- true" \
        "$BUILD/bin/srd_info --plan --ranks=2 --hosts=2 --json=$plant/alone" \
        "$BUILD/bin/efapci efa1:$plant/socket none"; do
        rm -rf "$plant" "$plant.away"
        "${AS_USER[@]}" mkdir "$plant" || fail "mkdir: status $?"
        # shellcheck disable=SC2086
        PLANT=$USER_HOME LD_PRELOAD=$USER_HOME/lib/plant_link.so $command
        [ -L "$plant" ] || fail "$command: no link was planted"
        [ "$(<"$USER_HOME/alone")" = precious ] || fail "$command: it was led"
        [ ! -e "$USER_HOME/socket" ] && [ ! -e "$plant.away/socket" ] ||
            fail "$command: a socket is left"
    done
}

# A program that outlives its run neither reads nor follows what another user then puts in the
# place of the fabric: it began before, or begins afterwards.
planted_later() {
    local name=t$$l out=$CHECK_LOG.out at folder
    user_home
    at=class/infiniband/rdmap0s6/ports/1
    mkfifo "$USER_HOME/go" && echo precious >"$USER_HOME/kept" || fail "mkfifo: status $?"
    # shellcheck disable=SC2016 # for the shells in there
    "$EFASIM" run --fabric "$name" -- sh -c 'echo "${SYSFS_PATH%/*}" >"$0.folder"
        setsid sh -c "read -r _ <\$1/go; cat /sys/\$2/hw_counters/rx_bytes; cat </sys/\$2/new
            \$3 --counters=0; EFASIM_PER_NODE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 \$3 --counters=0
            echo planted >/sys/\$2/reset; echo ended" \
            - "$@" >"$0" 2>&1 &' "$out" "$USER_HOME" "$at" "$BUILD/bin/srd_info"
    folder=$(<"$out.folder")
    [ ! -e "$folder" ] || fail "$folder is there"
    # shellcheck disable=SC2016
    "${AS_USER[@]}" sh -c 'mkdir -m 755 "$1" && mkdir -p "$1/node0/$2/hw_counters" &&
        cd "$1/node0/$2" && echo 666 | tee new >hw_counters/rx_bytes && ln -s "$3" reset' \
        - "$folder" "$at" "$USER_HOME/kept" || fail "not planted: $?"
    echo >"$USER_HOME/go"
    wait_until $$ grep -qx ended "$out"
    cat "$out"
    rm -rf "$folder"
    ! grep -E '666|received .* bytes' "$out" || fail "his counters are believed"
    [ "$(<"$USER_HOME/kept")" = precious ] || fail "his link was followed"
}

# Outputs in folders of another user and of all; files of the user's own are
# written to there.
planted_outputs() {
    local HIS=his kind kept own
    user_home
    preload plant_link
    kept=$USER_HOME/kept
    echo precious >"$kept"
    mkdir -m 777 "$USER_HOME/his" "$USER_HOME/all"
    for HIS in his all; do
        "${AS_USER[@]}" sh -c 'ln -s "$1" "$0/link" && mkfifo "$0/fifo" && \
            : >"$0/file"' "$USER_HOME/$HIS" "$kept"
        ln "$kept" "$USER_HOME/$HIS/hardlink"
        [ $HIS = all ] || { chmod 755 "$USER_HOME/his" &&
            chown 4242 "$USER_HOME/his" && rm "$USER_HOME/his/file"; }
        for kind in "$USER_HOME/$HIS"/*; do
            planted_output "${kind##*/}"
        done
        "${AS_USER[@]}" ln -s "$USER_HOME" "$USER_HOME/$HIS/up" || fail "ln: status $?"
        planted_output up/kept
        mkdir -p "$USER_HOME/mine" && ln -sf "../$HIS/link" "$USER_HOME/mine/led"
        planted_output ../mine/led # by a link of one's own
        planted_led
        planted_amid
        own=$USER_HOME/$HIS/own
        "$EFASIM" run --stat="$own" --trace "$own.2" -- "$BUILD/test/gtest_verbs" \
            --gtest_brief=1 --gtest_filter=Data.send_sizes || fail "status $?"
        grep -q ^node= "$own" && grep -q node=0 "$own.2" || fail "$own: nothing is there"
        "$EFASIM" run --fabric "t$$" --stat="$own" -- true || fail "again: status $?"
    done
    outputs_closed none
    ! listed "$USER_HOME/mine" default || outputs_closed list
}

# outputs_closed NAME: what is written to, under any umask or list of access, is no other
# user's to write to, and root's efapci serves nobody else.
outputs_closed() {
    local at=$USER_HOME/mine/$1 open
    mkdir -p "$at" || fail "mkdir: status $?"
    (umask 000 && cd "$at" || exit
        "$EFASIM" run --stat=stat --trace trace -- "$BUILD/bin/srd_info" --counters=0 --json=json
        "$BUILD/bin/srd_info" --top --once --json=top
        python3 -B "$TEST_DIR/../contrib/examples/efa_top_prom.py" top prom ||
            fail "$1: efa_top_prom.py does not believe it"
        "$BUILD/bin/efapci" efa1:socket &
        wait_until $! [ -S socket ]
        [ -z "$(find socket -perm /077)" ] || fail "$1: others may connect: $(stat -c %A socket)"
        kill $!) || exit
    for open in stat trace json top prom; do
        [ -e "$at/$open" ] || fail "$1: no $open"
    done
    open=$(find "$at" -type f -perm /022)
    [ -z "$open" ] || fail "$1: others may write to $open"
}

# unseen FILE COMMAND...: by no program that COMMAND starts is FILE written to, which is
# another's link, or in a folder where another may write.
unseen() {
    local file=$USER_HOME/$1 own=$USER_HOME/own
    shift
    "$@" "$USER_HOME/bin/efasim" run --stat="$file" -- true 2>&1 |
        grep -F "$file: a link, a pipe, or another" || fail "$*: $file: no line"
    [ "$(<"$own/file")" = precious ] || fail "$*: $file: it was led"
    [ "$file" != "$USER_HOME/up/file" ] || "$@" python3 -B "$USER_HOME/bin/efa_top_prom.py" \
        "$own/json" "${file%/*}/prom"
    [ ! -e "$own/prom" ] || fail "$*: efa_top_prom.py was led"
}

# A file of a user's stays as it is, to which another name leads in a folder of root's
# where his group may write, or in his own where a list lets others; or the link of
# somebody who in a user namespace looks like root, or like the user himself, where
# standard output has its name as ever.
planted_unseen() {
    local own inside
    user_home
    unset EFASIM_STAT # root's
    own=$USER_HOME/own
    mkdir "$own" "$USER_HOME/group" && chown 4242 "$own" && chown 0:4242 "$USER_HOME/group" &&
        chmod 2775 "$USER_HOME/group" || fail "mkdir: status $?"
    "${AS_USER[@]}" sh -c 'echo precious >"$0/file" && echo "{}" >"$0/json" && \
        mkdir "$0/list" && ln "$0/file" "$0/list/hardlink" && ln "$0/file" "$1/hardlink"' \
        "$own" "$USER_HOME/group" || fail "mkdir: status $?"
    cp "$TEST_DIR/../contrib/examples/efa_top_prom.py" "$USER_HOME/bin/" || fail "cp: status $?"
    unseen group/hardlink "${AS_USER[@]}"
    ! listed "$own/list" || unseen own/list/hardlink "${AS_USER[@]}"
    ln -s "$own" "$USER_HOME/up" && chown -h 4243 "$USER_HOME/up"
    inside=("${AS_USER[@]}")
    if "${AS_USER[@]}" unshare -U --map-current-user true 2>/dev/null; then
        inside+=(unshare -U --map-current-user)
        unseen up/file "${inside[@]}"
        unseen group/hardlink "${inside[@]}"
        unseen up/file "${AS_USER[@]}" unshare -U
        : >"$USER_HOME/file" && chown 4243 "$USER_HOME/file" && chmod 666 "$USER_HOME/file" &&
            mv "$USER_HOME/file" "$USER_HOME/group/" || fail "chown: status $?"
        unseen group/file "${AS_USER[@]}" unshare -U
        unseen up/file setpriv --reuid 65534 --regid 4242 --clear-groups unshare -U \
            --map-current-user
        "${AS_USER[@]}" chmod 775 "$own" && # his group's, which in there is like others
            chown 4242:4243 "$own" || fail "chown: status $?"
        ln "$own/file" "$own/hardlink" || fail "ln: status $?"
        unseen own/hardlink "${AS_USER[@]}" unshare -U --map-user=4242
        for _ in new again; do # of such a user's own files none is refused
            ! "${AS_USER[@]}" unshare -U "$USER_HOME/bin/efasim" run --stat="$own/stat" -- \
                true 2>&1 | grep . && [ -e "$own/stat" ] || fail "his own file is refused"
        done
    fi
    # shellcheck disable=SC2016 # for the shell in there, whose pipe it is
    "${inside[@]}" sh -c '"$0" run --stat=/dev/stdout -- ibv_devinfo | cat' \
        "$USER_HOME/bin/efasim" | grep ^node= || fail "nothing on standard output"
}

preload() {
    need cc
    cc -shared -fPIC -o "$USER_HOME/lib/$1.so" "$TEST_DIR/apps/$1.c" -ldl || fail "cc: status $?"
}

# A folder that is removed becomes a link to another.
planted_while_removed() {
    preload plant_link
    mkdir -m 700 "$2" && mkdir "$2/plant" || fail "mkdir: status $?"
    PLANT=$CHECK_LOG.kept LD_PRELOAD=$USER_HOME/lib/plant_link.so "$EFASIM" \
        clean --fabric "$1"
    [ -e "$CHECK_LOG.kept/deep/file" ] || fail "what the link led to is gone"
    [ -L "$2/plant" ] || fail "no link was planted"
}

# Another container (a PID namespace of its own, or no /proc) leaves a fabric alone that
# is in use, though it cannot see who uses it.
other_container() {
    [ "$(id -u)" -eq 0 ] || skip_here "needs root to mount"
    unshare -mpf --mount-proc true 2>/dev/null || skip_here "no mount namespaces here"
    local go=$CHECK_LOG.go name="t$$x$RANDOM" folder
    # shellcheck disable=SC2016 # expanded there
    "$EFASIM" run --fabric "$name" -- sh -c \
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
    for folder in "$CHECK_LOG.all" "/dev/shm/$name"; do # on two mounts
        rm -rf "$folder" && mkdir "$folder" && : >"$folder/json" &&
            chmod 1777 "$folder" || fail "mkdir: status $?"
        # shellcheck disable=SC2016
        unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$BUILD/bin/srd_info" \
            --plan --ranks=2 --hosts=2 --json="$folder/json" 2>"$CHECK_LOG.proc"
        rm -rf "$folder"
        grep '^srd_info: --json=.*/json: there is no /proc' "$CHECK_LOG.proc" ||
            fail "a report, without /proc: $(<"$CHECK_LOG.proc")"
    done
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$BUILD/bin/efapci" \
        "efa1:/tmp/t$$" 2>"$CHECK_LOG.proc"
    grep '^efapci: .*: there is no /proc' "$CHECK_LOG.proc" ||
        fail "efapci, without /proc: $(<"$CHECK_LOG.proc")"
    : >"$go"
    wait $! || fail "the fabric is gone: status $?"
    tests_ran
}

# Two programs that are both number 1 of their PID namespace: neither may take
# its own memory for the other's.
rdma_between_containers() {
    need ib_read_bw
    unshare -mpf --mount-proc true 2>/dev/null || skip_here "no mount namespaces here"
    local inside=(unshare -mpf --mount-proc ib_read_bw -c SRD -x 0 -p @PORT@
        -s 4096 -n 10)
    ! (two_nodes -- "${inside[@]}" -- "${inside[@]}" \
        127.0.0.1) >"$CHECK_LOG.ends" 2>&1 || fail "it read somebody's memory"
    cat "$CHECK_LOG.ends"
    grep -q 'RDMA refused: .*another PID namespace' "$CHECK_LOG.ends" ||
        fail "no line says why"
}

# A fabric of that name and another user is told of by the run that makes one;
# a run that joins with other options is told of them, unless a run of the same
# fabric started it; the same options are worth no line.
joins() {
    local other="/dev/shm/efasim1-65534-t$$" name="t$$" run maker out
    [ "$(id -u)" = 0 ] || skip_here "another user's folder needs root"
    # shellcheck disable=SC2064  # now, not then
    trap "rmdir '$other' 2>/dev/null" EXIT
    mkdir "$other" || fail "mkdir: status $?" # root's: no fabric of that user
    out=$("$EFASIM" run --fabric "$name" -- true 2>&1)
    [ -z "$out" ] || fail "another's name on root's folder: $out"
    chown 65534 "$other"
    out=$("$EFASIM" run --fabric "$name" -- "$EFASIM" run --node 1 -- true 2>&1)
    [ "$(grep -c . <<<"$out")" = 1 ] &&
        grep "^efasim: user 65534 has a fabric '$name', too: .*; start both as one user" \
            <<<"$out" || fail "another user's: $out"
    rmdir "$other"
    run=("$EFASIM" run --fabric "$name" --seed 7)
    "${run[@]}" -- sleep 6000 &
    maker=$!
    until "$EFASIM" stat --fabric "$name" >/dev/null 2>&1; do sleep 0.05; done
    sleep 0.2
    out=$("${run[@]}" --node 1 -- true 2>&1)
    [ -z "$out" ] || fail "the same options: $out"
    out=$("${run[@]}" --node 1 -- "$EFASIM" run --node 2 --loss 0.5 -- true 2>&1)
    [ -z "$out" ] || fail "an inner run: $out"
    out=$("$EFASIM" run --fabric "$name" --node 1 --loss 0.1 --no-dmabuf \
        --eager -- true 2>&1)
    grep "^efasim: fabric '$name' was made with --seed=7, this run joins it with " <<<"$out" |
        grep -e 'with --eager --loss=0.1 --no-dmabuf: each program keeps its own; ' ||
        fail "other options: $out"
    out=$("$EFASIM" run --fabric "$name" --node 1 -- true 2>&1)
    grep "made with --seed=7, this run joins it with no options: " <<<"$out" ||
        fail "no options: $out"
    kill $maker
    wait $maker
    true
}

# The first look of a user: the devices in the usual place of /sys.
class_infiniband() {
    local dir=/sys/class/infiniband out command
    out=$("$EFASIM" run --fabric "t$$" --devices 2 -- ls $dir 2>&1)
    [ "$out" = $'rdmap0s6\nrdmap16s6' ] || fail "ls: $out"
    out=$("$EFASIM" run --fabric "t$$" -- ls -l $dir/ 2>&1)
    grep ' rdmap0s6 -> \.\./\.\./devices/pci' <<<"$out" &&
        ! grep 'ls:' <<<"$out" || fail "ls -l: $out"
    for command in "find $dir/ -name rdmap0s6" "stat -L $dir/rdmap0s6/ports" \
        "readlink $dir/rdmap0s6" "cat $dir/rdmap0s6/ports/1/state" \
        "sh -c 'cd $dir && ls -d rdmap0s6/ports/1'" \
        "sh -c 'echo $dir/*/ports/1/rate'"; do
        out=$("$EFASIM" run --fabric "t$$" -- bash -c "$command" 2>&1) &&
            grep -E 'rdmap0s6|ACTIVE' <<<"$out" || fail "$command: $out"
    done
    # nothing else of /sys is emulated
    diff <(ls -I 'infiniband*' /sys/class) \
        <("$EFASIM" run --fabric "t$$" -- ls -I 'infiniband*' /sys/class) ||
        fail "ls /sys/class"
}

# 32 devices as a p5 has them: four behind the bridge of each GPU.
as_p5() {
    need ibv_devinfo
    local out
    out=$("$EFASIM" run --fabric "t$$" --devices 32 --gpus 8 -- sh -c '
        cd "$SYSFS_PATH/bus/pci/devices" && readlink -f 0000:c4:00.0 0000:c0:00.0
        cat 0000:c4:00.0/infiniband/rdmap196s0/ports/1/hw_counters/tx_pkts
        ibv_devinfo -d rdmap196s0 >/dev/null && echo the last opens')
    [ "$(grep -c '/pci0000:00/0000:00:07.0/0000:c[04]:00.0$' <<<"$out")" = 2 ] &&
        grep -q '^the last opens$' <<<"$out" || fail "no p5: $out"
}

# pages_64k: device and transport where pages have 64 kB, as on some of aarch64: queues
# are mapped, buffers registered, sent, read, and read in lists. (UCX cannot hook mmap()
# there, as it writes to pages of programs that are mapped by the kernel, so of 4 kB.)
pages_64k() {
    local shim=$CHECK_LOG.so large
    need cc ib_send_bw test/gtest_uct test/ucp_bytes
    cc -shared -fPIC -o "$shim" "$TEST_DIR/apps/pages_64k.c" || fail "cc: status $?"
    # shellcheck disable=SC2016 # by the shell in there
    large=(bash -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$shim")
    [ "$("${large[@]}" getconf PAGESIZE)" = 65536 ] || fail "pages are as ever"
    local send=("${large[@]}" ib_send_bw -c SRD -F -x 0 -p @PORT@ -s 8192 -n 1000)
    two_nodes -- "${send[@]}" -- "${send[@]}" 127.0.0.1 || exit
    at_least sent "$(stat_payload "$STAT")" 8192000
    export UCX_TLS=srd UCX_MEM_MMAP_HOOK_MODE=none
    rendezvous
    local ucx=("${large[@]}" "$SRDRUN" "$BUILD/test/ucp_bytes" --port @PORT@ --tests tag)
    two_nodes -- "${ucx[@]}" -- "${ucx[@]}" --client || exit
    at_least read "$(stat_sum "$STAT" rdma_read_bytes)" 20000000
    with_stat -- "${large[@]}" "$SRDRUN" "$BUILD/test/gtest_uct" --gtest_brief=1 \
        --gtest_filter='gets/UctList.*' || exit
    tests_ran
}
