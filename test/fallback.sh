# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# No silent fall-back: checks of suite load, which sources this file. Where this
# machine has an EFA device and UCX takes another transport to another host, one
# line says so; anywhere else none does.

# ------------------------------------------------------------ two hosts

# on_hosts FUNCTION [ARGUMENT...]: calls it with the names of two network
# namespaces in front, 10.77.0.1 and 10.77.0.2, within a fabric: with an emulated
# node in each UCX sees two hosts.
on_hosts() {
    need ip
    [ "$(id -u)" = 0 ] || skip_here "network namespaces need root"
    local a="srd$$a" b="srd$$b" function=$1
    shift
    # shellcheck disable=SC2064  # now, not then
    trap "ip netns del $a; ip netns del $b" EXIT
    ip netns del "$a" 2>/dev/null
    ip netns del "$b" 2>/dev/null
    { ip netns add "$a" && ip netns add "$b" &&
        ip link add v0 netns "$a" type veth peer name v1 netns "$b" &&
        ip -n "$a" addr add 10.77.0.1/24 dev v0 &&
        ip -n "$b" addr add 10.77.0.2/24 dev v1 &&
        ip -n "$a" link set v0 up && ip -n "$b" link set v1 up &&
        ip -n "$a" link set lo up && ip -n "$b" link set lo up &&
        ip netns exec "$a" true; } || skip_here "no network namespaces here"
    wait_until $$ link_up "$a" v0
    wait_until $$ link_up "$b" v1
    with_stat -- "${CALL[@]}" "$function" "$a" "$b" "$@"
}

link_up() {
    [ "$(ip netns exec "$1" cat "/sys/class/net/$2/operstate")" = up ]
}

# between_hosts SERVER_ENV -- CLIENT_ENV: ucx_perftest over what is set. Lines of
# either side: $CHECK_LOG.server, $CHECK_LOG.client.
between_hosts() {
    need_perftest
    on_hosts between_hosts_inside "$@"
}

between_hosts_inside() {
    local a=$1 b=$2 server=() pid status
    need_perftest
    shift 2
    while [ "$1" != -- ]; do
        server+=("$1")
        shift
    done
    shift
    ip netns exec "$a" "$EFASIM" run --node 0 -- env "${server[@]}" \
        "${STOCK_PERFTEST[@]}" -p 23459 >"$CHECK_LOG.server" 2>&1 &
    pid=$!
    wait_until $pid ip netns exec "$a" grep -qs ':5BA3 ' /proc/net/tcp ||
        fail "the server does not listen"
    ip netns exec "$b" "$EFASIM" run --node 1 -- env "$@" "${STOCK_PERFTEST[@]}" \
        10.77.0.1 -p 23459 -t tag_lat -s 8 -n 50 -w 2 >"$CHECK_LOG.client" 2>&1
    status=$?
    [ $status = 0 ] || kill $pid 2>/dev/null
    wait $pid
    cat "$CHECK_LOG.server" "$CHECK_LOG.client"
    [ $status = 0 ] || fail "client: status $status"
}

# ------------------------------------------------------------ the table

# failing COMMAND ERROR: sets sim, so that the first of them fail.
failing() {
    local n list=
    for n in 1 2 3 4 5 6 7 8; do
        list+=${list:+,}$1:$n:$2
    done
    sim=(--fail-command "$list")
}

# limit KIB: sets sim and words, so that so much memory can be locked.
limit() {
    sim=(--memlock 2) words=(bash -c "ulimit -l $1; exec \"\$@\"" - env)
}

