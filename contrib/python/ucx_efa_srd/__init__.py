# SPDX-License-Identifier: BSD-3-Clause
"""The SRD transport for AWS EFA, in this Python:

    import ucx_efa_srd      # before anything opens UCX (ucxx, distributed, nixl)

loads the module, libuct_srd.so.0, so that each UCX opened later has it, the
system's as well as those that wheels bring. It does nothing in a program that
never opens UCX. What is loaded already (srdrun) stays."""

import ctypes
import os

__all__ = ['MODULE', 'load']

_NAME = 'libuct_srd.so.0'
_HERE = os.path.dirname(os.path.realpath(__file__))


def _find():
    """In this package, or beside the folder that it is in."""
    places = [os.path.join(_HERE, 'lib', _NAME),
              os.path.join(os.path.dirname(os.path.dirname(_HERE)), _NAME)]
    for place in places:
        if os.path.exists(place):
            return place
    raise ImportError(f'no SRD transport: {_NAME} is neither in '
                      f'{os.path.dirname(places[0])} nor in '
                      f'{os.path.dirname(places[1])}')


def load():
    """RTLD_GLOBAL: a UCX that is opened later asks this module first."""
    try:
        ctypes.CDLL(MODULE, ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(f'no SRD transport: {error}') from error


MODULE = _find()  # its path
load()
