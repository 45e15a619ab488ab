# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Errors that a user meets, a check of suite load, which sources this file: each is
# provoked, and the one line that the user then sees is written to a list that a
# person can read ($CHECK_LOG.list, and the check's log). A machine sees as much:
# there is one line of ours and no more; it fits a screen's three lines; it says
# what happened (the name or value that the user gave, or the device), why, and
# what to do, as the three patterns of the row ask.

ERRORS_BAD=0 ERRORS_COUNT=0
ERRORS_LENGTH=420 # bytes of a line, at most, without UCX's own head

# Lines of ours: of the module by UCX's logger or to stderr, of a program.
errors_lines() {
    local ours=' EFA  +(WARN|ERROR|FATAL) |libuct_srd: |^FAIL '
    ours="$ours|^\[[^]]*\] +(base|srd|ud|efa)_[a-z_]+\.c:[0-9]+ "
    ours="$ours|^(srd_info|srd_replay|srd_systemwide|srdrun|efasim|efapci)[^ ]*: "
    ours="$ours|parser.c.*ERROR .*UCX_(SRD|EFA)"
    grep -avE '^srd_info: [a-z-]+, between ' "$1" | grep -aE "$ours" |
        sed -E 's/^\[[^]]*\] +[a-z_]+\.c:[0-9]+ +/FATAL: /
            s/^\[[0-9.]+\] \[[^]]*\] +[^ ]+ +[A-Z]+ +(WARN|ERROR|FATAL) +/\1: /'
}

# error TITLE WHAT WHY DO COMMAND...: runs it; its line has all three.
error() {
    local title=$1 what=$2 why=$3 remedy=$4 line count pattern bad=''
    shift 4
    "$@" >"$CHECK_LOG.out" 2>&1 </dev/null
    line=$(errors_lines "$CHECK_LOG.out")
    count=$(grep -c . <<<"$line")
    ERRORS_COUNT=$((ERRORS_COUNT + 1))
    printf '%2d. %s\n' $ERRORS_COUNT "$title" >>"$ERRORS_LIST"
    printf '%s\n' "${line:-(nothing)}" | fold -s -w 92 | sed 's/^/      /' >>"$ERRORS_LIST"
    echo >>"$ERRORS_LIST"
    [ "$count" = 1 ] || bad="$count lines, not 1"
    [ "${#line}" -le $ERRORS_LENGTH ] || bad="$bad; ${#line} bytes are too many"
    for pattern in "$what" "$why" "$remedy"; do
        grep -qE -- "$pattern" <<<"$line" || bad="$bad; no '$pattern'"
    done
    [ -z "$bad" ] || {
        echo "BAD ${bad#; }: $title"
        head -n 20 "$CHECK_LOG.out"
        ERRORS_BAD=$((ERRORS_BAD + 1))
    }
}

# on KNOB... -- COMMAND...: on an emulated node with these knobs.
errors_on() {
    "$EFASIM" run --fabric "t$$" "$@"
}

# A program of UCX with and without variables, on a node.
errors_ucx() {
    errors_on -- env UCX_TLS=srd,self "$@" "$SRDRUN" ucx_info -w -u t
}

errors_locked() {
    # shellcheck disable=SC2016 # for the inner shell
    errors_on --memlock 2 -- bash -c 'ulimit -l "$0"; exec "$@"' "$@"
}

errors_told() {
    [ -n "$(errors_lines "$CHECK_LOG.client")" ]
}

errors_busy() {
    grep -q '^\[thread' "$CHECK_LOG.client" || errors_told # its line of the first second
}

# errors_pair KNOBS SERVER_TLS CLIENT_TLS [COMMAND]: ucx_perftest on two nodes, whose
# client always has messages under way (one that waits notices late); what the
# client says. COMMAND gets the server's process once both are busy. No failure ends a
# program of UCX 1.21 or newer: there the client waits for ever, its line in a buffer.
errors_pair() {
    local port server client run lives='' lines=()
    [ "$(ucx_minor)" -lt 21 ] || lives=yes lines=(stdbuf -oL)
    port=$(random_port)
    # shellcheck disable=SC2206 # knobs
    run=("$EFASIM" run --fabric "t$$" $1)
    "${run[@]}" --node 0 -- env UCX_TLS="$2" UCX_HANDLE_ERRORS=none "${PERFTEST[@]}" \
        -p "$port" >"$CHECK_LOG.server" 2>&1 &
    server=$!
    wait_listen "$port" $server || return
    "${run[@]}" --node 1 -- env UCX_TLS="$3" UCX_HANDLE_ERRORS=none "${lines[@]}" \
        "${PERFTEST[@]}" 127.0.0.1 -p "$port" -t tag_bw -n 100000000 \
        >"$CHECK_LOG.client" 2>&1 &
    client=$!
    wait_until $client errors_busy
    "${4-true}" $server
    [ -z "$lives" ] || { wait_until $client errors_told && sleep 0.5 && kill $client; }
    wait $client
    kill $server 2>/dev/null
    wait $server
    cat "$CHECK_LOG.client"
}

