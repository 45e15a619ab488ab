#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# parallelcluster-install.sh S3-PATH: what each compute node does once; the archive
# is that of contrib/package/portable.sh for the nodes' architecture. ParallelCluster installs
# EFA's driver and rdma-core; UCX is the system's, 1.16 in Ubuntu 24.04.
set -e
umask 022
work=$(mktemp -d) # nobody else's, whatever has been made in /tmp
trap 'rm -rf "$work"' EXIT
aws s3 cp "$1" "$work/ucx-efa-srd.tar.xz"
apt-get -q update
apt-get -q -y install libucx0 ucx-utils xz-utils
tar -xf "$work/ucx-efa-srd.tar.xz" -C /usr/local --strip-components=1 --no-same-owner
# Ranks that slurmd starts have its limits.
mkdir -p /etc/systemd/system/slurmd.service.d
printf '[Service]\nLimitMEMLOCK=infinity\n' \
    >/etc/systemd/system/slurmd.service.d/memlock.conf
systemctl daemon-reload
srd_info --check || true # the log of the node tells
