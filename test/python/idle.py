# SPDX-License-Identifier: BSD-3-Clause
"""A connected ucxx process that waits uses no CPU: `idle.py PORT` and
`idle.py PORT ADDRESS`, with ucxx's mode of progress in MODE. Each prints what it
used, with other threads, the emulated device's among them, and without. In
asyncio's blocking mode of ucxx 0.52 that is so before the first event only: then
it does not arm again, and spins over tcp, too (LATER=n: not measured). More
than MOST of a CPU is a failure."""

import asyncio
import os
import sys

import numpy
import ucxx

from ucxx_pingpong import end_asking, end_serving

SECONDS = 4
MOST = float(os.environ['MOST'])  # of a CPU
TICKS = os.sysconf('SC_CLK_TCK')


def used(path):
    with open(path, encoding='ascii') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def used_now():
    """CPU time of the whole process, and of its main thread."""
    pid = os.getpid()
    return used('/proc/self/stat'), used(f'/proc/self/task/{pid}/stat')


async def swap(endpoint):
    data = numpy.zeros(1 << 20, numpy.uint8)
    await asyncio.gather(endpoint.send(data),
                         endpoint.recv(numpy.empty_like(data)))


async def idle(what):
    await asyncio.sleep(0.5)
    before = used_now()
    await asyncio.sleep(SECONDS)
    whole, main = (now - then for now, then in zip(used_now(), before))
    print(f'note: {what}: idle for {SECONDS} s: {whole / SECONDS:.3f} of a CPU, '
          f'{main / SECONDS:.3f} in the main thread', flush=True)
    if whole / SECONDS > MOST:
        sys.exit('an idle process uses the CPU')


async def talk(endpoint):
    for _ in range(3):
        await swap(endpoint)
    if os.environ.get('LATER') != 'n':
        await idle('connected')
    await swap(endpoint)  # still there
    await swap(endpoint)


async def main():
    port, done = int(sys.argv[1]), asyncio.Event()
    ucxx.get_worker_address()  # opens UCX
    if len(sys.argv) > 2:
        await idle('not connected')
        endpoint = await ucxx.create_endpoint(sys.argv[2], port)
        await talk(endpoint)
        await end_asking(endpoint)
        return

    async def serve(endpoint):
        await talk(endpoint)
        await end_serving(endpoint)
        done.set()

    listener = ucxx.create_listener(serve, port=port)
    await asyncio.wait_for(done.wait(), 60)
    listener.close()


if __name__ == '__main__':
    os.environ['UCXPY_PROGRESS_MODE'] = os.environ['MODE']
    asyncio.run(main())
