# SPDX-License-Identifier: BSD-3-Clause
"""ucxx: the peer's worker is closed in an orderly way, and its process ends; what
a process sends then. As on InfiniBand, and other than over tcp, the first small
messages may complete (their bytes may be forgotten, that is all it means), as many
as are sent until the device has answered and somebody has looked; but the first one
tells: the endpoint fails then, and with it all that follows. UCX promises no more:
a send is complete "when it is safe to reuse the source buffer" (ucp.h). Where
nothing is sent, UCX's keepalive tells."""

import asyncio
import multiprocessing
import os
import sys
import time

import numpy

PATIENCE = 60  # seconds until the endpoint has to know, by whatever tells it
LATER = 3  # messages after that
KINDS = ('tag', 'am', 'silent')


def server(address, ready):
    import ucxx

    async def run():
        address.put(bytearray(ucxx.get_worker_address()))
        ready.get()
        for _ in range(200):
            ucxx.progress()
            await asyncio.sleep(0.001)
        ucxx.reset()

    asyncio.run(run())
    ucxx.stop_notifier_thread()
    address.put('gone')


async def send(endpoint, kind):
    data = numpy.zeros(10)
    if kind == 'am':
        await asyncio.wait_for(endpoint.am_send(data), PATIENCE)
    else:
        await asyncio.wait_for(endpoint.send(data, tag=0, force_tag=True), PATIENCE)


def client(address, ready, kind):
    if kind == 'silent':
        os.environ['UCX_KEEPALIVE_INTERVAL'] = '100ms'
    import ucxx
    expected = (ucxx.exceptions.UCXConnectionResetError,
                ucxx.exceptions.UCXEndpointTimeoutError)

    async def run():
        remote = ucxx.get_ucx_address_from_buffer(address.get())
        endpoint = await ucxx.create_endpoint_from_worker_address(remote)
        ready.put('ready')
        address.get()
        time.sleep(1)  # its process ends, too
        end, failed = time.monotonic() + PATIENCE, 0
        if kind != 'silent':
            try:
                await send(endpoint, kind)
            except expected:
                pass
        while endpoint.alive:
            if time.monotonic() > end:
                sys.exit(f'{kind}: the endpoint does not know')
            ucxx.progress()
            await asyncio.sleep(0.01)
        for _ in range(LATER):
            try:
                await send(endpoint, kind)
            except expected:
                failed += 1
        if failed == LATER:
            print(f'ok {kind}', flush=True)
        os._exit(0 if failed == LATER else 1)

    asyncio.run(run())


def main():
    context = multiprocessing.get_context('spawn')
    for kind in KINDS:
        address, ready = context.Queue(), context.Queue()
        sides = [context.Process(target=server, args=(address, ready)),
                 context.Process(target=client, args=(address, ready, kind))]
        for side in sides:
            side.start()
        sides[1].join()
        sides[0].join(1)
        sides[0].kill()
        if sides[1].exitcode != 0:
            sys.exit(f'{kind}: status {sides[1].exitcode}')


if __name__ == '__main__':
    main()
