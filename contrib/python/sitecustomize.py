# SPDX-License-Identifier: BSD-3-Clause
"""Loads the SRD transport into every Python that has this folder in PYTHONPATH,
before anything can open UCX:

    PYTHONPATH=/usr/local/lib/ucx/python:$PYTHONPATH python3 program.py

The module is the one beside this folder. It does nothing in a program that
never opens UCX. A sitecustomize that stands behind this one in the path runs as
ever."""

import ctypes
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))
_MODULE = os.path.join(os.path.dirname(_HERE), 'libuct_srd.so.0')


def _load():
    """RTLD_GLOBAL: a UCX that is opened later asks this module first."""
    try:
        ctypes.CDLL(_MODULE, ctypes.RTLD_GLOBAL)
    except OSError as error:
        print(f'sitecustomize: no SRD transport: {error}', file=sys.stderr)


def _run_next():
    """What would have been imported without us."""
    path = [entry for entry in sys.path
            if os.path.realpath(entry or '.') != _HERE]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_load()
_run_next()
