#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# parallelcluster-install.sh S3-PATH: what each compute node does once; the package
# is that of "make deb". ParallelCluster installs EFA's driver and rdma-core.
set -e
aws s3 cp "$1" /tmp/ucx-efa-srd.deb
apt-get -q -y install /tmp/ucx-efa-srd.deb ucx-utils
# Ranks that slurmd starts have its limits.
mkdir -p /etc/systemd/system/slurmd.service.d
printf '[Service]\nLimitMEMLOCK=infinity\n' \
    >/etc/systemd/system/slurmd.service.d/memlock.conf
systemctl daemon-reload
srd_info --check || true # the log of the node tells