# Kills the program that `efasim run` started.
errors_kill_child() {
    kill -KILL "$(pgrep -P "$1")"
}

# errors_rights FILE: a program that starts with rights of its file, by root.
errors_rights() {
    local as_user=(setpriv --reuid 4242 --regid 4242 --clear-groups)
    chown 1:1 "$1"
    chmod u+s "$1"
    error 'srdrun ./setuid' '\.static' 'setuid or setgid' \
        'run a copy without that bit.*in front of srdrun' "$SRDRUN" "$1"
    error 'efasim run -- ./setuid' '\.static' 'setuid or setgid' \
        'run a copy without that bit.*in front of efasim' errors_on -- "$1"
    chmod u-s "$1"
    [ -x /sbin/getcap ] && "${as_user[@]}" test -x "$SRDRUN" && python3 - "$1" <<'PY' || return 0
import os
import struct
import sys
os.setxattr(sys.argv[1], 'security.capability',
            struct.pack('<5I', 0x2000001, 1 << 13, 0, 0, 0))  # CAP_NET_RAW
PY
    error 'srdrun ./with-capabilities (by a user)' '\.static' 'has file capabilities' \
        'run a copy, which has none' "${as_user[@]}" "$SRDRUN" "$1"
    error 'efasim run -- ./with-capabilities (by a user)' '\.static' 'has file capabilities' \
        'run a copy, which has none' env EFASIM_STAT= "${as_user[@]}" "$EFASIM" run \
        --fabric "u$$" -- "$1"
}

