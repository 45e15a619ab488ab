#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_twice.py ROOT BUILD: no six lines stand twice in src/. Blank lines and
what begins every file (includes, the licence) are passed over; leading blanks
do not count. A run that may stand twice is in twice.txt, with the reason: its
first line, ":", and why."""

import os
import re
import sys

import tree

RUN = 6
ALLOWED = 'test/tidy/twice.txt'
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


def allowed_of(root):
    if not os.path.exists(os.path.join(root, ALLOWED)):
        return {}
    pairs = (line.rsplit(': ', 1) for line in
             tree.read(root, ALLOWED).splitlines() if line)
    return {pair[0]: pair[1:] for pair in pairs}


def main(root):
    problems = []
    files = {path: lines_of(tree.read(root, path))
             for path in tree.files(root, *SUFFIXES, under='src')}
    allowed = allowed_of(root)
    used = set()
    for first, (a, text), second, (b, _), length in runs(files):
        if allowed.get(text):
            used.add(text)
            continue
        problems.append(f'{second}:{b}: {length} lines as at {first}:{a}: '
                        f'{text}')
    for text in sorted(set(allowed) - used):
        problems.append(f'{ALLOWED}: stands once, or has no reason: {text}')
    tree.finish(problems, files, 'sources')


main(sys.argv[1])
