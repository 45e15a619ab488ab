#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ucxx_device.py PORT [ADDRESS]: ucxx's send and recv of arrays in device memory,
as CuPy's, to and fro, every byte compared."""

import asyncio
import sys

import numpy
import ucxx

import device_memory

SIZES = [1, 4097, 65536, 1 << 20, 8 << 20]


async def serve(port):
    served = asyncio.get_running_loop().create_future()

    async def echo(endpoint):
        for size in SIZES:
            data = device_memory.Array(size)
            await endpoint.recv(data)
            await endpoint.send(data)
            data.free()
        await endpoint.close()
        served.set_result(True)

    listener = ucxx.create_listener(echo, port=port)
    await served
    listener.close()


async def connect(address, port):
    endpoint = await ucxx.create_endpoint(address, port)
    for size in SIZES:
        data, back = device_memory.Array(size), device_memory.Array(size)
        values = numpy.random.default_rng(size).integers(0, 256, size,
                                                         numpy.uint8)
        data.put(values)
        await endpoint.send(data)
        await endpoint.recv(back)
        if not (back.get() == values).all():
            sys.exit(f'ucxx_device.py: {size} bytes are not the same')
        data.free()
        back.free()
        print(f'{size} bytes staged {device_memory.staged()}', flush=True)
    await endpoint.close()
    print(f'ok {len(SIZES)} sizes', flush=True)


def main(port, address=None):
    device_memory.use(0)
    asyncio.run(connect(address, int(port)) if address else serve(int(port)))


main(*sys.argv[1:])
