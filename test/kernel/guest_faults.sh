#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest, whose devices are two efa2 on a lossy network: packets that are sent
# again, processes that are killed, a device that is removed, a driver that is unloaded.
# shellcheck source=test/kernel/guest_lib.sh
. /srd/guest_lib.sh
place=$(basename "$(readlink -f /sys/class/infiniband/efa_0/device)")

# traffic: stock ucx_perftest over srd between two processes on the first device,
# for longer than anything here takes. Sets the two pids.
traffic() {
    export UCX_TLS=srd UCX_NET_DEVICES=efa_0:1
    "$B/bin/srdrun" ucx_perftest -t tag_lat -s 1000 -n 100000000 -w 0 \
        >/tmp/server.log 2>&1 &
    served=$!
    within 60 listens || return
    "$B/bin/srdrun" ucx_perftest -t tag_lat -s 1000 -n 100000000 -w 0 \
        127.0.0.1 >/tmp/client.log 2>&1 &
    client=$!
    within 60 flows
}

# Messages go out.
flows() {
    local before
    before=$(counted efa_0 tx_pkts)
    sleep 0.5
    [ "$(counted efa_0 tx_pkts)" != "$before" ]
}

# ended PID
ended() {
    ! kill -0 "$1" 2>/dev/null
}

# Processes that exist, also ended ones.
left() {
    rdma resource show 2>/dev/null | grep -E '[a-z]+ [1-9]' |
        grep -oE '(pd|cq|qp|mr|ctx) [1-9][0-9]*' | xargs
}

nothing_left() {
    [ -z "$(left)" ]
}

in_use() {
    [ -n "$(left)" ]
}

is_there() {
    [ -e /sys/class/infiniband/efa_0 ]
}

killed() {
    traffic || return
    kill -9 "$client"
    # the far side learns of it, or is ended with the rest
    within 30 ended "$served" || echo "the far side went on" >>/tmp/server.log
    kill -9 "$served" 2>/dev/null
    wait
    within 30 nothing_left || {
        echo "left: $(left)" >>/tmp/server.log
        return 1
    }
}

# This driver takes a device away only when no process has it any more: until
# then there is no event, and all goes on.
unplugged() {
    traffic || return
    (echo 1 >"/sys/bus/pci/devices/$place/remove") &
    local remove=$!
    sleep 3
    kill -0 "$remove" 2>/dev/null || return
    kill -0 "$client" && kill -0 "$served" || return
    kill -9 "$client" "$served"
    within 60 ended "$remove" || return
    ! is_there || return
    echo 1 >/sys/bus/pci/rescan
    within 60 is_there
}

# delete_module("efa", O_NONBLOCK): its errno
unload() {
    perl -e '$! = 0; syscall(176, my $name = "efa", 0x800); print $! + 0'
}

unloaded() {
    local files
    ib_send_bw -d efa_0 -c SRD -x 0 >/tmp/server.log 2>&1 &
    local pid=$!
    within 60 in_use && [ "$(unload)" = 11 ] || return # EAGAIN: in use
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    within 30 nothing_left && [ "$(unload)" = 0 ] || return
    ! is_there || return
    files=(/srd/modules/*efa.ko)
    perl -e 'open(my $f, "<", $ARGV[0]);
        syscall(313, fileno($f), my $none = "", 0) == 0 or exit 1' \
        "${files[0]}" || return
    within 60 is_there
}

again() {
    export UCX_TLS=srd UCX_NET_DEVICES=efa_0:1
    pair "$SLOW" "$B/bin/srdrun" ucx_perftest -t tag_lat -s 1000 -n 50 -w 0 -- \
        "$B/bin/srdrun" ucx_perftest -t tag_lat -s 1000 -n 50 -w 0 127.0.0.1
}

moved retransmits efa_0 retrans_pkts 1 again
for check in killed unplugged again unloaded again; do
    rm -f /tmp/*.log
    if "$check"; then
        ok "$check"
    else
        bad "$check" "status $?"
    fi
    pkill -9 ucx_perftest 2>/dev/null
done
exit 0
