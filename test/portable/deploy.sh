# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The archive on a node of a cluster. Sourced by suite_portable.sh.

# contrib/deploy's script for ParallelCluster, in a system of Debian 13, which stands
# for Ubuntu 24.04; what AWS and systemd have is replaced.
deploy_cluster() {
    local chroot=$TEST_DIR/../contrib/ci/chroot.sh file
    file=$(tarball_of x86_64) || { echo "$file"; exit "$SKIPPED"; }
    "$chroot" --made 13 || skip_here "Debian 13 is not made here:" \
        "contrib/ci/chroot.sh 13 makes it"
    "$chroot" --bind "$BUILD" 13 -- "${CALL[@]}" deploy_inside "$file"
}

deploy_inside() {
    local script=$TEST_DIR/../contrib/deploy/parallelcluster-install.sh
    local limits=/etc/systemd/system/slurmd.service.d/memlock.conf
    printf '#!/bin/sh\n[ "$1 $2" = "s3 cp" ] && cp "${3#s3:/}" "$4"\n' >/usr/bin/aws
    printf '#!/bin/sh\necho "systemctl $*"\n' >/usr/bin/systemctl
    chmod 755 /usr/bin/aws /usr/bin/systemctl
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin # a node's
    export DEBIAN_FRONTEND=noninteractive
    bash "$script" "s3:/$1" || {
        ! grep -q '^E: ' "$CHECK_LOG" ||
            skip_here "packages cannot be had here: $(grep '^E: ' "$CHECK_LOG" | tail -n 1)"
        fail "the script ends with an error"
    }
    grep -qx 'systemctl daemon-reload' "$CHECK_LOG" || fail "slurmd is not told"
    grep -qx LimitMEMLOCK=infinity $limits || fail "no limit is lifted"
    [ "$(command -v srdrun)" = /usr/local/bin/srdrun ] || fail "not on PATH"
    [ "$(stat -c %U:%G /usr/local/lib/ucx/$MODULE)" = root:root ] || fail "owner"
    UCX_TLS=srd efasim run -- srdrun srd_info | grep '^transport srd *UCX can' ||
        fail "no srd"
}