errors_programs() {
    local srd_info=$BUILD/bin/srd_info blocker port line
    port=$(random_port)
    error 'srdrun ./nosuch' 'nosuch' 'no such file' "the program's path" \
        "$SRDRUN" ./nosuch
    error 'srdrun solver (which is not in PATH)' 'solver' 'not found in PATH' 'PATH' \
        "$SRDRUN" solver_of_nobody
    error 'srdrun /etc/passwd' '/etc/passwd' 'not executable' 'name a program.*chmod' \
        "$SRDRUN" /etc/passwd
    error 'srdrun UCX_TLS=srd ./program' 'UCX_TLS=srd: ' 'variables go in front' \
        'UCX_TLS=srd srdrun' "$SRDRUN" UCX_TLS=srd ./program
    error 'srdrun --tls=srd ./program' "'--tls=srd'" 'unknown option' 'UCX_TLS=srd.*srdrun --help' \
        "$SRDRUN" --tls=srd ./program
    echo 'int main(void) { return 0; }' | cc -static -x c -o "$CHECK_LOG.static" - && {
        error 'srdrun ./static (a program that was linked with -static)' \
            '\.static' 'static program' 'link it dynamically' "$SRDRUN" "$CHECK_LOG.static"
        error 'efasim run -- ./static' '\.static' 'static program' 'link it dynamically' \
            errors_on -- "$CHECK_LOG.static"
        [ "$(id -u)" != 0 ] || errors_rights "$CHECK_LOG.static"
    }
    error 'srd_info --peer=host (without --selftest)' '--peer' 'no effect' 'add --selftest' \
        "$srd_info" --peer=host
    error 'srd_info --chekc' "'--chekc'" 'unknown option' 'is --check meant.*--help' \
        "$srd_info" --chekc
    error 'srd_info --check --plan' '--check and --plan' 'two reports' 'once for each' \
        "$srd_info" --check --plan
    error 'srd_info --check=all' '--check=all' 'takes no value' '--check' "$srd_info" --check=all
    error 'srd_info --json' '--json' 'needs a value' 'json=FILE' "$srd_info" --json
    error 'srd_info --map=gpu' 'map=gpu' 'allowed is export' 'or nothing' "$srd_info" --map=gpu
    error 'srd_info --map (on a host without an EFA)' '--map' 'no EFA device' \
        'attach one|efasim' "$srd_info" --map
    error 'srd_info --counters (on a host without an EFA)' '--counters' 'no device with counters' \
        'modprobe efa|--check' env SYSFS_PATH="$CHECK_LOG.none" "$srd_info" --counters
    error 'srd_systemwide on' "'on'" 'unknown command' 'is enable meant.*--help' \
        "$BUILD/sbin/srd_systemwide" on
    error 'srd_replay --utnil 5 FILE' "'--utnil'" 'unknown option' 'is --until meant.*--help' \
        "$BUILD/bin/srd_replay" --utnil 5 /etc/passwd
    error 'srd_replay --until=0 FILE' 'until=0' 'allowed' 'from 1 to' \
        "$BUILD/bin/srd_replay" --until=0 /etc/passwd
    error 'srd_replay --lost (of one recording)' '--lost' 'two ends' 'name those of the other' \
        "$BUILD/bin/srd_replay" --lost /etc/passwd
    error 'srd_info --plan' '--plan' 'size of the job' 'add --ranks' "$srd_info" --plan
    error 'srd_info --plan --table --json=-' '--json' 'text alone' 'name one job by --ranks' \
        "$srd_info" --plan --table --json=-
    error 'srd_info --json=/dev/full' 'json=/dev/full' 'No space left' 'make room' \
        "$srd_info" --plan --ranks=2 --hosts=2 --json=/dev/full
    error 'srd_replay /etc/passwd' '/etc/passwd' 'no recording' 'srdrec, which UCX_EFA_RECORD' \
        "$BUILD/bin/srd_replay" /etc/passwd
    error 'srd_replay FOLDER' 'cannot read /tmp' 'Is a directory' 'name a recording' \
        "$BUILD/bin/srd_replay" /tmp
    error 'srd_replay FILE (a name with commands of a terminal)' \
        'read x\?\?2J\?\?\?é\.srd:' 'No such' 'name a recording' \
        "$BUILD/bin/srd_replay" $'x\xc2\x9b2J\x9b\e\x7fé.srd'
    error 'srd_info --selftest (on a host without an EFA)' 'no self-test' 'has no EFA' \
        'choose|attach|instance' "$srd_info" --selftest
    error 'srd_info --selftest --device=rdmap9' 'device=rdmap9' 'none of that name' \
        'name one, there are: rdmap0s6' errors_on -- "$srd_info" --selftest --device=rdmap9
    error 'srd_info --selftest --only=latencies' "'latencies'" 'no probe is named' \
        '--selftest --all. names' errors_on -- "$srd_info" --selftest --only=latencies
    error 'srd_info --selftest --peer=127.0.0.1 (nobody listens there)' 'peer=127.0.0.1' 'refused' \
        "start 'srd_info --selftest --listen" \
        errors_on -- "$srd_info" --selftest --peer="127.0.0.1:$port"
    error 'srd_info --selftest --peer=nosuch.invalid' 'peer=nosuch.invalid' 'not known|resolution' \
        'name a host.*or an address' errors_on -- "$srd_info" --selftest --peer=nosuch.invalid
    error 'srd_info --check --sysroot=/no/such' 'sysroot=/no/such' 'No such file' \
        'name the folder .*proc' "$srd_info" --check --sysroot=/no/such
    error 'srd_info --selftest --peer=127.0.0.1:99999' 'port 99999' 'allowed' 'from 1 to 65535' \
        errors_on -- "$srd_info" --selftest --peer=127.0.0.1:99999
    python3 -c "import socket, time
port = socket.create_server(('', $port))
time.sleep(60)" &
    blocker=$!
    wait_listen "$port" $blocker
    error "srd_info --selftest --listen=$port (that port is in use)" "listen=$port" 'in use' \
        'name another port: --listen=' errors_on -- "$srd_info" --selftest --listen="$port"
    kill $blocker
    error 'srd_info --selftest (ulimit -l 8192)' 'no self-test' \
        '12288 KiB of memory, the limit is 8192 KiB' 'ulimit -l.*--check' \
        errors_locked 8192 "$srd_info" --selftest --facts
    error 'srd_info --json=/no/such/file' 'json=/no/such/file' 'No such file' 'name a file' \
        "$srd_info" --json=/no/such/file
    error 'srd_info --python=/no/python' 'python=/no/python' 'cannot be started: No such' \
        'name a Python 3' "$srd_info" --python=/no/python
    error 'srd_info --plan --ranks=0 --hosts=8' 'ranks=0' 'allowed' 'from 1' \
        "$srd_info" --plan --ranks=0 --hosts=8
    error 'efasim run --node 8 -- true' 'node=8' 'allowed' 'from 0 to 7' \
        "$EFASIM" run --node 8 -- true
    error 'efasim run --per-node 1 -- ibv_devinfo (no launcher)' 'per-node=1' \
        'no launcher numbers' 'mpirun or srun, or give --node' \
        "$EFASIM" run --per-node 1 --fabric "t$$" -- ibv_devinfo
    error 'efasim run --lose 0.1 -- true' "'--lose'" 'unknown option' 'is --loss meant.*--help' \
        "$EFASIM" run --lose 0.1 -- true
    error 'EFASIM_REORDR=0.2 efasim run -- true' 'EFASIM_REORDR=0.2' 'no setting has this name' \
        'is EFASIM_REORDER meant.*--help' env EFASIM_REORDR=0.2 "$EFASIM" run -- true
    error 'EFASIM_RDMA_READ=0 efasim run -- true' 'EFASIM_RDMA_READ=0' 'so it changes nothing' \
        'is EFASIM_NO_RDMA_READ meant.*--help' env EFASIM_RDMA_READ=0 "$EFASIM" run -- true
    error 'efasim run solver (which is not in PATH)' 'solver' 'not found in PATH' \
        'install it, or give' errors_on -- solver_of_nobody
    error 'efasim run -- UCX_TLS=srd srdrun ./program' 'UCX_TLS=srd: ' 'variables go in front' \
        'UCX_TLS=srd efasim run --' errors_on -- UCX_TLS=srd "$SRDRUN" true
    error 'efasim run --stat=/dev/full -- ./program' 'stat=/dev/full' 'No space left' \
        'make room' errors_on --stat=/dev/full -- env UCX_TLS=srd "$SRDRUN" ucx_info -w -u t
    error 'efasim run --trace /dev/full -- ibv_devinfo' '--trace' 'No space left' 'make room' \
        errors_on --trace /dev/full -- ibv_devinfo
    # shellcheck disable=SC2016 # for the inner shell
    for line in 'efapci --help=all' 'srd_info --plan --ranks 2 --hosts 2'; do
        error "$line >/dev/full" 'report' 'No space left' 'make room' \
            bash -c '"$@" >/dev/full && echo FAIL status 0' - "$BUILD"/bin/$line
    done
    error "efasim run --fabric '' -- true" '--fabric=' 'allowed' 'letters' \
        "$EFASIM" run --fabric '' -- true
    error "efasim run -- ''" 'program' 'name is empty' 'may be unset' errors_on -- ''
    error "srdrun ''" 'program' 'name is empty' 'may be unset' "$SRDRUN" ''
    error 'efasim ibv_devinfo (run is missing)' "'ibv_devinfo'" 'unknown command' \
        'efasim run -- ibv_devinfo' "$EFASIM" ibv_devinfo
    error 'efasim run --plan faults.txt -- true (no such file)' 'faults.txt' 'No such file' \
        'see PLANS' "$EFASIM" run --plan faults.txt -- true
    printf 'partition 0 0\n' >"$CHECK_LOG.plan"
    error 'efasim run --plan (partition 0 0)' "line 1: '0'" 'no network between a host and itself' \
        'allowed is another host' "$EFASIM" run --plan "$CHECK_LOG.plan" -- true
    printf '\033[31mpartition\n' >"$CHECK_LOG.plan" # no words to a terminal
    error 'efasim run --plan (escapes)' "line 1: '.\\[31mpartition'" '\?' 'allowed is partition' \
        "$EFASIM" run --plan "$CHECK_LOG.plan" -- true
    printf 'partitoin 0 1\n' >"$CHECK_LOG.plan"
    error 'efasim run --plan (partitoin 0 1)' "line 1: 'partitoin'" 'allowed is' \
        'is partition meant' "$EFASIM" run --plan "$CHECK_LOG.plan" -- true
    printf 'absent\n' >"$CHECK_LOG.plan"
    error 'efasim run --plan (absent, of no host)' 'line 1' 'absent' 'allowed' \
        "$EFASIM" run --plan "$CHECK_LOG.plan" -- true
    error 'efasim stat --wtach' "'--wtach'" 'unknown option' 'is --watch meant.*--help' \
        "$EFASIM" stat --wtach
    error 'efapci --lss=0.1 efa1:/run/efa' "'--lss=0.1'" 'unknown option' \
        'is --loss meant.*--help' "$BUILD/bin/efapci" --lss=0.1 efa1:/run/efa
    error 'efapci foo' "'foo'" 'name 1 to' 'as efaN:SOCKET' "$BUILD/bin/efapci" foo
    error 'efapci (no function)' 'no function' 'GENERATION:SOCKET' 'as in .efapci efa1:' \
        "$BUILD/bin/efapci"
    error 'efasim run --plan <(echo "at 1s kill") -- true' 'plan /dev/fd' 'only one program' \
        'names a file' "$EFASIM" run --plan <(echo 'at 1s kill') -- true
    error 'efasim stat (while nothing runs)' "'t$$'|fabric named" 'no fabric|No such' \
        'start one, or .*--fabric' "$EFASIM" stat --fabric "t$$"
}

