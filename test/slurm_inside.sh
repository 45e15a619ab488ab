#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# slurm_inside.sh BUILD PROGRAM ARG...: for suite_selftest.sh, in a Debian system
# of its own: Slurm with two nodes that are this host, contrib/deploy's script
# submitted to it; each node's programs are on an emulated host.
# Status 77: packages cannot be had.
set -u
export DEBIAN_FRONTEND=noninteractive
top=$(cd "$(dirname "$0")/.." && pwd -P)
# shellcheck source=contrib/ci/ports.sh
. "$top/contrib/ci/ports.sh"
build=$1
shift
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait' EXIT

# started COMMAND...: a service, until this script ends.
started() {
    "$@" >"/tmp/${1##*/}${*: -1}.log" 2>&1 &
    pids+=($!)
}

# until_true COMMAND...: as long as the service that was started last is there.
until_true() {
    ! wait_until "${pids[-1]}" "$@" >/dev/null 2>&1 || return 0
    echo "its service ended before: $*"
    tail -n 5 /tmp/*.log
    exit 1
}

printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d # no service is started
chmod +x /usr/sbin/policy-rc.d
{
    apt-get -q update && apt-get -q -y --no-install-recommends install \
        slurmctld slurmd slurm-client munge openmpi-bin
} >/tmp/apt.log 2>&1 || {
    tail -n 5 /tmp/apt.log
    exit 77
}

host=$(hostname -s)
mkdir -p /run/munge /etc/slurm /var/spool/slurmctld
chown munge: /run/munge
cat >/etc/slurm/slurm.conf <<END
ClusterName=selftest
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=17000
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
SlurmdSpoolDir=/var/spool/slurmd.%n
StateSaveLocation=/var/spool/slurmctld
SlurmdParameters=config_overrides
ReturnToService=2
PropagateResourceLimitsExcept=MEMLOCK
NodeName=n[0-1] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=4
PartitionName=p Nodes=ALL Default=YES State=UP
END
started runuser -u munge -- /usr/sbin/munged --foreground
until_true sh -c 'munge -n | unmunge'
started slurmctld -D
started slurmd -D -N n0
started slurmd -D -N n1
until_true sh -c 'sinfo -h -t idle -o %D | grep -x 2'

# The program that the script calls, on the emulated host of its node; a rank that
# gets no processor is not one that has gone.
mkdir -p /tmp/bin
for name in srdrun srd_info; do
    # shellcheck disable=SC2016 # for the script that is written
    printf '#!/bin/sh\nexec "%s/efasim" run --timeout-ms %s --node "$SLURM_NODEID" -- "%s" "$@"\n' \
        "$build/bin" 600000 "$build/bin/$name" >"/tmp/bin/$name"
    chmod +x "/tmp/bin/$name"
done
PATH=/tmp/bin:$build/bin:$PATH sbatch --wait --nodes=2 \
    --ntasks-per-node=2 --output=/tmp/job.out \
    "$top/contrib/deploy/slurm.sbatch" "$@"
status=$?
cat /tmp/job.out
[ "$status" = 0 ] || tail -n 20 /tmp/slurm*.log
echo "Slurm $(srun --version)"
exit $status
