#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# package_inside.sh DEB: for suite_package.sh, in a Debian system of its own:
# the package installs, srd_info is content, and it goes without a trace.
# Status 77: packages cannot be had.
set -u
export DEBIAN_FRONTEND=noninteractive
deb=$1

traces() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp \
        -o -path "${deb%/*/*}" -o -path /var/lib/dpkg -o -path /var/cache \
        -o -path /var/log \) -prune -o \
        \( -name '*srd*' -o -name '*efasim*' -o -name '*ucx-efa*' \) -print |
        grep -vE "^$(cd "$(dirname "$0")/.." && pwd -P)(/|$)"
}

before=$(traces)
apt-get -q update >/dev/null 2>&1 || { echo "apt-get update failed"; exit 77; }
apt-get -q -y -o APT::Install-Recommends=true install "$deb" >/tmp/install.log 2>&1 ||
    { tail -n 20 /tmp/install.log; exit 1; }
[ "$(traces)" != "$before" ] || { echo "nothing was installed"; exit 1; }
echo "UCX $(dpkg-query -W -f '${Version}' libucx0)," \
    "rdma-core $(dpkg-query -W -f '${Version}' ibverbs-providers)"

efasim run -- srd_info --check >/tmp/check.log 2>&1
status=$?
cat /tmp/check.log
[ $status = 0 ] && ! grep -E '^(warn|FAIL|skip)' /tmp/check.log ||
    { echo "srd_info --check: not all is ok (status $status)"; exit 1; }

# Enabled for the system and then removed: both go.
if [ "${SYSTEMWIDE-yes}" = yes ]; then
    srd_systemwide enable || exit 1
    efasim run -- srd_info --check | grep '^ok *loading *system-wide' ||
        { echo "not loaded system-wide"; exit 1; }
fi
apt-get -q -y purge ucx-efa-srd >/tmp/remove.log 2>&1 ||
    { tail -n 20 /tmp/remove.log; exit 1; }
[ "$(traces)" = "$before" ] ||
    { echo "left behind:"; diff <(echo "$before") <(traces); exit 1; }
! ldconfig -p | grep -E 'srd' || { echo "left in the loader's cache"; exit 1; }
echo "ok, and gone"
