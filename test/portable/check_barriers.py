#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_barriers.py LIST OBJECT...: the barrier instructions of each function
of the aarch64 objects are those of LIST (barriers.txt): none is missing, and none
is unexplained. Behind each that stands before a doorbell a store follows."""

import os
import re
import subprocess
import sys

OBJDUMP = os.environ.get('OBJDUMP', 'aarch64-linux-gnu-objdump')
ROW = re.compile(r'([a-z_]+\.c) ([a-z_]+) (d[ms]b [a-z]+)$')
FUNCTION = re.compile(r'^[0-9a-f]+ <([^>]+)>:')
INSTRUCTION = re.compile(r'^ *[0-9a-f]+:\t[0-9a-f ]+\t(\S+)(?:\t(\S+))?')
# what was written is seen at the latest here: a store follows so soon
STORE_WITHIN = 8


def named(path):
    with open(path, encoding='utf-8') as file:
        rows = [ROW.match(line) for line in file]
    return {row.groups() for row in rows if row}


def found(path):
    """Pairs of place and whether a store follows."""
    source = os.path.basename(path).rpartition('-')[2].replace('.o', '.c')
    text = subprocess.run([OBJDUMP, '-d', path], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    function, after = None, []
    for line in text.splitlines():
        match = FUNCTION.match(line)
        if match:
            function, after = match.group(1), []
            continue
        match = INSTRUCTION.match(line)
        if not match:
            continue
        name, operand = match.groups()
        for entry in after:
            entry[1] -= 1
            if entry[1] >= 0 and name.startswith(('str', 'stp', 'stur')):
                entry[2] = True
        if name in ('dmb', 'dsb'):
            entry = [(source, function, f'{name} {operand}'), STORE_WITHIN,
                     False]
            after.append(entry)
            yield entry


def main(listed, *objects):
    want, got, problems = named(listed), set(), []
    for path in objects:
        entries = list(found(path))
        for place, _, stored in entries:
            got.add(place)
            if not stored and not place[2].endswith('ld'):
                problems.append(f'{place}: no store follows')
    for place in sorted(got):
        print('barrier', *place)
    if not want:
        problems.append(f'{listed} names none')
    problems += [f'{place}: named, but not there' for place in want - got]
    problems += [f'{place}: there, but not named' for place in got - want]
    print(*sorted(problems), sep='\n')
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