# way NAME: a way in which the device can be missing. Sets sim (options of efasim),
# words (what goes before the program), reason (a pattern of the warning).
way() {
    sim=() words=() reason='UCX_TLS=tcp.* leaves it out: UCX_TLS=.* takes it'
    case $1 in
    no_device) words=(SYSFS_PATH="$pictures/none") reason='no EFA device: attach one' ;;
    no_driver) words=(SYSFS_PATH="$pictures/pci")
        reason='has no driver: load it with .modprobe efa' ;;
    no_device_file) words=(SYSFS_PATH="$pictures/verbs")
        reason='uverbs97 is not: start the container with --device' ;;
    no_provider) words=(SYSFS_PATH="$pictures/unknown") reason='no provider for it: .*install' ;;
    no_right) sim=(--refuse-open) reason='no right to read and write.*udev rule' ;;
    refused) words=(EFASIM_REFUSE_OPEN=EIO)
        reason='cannot be opened: Input/output error.*load the driver anew' ;;
    old_libefa) failing get-context EOPNOTSUPP
        reason='libefa is older than the driver needs; update' ;;
    no_libefa) words=(LD_LIBRARY_PATH="$pictures/libefa")
        reason='libefa cannot be opened .*: install' ;;
    no_libibverbs) words=(LD_LIBRARY_PATH="$pictures/libibverbs")
        reason='libibverbs cannot be opened .*: install' ;;
    no_match) words=(LD_LIBRARY_PATH="$pictures/match")
        reason='libefa and libibverbs do not match .*: install both' ;;
    memlock_open) limit 64
        reason='the limit (on locked memory )?is 64 KiB.*ulimit -l unlimited' ;;
    memlock_both) limit 6000 ;; # enough for one transport
    memlock_buffers) limit 2000
        reason='the limit (on locked memory )?is 2000 KiB.*ulimit -l unlimited' ;;
    no_srd) sim=(--fail-command create-qp:1:ENOMEM) # the first one tried, of whichever kind
        reason='no (SRD|UD) queue pair: .*close other' ;;
    no_ud) sim=(--fail-command create-qp:3:ENOMEM) ;; # both trials: srd, then srd and ud
    no_pd) failing alloc-pd ENOMEM
        reason='no protection domain: .*close some' ;;
    no_cq) failing create-cq EINVAL
        reason='no completion queue of .* entries: Invalid argument.*max_cqe' ;;
    no_qp) failing create-qp ENOMEM
        reason='the device has none left.*close other' ;;
    other_device) words=(UCX_NET_DEVICES=v1)
        reason='UCX_(NET_DEVICES|TLS)=.*( leaves it out: .*takes it|, or unset UCX_NET_DEVICES)' ;;
    no_srd_there | no_srd_for_long) # said when it ends, and before
        words=(FAR_PORT=23462 FAR_LINGER=4)
        [ "$1" = no_srd_there ] || words=(FAR_PORT=23462 FAR_LINGER=14)
        reason='the peer offers no srd of this kind: start it with .* same UCX_TLS' ;;
    no_ud_there) words=(FAR_PORT=23462 FAR_LINGER=4)
        reason='the peer offers no ud of this kind: start it with .* same UCX_TLS' ;;
    other_srd) words=(LD_LIBRARY_PATH="$pictures/standin" INTREE_SRD=1 UCX_EFA_CLAIM=n)
        reason='((another component of|own srd in) .*unset UCX_EFA_CLAIM|=tcp.* takes it)' ;;
    silenced) words=(EFASIM_REFUSE_OPEN=EIO UCX_EFA_WARN_FALLBACK=n)
        reason='cannot be opened: Input/output error' ;;
    declined) # (the ib module would fail)
        words=(LD_LIBRARY_PATH="$pictures/resized" UCX_MODULE_DIR="$pictures/none")
        reason='not used with .*use a release' ;;
    declined_silenced) way declined && words+=(UCX_EFA_WARN_FALLBACK=n) ;;
    esac
}

# Libraries and sysfs trees that the rows need, made once, in $pictures.
table_pictures() {
    local alias='pci:v00001D0Fd0000EFA1sv00001D0Fsd0000EFA1bc02sc00i00'
    local name libefa libucp

    rm -rf "$pictures"
    mkdir -p "$pictures"/{none/class,libefa,libibverbs,match,resized} \
        "$pictures/pci/bus/pci/devices/0000:00:06.0" \
        "$pictures/verbs/class/infiniband_verbs/uverbs97/device"
    echo "$alias" | tee "$pictures/pci/bus/pci/devices/0000:00:06.0/modalias" \
        >"$pictures/verbs/class/infiniband_verbs/uverbs97/device/modalias"
    # shellcheck disable=SC2016 # for the inner shell
    "$EFASIM" run --node 1 -- sh -c 'cp -r "$SYSFS_PATH" "$1"' - \
        "$pictures/unknown" 2>/dev/null
    find "$pictures/unknown" -name modalias -exec sed -i s/EFA[0-9]/EFAF/ {} +
    echo 'no library' | tee "$pictures/libefa/libefa.so.1" \
        >"$pictures/libibverbs/libibverbs.so.1"
    libefa=$(ldconfig -p | awk '/libefa\.so\.1.*x86-64/ { print $NF; exit }')
    sed 's/IBVERBS_PRIVATE_[0-9][0-9]/IBVERBS_PRIVATE_99/g' "$libefa" \
        >"$pictures/match/libefa.so.1"
    libucp=$(ldconfig -p | awk '/libucp\.so\.0 / { print $NF; exit }')
    for name in ucp uct ucs ucm; do
        cp "${libucp%/*}/lib$name.so.0" "$pictures/resized/" || exit 1
    done
    elf_resize "$pictures/resized/libuct.so.0" uct_tcp_component ||
        fail "not resized"
}

