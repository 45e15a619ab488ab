# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in device memory for tests, by the driver alone: what CuPy and others
hand to ucxx (__cuda_array_interface__) and to NIXL (an address)."""

import ctypes
import sys

import numpy

_driver = ctypes.CDLL('libcuda.so.1')


def _call(name, *arguments):
    status = getattr(_driver, name)(*arguments)
    if status != 0:
        sys.exit(f'{name}: CUDA error {status}')


def use(device=0):
    """Make a GPU this thread's."""
    context = ctypes.c_void_p()
    _call('cuInit', 0)
    _call('cuDevicePrimaryCtxRetain', ctypes.byref(context), device)
    _call('cuCtxSetCurrent', context)


def copied():
    """Bytes copied to devices, from them and between them until now; emulated
    GPUs only."""
    kinds = (ctypes.c_uint64 * 3)()
    _driver.fake_gpu_copied(kinds)
    return sum(kinds)


class Array:
    """Bytes in device memory."""

    own = 0  # that this class copied

    def __init__(self, size):
        pointer = ctypes.c_uint64()
        _call('cuMemAlloc_v2', ctypes.byref(pointer), ctypes.c_size_t(size))
        self.size = size
        self.pointer = pointer.value
        self.__cuda_array_interface__ = {
            'shape': (size,), 'typestr': '|u1', 'strides': None, 'version': 3,
            'data': (self.pointer, False)}

    def put(self, values):
        Array.own += self.size
        _call('cuMemcpyHtoD_v2', ctypes.c_uint64(self.pointer),
              ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(self.size))

    def get(self):
        values = numpy.empty(self.size, numpy.uint8)
        Array.own += self.size
        _call('cuMemcpyDtoH_v2', ctypes.c_void_p(values.ctypes.data),
              ctypes.c_uint64(self.pointer), ctypes.c_size_t(self.size))
        return values

    def free(self):
        _call('cuMemFree_v2', ctypes.c_uint64(self.pointer))


def staged():
    """Bytes that somebody else copied."""
    return copied() - Array.own
