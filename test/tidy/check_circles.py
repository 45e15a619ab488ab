#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_circles.py ROOT BUILD: the files of each part of src/ stand in an
order: none calls another that calls it, whatever the way round. Told by the
symbols of the object files: an inline function counts where it is compiled.
(Between the parts check_layers.py decides.) ROOT/test/tidy/circles.txt has the
calls that are allowed although they close a circle, a line each: "FUNCTION of
CALLED: reason". A line without effect is a failure. The tables of
ROOT/docs/DESIGN.md name each file of flow and base in such an order."""

import glob
import os
import re
import subprocess
import sys

import tree

# Where objects lie below the build folder. Those of one source are alike.
OBJECTS = ('obj/flow/*.o', 'src/**/*.o')

# The rows of DESIGN.md whose names are the files of a folder, in their order.
DESIGN = 'docs/DESIGN.md'
ORDERS = {'src/flow/': r'^\| \d+ \| (`[^|]+)\|',
          'src/uct/ib/base/': r'^\| (`base_[^|]+)\|'}

# The parts of src/ that stand in an order.
PARTS = ('src/flow', 'src/record', 'src/efasim', 'src/tools', 'src/ucp_hooks',
         'src/uct/ib')

ALLOWED = 'test/tidy/circles.txt'
ALLOWED_LINE = re.compile(r'(\S+) of (\S+): \S')


def symbols(objects):
    """Symbols of objects, {path: source}: what each source defines, and what it
    needs."""
    defined = {source: set() for source in objects.values()}
    needed = {source: set() for source in objects.values()}
    text = subprocess.run(['nm', '-A', *objects], capture_output=True,
                          text=True, check=True).stdout if objects else ''
    for line in text.splitlines():
        path, rest = line.split(':', 1)
        kind, name = rest.split()[-2:]
        if kind == 'U':
            needed[objects[path]].add(name)
        elif kind.isupper():
            defined[objects[path]].add(name)
    return defined, needed


def source_of(root, build, path):
    """The source file of an object, below root; None where there is none (an
    object that an earlier build left)."""
    folder, name = os.path.split(os.path.relpath(path, build))
    folder = folder.replace('obj/flow', 'src/flow')
    stem = re.sub(r'^.*-', '', name[:-2])
    stem = re.sub(r'^abi_1_\d+$', 'abi', stem)  # one of each UCX minor
    source = os.path.join(folder, stem + '.c')
    return source if os.path.exists(os.path.join(root, source)) else None


def part_of(source):
    """The part of src/ that a source belongs to, or None."""
    return next((part for part in PARTS if source.startswith(part + '/')),
                None)


def load(root, build):
    """Symbols that each source of the parts defines, and those that it needs."""
    sources = {}
    for pattern in OBJECTS:
        for path in sorted(glob.glob(os.path.join(build, pattern),
                                     recursive=True)):
            source = source_of(root, build, path)
            if source is not None and part_of(source) is not None:
                sources.setdefault(source, path)
    return symbols({path: source for source, path in sources.items()})


def calls_of(defined, needs, passed):
    """Which file calls which of its part: {source: {source, ...}}. A function
    in passed, (name, its file), is nobody's."""
    homes = {(part_of(source), name): source
             for source, names in defined.items() for name in names
             if (name, source) not in passed}
    return {source: {homes.get((part_of(source), name), source)
                     for name in names} - {source}
            for source, names in needs.items()}


def reach(calls, start):
    """All files that calls lead to from start."""
    found, left = set(), [start]
    while left:
        for other in calls[left.pop()] - found:
            found.add(other)
            left.append(other)
    return found


def circles_of(calls):
    """The circles, each a sorted list of the files that reach one another."""
    reached = {source: reach(calls, source) for source in calls}
    circles = {tuple(sorted(other for other in found
                            if source in reached[other]))
               for source, found in reached.items() if source in found}
    return sorted(circles)


def check_orders(root, calls, problems):
    """Whether the tables of DESIGN.md have each file behind those it calls."""
    text = tree.read(root, DESIGN)
    for folder, row in ORDERS.items():
        names = re.findall(r'`(\w+)`', ' '.join(re.findall(row, text, re.M)))
        places = {f'{folder}{name}.c': place
                  for place, name in enumerate(names)}
        for source in sorted(calls):
            if source.startswith(folder) and source not in places:
                problems.append(f'{DESIGN}: no row has {source}')
            problems += [f'{source}: calls {called}, which stands behind it in '
                         f'{DESIGN}' for called in sorted(calls[source])
                         if places.get(called, 0) > places.get(source, len(names))]


def allowed_of(root, problems):
    """The pairs that ROOT's list allows: (function, its file)."""
    names = []
    if os.path.exists(os.path.join(root, ALLOWED)):
        for number, line in enumerate(tree.read(root, ALLOWED).splitlines(), 1):
            if not line or line.startswith('#'):
                continue
            match = ALLOWED_LINE.match(line)
            if match:
                names.append(match.groups())
            else:
                problems.append(f'{ALLOWED}:{number}: not "FUNCTION of CALLED: '
                                'reason"')
    return names


def main(root, build):
    problems = []
    names = allowed_of(root, problems)
    defined, needs = load(root, build)
    calls = calls_of(defined, needs, names)
    if not calls:
        tree.finish(problems, calls, 'object files of src/')
    for name, called in names:
        others = [pair for pair in names if pair != (name, called)]
        if name not in defined.get(called, ()):
            problems.append(f'{ALLOWED}: {called} has no {name}')
        elif calls_of(defined, needs, others) == calls:
            problems.append(f'{ALLOWED}: nobody calls {name} of {called}')
    for circle in circles_of(calls):
        for source in circle:
            others = ', '.join(sorted(calls[source] & set(circle)))
            problems.append(f'{source}: in a circle of calls; it calls '
                            f'{others}')
    if os.path.exists(os.path.join(root, DESIGN)):
        check_orders(root, calls, problems)
    tree.finish(problems, calls, 'object files of src/')


main(sys.argv[1], sys.argv[2])
