#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: what the kernel answers to the probe, on the generations
# from efa0 on.
# shellcheck source=test/kernel/guest_lib.sh
. /srd/guest_lib.sh
echo 16 >/proc/sys/vm/nr_hugepages
for device in /sys/class/infiniband/efa_*; do
    echo "probe efa${device##*_}"
    "$B/test/kernel/probe" "${device##*/}" 2>&1
    echo "probe status $?"
done
