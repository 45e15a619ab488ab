# SPDX-License-Identifier: BSD-3-Clause
"""NIXL between two processes, for suite python: `nixl_checks.py CHECK PORT` is
the side that is asked, `nixl_checks.py CHECK PORT ADDRESS` the one that asks."""

import ctypes
import os
import signal
import sys
import time

import numpy
from nixl import nixl_agent, nixl_agent_config

import nixl_pool
import nixl_transfer as base

IN_FLIGHT = 1000
SIZE = 4096
NOTES = 200
DEADLINE = 40  # seconds, in which a transfer to a dead peer has to end


def new_agent(name):
    return nixl_agent(name, nixl_agent_config(backends=['UCX']))


def check(good, text):
    if not good:
        sys.exit(f'nixl_checks.py: {text}')


def pieces(memory):
    start = memory.array.ctypes.data
    return [(start + i * SIZE, SIZE, 0) for i in range(IN_FLIGHT)]


def wait_all(agent, handles, seconds=base.TIMEOUT):
    """The states in which they end."""
    end = time.monotonic() + seconds
    states = {}
    while len(states) < len(handles):
        for i, handle in enumerate(handles):
            if i in states:
                continue
            state = agent.check_xfer_state(handle)
            if state != 'PROC':
                states[i] = state
        check(time.monotonic() < end, f'{len(handles) - len(states)} transfers '
              f'did not end in {seconds} s')
    return [states[i] for i in range(len(handles))]


# ------------------------------------------------ a thousand in flight

def many_a(agent, channel):
    memory = base.Memory(agent, IN_FLIGHT * SIZE)
    memory.array[:] = base.pattern(IN_FLIGHT * SIZE, 1)
    channel.send((agent.get_agent_metadata(), pieces(memory)))
    channel.receive()
    want = base.pattern(IN_FLIGHT * SIZE, 1).reshape(-1, SIZE)
    want[1::2] = base.pattern(IN_FLIGHT * SIZE, 2).reshape(-1, SIZE)[1::2]
    check((memory.array.reshape(-1, SIZE) == want).all(), 'written: not the same')
    channel.send('good')
    channel.receive()


def many_b(agent, channel):
    memory = base.Memory(agent, IN_FLIGHT * SIZE)
    memory.array[:] = base.pattern(IN_FLIGHT * SIZE, 2)
    metadata, theirs = channel.receive()
    agent.add_remote_agent(metadata)
    handles = []
    for i, (mine, remote) in enumerate(zip(pieces(memory), theirs)):
        handles.append(agent.initialize_xfer(
            'WRITE' if i % 2 else 'READ',
            agent.get_xfer_descs([mine], 'DRAM'),
            agent.get_xfer_descs([tuple(remote)], 'DRAM'), 'a'))
    for handle in handles:
        check(agent.transfer(handle) in ('PROC', 'DONE'), 'a transfer failed')
    states = wait_all(agent, handles)
    check(set(states) == {'DONE'}, f'ends: {set(states)}')
    want = base.pattern(IN_FLIGHT * SIZE, 2).reshape(-1, SIZE)
    want[0::2] = base.pattern(IN_FLIGHT * SIZE, 1).reshape(-1, SIZE)[0::2]
    check((memory.array.reshape(-1, SIZE) == want).all(), 'read: not the same')
    channel.send('written')
    check(channel.receive() == 'good', 'the other side is not content')
    for handle in handles:
        agent.release_xfer_handle(handle)
    print(f'ok {IN_FLIGHT} transfers')
    channel.send('end')


# ------------------------------------------------ a pool that takes many registrations

POOL = int(os.environ.get('POOL_GB', '8')) << 30
ROUNDS = int(os.environ.get('POOL_ROUNDS', '2'))


def pool_rounds(seed):
    return enumerate(nixl_pool.rounds(POOL, ROUNDS, seed))


def pool_same(pool, i, mine, theirs):
    """The other side's bytes of round i lie in `mine`."""
    want = nixl_pool.contents(base.pattern(nixl_pool.PART, i), theirs)
    return (nixl_pool.contents(pool.bytes, mine) == want).all()


def pool_a(agent, channel):
    pool = nixl_pool.Pool(agent, POOL)
    channel.send(agent.get_agent_metadata())
    for (i, mine), (_, theirs) in zip(pool_rounds(1), pool_rounds(2)):
        pool.bytes[:] = base.pattern(nixl_pool.PART, i)
        channel.send(pool.blocks(mine))
        channel.receive()
        check(pool_same(pool, ROUNDS + i, mine, theirs), 'written: not the same')
        channel.send('good')
    channel.receive()