errors_twice() {
    # shellcheck disable=SC2016 # for the inner shell
    errors_on -- env UCX_TLS=srd "$SRDRUN" bash -c \
        'LD_PRELOAD=$0:$LD_PRELOAD exec ucx_info -w -u t' "$1"
}

# Names of which UCX makes another thing than was meant.
errors_names() {
    local value
    for value in 'srd, sm' 'srd;sm' '"srd,sm"'; do
        error "UCX_TLS='$value'" "UCX_TLS=$value: " 'each .[ ;"]. for a part of the name' \
            'commas alone .*UCX_TLS=srd,sm,self' errors_ucx UCX_TLS="$value"
    done
    error 'UCX_TLS=SRD,sm' 'UCX_TLS=SRD,sm' 'small letters alone' 'UCX_TLS=srd,sm,self' \
        errors_ucx UCX_TLS=SRD,sm
    error 'UCX_TLS=efa' 'UCX_TLS=efa' 'no transport' 'UCX_TLS=srd,sm,self' \
        errors_ucx UCX_TLS=efa
    error 'UCX_TLS=rc' 'UCX_TLS=rc' 'rc is InfiniBand' 'UCX_TLS=srd,sm,self' \
        errors_ucx UCX_TLS=rc
    [ "$(ucx_minor)" -ge 20 ] ||
        error 'UCX_TLS=ib' 'UCX_TLS=ib' 'ib is InfiniBand' 'UCX_TLS=srd,sm,self' \
            errors_ucx UCX_TLS=ib
    error 'UCX_SRD_WINDOWS=3' 'UCX_SRD_WINDOWS=3' 'no variable has this name' \
        'is UCX_SRD_WINDOW meant.*man' errors_ucx UCX_SRD_WINDOWS=3
    error 'UCX_EFA_DIRCT=n' 'UCX_EFA_DIRCT=n' 'no variable has this name' \
        'is UCX_EFA_DIRECT meant.*man' errors_ucx UCX_EFA_DIRCT=n
    error 'UCX_IB_SL=3' 'UCX_IB_SL=3' 'for InfiniBand' 'set UCX_SRD_SL' errors_ucx UCX_IB_SL=3
    error 'UCX_IB_GID_INDEX=1' 'UCX_IB_GID_INDEX=1' 'for InfiniBand' 'unset it, as .* one GID' \
        errors_ucx UCX_IB_GID_INDEX=1
    error 'UCX_UD_WINDOW=8' 'UCX_UD_WINDOW=8' 'for InfiniBand' 'UCX_EFA_UD_.*man ucx-efa-srd' \
        errors_ucx UCX_TLS=ud UCX_UD_WINDOW=8
    for value in 'rdmap0s6:1, eth0' 'rdmap*:1'; do
        error "UCX_NET_DEVICES='$value'" 'UCX_NET_DEVICES=rdmap' 'each .[ *]. for a part of the' \
            'whole names with commas .*UCX_NET_DEVICES=rdmap0s6:1' \
            errors_ucx UCX_TLS=srd,tcp UCX_NET_DEVICES="$value"
    done
    error 'UCX_NET_DEVICES=rdmap0s6:2' 'UCX_NET_DEVICES=rdmap0s6:2' 'one port, which is 1' \
        'name rdmap0s6:1' errors_ucx UCX_TLS=srd,tcp UCX_NET_DEVICES=rdmap0s6:2
    error 'UCX_NET_DEVICES=^rdmap0s6:2' 'UCX_NET_DEVICES=.rdmap0s6:2' 'one port|a part of the' \
        'rdmap0s6:1' errors_ucx 'UCX_NET_DEVICES=^rdmap0s6:2'
    [ "$(ucx_minor)" -lt 21 ] || return 0
    error 'UCX_NET_DEVICES=rdmap16s6 (before UCX 1.21)' 'UCX_NET_DEVICES=rdmap16s6' \
        'wants the port' 'rdmap16s6:1' errors_on --devices 2 -- env UCX_TLS=srd,tcp,self \
        UCX_NET_DEVICES=rdmap16s6 "$SRDRUN" ucx_info -w -u t
    error 'UCX_NET_DEVICES=^eth0 (before UCX 1.21)' 'UCX_NET_DEVICES=.eth0' \
        'takes the . for a part of the name' 'name the devices.*rdmap0s6:1' \
        errors_ucx 'UCX_NET_DEVICES=^eth0'
}

