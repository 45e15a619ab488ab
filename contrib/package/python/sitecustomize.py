# SPDX-License-Identifier: BSD-3-Clause
"""Loads the SRD transport into every Python that has this folder in PYTHONPATH,
before anything can open UCX:

    PYTHONPATH=/usr/local/lib/ucx/python${PYTHONPATH:+:$PYTHONPATH} python3 program.py

It is `import ucx_efa_srd`, which does nothing in a program that never opens UCX.
A sitecustomize that stands behind this one in the path runs as ever."""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.realpath(__file__))


def _load():
    try:
        import ucx_efa_srd  # noqa: F401
    except ImportError as error:
        print(f'sitecustomize: {error}', file=sys.stderr)


def _run_next():
    """Import the module that would have been imported without us."""
    path = [entry for entry in sys.path
            if os.path.realpath(entry or '.') != _HERE]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


_load()
_run_next()
