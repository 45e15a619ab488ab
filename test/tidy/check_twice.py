#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_twice.py ROOT BUILD: no six lines stand twice in src/. Blank lines and
what begins every file (includes, the licence) are passed over; leading blanks
do not count."""

import re
import sys

import tree

RUN = 6
SUFFIXES = ('.c', '.h', '.inc', '.in', '.sh')
PASSED_OVER = re.compile(r'\s*$|\s*#\s*include\b|.*SPDX-License-Identifier'
                         r'|#!/')


def lines_of(text):
    """[(number, line without its indentation)]"""
    return [(number, ' '.join(line.split()))
            for number, line in enumerate(text.split('\n'), 1)
            if not PASSED_OVER.match(line)]


def runs(files):
    """Yields (first path, line, second path, line, length) of what stands
    twice, each run whole and once."""
    seen = {}
    for path, lines in files.items():
        last = -1  # the line up to which a run was told
        for at in range(len(lines) - RUN + 1):
            key = tuple(line for _, line in lines[at:at + RUN])
            other, there = seen.setdefault(key, (path, at))
            if (other, there) == (path, at) or at <= last or \
                    (other == path and at - there < RUN):
                continue
            length = RUN
            others = files[other]
            while at + length < len(lines) and \
                    there + length < len(others) and \
                    lines[at + length][1] == others[there + length][1]:
                length += 1
            last = at + length - RUN
            yield other, others[there], path, lines[at], length


def main(root):
    files = {path: lines_of(tree.read(root, path))
             for path in tree.files(root, *SUFFIXES, under='src')}
    tree.finish([f'{second}:{b}: {length} lines as at {first}:{a}: {text}'
                 for first, (a, text), second, (b, _), length in runs(files)],
                files, 'sources')


main(sys.argv[1])