TABLE_TLS=(unset all 'srd,tcp,sm,self' 'tcp,sm,self' '^tcp' 'ud,tcp,sm,self'
    'ud,sm,self' '^tcp,srd')

# A row: a way in which the device is missing and, for each value of TABLE_TLS, how
# many warnings of ours are expected; "-": not tried.
table_rows() {
    local name
    echo works 0 0 0 1 0 0 0 0
    echo no_device 0 0 1 0 0 0 0 0 # (ud may be UCX's own)
    echo silenced 0 0 1 0 0 1 - -
    echo declined_silenced 0 0 1 0 0 1 - -
    echo other_device 1 1 1 1 0 1 1 0 # excluded twice by the user himself
    echo memlock_both 0 0 0 1 0 0 0 0
    echo no_ud 0 0 0 1 0 - - -
    echo no_srd 1 1 1 1 1 1 1 1 # (UCX goes on with ud where that is not the first)
    for name in no_driver no_right refused no_match memlock_buffers no_qp declined; do
        echo "$name" 1 1 1 1 1 1 1 1
    done
    for name in no_device_file no_provider old_libefa no_libefa no_libibverbs \
        memlock_open no_pd no_cq; do
        echo "$name" 1 1 1 1 1 1 - -
    done
    # the stand-in for UCX's own is for UCX 1.13
    [ ! -e "$pictures/standin" ] || echo other_srd 1 1 1 1 1 1 1 1
}

# no_way WAY TLS: without tcp and ours there is none to the other host.
no_way() {
    [[ $2 == @(^tcp*|ud,sm*) && $1 != @(works|memlock_both|no_ud) ]]
}

# cells: those of the rows WAY TLS LINES [IP] of standard input, each by cell; bad counts
# those that are not as expected.
cells() {
    local row
    while read -ra row; do cell "${row[@]}" || bad=$((bad + 1)); done
}

# cell WAY TLS LINES [IP]: one program on one emulated node sends to the other
# host, by its worker's address or by socket address.
cell() {
    local out=$CHECK_LOG.cell sim words reason lines status=0
    local tls=(UCX_TLS="$2")
    [ "$2" != unset ] || tls=(-u UCX_TLS)
    way "$1"
    "$EFASIM" run --node 1 "${sim[@]}" -- env "${tls[@]}" "${words[@]}" \
        "$SRDRUN" "$BUILD/test/ucp_far" "$CHECK_LOG.address" "${@:4}" \
        >"$out" 2>&1 </dev/null || status=$?
    [ $status = 0 ] || no_way "$1" "$2" ||
        { cat "$out"; echo "$1, UCX_TLS=$2: status $status"; return 1; }
    lines=$(grep -aEc 'EFA +WARN|WARN +libuct_srd' "$out")
    if [ "$lines" != "$3" ]; then
        cat "$out"
        echo "$1, UCX_TLS=$2: $lines lines, not $3"
        return 1
    elif [ "$lines" = 1 ] && ! grep -aEq "WARN .*$reason" "$out"; then
        cat "$out"
        echo "$1, UCX_TLS=$2: no line '$reason'"
        return 1
    fi
}

# warned_before_end: the last cell's line is older than the end of its progress.
warned_before_end() {
    cat "$CHECK_LOG.cell"
    awk '/WARN/ { split($1, time, /[[.]/); warned = time[2] }
         /^lingered until/ { end = $3 }
         END { exit !(end > 0 && warned > 0 && warned < end) }' "$CHECK_LOG.cell"
}

table_cells() {
    local pictures=$CHECK_LOG.pictures bad=0 name expected i
    local server_ip=10.77.0.1 long
    (
        CHECK_LOG=$CHECK_LOG.long
        cell no_srd_for_long srd,tcp 1 "$server_ip" && warned_before_end
    ) &
    long=$!
    while read -r name expected; do
        read -ra expected <<<"$expected"
        for i in "${!TABLE_TLS[@]}"; do
            [ "${expected[i]}" != - ] || continue
            cell "$name" "${TABLE_TLS[i]}" "${expected[i]}" || bad=$((bad + 1))
        done
    done < <(table_rows)
    cells <<END # endpoints by socket address
works srd,tcp 0 $server_ip
works unset 0 $server_ip
works ud,tcp,sm,self 0 $server_ip
works tcp,sm,self 1 $server_ip
refused unset 1 $server_ip
refused srd,tcp 1 $server_ip
no_device unset 0 $server_ip
no_ud_there ud,tcp 1 $server_ip
no_srd_there srd,tcp 1 $server_ip
END
    warned_before_end && bad=$((bad + 1))
    wait $long || bad=$((bad + 1))
    [ $bad = 0 ] || fail "$bad cells"
}

