#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""gpu_facts.py: what the GPU's driver here does where UCX and the tests lean on it, a
line "NAME VALUE" each. The emulated driver's answers are in facts.txt; where a real
one's differ, the emulated one is to change. With --emulated: whether it is the
emulated one, as status 0."""

import ctypes
import os
import signal
import sys

PAGE, BLOCK = 4096, 2 << 20
DMA_BUF_SUPPORTED, MEMORY_TYPE, DMA_BUF_FD = 124, 2, 1  # of CUDA's enums
Pointer, Size = ctypes.c_uint64, ctypes.c_size_t
cuda = ctypes.CDLL('libcuda.so.1')


def call(name, *arguments):
    return getattr(cuda, name)(*arguments)


def malloc(size):
    pointer = Pointer()
    call('cuMemAlloc_v2', ctypes.byref(pointer), Size(size))
    return pointer.value


def free(pointer):
    call('cuMemFree_v2', Pointer(pointer))


def export(pointer, size):
    """The driver's answer to exporting a range as a dma-buf, and the descriptor."""
    fd = ctypes.c_int(-1)
    return call('cuMemGetHandleForAddressRange', ctypes.byref(fd), Pointer(pointer),
                Size(size), DMA_BUF_FD, ctypes.c_uint64(0)), fd.value


def exports():
    supported, pointer = ctypes.c_int(), malloc(BLOCK)
    call('cuDeviceGetAttribute', ctypes.byref(supported), DMA_BUF_SUPPORTED, 0)
    yield 'dmabuf_supported', supported.value
    answer, fd = export(pointer, BLOCK)
    yield 'export_whole', answer
    if fd >= 0:
        try:
            os.lseek(fd, 0, os.SEEK_END)
            yield 'export_seek_end', 'works'
        except OSError as error:
            yield 'export_seek_end', error.strerror
    for name, start, size in (('from_second_page', PAGE, PAGE), ('odd_size', 0, PAGE + 1),
                              ('odd_start', 1, PAGE), ('beyond_end', 0, 1 << 40)):
        yield 'export_' + name, export(pointer + start, size)[0]
    free(pointer)
    yield 'export_freed', export(pointer, BLOCK)[0]


def ranges():
    base, size, kind, pointer = Pointer(), Size(), ctypes.c_uint(77), malloc(1000)
    call('cuMemGetAddressRange_v2', ctypes.byref(base), ctypes.byref(size),
         Pointer(pointer + 10))
    yield 'range_of_1000_bytes', (
        f'starts {"there" if base.value == pointer else "elsewhere"} {size.value}')
    yield 'alignment_of_small', int(pointer % 512 == 0)
    free(pointer)
    for name, length in ('small', 1000), ('large', BLOCK):
        pointer = malloc(length)
        free(pointer)
        again = malloc(length)
        yield name + '_comes_back', int(again == pointer)
        free(again)
    yield 'host_pointer_attribute', call(
        'cuPointerGetAttribute', ctypes.byref(kind), MEMORY_TYPE,
        Pointer(ctypes.addressof(kind)))
    pointer, child = malloc(BLOCK), os.fork()
    if child == 0:
        ctypes.string_at(pointer, 1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    yield 'cpu_read', (signal.strsignal(os.WTERMSIG(status)) if os.WIFSIGNALED(status)
                       else 'works')


def main():
    if '--emulated' in sys.argv:
        sys.exit(not hasattr(cuda, 'fake_gpu_copied') or 'FAKE_GPU_REAL' in os.environ)
    context = ctypes.c_void_p()
    if call('cuInit', 0) or call('cuDevicePrimaryCtxRetain', ctypes.byref(context), 0) or \
            call('cuCtxSetCurrent', context):
        sys.exit('FAIL: no GPU')
    for facts in exports, ranges:
        for name, value in facts():
            print(name, value, flush=True)


main()
