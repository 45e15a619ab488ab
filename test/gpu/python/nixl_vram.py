#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""nixl_vram.py PORT [ADDRESS]: NIXL's READ and WRITE between VRAM segments of two
hosts, every byte compared."""

import os
import sys

import nixl_transfer
from nixl import nixl_agent, nixl_agent_config

import device_memory

SIZES = [4096, 1 << 20, 16 << 20]


class Memory(nixl_transfer.Memory):
    """Device memory that NIXL knows."""

    def __init__(self, agent, size):
        self.agent = agent
        self.device = device_memory.Array(size)
        self.where = (self.device.pointer, size, 0)
        self.registered = agent.register_memory([self.where + ('',)], 'VRAM')
        self.descs = agent.get_xfer_descs([self.where], 'VRAM')

    def release(self):
        super().release()
        self.device.free()


def same(memory, size, seed):
    if not (memory.device.get() == nixl_transfer.pattern(size, seed)).all():
        sys.exit(f'nixl_vram.py: {size} bytes are not the same')


def serve(agent, channel, peer):
    arrived = []
    for size in SIZES:
        memory = Memory(agent, size)
        memory.device.put(nixl_transfer.pattern(size, 1))
        channel.send((agent.get_agent_metadata(), memory.where))
        nixl_transfer.wait_notification(agent, peer, b'READ', arrived)
        nixl_transfer.wait_notification(agent, peer, b'WRITE', arrived)
        same(memory, size, 2)
        channel.send('written')
        channel.receive()
        memory.release()


def drive(agent, channel, peer):
    for size in SIZES:
        memory = Memory(agent, size)
        metadata, where = channel.receive()
        agent.add_remote_agent(metadata)
        theirs = agent.get_xfer_descs([tuple(where)], 'VRAM')
        nixl_transfer.transfer(agent, 'READ', memory.descs, theirs, peer, b'READ')
        same(memory, size, 1)
        print(f'READ {size} staged {device_memory.staged()}', flush=True)
        memory.device.put(nixl_transfer.pattern(size, 2))
        nixl_transfer.transfer(agent, 'WRITE', memory.descs, theirs, peer,
                               b'WRITE')
        channel.receive()
        channel.send('next')
        memory.release()


def main(port, address=None):
    names = ('server', 'client')
    name, peer = names[::-1] if address else names
    device_memory.use(0)
    channel = nixl_transfer.channel_open(address, int(port))
    agent = nixl_agent(name, nixl_agent_config(backends=['UCX']))
    channel.send(agent.get_agent_metadata())
    agent.add_remote_agent(channel.receive())
    (drive if address else serve)(agent, channel, peer)
    print(f'ok {len(SIZES)} sizes, both ways', flush=True)
    sys.stdout.flush()
    os._exit(0)  # NIXL's end is not what is tested here


main(*sys.argv[1:])
