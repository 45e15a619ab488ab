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

    def put(self, values, at=0):
        """Values in host memory, from byte `at` on."""
        Array.own += values.nbytes
        _call('cuMemcpyHtoD_v2', ctypes.c_uint64(self.pointer + at),
              ctypes.c_void_p(values.ctypes.data),
              ctypes.c_size_t(values.nbytes))

    def get(self, at=0, size=None):
        values = numpy.empty(self.size if size is None else size, numpy.uint8)
        Array.own += values.nbytes
        _call('cuMemcpyDtoH_v2', ctypes.c_void_p(values.ctypes.data),
              ctypes.c_uint64(self.pointer + at),
              ctypes.c_size_t(values.nbytes))
        return values

    def free(self):
        _call('cuMemFree_v2', ctypes.c_uint64(self.pointer))


def staged():
    """Bytes that somebody else copied."""
    return copied() - Array.own
