# SPDX-License-Identifier: BSD-3-Clause
"""The SRD transport for AWS EFA, in this Python:

    import ucx_efa_srd      # before anything opens UCX (ucxx, distributed, nixl)

loads the module, libuct_srd.so.0, so that each UCX opened later has it, the
system's as well as those that wheels bring. It does nothing in a program that
never opens UCX. A module that is loaded already (srdrun) stays."""

import ctypes
import os
import stat
import sys

__all__ = ['MODULE', 'load']

_NAME = 'libuct_srd.so.0'
_HERE = os.path.dirname(os.path.realpath(__file__))


def _places():
    """Where pip puts a wheel's files, with --target (first: above that folder may be
    one where others write); beside the folder that this package is in (make
    install); seen from site-packages: PREFIX/lib/ucx."""
    home = os.path.dirname(_HERE)
    up = os.path.dirname(home)
    yield os.path.join(home, 'lib', 'ucx', _NAME)
    yield os.path.join(up, _NAME)
    yield os.path.join(os.path.dirname(up), 'ucx', _NAME)
    import sysconfig
    yield os.path.join(sysconfig.get_path('data'), 'lib', 'ucx', _NAME)


def _is_anyones(place):
    """Above a copy of this package in /tmp/JOB other users may make names."""
    folder = os.path.dirname(place)
    return any(os.stat(one).st_mode & stat.S_ISVTX
               for one in (folder, os.path.dirname(folder)))


def _find():
    tried = []
    for place in _places():
        if os.path.exists(place) and not _is_anyones(place):
            return place
        tried.append(os.path.dirname(place))
    raise ImportError(f'no SRD transport: {_NAME} is in none of '
                      f'{", ".join(dict.fromkeys(tried))}: install this '
                      'package anew')


def _is_late():
    """Whether UCX has looked for its modules already, so that it will not ask
    this one. (Its libraries alone, libucp and libuct, may be here.)"""
    try:
        with open('/proc/self/maps', encoding='utf-8',
                  errors='surrogateescape') as maps:
            return any('/libuct_' in line for line in maps)
    except OSError:
        return False


def load():
    """RTLD_GLOBAL: a UCX that is opened later asks this module first. A copy of
    another installation may be here already (srdrun, a package's)."""
    try:
        ctypes.CDLL(_NAME, ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)
        return
    except OSError:
        pass
    if _is_late():
        print('ucx_efa_srd: imported too late: UCX is open in this process, and '
              'goes without this module; make it the first import, or start '
              'Python by srdrun', file=sys.stderr)
    try:
        ctypes.CDLL(MODULE, ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(f'no SRD transport: {error}') from error


def _is_command():
    """Whether this is "python -m ucx_efa_srd", which must also work, to undo
    what it did, where the module itself is gone."""
    if getattr(sys, 'argv', [])[:1] != ['-m']:  # so while -m looks for it
        return False
    try:
        with open('/proc/self/cmdline', 'rb') as file:
            words = file.read().split(b'\0')
    except OSError:
        return False
    name = __name__.encode()
    return b'-m' + name in words or (b'-m', name) in zip(words, words[1:])


MODULE = None  # its path
try:
    MODULE = _find()
    load()
except ImportError as _error:
    if not _is_command():
        raise
    WHY_NOT = str(_error)
