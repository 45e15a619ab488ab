#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""NIXL over SRD: READ and WRITE between the memory of two hosts, as vLLM and
Dynamo move key-value caches. Every byte is compared.

    pip install nixl
    UCX_TLS=srd,sm,self,tcp srdrun python3 nixl_transfer.py            # host A
    UCX_TLS=srd,sm,self,tcp srdrun python3 nixl_transfer.py ADDRESS_A  # host B

On one machine, without an EFA, put `efasim run --node 0 --` in front of the
first and `efasim run --node 1 --` in front of the second, with 127.0.0.1. The
end of each says how many bytes its EFA devices carried."""

import argparse
import json
import socket
import struct
import sys
import time

import efa_counters

try:
    import numpy
    from nixl import nixl_agent, nixl_agent_config
except ImportError as error:
    sys.exit(f'nixl_transfer.py: {error}: pip install nixl numpy')

SIZES = [1 << 10, 64 << 10, 1 << 20, 16 << 20]
TIMEOUT = 60  # seconds


def pattern(size, seed):
    """Bytes that no other size or seed has at the same place."""
    return numpy.random.default_rng(seed).integers(0, 256, size, numpy.uint8)


class Channel:
    """Values over a TCP connection: metadata, and who is ready. Anybody may have
    connected, so these are numbers and bytes, never objects (pickle)."""

    def __init__(self, connection):
        self.connection = connection
        connection.settimeout(TIMEOUT)

    def send(self, value):
        data = json.dumps(value, default=lambda raw: {'hex': raw.hex()}).encode()
        self.connection.sendall(struct.pack('!Q', len(data)) + data)

    def receive(self):
        size, = struct.unpack('!Q', self._exactly(8))
        return json.loads(self._exactly(size),
                          object_hook=lambda raw: bytes.fromhex(raw['hex']))

    def _exactly(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.connection.recv(size - len(data))
            if not part:
                sys.exit('nixl_transfer.py: the other side has gone')
            data += part
        return bytes(data)


def channel_open(address, port):
    if address:
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                return Channel(socket.create_connection((address, port), 5))
            except OSError as error:
                if time.monotonic() > end:
                    sys.exit(f'nixl_transfer.py: nobody answers at {address}, '
                             f'port {port} ({error}): start it there')
                time.sleep(0.1)
    try:
        server = socket.create_server(('', port))
    except OSError as error:
        sys.exit(f'nixl_transfer.py: cannot listen on port {port} '
                 f'({error.strerror}): --port N takes another one, on both sides')
    with server:
        print(f'waiting on port {port}', flush=True)
        return Channel(server.accept()[0])


class Memory:
    """An array that NIXL knows."""

    def __init__(self, agent, size):
        self.agent = agent
        self.array = numpy.zeros(size, numpy.uint8)
        self.where = (self.array.ctypes.data, size, 0)
        self.registered = agent.register_memory([self.where + ('',)], 'DRAM')
        self.descs = agent.get_xfer_descs([self.where], 'DRAM')

    def release(self):
        self.agent.deregister_memory(self.registered)


def transfer(agent, operation, mine, theirs, peer, message):
    """One READ or WRITE to its end; returns the seconds it took."""
    handle = agent.initialize_xfer(operation, mine, theirs, peer, message)
    start = time.monotonic()
    state = agent.transfer(handle)
    while state == 'PROC':
        state = agent.check_xfer_state(handle)
        if time.monotonic() > start + TIMEOUT:
            sys.exit(f'nixl_transfer.py: {operation} did not end')
    if state != 'DONE':
        sys.exit(f'nixl_transfer.py: {operation} ended with {state}')
    seconds = time.monotonic() - start
    agent.release_xfer_handle(handle)
    return seconds


def wait_notification(agent, peer, message, arrived):
    """Several may come at once: `arrived` keeps those for later."""
    end = time.monotonic() + TIMEOUT
    while message not in arrived:
        arrived += agent.get_new_notifs().get(peer, [])
        if time.monotonic() > end:
            sys.exit(f'nixl_transfer.py: no notification {message}')
    arrived.remove(message)


def serve(agent, channel, sizes, peer):
    """Offers memory; says what it holds after the other's WRITE."""
    arrived = []
    for size in sizes:
        memory = Memory(agent, size)
        memory.array[:] = pattern(size, 1)
        channel.send((agent.get_agent_metadata(), memory.where))
        wait_notification(agent, peer, b'READ', arrived)
        wait_notification(agent, peer, b'WRITE', arrived)
        if not (memory.array == pattern(size, 2)).all():
            sys.exit(f'nixl_transfer.py: {size} bytes written, not the same')
        channel.send('written')
        channel.receive()
        memory.release()


def drive(agent, channel, sizes, peer):
    for size in sizes:
        memory = Memory(agent, size)
        metadata, where = channel.receive()
        agent.add_remote_agent(metadata)
        theirs = agent.get_xfer_descs([tuple(where)], 'DRAM')
        took = transfer(agent, 'READ', memory.descs, theirs, peer, b'READ')
        if not (memory.array == pattern(size, 1)).all():
            sys.exit(f'nixl_transfer.py: {size} bytes read, not the same')
        print(f'READ  {size:>10} B  {took * 1e3:9.2f} ms  ok', flush=True)
        memory.array[:] = pattern(size, 2)
        took = transfer(agent, 'WRITE', memory.descs, theirs, peer, b'WRITE')
        if channel.receive() != 'written':
            sys.exit('nixl_transfer.py: the other side failed')
        print(f'WRITE {size:>10} B  {took * 1e3:9.2f} ms  ok', flush=True)
        agent.remove_remote_agent(peer)
        memory.release()
        channel.send('next')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('address', nargs='?',
                        help='of host A, where this is started on host B')
    parser.add_argument('--port', type=int, default=18515,
                        help='TCP port, the same on both (%(default)s)')
    parser.add_argument('--sizes', type=lambda text: [
        int(size) for size in text.split(',')], default=SIZES,
                        help='bytes of a transfer, as 1024,65536')
    arguments = parser.parse_args()
    if not 0 < arguments.port < 65536:
        parser.error(f'--port {arguments.port}: allowed is 1 to 65535')

    before = efa_counters.read()
    name, peer = ('b', 'a') if arguments.address else ('a', 'b')
    channel = channel_open(arguments.address, arguments.port)
    agent = nixl_agent(name, nixl_agent_config(backends=['UCX']))
    if arguments.address:
        channel.send(arguments.sizes)
        drive(agent, channel, arguments.sizes, peer)
    else:
        serve(agent, channel, channel.receive(), peer)
    del agent
    print(efa_counters.describe(before), flush=True)


if __name__ == '__main__':
    main()
