# SPDX-License-Identifier: BSD-3-Clause
"""NIXL's wheel has a libibverbs of its own beside the system's: `nixl_orders.py
STEP...` loads both, and the module, in this order, then lets two agents move
bytes. Steps: system (its libibverbs), efa (its libefa), listed (the wheel's
libibverbs, which lists its devices), nixl, module (of MODULE_FOLDER)."""

import ctypes
import glob
import os
import sys
import sysconfig


def listed():
    path, = glob.glob(sysconfig.get_path('purelib') +
                      '/*nixl*.libs/libibverbs*')
    lib, count = ctypes.CDLL(path), ctypes.c_int()
    lib.ibv_get_device_list.restype = ctypes.c_void_p
    lib.ibv_get_device_list(ctypes.byref(count))


def nixl():
    import nixl as package
    package.nixl_agent  # its libraries are loaded


def module():
    sys.path.append(os.environ['MODULE_FOLDER'])
    import ucx_efa_srd  # noqa: F401


STEPS = {'system': lambda: ctypes.CDLL('libibverbs.so.1'),
         'efa': lambda: ctypes.CDLL('libefa.so.1'),
         'listed': listed, 'nixl': nixl, 'module': module}

if __name__ == '__main__':
    for step in sys.argv[1:]:
        STEPS[step]()
    import nixl_checks
    nixl_checks.two_agents()
