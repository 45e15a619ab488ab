#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""unpack_wheel.py WHEEL FOLDER: the libraries of a libucx wheel.

A wheel has no links, so it holds each library under three names: one file and
two hard links to it here.
"""

import os
import sys
import zipfile


def wanted(name):
    """The libraries of UCX, and those that the wheel brings for them."""
    parts = name.split('/')
    return '.so' in parts[-1] and (parts[:2] == ['libucx', 'lib'] or
                                   parts[0].endswith('.libs'))


def main(wheel, folder):
    first = {}
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            if not wanted(info.filename):
                continue
            same = first.get((info.CRC, info.file_size))
            path = os.path.join(folder, info.filename)
            if same is None:
                path = archive.extract(info, folder)
                first[info.CRC, info.file_size] = path
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.link(same, path)
    if not first:
        sys.exit(f'{wheel}: no libucx/lib in it')


main(*sys.argv[1:])
