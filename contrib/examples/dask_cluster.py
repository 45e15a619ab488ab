#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dask over SRD: a scheduler, workers on other hosts, an array sum and a shuffle,
and what each host's EFA carried meanwhile.

    pip install distributed-ucxx-cu12 numpy pandas pyarrow
    export UCX_TLS=srd,tcp,sm,self UCXPY_PROGRESS_MODE=thread
    export UCXPY_ENABLE_PYTHON_FUTURE=1
    srdrun python3 dask_cluster.py scheduler --host ADDRESS_A       # host A
    srdrun python3 dask_cluster.py worker ADDRESS_A         # hosts B, C, ...
    srdrun python3 dask_cluster.py client ADDRESS_A --workers 3     # anywhere

Dask asks for no password: anybody who reaches the ports of scheduler and workers, also
another user of a host, runs code as this user. ucxx opens them on all addresses of a
host, whatever --host says; over tcp it is that one.

tcp is in the list because ucxx connects by socket address; data goes over srd
then. In Dask's default mode of progress ("blocking", ucxx 0.52) each process would
spin, and without the futures its event loop would. On one machine, without an EFA:
`efasim run --node N --` in front of each, another N for each host; ADDRESS_A is
127.0.0.1. `--protocol tcp`, on all, does the same without UCX, to compare."""

import argparse
import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress

import efa_counters

# A scheduler that starts again within a minute takes its port again.
os.environ.setdefault('UCX_TCP_CM_REUSEADDR', 'y')

try:
    import dask
    import dask.config
    from distributed import Client, Nanny, Scheduler
except ImportError as error:
    sys.exit(f'dask_cluster.py: {error}: pip install distributed-ucxx-cu12')

PORT = 18786
# Seconds that a start may take: all processes may share two cores.
PATIENCE = 240
# Workers are spawned by a nanny, which starts a worker again that was killed.
SETTINGS = {
    'distributed.worker.daemon': False,
    'distributed.comm.timeouts.connect': f'{PATIENCE}s',
    'distributed.scheduler.allowed-failures': 10,
}


async def run_scheduler(arguments):
    async with Scheduler(protocol=arguments.protocol,
                         host=arguments.host or '127.0.0.1',
                         port=arguments.port, dashboard_address=None) as it:
        print(f'scheduler at {it.address}', flush=True)
        await it.finished()


async def run_worker(arguments):
    async with Nanny(scheduler(arguments), nthreads=1, host=arguments.host,
                     name=arguments.name, memory_limit=0,
                     dashboard_address=None) as it:
        print(f'worker at {it.worker_address}', flush=True)
        await it.finished()


def scheduler(arguments):
    return f'{arguments.protocol}://{arguments.address}:{arguments.port}'


# ---------------------------------------------------------------- the work

def digest(value):
    return hashlib.sha256(memoryview(value).cast('B')).hexdigest()[:16]


def array_sum(megabytes):
    """Rows plus columns of the same numbers: each chunk goes to another worker."""
    import dask.array as da
    side = int((megabytes * 2**20 / 8) ** 0.5) // 4 * 4
    numbers = da.arange(side * side, chunks=side * side // 4, dtype='i8')
    matrix = numbers.reshape(side, side).rechunk((side // 4, side)).persist()
    total = (matrix + matrix.T).sum(axis=0).compute()
    return digest(total)


def part(seed, rows):
    import numpy
    return numpy.random.default_rng(seed).integers(0, 2**62, rows)


def split(keys, pieces):
    return [keys[keys % pieces == i] for i in range(pieces)]


def pick(pieces, i):
    return pieces[i]


def merge(parts):
    import numpy
    merged = numpy.sort(numpy.concatenate(parts))
    return len(merged), digest(merged)


def shuffle(client, megabytes, pieces=12):
    """Numbers to the piece that their remainder says: a task graph in which each
    piece takes something of each part."""
    rows = megabytes * 2**20 // 8 // pieces
    parts = [client.submit(part, i, rows, key=f'part-{i}-{rows}')
             for i in range(pieces)]
    splits = [client.submit(split, p, pieces) for p in parts]
    merged = [client.submit(merge, [client.submit(pick, s, i) for s in splits])
              for i in range(pieces)]
    return client.gather(merged)


def frame_part(seed, rows):
    import numpy
    import pandas
    random = numpy.random.default_rng(seed)
    return pandas.DataFrame({'key': random.integers(0, 2**62, rows),
                             'value': random.integers(0, 2**62, rows)})


def frame_digest(part_):
    import pandas
    part_ = part_.sort_values(['key', 'value'])
    return pandas.Series([digest(part_.to_numpy().tobytes())])


def shuffle_frame(megabytes, method, pieces=12):
    """By Dask's own data frames: 'tasks', or 'p2p', where workers send each
    other what they have without the scheduler. None: no pandas or pyarrow here."""
    try:
        import dask.dataframe
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    rows = megabytes * 2**20 // 16 // pieces
    frame = dask.dataframe.from_map(frame_part, range(pieces), rows=rows)
    moved = frame.shuffle('key', shuffle_method=method)
    digests = moved.map_partitions(frame_digest, meta=('d', 'str')).compute()
    return digest(repr(list(digests)).encode())


# ---------------------------------------------------------------- the report

def counters_of_worker(dask_worker=None):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import efa_counters as counters
    return os.getpid(), counters.read()


def bar(value, largest, width=40):
    return '#' * (round(width * value / largest) if largest else 0)


def plot(rows):
    """[(label, bytes)]"""
    largest = max((value for _, value in rows), default=0)
    for label, value in rows:
        print(f'  {label:28} {value / 2**20:9.1f} MB  {bar(value, largest)}')


def efasim_pairs():
    """{(source node, target node): bytes} of this emulated fabric."""
    pairs = {}
    if 'EFASIM_FABRIC' not in os.environ or not shutil.which('efasim'):
        return pairs
    text = subprocess.run(
        ['efasim', 'stat', '--raw', '--fabric', os.environ['EFASIM_FABRIC']],
        capture_output=True, text=True, check=False).stdout
    for line in text.splitlines():
        if line.startswith('pair '):
            fields = dict(word.split('=') for word in line.split()[1:])
            pairs[fields['src'], fields['dst']] = int(fields['bytes'])
    return pairs


def report(client, before, pairs_before):
    sent, total = [], 0
    after = client.run(counters_of_worker)
    for worker, (_, now) in sorted(after.items()):
        old = before.get(worker, (0, {}))[1]
        for what, names in (('sent', efa_counters.SENT),
                            ('received', efa_counters.RECEIVED)):
            value = sum(now.get(n, 0) - old.get(n, 0) for n in names)
            sent.append((f'{worker.split("//")[1]} {what}', value))
            total += value
    print("bytes over each worker's EFA:")
    plot(sent)
    rows = [(f'node {src} to node {dst}', value - pairs_before.get(pair, 0))
            for pair, value in sorted(efasim_pairs().items())
            for src, dst in [pair]]
    if rows:
        print('bytes between hosts, from the emulated device:')
        plot(rows)
    return total


def may_use_efa():
    """Whether UCX_TLS leaves UCX one of EFA's transports."""
    names = os.environ.get('UCX_TLS', 'all')
    return names.startswith('^') or not {'all', 'srd', 'ud', r'\ud'}.isdisjoint(
        names.split(','))


