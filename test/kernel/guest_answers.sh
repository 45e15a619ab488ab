#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: what the kernel answers to the probe, on efa0 to efa3.
# shellcheck source=test/kernel/guest_lib.sh
. /srd/guest_lib.sh
echo 16 >/proc/sys/vm/nr_hugepages
for i in 0 1 2 3; do
    echo "probe efa$i"
    "$B/test/kernel/probe" "efa_$i" 2>&1
    echo "probe status $?"
done
