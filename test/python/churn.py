# SPDX-License-Identifier: BSD-3-Clause
"""ucxx, 1,000 connections made and closed: `churn.py PORT` the listener,
`churn.py PORT ADDRESS COUNT` the client. Descriptors and memory of both are flat
after the first tenth."""

import asyncio
import gc
import os
import sys

import numpy
import ucxx

from ucxx_pingpong import end_asking, end_serving

SIZE = 100_000  # bytes each way and connection: READ from some size on
GROWTH = 8 << 20  # bytes of memory over nine tenths of the connections


def state():
    gc.collect()
    with open('/proc/self/statm', encoding='ascii') as file:
        pages = int(file.read().split()[1])
    return len(os.listdir('/proc/self/fd')), pages * os.sysconf('SC_PAGE_SIZE')


def compare(name, early, late):
    print(f'note: {name}: {early[0]} descriptors, then {late[0]}; '
          f'{early[1] >> 20} MB, then {late[1] >> 20} MB', flush=True)
    if late[0] > early[0] + 4:
        sys.exit(f'{name}: descriptors leak')
    if late[1] > early[1] + GROWTH:
        sys.exit(f'{name}: memory grows')


async def echo(endpoint):
    data = numpy.empty(SIZE, numpy.uint8)
    await endpoint.recv(data)
    await endpoint.send(data)
    await end_serving(endpoint)


async def listen(port):
    ended, early = asyncio.Event(), []
    done = 0
    total = asyncio.get_running_loop().create_future()

    async def serve(endpoint):
        nonlocal done
        if not total.done():
            count = numpy.empty(1, numpy.int64)
            await endpoint.recv(count)
            total.set_result(int(count[0]))
            await endpoint.send(count)
            await end_serving(endpoint)
            return
        await echo(endpoint)
        done += 1
        if done == total.result() // 10:
            early.append(state())
        if done == total.result():
            ended.set()

    listener = ucxx.create_listener(serve, port=port)
    await asyncio.wait_for(ended.wait(), 1500)
    await asyncio.sleep(0.5)
    compare('listener', early[0], state())
    listener.close()


async def connect(port, address, count):
    endpoint = await ucxx.create_endpoint(address, port)
    number = numpy.array([count], numpy.int64)
    await endpoint.send(number)
    await endpoint.recv(number)  # before the next is taken for the first
    await end_asking(endpoint)
    data = numpy.random.default_rng(1).integers(0, 256, SIZE, numpy.uint8)
    back = numpy.empty_like(data)
    for i in range(count):
        endpoint = await ucxx.create_endpoint(address, port)
        await endpoint.send(data)
        await endpoint.recv(back)
        if not (back == data).all():
            sys.exit('not the same')
        back[:] = 0
        await end_asking(endpoint)
        if i == count // 10:
            early = state()
    compare('client', early, state())


if __name__ == '__main__':
    if len(sys.argv) > 2:
        asyncio.run(connect(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
    else:
        asyncio.run(listen(int(sys.argv[1])))