errors_module() {
    local copy=$CHECK_LOG.dir/libuct_srd.so.0
    local peer=("$BUILD/test/gtest_uct" --gtest_filter='UctFailure.foreign*')
    mkdir -p "${copy%/*}"
    error 'UCX_TLS=srd (on a host without an EFA)' 'no srd' 'no EFA device' \
        'instance type|efasim' env UCX_TLS=srd "$SRDRUN" ucx_info -w -u t
    mkdir -p "$CHECK_LOG.empty"
    error 'UCX_TLS=srd (in a container without /sys)' 'empty' 'no device of any kind' \
        '/sys mounted' env SYSFS_PATH="$CHECK_LOG.empty" UCX_TLS=srd "$SRDRUN" ucx_info -d
    [ "$(id -u)" != 0 ] || ! setpriv --reuid 65534 test -x "$BUILD/bin/srd_info" ||
        error 'efasim run -- setpriv --reuid 65534 srd_info --check' "/efasim.*-0-t$$/" \
            'user 65534 may not look' "efasim run' behind" errors_on -- \
            setpriv --reuid 65534 "$BUILD/bin/srd_info" --check
    echo UCX_TLS=srd >"${copy%/*}/ucx.conf"
    error 'UCX_TLS=srd in ucx.conf (on a host without an EFA)' 'no srd' 'no EFA device' \
        'instance type|efasim' env UCX_CONFIG_DIR="${copy%/*}" "$SRDRUN" ucx_info -w -u t
    error 'UCX_TLS=srd (/dev/infiniband/uverbs0 is not this user'"'"'s)' 'rdmap0s6' \
        'no right' 'group|udev|--device' errors_on --refuse-open -- env UCX_TLS=srd \
        "$SRDRUN" ucx_info -w -u t
    error 'UCX_TLS=srd,sm,cuda UCX_NET_DEVICES=eth0' 'UCX_NET_DEVICES=eth0' \
        'no EFA device of this' 'name rdmap0s6:1, or unset' \
        errors_ucx UCX_TLS=srd,sm,cuda UCX_NET_DEVICES=eth0
    error 'UCX_TLS=ud,srd UCX_NET_DEVICES=mlx5_0:1 (of two devices)' 'UCX_NET_DEVICES=mlx5' \
        'no EFA device of this' 'name rdmap0s6:1 or another' errors_on --devices 2 -- \
        env UCX_TLS=ud,srd UCX_NET_DEVICES=mlx5_0:1 "$SRDRUN" ucx_info -w -u t
    errors_names
    error 'UCX_TLS=srd (ulimit -l 64)' 'rdmap0s6' 'locked memory' 'ulimit -l|memlock' \
        errors_locked 64 env UCX_TLS=srd "$SRDRUN" ucx_info -w -u t
    error 'UCX_TLS=srd (the device has no queue pair left)' 'rdmap0s6' 'queue pair' \
        'fewer|close|end|ulimit|see|use' errors_on --fail-command create-qp:1:ENOMEM -- \
        env UCX_TLS=srd "$SRDRUN" ucx_info -w -u t
    error 'UCX_SRD_WINDOW=0' 'UCX_SRD_WINDOW' "Invalid value .*'0'" 'from 1 to [0-9]+' \
        errors_ucx UCX_SRD_WINDOW=0
    error 'UCX_SRD_TX_QUEUE_LEN=0' 'UCX_SRD_TX_QUEUE_LEN' "Invalid value .*'0'" 'from 16 to' \
        errors_ucx UCX_SRD_TX_QUEUE_LEN=0
    error 'UCX_EFA_UD_MTU=100' 'UCX_EFA_UD_MTU=100' 'allowed' '256 bytes and more' \
        errors_ucx UCX_TLS=ud,self UCX_EFA_UD_MTU=100
    error 'UCX_SRD_RX_QUEUE_LEN=8192' 'UCX_SRD_RX_QUEUE_LEN=8192' \
        'uses 2048: .* half of its 4096' 'raise UCX_SRD_RX_BUFFERS_MAX' \
        errors_ucx UCX_SRD_RX_QUEUE_LEN=8192
    error 'UCX_SRD_TX_QUEUE_LEN=4000' 'UCX_SRD_TX_QUEUE_LEN=4000' \
        'rdmap0s6 uses [0-9]*: its queue has [0-9]* sends' 'ask for no more' \
        errors_ucx UCX_SRD_TX_QUEUE_LEN=4000
    error 'UCX_SRD_RX_BUFFERS_MAX=9000' 'UCX_SRD_RX_BUFFERS_MAX=9000' \
        'rdmap0s6 uses 8192: its queue has no more' 'ask for no more' \
        errors_on --max-cqe 8192 -- env UCX_TLS=srd,self UCX_SRD_RX_BUFFERS_MAX=9000 \
        "$SRDRUN" ucx_info -w -u t
    error 'UCX_SRD_MAX_AH=2000 (of a device with 1024)' 'UCX_SRD_MAX_AH=2000' \
        'rdmap0s6 uses 1024: it has no more address handles' 'ask for no more' \
        errors_ucx UCX_SRD_MAX_AH=2000
    error 'UCX_EFA_UD_MTU=20000' 'UCX_EFA_UD_MTU=20000' \
        'rdmap0s6 takes no datagrams of that length: ud sends [0-9]* bytes' 'or unset it' \
        errors_ucx UCX_TLS=ud,self UCX_EFA_UD_MTU=20000
    error 'UCX_EFA_CLAIM=perhaps' "'perhaps'" 'Invalid value' 'Expected: y, n or try' \
        errors_ucx UCX_EFA_CLAIM=perhaps
    error 'UCX_EFA_ABI=banana (with a UCX that needs none)' 'UCX_EFA_ABI=banana' \
        'allowed is a version of UCX' 'unset it' errors_ucx UCX_EFA_ABI=banana
    libefa_is_direct ||
        error 'UCX_EFA_DIRECT=y (rdma-core is older than 60)' \
            'is not used.*UCX_EFA_DIRECT=y' 'rdma-core|libefa' 'UCX_EFA_DIRECT=try' \
            errors_ucx UCX_EFA_DIRECT=y
    cp "$BUILD/lib/libuct_srd.so.0" "$copy"
    error 'the module in LD_PRELOAD twice, from two installs' "$copy|libuct_srd" 'loaded twice' \
        'keep one' errors_twice "$copy"
    [ ! -x "${peer[0]}" ] || {
        error 'a peer with UCX'"'"'s own srd' 'a peer is unreachable over srd' 'another srd' \
            'start the peer with' \
            errors_on -- env UCX_TLS=srd PEER_KIND=other "$SRDRUN" "${peer[@]}"
        error 'a peer with a newer version of the module' 'unreachable over srd' \
            'speaks version' 'update the module on this side' \
            errors_on -- env UCX_TLS=srd PEER_KIND=newer "$SRDRUN" "${peer[@]}"
    }
}