def pool_b(agent, channel):
    pool = nixl_pool.Pool(agent, POOL)
    agent.add_remote_agent(channel.receive())
    for (i, theirs), (_, mine) in zip(pool_rounds(1), pool_rounds(2)):
        blocks = [tuple(block) for block in channel.receive()]
        remote = agent.get_xfer_descs(blocks, 'DRAM')
        local = agent.get_xfer_descs(pool.blocks(mine), 'DRAM')
        pool.bytes[:] = 0
        base.transfer(agent, 'READ', local, remote, 'a', b'')
        check(pool_same(pool, i, mine, theirs), 'read: not the same')
        pool.bytes[:] = base.pattern(nixl_pool.PART, ROUNDS + i)
        base.transfer(agent, 'WRITE', local, remote, 'a', b'')
        channel.send('written')
        check(channel.receive() == 'good', 'the other side is not content')
    print(f'ok {POOL >> 30} GB, {ROUNDS} times {nixl_pool.PART >> 20} MB each way')
    channel.send('end')


# ------------------------------------------------ lists of blocks

BLOCKS = 16384
BLOCK = 4096
KILLED_BLOCK = 16384


def blocks(memory, order):
    start = memory.array.ctypes.data
    return [(start + int(i) * BLOCK, BLOCK, 0) for i in order]


def lists_a(agent, channel):
    """Offers every second block of its memory; the others stay as they are."""
    memory = base.Memory(agent, 2 * BLOCKS * BLOCK)
    rows = memory.array.reshape(-1, BLOCK)
    rows[:] = base.pattern(BLOCK, 3)
    order = numpy.random.default_rng(4).permutation(BLOCKS)
    channel.send((agent.get_agent_metadata(), blocks(memory, 2 * order)))
    channel.receive()
    want = base.pattern(BLOCKS * BLOCK, 2).reshape(-1, BLOCK)
    check((rows[2 * order] == want).all(), 'written: not the same')
    check((rows[1::2] == base.pattern(BLOCK, 3)).all(), 'written beside')
    channel.send('good')
    channel.receive()


def lists_b(agent, channel):
    """One WRITE and one READ of all blocks, from and to others of its own."""
    source = base.Memory(agent, BLOCKS * BLOCK)
    target = base.Memory(agent, BLOCKS * BLOCK)
    source.array[:] = base.pattern(BLOCKS * BLOCK, 2)
    metadata, remote = channel.receive()
    agent.add_remote_agent(metadata)
    theirs = agent.get_xfer_descs([tuple(block) for block in remote], 'DRAM')
    for operation, memory in (('WRITE', source), ('READ', target)):
        mine = agent.get_xfer_descs(blocks(memory, range(BLOCKS)), 'DRAM')
        took = base.transfer(agent, operation, mine, theirs, 'a', b'')
        print(f'{operation} {BLOCKS} blocks of {BLOCK} B: {took * 1e3:.0f} ms')
    check((source.array == target.array).all(), 'read: not the same')
    channel.send('written')
    check(channel.receive() == 'good', 'the other side is not content')
    print(f'ok {BLOCKS} blocks each way')
    channel.send('end')


# ------------------------------------------------ a list whose target dies

