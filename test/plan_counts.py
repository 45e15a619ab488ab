#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""plan_counts.py TRACE PLAN RANKS HOSTS: what efasim's trace shows of a job, the
most that each process had at a time, beside what srd_info --plan says."""

import collections
import re
import sys

LINE = re.compile(r'\S+ pid=(\d+) node=(\d+) device=\S+ (.*)')
COMMAND = re.compile(r'cmd (create|destroy)-(qp|cq|ah) ret=0')
MEMORY = re.compile(r'mr bytes=(-?\d+)')


def counted(path):
    """The most of each thing that each process had."""
    live = collections.defaultdict(collections.Counter)
    most = collections.defaultdict(collections.Counter)
    for line in open(path):
        found = LINE.match(line)
        if not found:
            continue
        who = found[2], found[1]
        command = COMMAND.match(found[3])
        memory = MEMORY.match(found[3])
        if command:
            name, change = command[2], 1 if command[1] == 'create' else -1
        elif memory:
            name, change = 'bytes', int(memory[1])
        else:
            continue
        live[who][name] += change
        most[who][name] = max(most[who][name], live[who][name])
    return most


def planned(path):
    text = open(path).read()

    def number(name):
        return float(re.search(r'^\w+ +' + name + r' +([\d.]+)', text, re.M)[1])

    return {'qp': number('queue pairs, a device'),
            'cq': number('completion queues'),
            'ah': number('address handles, a device'),
            'bytes': 2 ** 20 * float(re.findall(
                r'^\w+ +when all peers send +([\d.]+) MiB', text, re.M)[0])}


def main(trace, plan, ranks, hosts):
    most, need = counted(trace), planned(plan)
    wrong = len(most) != ranks * hosts
    print(f'{len(most)} processes on {hosts} hosts of {ranks} each')
    # The own host has no handle; not every bounce buffer was needed. A process
    # to which all send slowly needs no more buffers, so of bytes the plan is
    # what the one takes that takes most.
    least = {'qp': 1, 'cq': 1, 'ah': (hosts - 1) / hosts, 'bytes': 0.8}
    for name, plan_says in need.items():
        values = [each[name] for each in most.values()]
        fewest = max(values) if name == 'bytes' else min(values)
        fits = least[name] * plan_says <= fewest and max(values) <= plan_says
        print(f'{name}: {min(values)} to {max(values)} counted, '
              f'{plan_says:.0f} planned{"" if fits else ": wrong"}')
        wrong |= not fits
    sys.exit(wrong)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
