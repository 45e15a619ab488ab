# SPDX-License-Identifier: BSD-3-Clause
"""The shuffle of contrib/examples/dask_cluster.py, in the middle of which a worker
is killed by kill -9 (its nanny starts another), or one more comes."""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time

import dask.config
from distributed import Client

import dask_cluster as example

# two clients, so two event loops: ucxx's futures belong to the first
os.environ['UCXPY_ENABLE_PYTHON_FUTURE'] = '0'


def some_are_done(client):
    """Waits until the scheduler has some of the split parts in memory."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if sum(len(keys) for keys in client.has_what().values()) >= 18:
            return
        time.sleep(0.02)
    sys.exit('dask_accidents.py: the shuffle does not begin')


def kill_one(client, pids):
    some_are_done(client)
    worker, (pid, _) = sorted(pids.items())[1]
    os.kill(pid, signal.SIGKILL)
    print(f'killed {worker}, process {pid}', flush=True)


def add_one(client, arguments):
    some_are_done(client)
    subprocess.Popen(
        arguments.worker.split() + [
            sys.executable, example.__file__, 'worker', '127.0.0.1', '--port',
            str(arguments.port), '--host', '127.0.0.1', '--name', 'w4'],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client.wait_for_workers(arguments.workers + 1, timeout=example.PATIENCE)
    print('added one', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('role')
    parser.add_argument('address')
    parser.add_argument('--accident', choices=['killed', 'added'])
    parser.add_argument('--worker', help='what the new one is started by')
    parser.add_argument('--port', type=int)
    parser.add_argument('--protocol')
    parser.add_argument('--workers', type=int)
    parser.add_argument('--megabytes', type=int)
    parser.add_argument('--shutdown', action='store_true')
    arguments = parser.parse_args()
    dask.config.set(example.SETTINGS)
    with Client(example.scheduler(arguments), timeout=example.PATIENCE) as client:
        with Client(example.scheduler(arguments), timeout=example.PATIENCE) as other:
            run(client, other, arguments)
        # the only one: another would find the scheduler gone
        client.shutdown()


def run(client, other, arguments):
    is_killed = arguments.accident == 'killed'
    client.wait_for_workers(arguments.workers, timeout=example.PATIENCE)
    pids = client.run(example.counters_of_worker)
    thread = threading.Thread(target=kill_one if is_killed else add_one,
                              args=(other, pids if is_killed else arguments))
    thread.start()
    if not is_killed:
        example.shuffle(client, arguments.megabytes // 2)
        thread.join()
    pieces = example.shuffle(client, arguments.megabytes)
    thread.join()
    print(f'shuffle: {sum(n for n, _ in pieces)} numbers, '
          f'{example.digest(repr(pieces).encode())}', flush=True)
    client.wait_for_workers(arguments.workers + (not is_killed), timeout=example.PATIENCE)


if __name__ == '__main__':
    main()