errors_peers() {
    local status
    echo 'at 0ms partition 0 1' >"$CHECK_LOG.plan"
    error 'UCX_TLS=srd here and UCX_TLS=ud at the peer' 'this side has srd ' \
        'the peer has none of these' 'srdrun, the same UCX_TLS' errors_pair '' ud srd
    error 'a peer whose security group drops the packets' 'endpoint to ' 'never answered' \
        'security group' errors_pair "--timeout-ms 250 --plan $CHECK_LOG.plan" srd srd
    error 'the same of a program that handles errors' 'WARN: .*endpoint to ' 'never answered' \
        'security group' errors_handled
    error 'a peer that is killed' 'endpoint to ' 'process is gone' 'its own output|gone' \
        errors_pair '' srd srd errors_kill_child
    # the direct path's trial would make the first handle
    UCX_EFA_DIRECT=n error 'a peer in another availability zone' 'no address handle for a peer' \
        'refuses its address' 'availability zone.*enabled.*subnet' \
        errors_pair '--fail-command create-ah:1:EINVAL' srd srd
    for status in 6 7 11 18; do
        error "a message that ends with status $status" "a message ended with status $status " \
            'device: (longer than|remote memory without|the two devices)' \
            'selftest.*UCX_EFA_RECORD|see whether the peer released' \
            errors_pair "--inject send:$status:1:500" srd srd
    done
    error 'srd_info --selftest --peer (its security group drops the packets)' \
        'no packet reaches' 'security group' 'same subnet' \
        errors_selftest 1 --timeout-ms 250 --plan "$CHECK_LOG.plan" --
    error 'srd_info --selftest --peer (which is this host)' 'peer=127.0.0.1' \
        "this host's own EFA" 'name another host' errors_selftest 0 -- --only=wrong-qkey
}

