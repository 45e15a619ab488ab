#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ucxx over SRD: messages to and fro, every byte compared.

    pip install ucxx-cu12 numpy
    export UCX_TLS=srd,tcp,sm,self
    srdrun python3 ucxx_pingpong.py               # host A
    srdrun python3 ucxx_pingpong.py ADDRESS_A     # host B

tcp is in the list because ucxx connects by socket address; data goes over srd
then. On one machine, without an EFA: `efasim run --node 0 --` and `efasim run
--node 1 --` in front, with 127.0.0.1."""

import argparse
import asyncio
import os
import socket
import sys
import time

import efa_counters

try:
    import numpy
    import ucxx
except ImportError as error:
    sys.exit(f'ucxx_pingpong.py: {error}: pip install ucxx-cu12 numpy')

PORT = 18515
SIZES = [1, 1 << 10, 64 << 10, 1 << 20, 16 << 20]
PATIENCE = 2  # seconds without an answer, after which it says that it waits
TIMEOUT = 60  # seconds, in which the other side has to listen


async def end_serving(endpoint):
    """Who closes an endpoint ends what the other side still sends, or has not
    taken yet. So: this side's sends are complete, then the other one closes."""
    await endpoint.send(numpy.zeros(1, numpy.uint8))
    while endpoint.alive:
        await asyncio.sleep(0.001)
    await endpoint.close()


async def end_asking(endpoint):
    await endpoint.recv(numpy.empty(1, numpy.uint8))
    await endpoint.close()


async def serve(port, rounds):
    served = asyncio.get_running_loop().create_future()

    async def echo(endpoint):
        for size in SIZES:
            data = numpy.empty(size, numpy.uint8)
            for _ in range(rounds):
                await endpoint.recv(data)
                await endpoint.send(data)
        await end_serving(endpoint)
        served.set_result(True)

    try:
        listener = ucxx.create_listener(echo, port=port)
    except ucxx.exceptions.UCXError as error:
        sys.exit(f'ucxx_pingpong.py: cannot listen on port {port} ({error}): '
                 'is it in use? --port N takes another one, on both sides')
    print(f'waiting on port {port}', flush=True)
    await served
    await asyncio.sleep(0.1)  # echo() returns
    listener.close()


async def say_waiting(address, port):
    await asyncio.sleep(PATIENCE)
    print(f'waiting for {address}, port {port}, at most {TIMEOUT} s: is this '
          'program started there, without an address?', flush=True)


async def reach(address, port):
    """The other side may have been started a moment ago."""
    talk = asyncio.create_task(say_waiting(address, port))
    try:
        return await reach_in_time(address, port)
    finally:
        talk.cancel()


async def reach_in_time(address, port):
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            return await ucxx.create_endpoint(address, port)
        except (ucxx.exceptions.UCXError, asyncio.TimeoutError) as error:
            if time.monotonic() > end:
                sys.exit(f'ucxx_pingpong.py: nobody answers at {address}, port '
                         f'{port} ({type(error).__name__}): start it there, '
                         'with the same --port; is the port open between the '
                         'hosts?')
            await asyncio.sleep(0.2)


async def connect(address, port, rounds):
    endpoint = await reach(address, port)
    compared = 0
    for size in SIZES:
        data = numpy.random.default_rng(size).integers(0, 256, size, numpy.uint8)
        back = numpy.empty_like(data)
        start = time.monotonic()
        for _ in range(rounds):
            back[:] = 0
            await endpoint.send(data)
            await endpoint.recv(back)
            if not (back == data).all():
                sys.exit('ucxx_pingpong.py: what came back is not the same')
        seconds = (time.monotonic() - start) / rounds / 2
        print(f'{size:>10} B  {seconds * 1e6:10.1f} us each way', flush=True)
        compared += 2 * rounds * size
    await end_asking(endpoint)
    print(f'compared {compared} bytes', flush=True)


def check(parser, arguments):
    """Ends the program where it could only wait in vain."""
    if not 0 < arguments.port < 65536:
        parser.error(f'--port {arguments.port}: allowed is 1 to 65535')
    tls = os.environ.get('UCX_TLS', 'all')
    if not tls.startswith('^') and not {'tcp', 'all'} & set(tls.split(',')):
        parser.error(f'UCX_TLS={tls} lacks tcp, by which ucxx connects: '
                     'UCX_TLS=srd,tcp,sm,self')
    if arguments.address:
        try:
            socket.getaddrinfo(arguments.address, arguments.port)
        except OSError as error:
            parser.error(f'{arguments.address}: {error.strerror}: give the '
                         'name or the address of host A')


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('address', nargs='?',
                        help='of host A, where this is started on host B')
    parser.add_argument('--port', type=int, default=PORT,
                        help='TCP port, the same on both (%(default)s)')
    parser.add_argument('--rounds', type=int, default=20, help='of each size (%(default)s)')
    arguments = parser.parse_args()
    check(parser, arguments)
    before = efa_counters.read()
    if arguments.address:
        asyncio.run(connect(arguments.address, arguments.port,
                            arguments.rounds))
    else:
        asyncio.run(serve(arguments.port, arguments.rounds))
    print(efa_counters.describe(before), flush=True)


if __name__ == '__main__':
    main()
