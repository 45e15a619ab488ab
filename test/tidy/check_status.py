#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_status.py ROOT BUILD: each status of a completion that efa_status.h
names is one that the emulated device can give, has its row in EFA-FACTS, and is
put into the device's mouth by the tests of the transport, of the model and of
the device. None
of these has one that efa_status.h lacks. (The compiler asks for each status in
the transports: their switches have no default.)"""

import os
import re
import sys

import tree

NAMES = 'src/uct/ib/efa/efa_status.h'
DEVICE = 'src/efasim/engine/efa_io.h'
FACTS = 'docs/EFA-FACTS.md'
UCT = 'test/gtest/uct/test_uct_status.cc'
MODEL = 'test/model/error.cc'
VERBS = 'test/gtest/efasim/verbs_status.cc'
OK = 0  # no fault: nothing to inject
ELSEWHERE = {OK, 1, 10}  # in the model: the device is gone; sent again
NAMELESS = {19, 255}  # what a device may say that nobody knows


def numbers(text):
    return {int(number) for number in re.findall(r'\d+', text)}


def enumerated(root, path, prefix):
    if not os.path.exists(os.path.join(root, path)):
        return set()
    return {int(number) for number in
            re.findall(rf'^ *{prefix}\w+ += (\d+)', tree.read(root, path), re.M)}


def rows(root):
    """First and fourth cell of each row of the table, which has two halves."""
    found = set()
    section = tree.read(root, FACTS).partition('## Completion status')[2]
    for line in section.partition('\n## ')[0].splitlines():
        cells = line.split('|')
        if len(cells) == 8:
            found |= numbers(cells[1]) | numbers(cells[4])
    return found


def cases(root):
    return numbers(' '.join(re.findall(r'^ *\{(\d+), UCS_',
                                       tree.read(root, UCT), re.M)))


def modelled(root):
    """The model's table of endings has the numbers in comments, "2 to 6, 14"."""
    if not os.path.exists(os.path.join(root, MODEL)):
        return set()
    said = ' '.join(re.findall(r'FLOW_SEND_\w+\},? +/\* (.*?) *\*/',
                               tree.read(root, MODEL)))
    for first, last in re.findall(r'(\d+) to (\d+)', said):
        said += ''.join(f' {number}' for number in range(int(first), int(last)))
    return numbers(said)


def injected(root):
    values = re.search(r'INSTANTIATE_TEST_SUITE_P\(statuses, Inject,.*?'
                       r'Values\(([^)]*)\)', tree.read(root, VERBS), re.S)
    return numbers(values.group(1)) if values else set()


def main(root):
    problems = []
    named = enumerated(root, NAMES, 'EFA_STATUS_')
    if not named:
        tree.finish(problems, named, 'statuses')
    problems += [f'{NAMES}: status {number} is one that a test takes for '
                 f'unknown: another number in NAMELESS and in {VERBS}'
                 for number in sorted(named & NAMELESS)]
    for path, found, wanted in (
            (DEVICE, enumerated(root, DEVICE, 'SIM_ST_'), named),
            (FACTS, rows(root), named),
            (UCT, cases(root), named - {OK}),
            (MODEL, modelled(root), named - ELSEWHERE),
            (VERBS, injected(root) - NAMELESS, named - {OK})):
        problems += [f'{path}: status {number} of {NAMES} is missing'
                     for number in sorted(wanted - found)]
        problems += [f'{path}: status {number} is not in {NAMES}'
                     for number in sorted(found - wanted)]
    tree.finish(problems, named, 'statuses')


main(sys.argv[1])