def killed_list_a(agent, channel):
    """Dies when an eighth of the list has come, wherever in it."""
    memory = base.Memory(agent, BLOCKS * KILLED_BLOCK)
    channel.send((agent.get_agent_metadata(),
                  [(memory.array.ctypes.data + i * KILLED_BLOCK, KILLED_BLOCK, 0)
                   for i in range(1, BLOCKS, 2)]))
    rows = memory.array.reshape(-1, KILLED_BLOCK)
    while (rows[1::2, 0] != 0).sum() < BLOCKS // 16:
        pass
    print(f'dies with {(rows[1::2, 0] != 0).sum()} blocks of {BLOCKS // 2}',
          flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def open_files():
    return sorted(os.readlink(f'/proc/self/fd/{number}')
                  for number in os.listdir('/proc/self/fd')
                  if os.path.exists(f'/proc/self/fd/{number}'))


def killed_list_once(channel, before):
    agent = new_agent('b')
    source = base.Memory(agent, BLOCKS // 2 * KILLED_BLOCK)
    source.array[:] = 1
    metadata, remote = channel.receive()
    agent.add_remote_agent(metadata)
    mine = agent.get_xfer_descs(
        [(source.array.ctypes.data + i * KILLED_BLOCK, KILLED_BLOCK, 0)
         for i in range(BLOCKS // 2)], 'DRAM')
    theirs = agent.get_xfer_descs([tuple(block) for block in remote], 'DRAM')
    handle = agent.initialize_xfer('WRITE', mine, theirs, 'a')
    try:
        state = agent.transfer(handle)
        if state == 'PROC':
            state = wait_all(agent, [handle], DEADLINE)[0]
    except Exception as error:  # NIXL's own, of its C++ library
        state = type(error).__name__
    check(state != 'DONE', 'a list to a dead peer is done')
    agent.release_xfer_handle(handle)
    agent.remove_remote_agent('a')
    source.release()
    print(f'the list ended: {state}; files then: {len(open_files())}, '
          f'before: {len(before)}')


def killed_list_b(agent, channel):
    """A second agent here; when it is gone no more is open than before it. (The
    trace of the device has the registrations.)"""
    before = open_files()
    killed_list_once(channel, before)
    after = open_files()
    check(len(after) <= len(before),
          f'left open: {[name for name in after if name not in before]}')
    print('ok the peer of a list is gone')


# ------------------------------------------------ notifications

def notes_take(agent, peer):
    """NOTES of them, each once; UCX's active messages keep their order."""
    end = time.monotonic() + base.TIMEOUT
    taken = []
    while len(taken) < NOTES and time.monotonic() < end:
        taken += agent.get_new_notifs().get(peer, [])
    check(taken == [note(peer, i) for i in range(NOTES)],
          f'{len(taken)} notifications of {NOTES}, or not in order')


def note(name, i):
    """A note; all lengths up to some packets."""
    return f'{name}-{i}-'.encode() + b'x' * (i * 150)


def notes(agent, channel, mine, peer):
    channel.send(agent.get_agent_metadata())
    agent.add_remote_agent(channel.receive())
    for i in range(NOTES):
        agent.send_notif(peer, note(mine, i))
    notes_take(agent, peer)
    channel.send('end')
    channel.receive()
    print(f'ok {NOTES} notifications each way')


def notes_a(agent, channel):
    notes(agent, channel, 'a', 'b')


def notes_b(agent, channel):
    notes(agent, channel, 'b', 'a')


# ------------------------------------------------ a peer that is killed

KILLED_SIZE = 64 << 20


def killed_a(agent, channel):
    memory = base.Memory(agent, KILLED_SIZE)
    channel.send((agent.get_agent_metadata(), memory.where))
    channel.receive()
    os.kill(os.getpid(), signal.SIGKILL)


def killed_b(agent, channel):
    memory = base.Memory(agent, KILLED_SIZE)
    metadata, where = channel.receive()
    agent.add_remote_agent(metadata)
    theirs = agent.get_xfer_descs([tuple(where)], 'DRAM')
    base.transfer(agent, 'READ', memory.descs, theirs, 'a', b'')
    channel.send('die')
    end = time.monotonic() + DEADLINE
    state = 'DONE'
    while state == 'DONE':
        check(time.monotonic() < end, 'reads of a dead peer succeed')
        try:
            handle = agent.initialize_xfer('READ', memory.descs, theirs, 'a')
            state = agent.transfer(handle)
            if state == 'PROC':
                state = wait_all(agent, [handle], DEADLINE)[0]
        except Exception as error:  # NIXL's own, of its C++ library
            state = type(error).__name__
    print(f'ok the peer is gone: {state}')


# ------------------------------------------------ two agents of a process

def two_agents():
    first, second = new_agent('a'), new_agent('b')
    source, target = base.Memory(first, 1 << 20), base.Memory(second, 1 << 20)
    source.array[:] = base.pattern(1 << 20, 1)
    second.add_remote_agent(first.get_agent_metadata())
    first.add_remote_agent(second.get_agent_metadata())
    base.transfer(second, 'READ', target.descs, source.descs, 'a', b'read')
    check((target.array == source.array).all(), 'read: not the same')
    target.array[:] = base.pattern(1 << 20, 2)
    base.transfer(second, 'WRITE', target.descs, source.descs, 'a', b'written')
    base.wait_notification(first, 'b', b'written', [])
    check((source.array == base.pattern(1 << 20, 2)).all(), 'not the same')
    print('ok two agents')


def main():
    name = sys.argv[1]
    if name == 'two_agents':
        two_agents()
        return
    port = int(sys.argv[2])
    address = sys.argv[3] if len(sys.argv) > 3 else None
    if 'CANCEL_ENDS' in os.environ:
        ctypes.CDLL(os.environ['CANCEL_ENDS'], ctypes.RTLD_GLOBAL)
    channel = base.channel_open(address, port)
    agent = new_agent('b' if address else 'a')
    globals()[name + ('_b' if address else '_a')](agent, channel)


if __name__ == '__main__':
    main()
