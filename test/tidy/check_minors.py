#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_minors.py ROOT BUILD: src/ucp_hooks/minors.h lists the minors of UCX
without a gap, and nothing lags behind it: abi_layout.h has the sizes of each,
the tests' stand-in libuct exports the symbol of each, and no range from the
oldest on ("1.13 to ...") ends with the newest but one, as it did before the
list grew. NEWS, which tells what was, is left out."""

import re
import sys

import tree

LIST = 'src/ucp_hooks/minors.h'
LAYOUT = 'src/ucp_hooks/abi_layout.h'
FAKE = 'test/gtest/uct/hooks_fake_uct.c'
SIGNS = {'0': '==', '1': '>='}  # in the stand-in, by minors.h's "stays"
PLACES = ('.c', '.h', '.inc', '.cc', '.py', '.sh', '.in', '.md', 'control')


def compare(path, wanted, found, problems):
    """What of the list a file lacks, or has beside it."""
    for minor, symbol in sorted(wanted - found):
        problems.append(f'{path}: UCX 1.{minor} lacks {symbol}')
    for minor, symbol in sorted(found - wanted):
        problems.append(f'{path}: UCX 1.{minor} with {symbol} is not in {LIST}')


def check_ranges(root, oldest, newest, problems):
    spoken = re.compile(rf'\b1\\?\.{oldest} to 1\\?\.(\d+)')
    for path in tree.files(root, *PLACES):
        for number, line in enumerate(tree.read(root, path).splitlines(), 1):
            for minor in spoken.findall(line):
                if int(minor) == newest - 1:
                    problems.append(f'{path}:{number}: ends before the newest '
                                    f'UCX of {LIST}, 1.{newest}')


def main(root):
    problems = []
    rows = re.findall(r'^ *X\((\d+), "(\w+)", ([01])\)', tree.read(root, LIST),
                      re.M)
    minors = [int(minor) for minor, _, _ in rows]
    if not minors or minors != list(range(minors[0], minors[0] + len(minors))):
        problems.append(f'{LIST}: not one minor after the other: {minors}')
        tree.finish(problems, minors, 'minors')
    layouts = re.findall(r'UCX_MINOR == (\d+)\n#define ABI_SIZES',
                         tree.read(root, LAYOUT))
    compare(LAYOUT, {(minor, 'sizes') for minor in minors},
            {(int(minor), 'sizes') for minor in layouts}, problems)
    marks = re.findall(r'#if FAKE_MINOR (>=|==) (\d+).*\nMARK\((\w+)\)',
                       tree.read(root, FAKE))
    compare(FAKE, {(int(minor), f'{SIGNS[stays]} {symbol}')
                   for minor, symbol, stays in rows},
            {(int(minor), f'{sign} {symbol}') for sign, minor, symbol in marks},
            problems)
    check_ranges(root, minors[0], minors[-1], problems)
    tree.finish(problems, minors, 'minors')


main(sys.argv[1])