# far_server NAME COMMAND...: starts one with COMMAND in front, whose address comes
# into $CHECK_LOG.NAME. far_servers_end waits for all of them.
far_server() {
    local name=$1
    shift
    rm -f "$CHECK_LOG.$name" "$CHECK_LOG.fifo"
    mkfifo "$CHECK_LOG.fifo"
    "$@" "$SRDRUN" "$BUILD/test/ucp_far" --serve "$CHECK_LOG.$name" \
        <"$CHECK_LOG.fifo" >"$CHECK_LOG.$name.log" 2>&1 &
    far_pids+=($!)
    exec {far_fd}>"$CHECK_LOG.fifo" # closed: the server ends
    far_fds+=("$far_fd")
    wait_until "${far_pids[-1]}" [ -e "$CHECK_LOG.$name" ] ||
        fail "no address: $(cat "$CHECK_LOG.$name.log")"
}

far_servers_end() {
    local fd pid
    for fd in "${far_fds[@]}"; do exec {fd}>&-; done
    for pid in "${far_pids[@]}"; do
        wait "$pid" || fail "a server: status $?"
    done
}

table_inside() {
    local a=$1 b=$2 pictures=$CHECK_LOG.pictures status=0
    local far_fd far_fds=() far_pids=()
    local node=(ip netns exec "$a" "$EFASIM" run --node 0 -- env)
    table_pictures
    (ucx_with_standin "$pictures/standin") || rm -rf "$pictures/standin"
    far_server address "${node[@]}" UCX_TLS=srd,ud,tcp,sm,self
    far_server no_srd "${node[@]}" UCX_TLS=tcp,sm,self FAR_PORT=23462
    ip netns exec "$b" "${CALL[@]}" table_cells || status=$?
    far_servers_end
    rm -rf "$pictures"
    return $status
}

# Every way in which the device can be missing, by UCX_TLS: exactly one line of
# ours, or none.
fallback_table() {
    need python3
    on_hosts table_inside
}

# Two hosts with the same IP addresses: containers, or emulated nodes without
# network namespaces. That shared memory does not reach the peer tells them from
# one host.
nodes_inside() {
    local pictures=$CHECK_LOG.pictures far_fd far_fds=() far_pids=() bad=0
    mkdir -p "$pictures/none/class"
    far_server address "$EFASIM" run --node 0 -- env UCX_TLS=srd,ud,tcp,sm,self
    cells <<END
works unset 0
refused unset 1
refused tcp,sm,self 1
works srd,tcp 0 127.0.0.1
works ud,tcp,sm,self 0
refused ud,tcp,sm,self 1
no_device unset 0
END
    far_servers_end
    far_fds=() far_pids=()
    far_server address "$EFASIM" run --node 1 -- env UCX_TLS=srd,tcp,sm,self
    cells <<END
refused unset 0
works tcp,sm,self 0
works tcp,sm,self 0 127.0.0.1
works tcp 0 127.0.0.1
refused unset 0 127.0.0.1
works srd,tcp 0 127.0.0.1
END
    far_servers_end
    [ $bad = 0 ] || fail "see above"
}

fallback_nodes() {
    with_stat -- "${CALL[@]}" nodes_inside
}

# ------------------------------------------------------------ no way at all

# apart_names TLS: as the line has them, those to other hosts.
apart_names() {
    local names=${1%,self}
    echo "${names//,/, }"
}

# apart_inside TLS OTHER_TLS: neither side connects, and each says once what it has.
apart_inside() {
    local port server out=$CHECK_LOG.client side ours names
    need_perftest
    port=$(random_port)
    UCX_TLS=$1 "$EFASIM" run --node 0 -- "${PERFTEST[@]}" -p "$port" \
        >"$CHECK_LOG.server" 2>&1 &
    server=$!
    wait_listen "$port" $server || fail "the server does not listen"
    UCX_TLS=$2 "$EFASIM" run --node 1 -- "${PERFTEST[@]}" 127.0.0.1 \
        -p "$port" -t tag_lat -n 10 >"$out" 2>&1 && fail "it connects"
    wait $server
    for side in "server $1" "client $2"; do
        read -r side ours <<<"$side"
        names="this side has $(apart_names "$ours") \(UCX_TLS=$ours\)"
        says "no way to a peer: $names, .*start both sides with srdrun" "$CHECK_LOG.$side"
        [ "$(grep -c 'no way to a peer' "$CHECK_LOG.$side")" = 1 ] ||
            fail "said more than once"
    done
}

