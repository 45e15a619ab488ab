# SPDX-License-Identifier: BSD-3-Clause
"""A pool of memory far larger than the machine's, for nixl_checks.py: the pages of
one file over and over."""

import ctypes
import mmap
import os

import numpy

PART = int(os.environ.get('POOL_PART_MB', '64')) << 20
BLOCK = 64 << 10
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                      ctypes.c_int, ctypes.c_long]


def mapped(address, length, access, flags, file):
    got = LIBC.mmap(address, length, access, flags, file, 0)
    if got == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), 'mmap')
    return got


class Pool:
    """`size` bytes of address space that NIXL knows; `bytes` are its pages."""

    def __init__(self, agent, size):
        file = os.memfd_create('pool')
        os.ftruncate(file, PART)
        self.size = size
        self.address = mapped(None, size, mmap.PROT_READ,
                              mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        for at in range(0, size, PART):
            mapped(self.address + at, PART, mmap.PROT_READ | mmap.PROT_WRITE,
                   mmap.MAP_SHARED | 0x10, file)  # MAP_FIXED
        os.close(file)
        self.bytes = numpy.ctypeslib.as_array(
            (ctypes.c_ubyte * PART).from_address(self.address))
        agent.register_memory([(self.address, size, 0, '')], 'DRAM')

    def blocks(self, places):
        """Where NIXL finds the blocks of a round."""
        shift, pages, times = places
        return [(self.address + int(at), BLOCK, 0)
                for at in shift + BLOCK * pages + PART * times]


def rounds(size, count, seed):
    """Places of the blocks of each round: each page once, at one of its addresses by
    chance. In the last one they begin at any byte."""
    random = numpy.random.default_rng(seed)
    for i in range(count):
        last = i == count - 1
        pages = random.permutation(PART // BLOCK - last)
        yield (random.integers(1, BLOCK) if last else 0, pages,
               random.integers(0, size // PART, len(pages)))


def contents(data, places):
    """The blocks of a round, in its order."""
    shift, pages, _ = places
    return data[shift:shift + BLOCK * len(pages)].reshape(-1, BLOCK)[pages]
