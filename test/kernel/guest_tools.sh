#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest, whose devices are efa2, efa0, efa1, efa3 and efa2 again: programs
# over the kernel's driver.
# shellcheck source=test/kernel/guest_lib.sh
. /srd/guest_lib.sh

# perftest PROGRAM KIND BYTES COUNT [OPTION...]: between the two efa2
perftest() {
    local options=(-F -c "$2" -x 0 -s "$3" -n "$4" "${@:5}")
    pair "$SLOW" "$1" -d efa_0 "${options[@]}" -- \
        "$1" -d efa_4 "${options[@]}" 127.0.0.1
}

# ucx TLS DEVICE OPTION...: stock ucx_perftest between two processes, which have
# nothing but this transport of ours.
ucx() {
    export UCX_TLS=$1 UCX_NET_DEVICES=$2:1
    shift 2
    pair "$SLOW" "$B/bin/srdrun" ucx_perftest "$@" -- \
        "$B/bin/srdrun" ucx_perftest "$@" 127.0.0.1
}

devinfo() {
    local line
    ibv_devinfo -v >/tmp/devinfo.log || return
    [ "$(grep -c PORT_ACTIVE /tmp/devinfo.log)" = 5 ] || return
    for line in 'vendor_part_id:.*6134[4-7]' 'max_ah:.*1024' \
        'max_msg_sz:.*0x22e0' 'GID\[ *0\]:.*fe80:' 'active_speed:.*25'; do
        grep -qE "$line" /tmp/devinfo.log || return
    done
}

moved devinfo efa_0 tx_bytes 0 devinfo
moved perftest-send efa_4 tx_bytes 409600 perftest ib_send_bw SRD 4096 100
moved perftest-events efa_4 tx_bytes 6400 perftest ib_send_lat SRD 64 100 -e
moved perftest-ud efa_4 tx_bytes 6400 perftest ib_send_lat UD 64 100
moved perftest-read efa_4 rdma_read_bytes 6553600 perftest ib_read_bw SRD \
    65536 100
moved perftest-write efa_4 rdma_write_bytes 6553600 perftest ib_write_bw SRD \
    65536 100

# For each generation, over libefa and directly
export -f pair ucx within listens
export B SLOW
for device in efa_1 efa_2 efa_0 efa_3; do
    moved "tag-$device" "$device" tx_bytes 200000 env UCX_EFA_DIRECT=n \
        bash -c "ucx srd $device -t tag_lat -s 1000 -n 100 -w 0"
    [ "$device" = efa_1 ] || # the module tries no device with two sub-CQs
        moved "tag-direct-$device" "$device" tx_bytes 200000 \
            env UCX_EFA_DIRECT=y \
            bash -c "ucx srd $device -t tag_lat -s 1000 -n 100 -w 0"
done
moved put efa_0 rdma_write_bytes 50000 ucx srd efa_0 -t ucp_put_lat -s 1000 -n 50 -w 0
moved get efa_0 rdma_read_bytes 50000 ucx srd efa_0 -t ucp_get -s 1000 -n 50 -w 0
moved sleep efa_0 tx_bytes 100000 \
    ucx srd efa_0 -t tag_lat -s 1000 -n 50 -w 0 -E sleep
moved rendezvous efa_0 rdma_read_bytes 5000000 \
    ucx srd efa_0 -t tag_bw -s 1000000 -n 10 -w 0
moved ud-tag efa_0 tx_bytes 100000 ucx ud efa_0 -t tag_lat -s 1000 -n 50 -w 0
unset UCX_TLS UCX_NET_DEVICES

# MPI, two ranks for each of two devices
ring() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    timeout "$SLOW" mpirun --oversubscribe -np 4 --mca pml ucx \
        --mca pml_ucx_tls any --mca pml_ucx_devices any \
        --mca btl ^openib,tcp,vader,sm -x UCX_TLS=srd,self \
        -x UCX_NET_DEVICES=efa_0:1,efa_4:1 "$B/bin/srdrun" \
        "$B/test/mpi_check" ring 20000 >/tmp/ring.log 2>&1
}
[ ! -x "$B/test/mpi_check" ] || moved mpi-ring efa_0 tx_bytes 4000 ring

check() {
    UCX_NET_DEVICES=efa_0:1 timeout "$SLOW" "$B/bin/srd_info" --check \
        >/tmp/check.log 2>&1
}
moved check efa_0 tx_bytes 4096 check

# Times are those of an emulated machine: latency and what a registration costs may
# differ, and the CPU is too slow for a question about bandwidth.
selftest() {
    timeout "$SLOW" "$B/bin/srd_info" --selftest >/tmp/selftest.log 2>&1
    ! grep -E '^(DIFFERS|not asked) ' /tmp/selftest.log |
        grep -vE '^(DIFFERS +(latency|registration-cost)|not asked +bandwidth), ' ||
        return
    grep -qE '^[0-9]+ same, [01] not asked, [0-9]+ differ(:[a-z, -]*)?$' \
        /tmp/selftest.log
}
moved selftest efa_0 tx_bytes 1000000 selftest