def run_client(arguments):
    with Client(scheduler(arguments), timeout=PATIENCE) as client:
        client.wait_for_workers(arguments.workers, timeout=PATIENCE)
        before, pairs = client.run(counters_of_worker), efasim_pairs()
        start = time.monotonic()
        print(f'array sum: {array_sum(arguments.megabytes)}', flush=True)
        pieces = shuffle(client, arguments.megabytes)
        print(f'shuffle: {sum(n for n, _ in pieces)} numbers, '
              f'{digest(repr(pieces).encode())}', flush=True)
        for method in ('tasks', 'p2p'):
            result = shuffle_frame(arguments.megabytes, method)
            if result is not None:
                print(f'data frame, {method}: {result}', flush=True)
        print(f'took {time.monotonic() - start:.1f} s', flush=True)
        total = report(client, before, pairs)
        if arguments.shutdown:
            client.shutdown()
    if arguments.protocol == 'tcp' or total >= arguments.megabytes * 2**20:
        return
    if not may_use_efa():
        print(f'UCX_TLS={os.environ["UCX_TLS"]} has neither srd nor ud: nothing was '
              'to go over the EFA')
        return
    sys.exit('dask_cluster.py: the bytes did not go over the EFA: '
             "'srd_info --check' tells why")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('role', choices=['scheduler', 'worker', 'client'])
    parser.add_argument('address', nargs='?', help="the scheduler's host")
    parser.add_argument('--port', type=int, default=PORT,
                        help="TCP port of the scheduler (%(default)s)")
    parser.add_argument('--host', help='address to listen on (scheduler: 127.0.0.1; worker: '
                        'the one that reaches the scheduler)')
    parser.add_argument('--name', help='of the worker (default: Dask chooses)')
    parser.add_argument('--workers', type=int, default=1,
                        help='that the client waits for (%(default)s)')
    parser.add_argument('--megabytes', type=int, default=64,
                        help='of the array (%(default)s)')
    parser.add_argument('--protocol', default='ucxx',
                        help='ucxx (default) or tcp, the same on all')
    parser.add_argument('--shutdown', action='store_true',
                        help='end scheduler and workers afterwards')
    arguments = parser.parse_args()
    if arguments.role != 'scheduler' and not arguments.address:
        parser.error("the scheduler's address is missing")
    if not 0 < arguments.port < 65536:
        parser.error(f'--port {arguments.port}: allowed is 1 to 65535')

    dask.config.set(SETTINGS)
    if arguments.role == 'client':
        run_client(arguments)
    else:
        role = run_worker if arguments.role == 'worker' else run_scheduler
        # Python finds modules in Dask's own in /tmp, which another user may have made
        with suppress(KeyboardInterrupt), \
                tempfile.TemporaryDirectory(prefix='dask-') as folder:
            dask.config.set({'temporary-directory': folder})
            asyncio.run(role(arguments))


if __name__ == '__main__':
    main()