# A program whose endpoints have an error handler, as those by socket address; its
# peer notices later.
errors_handled() {
    # shellcheck disable=SC2034 # for far_server
    local far_pids=() far_fds=() far_fd variables
    variables=("UCX_TLS=srd,tcp" FAR_PORT="$(random_port)")
    far_server address "$EFASIM" run --fabric "t$$" --node 0 --timeout-ms 250 \
        --plan "$CHECK_LOG.plan" -- env EFASIM_TIMEOUT_MS=8000 "${variables[@]}"
    errors_on --node 1 --timeout-ms 250 --plan "$CHECK_LOG.plan" -- env \
        "${variables[@]}" "$SRDRUN" "$BUILD/test/ucp_far" "$CHECK_LOG.address" 127.0.0.1
    far_servers_end
}

# errors_selftest NODE KNOB... -- OPTION...: between a listener on node NODE and node 0.
errors_selftest() {
    local port listener node=$1 knobs=()
    shift
    while [ "$1" != -- ]; do knobs+=("$1"); shift; done
    shift
    port=$(random_port)
    errors_on --node "$node" "${knobs[@]}" -- \
        "$BUILD/bin/srd_info" --selftest --listen="$port" >/dev/null 2>&1 &
    listener=$!
    wait_listen "$port" $listener
    errors_on --node 0 "${knobs[@]}" -- \
        "$BUILD/bin/srd_info" --selftest --peer="127.0.0.1:$port" "$@"
    wait $listener
}

# An MPI that goes another way.
errors_mpi() {
    local as_root=()
    command -v mpirun >/dev/null && [ -x "$BUILD/test/mpi_check" ] || return 0
    [ "$(id -u)" -ne 0 ] || as_root=(--allow-run-as-root)
    error 'mpirun without --mca pml ucx' 'UCX_TLS=srd' 'did not use UCX' '--mca pml ucx' \
        mpirun -np 2 --oversubscribe "${as_root[@]}" --mca pml ob1 --mca btl self,vader \
        -x UCX_TLS=srd,sm "$EFASIM" run --per-node 1 -- "$SRDRUN" \
        "$BUILD/test/mpi_check" all 64
}

errors() {
    need cc python3 ucx_info
    need_perftest
    ERRORS_LIST=$CHECK_LOG.list
    : >"$ERRORS_LIST"
    unset UCX_TLS
    errors_programs
    errors_module
    errors_peers
    errors_mpi
    cat "$ERRORS_LIST"
    rm -rf "$CHECK_LOG.dir" "$CHECK_LOG.static"
    [ $ERRORS_BAD = 0 ] || fail "$ERRORS_BAD of $ERRORS_COUNT lines are not good"
    at_least "errors provoked" $ERRORS_COUNT 100
}
