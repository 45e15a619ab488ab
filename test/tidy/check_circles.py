#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_circles.py ROOT BUILD: the files of the transports stand in an order:
none calls another that calls it, whatever the way round. Told by the symbols
of the object files, so what is inline counts where it is compiled."""

import glob
import os
import subprocess
import sys

import tree

OBJECTS = 'src/uct/ib/*/*libuct_srd_so*.o'


def symbols(path):
    """Symbols of an object: what it defines, and what it needs."""
    defined, needed = set(), set()
    text = subprocess.run(['nm', path], capture_output=True, text=True,
                          check=True).stdout
    for line in text.splitlines():
        kind, name = line.split()[-2:]
        if kind == 'U':
            needed.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, needed


def calls_of(root, paths):
    """Which file calls which: {name: {other, ...}}."""
    home, needs = {}, {}
    for path in paths:
        name = os.path.basename(path).rsplit('-', 1)[1][:-2]
        folder = os.path.basename(os.path.dirname(path))
        source = os.path.join('src/uct/ib', folder, name + '.c')
        if not os.path.exists(os.path.join(root, source)):
            continue  # an object that an earlier build left
        defined, needs[source] = symbols(path)
        home.update(dict.fromkeys(defined, source))
    return {source: {home[n] for n in names if n in home} - {source}
            for source, names in needs.items()}


def circle_of(calls):
    """The files that remain when those without a caller or a callee among
    the rest are taken off, again and again: of the circles and between."""
    left = dict(calls)
    while True:
        called = set().union(*(left[name] & left.keys() for name in left)) \
            if left else set()
        ends = [name for name in left
                if not left[name] & left.keys() or name not in called]
        if not ends:
            return sorted(left)
        for name in ends:
            del left[name]


def main(root, build):
    paths = sorted(glob.glob(os.path.join(build, OBJECTS)))
    calls = calls_of(root, paths)
    problems = []
    for name in circle_of(calls):
        others = ', '.join(os.path.basename(o) for o in sorted(calls[name]))
        problems.append(f'{name}: in a circle of calls; it calls {others}')
    tree.finish(problems, calls, 'object files of the transports')


main(sys.argv[1], sys.argv[2])
