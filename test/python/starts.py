# SPDX-License-Identifier: BSD-3-Clause
"""fork, spawn and forkserver: `starts.py METHOD`. Children of each kind connect to
this process and move bytes both ways; this process, which has UCX open when it
starts them, goes on afterwards. A forked child cannot use
UCX of its parent's, whatever the transport: it starts another program, and ends."""

import asyncio
import multiprocessing
import os
import subprocess
import sys

import numpy

SIZE = 3 << 20
CHILDREN = 4


def content(seed):
    return numpy.random.default_rng(seed).integers(0, 256, SIZE, numpy.uint8)


async def talk(port, seed):
    import ucxx
    from ucxx_pingpong import end_asking
    endpoint = await ucxx.create_endpoint('127.0.0.1', port)
    data, back = content(seed), numpy.empty(SIZE, numpy.uint8)
    await endpoint.send(data)
    await endpoint.recv(back)
    await end_asking(endpoint)
    if not (back == data).all():
        sys.exit('not the same')


def child(port, seed):
    asyncio.run(talk(port, seed))


def forked(port, seed):
    """Memory that the parent had registered is there to be read and written."""
    data = kept
    data[:] = content(seed)
    subprocess.run([sys.executable, __file__, 'child', str(port), str(seed)],
                   check=True)
    sys.exit(0 if (data == content(seed)).all() else 1)


kept = numpy.zeros(SIZE, numpy.uint8)


async def main(method):
    import ucxx
    from ucxx_pingpong import end_serving
    served = 0

    async def serve(endpoint):
        nonlocal served
        await endpoint.recv(kept)
        await endpoint.send(kept)
        await end_serving(endpoint)
        served += 1

    listener = ucxx.create_listener(serve)
    await talk(listener.port, 0)  # by this process, before
    context = multiprocessing.get_context(method)
    for seed in range(1, CHILDREN + 1):
        process = context.Process(
            target=forked if method == 'fork' else child,
            args=(listener.port, seed))
        process.start()
        while process.is_alive():
            await asyncio.sleep(0.01)
        process.join()
        if process.exitcode != 0:
            sys.exit(f'child {seed}: status {process.exitcode}')
        if not (kept == content(seed)).all():
            sys.exit('what the child sent is not here')
    await talk(listener.port, 99)  # and afterwards
    for _ in range(500):
        if served == CHILDREN + 2:
            break
        await asyncio.sleep(0.01)
    else:
        sys.exit(f'{served} connections')
    print(f'ok {method}: {served} connections, in {os.getpid()}')
    listener.close()


if __name__ == '__main__':
    if sys.argv[1] == 'child':
        child(int(sys.argv[2]), int(sys.argv[3]))
    else:
        asyncio.run(main(sys.argv[1]))