apart_no_device() {
    while [ "$1" != -- ]; do shift; done
    shift
    "$@"
}

# UCX alone says "unreachable", or in later versions "not available".
apart() {
    (apart_inside srd ud) && (apart_inside srd,self tcp,self) || exit
    (EFASIM=apart_no_device && apart_inside tcp sm) >"$CHECK_LOG.none" 2>&1
    grep 'Destination is unreachable' "$CHECK_LOG.server" || fail "it connects"
    says_not 'no way to a peer' "$CHECK_LOG.server" # no EFA: left to UCX
    "$TEST_DIR/../contrib/ci/chroot.sh" --made sid || return 0
    # shellcheck disable=SC2034 # with_release
    RELEASE_BINDS=("$TEST_DIR")
    with_release sid env -u LD_LIBRARY_PATH "${CALL[@]}" apart_inside srd ud,self || exit
}

# UCX_TLS and our two transports: those whose interfaces this UCX opens are tried
# before, and no other.
tls_names() {
    need ucx_info
    local out=$CHECK_LOG.out tls opened tried bad=0 count=0
    local names=(unset all '^all' srd ud 'srd,ud' 'ud,srd,tcp' tcp '^srd' '^ud'
        '^tcp' ib 'ib,tcp' '^ib' '^tcp,ib' '^ib,ud' '\ud' '\srd' '^\ud' '^\srd,ud'
        '\ib,tcp' 'ud:aux,tcp' 'srd:aux,tcp' '^srd:aux' '^ud:aux' '^srd,srd:aux'
        'ib:aux,tcp' '^ib:aux' 'tcp,all' 'udx,sr,tcp' 'ud_verbs,tcp' 'rc,tcp'
        '^ud_v' ',ud,,tcp')
    for tls in "${names[@]}"; do
        local words=(UCX_TLS="$tls")
        [ "$tls" != unset ] || words=(-u UCX_TLS)
        words=(env "${words[@]}" UCX_LOG_LEVEL=debug "$SRDRUN" ucx_info -w -u t)
        "$EFASIM" run --fabric "t$$" -- "${words[@]}" >"$out.opened" 2>&1
        "$EFASIM" run --fabric "t$$" --fail-command \
            create-qp:1:ENOMEM,create-qp:2:ENOMEM -- "${words[@]}" >"$out.tried" 2>&1
        opened=$(grep -aoE '(srd|ud) interface open' "$out.opened" |
            sed 's/ .*//' | sort -u | xargs)
        tried=$(grep -aoE 'no (SRD|UD) queue pair' "$out.tried" |
            sed 's/no \(.*\) queue pair/\L\1/' | sort -u | xargs)
        echo "UCX_TLS=$tls: UCX opens '$opened', tried: '$tried'"
        [ "$opened" = "$tried" ] || bad=$((bad + 1))
        [ -z "$opened" ] || count=$((count + 1))
    done
    at_least "lists with ours" $count 15
    [ $bad = 0 ] || fail "$bad lists are read in another way than by UCX"
}

# UCX_TLS=^tcp,ib: from UCX 1.20 on the alias "ib" has srd, so ud is what is left;
# with it excluded, too, nothing of ours, and nobody to be told.
tls_ib() {
    need ucx_info
    local out=$CHECK_LOG.out want=1
    local words=("$EFASIM" run --fabric "t$$" --refuse-open -- "$SRDRUN" ucx_info -d)
    UCX_TLS=^tcp,ib "${words[@]}" >"$out" 2>&1
    [ "$(grep -acE 'EFA +(WARN|ERROR)' "$out")" = 1 ] || fail "^tcp,ib: not one line"
    UCX_TLS=^tcp,ib,ud "${words[@]}" >"$out" 2>&1
    [ "$(ucx_minor)" -lt 20 ] || want=0
    [ "$(grep -acE 'EFA +(WARN|ERROR)' "$out")" = $want ] ||
        fail "^tcp,ib,ud: not $want lines"
}
