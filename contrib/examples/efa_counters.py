# SPDX-License-Identifier: BSD-3-Clause
"""Traffic of the EFA devices of this host, read from the kernel's counters
(/sys/class/infiniband/*/ports/1/hw_counters), the same on EC2 and under efasim.
As a program it prints them. The examples beside this file print it, which shows
that the bytes went over the EFA and not over the host's ordinary network."""

import glob
import os

SENT = ('send_bytes', 'rdma_write_bytes', 'rdma_read_resp_bytes')
RECEIVED = ('recv_bytes', 'rdma_read_bytes', 'rdma_write_recv_bytes')


def read():
    """{counter: sum over this host's EFA devices}; {} if there is none."""
    sums = {}
    root = os.environ.get('SYSFS_PATH', '/sys')
    for path in glob.glob(f'{root}/class/infiniband/*/ports/1/hw_counters/*'):
        try:
            with open(path, encoding='ascii') as file:
                value = int(file.read())
        except (OSError, ValueError):
            continue
        name = os.path.basename(path)
        if name == 'lifespan':  # of the kernel's cache
            continue
        sums[name] = sums.get(name, 0) + value
    return sums


def since(before):
    """The growth of each counter since read() returned this."""
    return {name: value - before.get(name, 0)
            for name, value in read().items()}


def moved(before):
    """(bytes sent, bytes received) since then, by messages, READ and WRITE. A
    device without one of these has no such counter."""
    delta = since(before)
    return (sum(delta.get(name, 0) for name in SENT),
            sum(delta.get(name, 0) for name in RECEIVED))


def describe(before):
    """One line: this host's bytes over the EFA since then."""
    delta = since(before)
    if not delta:
        return 'EFA: this host has none'
    parts = [f'{name.removesuffix("_bytes")} {delta[name]}'
             for name in SENT + RECEIVED if delta.get(name)]
    return 'EFA bytes: ' + (', '.join(parts) or 'none')


if __name__ == '__main__':
    for counter, total in sorted(read().items()):
        print(f'{counter:<24} {total:>16}')
