# SPDX-License-Identifier: BSD-3-Clause
"""One side of bench/kv.py: `side.py CASES PORT` has the blocks, the same
with ADDRESS behind it moves them and prints a line of JSON for each case. CASES:
OPERATION:BLOCKSxBYTES,...; OPERATION: WRITE, READ

Each transfer brings other bytes, and the side to which they came compares all of
them. KV_ALONE: NIXL's thread of progress runs at the owner
only. NIXL's list of blocks is kept to the end of the process: NIXL 1.5 frees it
with the handle of the transfer while UCX 1.23 may still read it."""

import json
import os
import subprocess
import sys
import time

import numpy
from nixl import nixl_agent, nixl_agent_config

import nixl_transfer

REPEATS_BYTES = 64 << 20  # moved by a shape's transfers, at least
REPEATS_MOST = 12
CHUNK = 8 << 20
COUNTERS = ('doorbells', 'rdma_read_wrs', 'rdma_write_wrs', 'send_wrs')


def words(start, count, seed):
    """The 8-byte words from number `start` on: no two of one seed are the same."""
    numbers = numpy.arange(start + 1, start + count + 1, dtype=numpy.uint64)
    return numbers * numpy.uint64(0x9e3779b97f4a7c15) ^ numpy.uint64(seed)


class Pool:
    """Blocks of a size, one behind the other, in memory that NIXL knows."""

    def __init__(self, agent, blocks, size):
        self.agent, self.blocks, self.size = agent, blocks, size
        self.memory = numpy.zeros(blocks * size // 8, numpy.uint64)
        self.address = self.memory.ctypes.data
        self.registered = agent.register_memory(
            [(self.address, blocks * size, 0, '')], 'DRAM')

    def list(self, order):
        return [(self.address + int(i) * self.size, self.size, 0)
                for i in order]

    def fill(self, seed):
        count = CHUNK // 8
        for at in range(0, self.blocks * self.size // 8, count):
            left = min(count, self.blocks * self.size // 8 - at)
            self.memory[at:at + left] = words(at, left, seed)

    def holds(self, seed, order):
        """Whether it is what fill(seed) wrote there, block order[i] here being
        block i there."""
        each = self.size // 8
        for i, block in enumerate(order):
            start = int(block) * each
            if not numpy.array_equal(self.memory[start:start + each],
                                     words(i * each, each, seed)):
                return False
        return True

    def release(self):
        self.agent.deregister_memory(self.registered)


def order_of(blocks):
    """Where the mover's blocks lie in the other's pool: nowhere two adjacent
    ones, which NIXL would join."""
    return numpy.random.default_rng(blocks).permutation(blocks)


def counters():
    """Sums over the devices of all hosts of this fabric."""
    sums = dict.fromkeys(COUNTERS, 0)
    done = subprocess.run(['efasim', 'stat', '--raw'], capture_output=True,
                          text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith('node='):
            values = dict(word.split('=', 1) for word in line.split())
            for name in COUNTERS:
                sums[name] += int(values.get(name, 0))
    return sums


def repeats(blocks, size):
    return max(1, min(REPEATS_MOST, REPEATS_BYTES // (blocks * size)))


def own(agent, blocks, size, channel):
    """The side whose pool is read and written."""
    pool = Pool(agent, blocks, size)
    order = order_of(blocks)
    channel.send((agent.get_agent_metadata(), pool.list(order)))
    while True:
        what, seed = channel.receive()
        if what == 'end':
            break
        if what == 'READ':
            pool.fill(seed)
        cpu = time.process_time()
        channel.send('ready')
        channel.receive()
        cpu = time.process_time() - cpu
        channel.send((cpu, what == 'READ' or pool.holds(seed, order)))
    pool.release()
    channel.send('next')


def once(agent, channel, pool, lists, kept, turn):
    """A transfer: (seconds, CPU seconds here, CPU seconds there)."""
    operation, seed = turn
    if operation == 'WRITE':
        pool.fill(seed)
    channel.send(turn)
    channel.receive()
    start, cpu = time.monotonic(), time.process_time()
    handle = agent.initialize_xfer(operation, *lists, 'a')
    kept.append(handle)
    state = agent.transfer(handle)
    while state == 'PROC':
        state = agent.check_xfer_state(handle)
        if time.monotonic() > start + nixl_transfer.TIMEOUT:
            sys.exit(f'side.py: {operation} did not end')
    took, cpu = time.monotonic() - start, time.process_time() - cpu
    if state != 'DONE':
        sys.exit(f'side.py: {operation} ended with {state}')
    channel.send('done')
    theirs, good = channel.receive()
    return took, cpu, theirs, good


def move(agent, case, channel, kept, seed):
    operation, blocks, size = case
    pool = Pool(agent, blocks, size)
    # block order[i] there and block i here: as read, ours hold theirs
    where = numpy.argsort(order_of(blocks))
    metadata, remote = channel.receive()
    agent.add_remote_agent(metadata)
    lists = (agent.get_xfer_descs(pool.list(range(blocks)), 'DRAM'),
             agent.get_xfer_descs([tuple(block) for block in remote], 'DRAM'))
    samples, before, times = [], counters(), repeats(blocks, size)
    for _ in range(times):
        seed[0] += 1
        *sample, good = once(agent, channel, pool, lists, kept,
                             (operation, seed[0]))
        if not good or (operation == 'READ' and not pool.holds(seed[0], where)):
            sys.exit(f'side.py: {operation} of {blocks} blocks of {size} '
                     'B: not the same bytes')
        samples.append(sample)
    after = counters()
    print(json.dumps({
        'case': f'{operation}:{blocks}x{size}', 'samples': samples,
        'moved': times * blocks * size,
        'counters': {name: after[name] - before[name] for name in COUNTERS}}),
        flush=True)
    channel.send(('end', 0))
    channel.receive()
    agent.remove_remote_agent('a')
    pool.release()


def main(cases, port, address=None):
    channel = nixl_transfer.channel_open(address, int(port))
    agent = nixl_agent('b' if address else 'a', nixl_agent_config(
        enable_prog_thread=not (address and 'KV_ALONE' in os.environ),
        backends=['UCX']))
    kept, seed = [], [os.getpid() << 20]
    for case in cases.split(','):
        operation, blocks, size = case.replace('x', ':').split(':')
        if address:
            move(agent, (operation, int(blocks), int(size)), channel, kept, seed)
        else:
            own(agent, int(blocks), int(size), channel)
    print('ok', flush=True)
    os._exit(0)  # what is kept is released by nobody


main(*sys.argv[1:])
