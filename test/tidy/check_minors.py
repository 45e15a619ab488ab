#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_minors.py ROOT BUILD: src/ucp_hooks/minors.h lists the minors of UCX
without a gap, and nothing lags behind it: abi_layout.h has the sizes of each,
the tests' stand-in libuct exports the symbol of each, and no range from the
oldest on ("1.13 to ...") ends with the newest but one, as it did before the
list grew. NEWS, which tells what was, is left out. In each minor every member of
a structure of abi_layout.h, and every constant of the newest minor, has its
line in hooks_layout.cc, which compares it with UCX's, and every callback of a
table that UCX gets is set: UCX asserts some in the constructor and calls others
without a look."""

import os
import re
import sys

import tree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, os.pardir, 'contrib', 'doc'))
import ucx_versions  # pylint: disable=wrong-import-position

LIST = 'src/ucp_hooks/minors.h'
LAYOUT = 'src/ucp_hooks/abi_layout.h'
PROOF = 'test/gtest/uct/hooks_layout.cc'
TABLES = 'src/ucp_hooks'  # its *.inc
# Structures of callbacks that UCX calls, and what stands before a member that
# is set there.
FILLED = {'abi_internal_ops': r'\.', 'abi_md_ops': r'\.',
          'abi_component': r'\bcomponent->', 'abi_tl': r'\btl->',
          'abi_config_parser': r'\bparser\.'}
BROKEN = r'#if defined\(HOOKS_BREAK.*?\n#endif'  # what the proof's own test breaks
FAKE = 'test/gtest/uct/hooks_fake_uct.c'
SIGNS = {'0': '==', '1': '>='}  # in the stand-in, by minors.h's "stays"
PLACES = ('.c', '.h', '.inc', '.cc', '.py', '.sh', '.in', '.md', 'control')


def compare(path, wanted, found, problems):
    """Entries of the list that a file lacks, or has beside it."""
    for minor, symbol in sorted(wanted - found):
        problems.append(f'{path}: UCX 1.{minor} lacks {symbol}')
    for minor, symbol in sorted(found - wanted):
        problems.append(f'{path}: UCX 1.{minor} with {symbol} is not in {LIST}')


def lines_of(text, minor):
    """{(structure, member)} that hooks_layout.cc compares."""
    code = '\n'.join(ucx_versions.preprocess(
        re.sub(BROKEN, '', text, flags=re.S), minor))
    found = re.findall(r'\b(?:FIELD|CALLBACK)\((abi_\w+)_t,\s*\w+,\s*(\w+)\)',
                       code)
    found += re.findall(r'\bFIELD_AS\((abi_\w+)_t,\s*(\w+),', code)
    found += [('abi_md_attr', member)
              for member in re.findall(r'\bATTR\((\w+)\);', code)]
    return set(found)


def constants(text, minor):
    """The ABI_ constants that this minor's layout has."""
    code = re.sub(r'/\*.*?\*/', ' ', '\n'.join(ucx_versions.preprocess(text, minor)),
                  flags=re.S)
    return re.findall(r'^\s*(ABI_\w+)\s*=', code, re.M)


def unset(name, members, code):
    """Callbacks of a structure that no line of code sets; of one with a table
    (designated initializers) no line of the table."""
    table = re.search(rf'\b{name}_t \w+ = \{{.*?\n\}};', code, re.S)
    code = table.group() if table else code
    return [member for member, declared in members.items()
            if re.search(r'\(\*|^abi_\w+_zcopy_t\b', declared) and
            not re.search(rf'{FILLED[name]}{member}\s*=\s*(?!NULL\b)\w',
                          code)]


def check_constants(layout, proof, newest, problems):
    code = '\n'.join(ucx_versions.preprocess(
        re.sub(BROKEN, '', proof, flags=re.S), newest))
    valued = re.findall(r'\bVALUE\((\w+),', code)
    problems += [f'{PROOF}: UCX 1.{newest}: no line of {name}'
                 for name in constants(layout, newest) if name not in valued]


def check_members(root, minors, problems):
    layout, proof = (tree.read(root, path) for path in (LAYOUT, PROOF))
    tables = '\n'.join(tree.read(root, path) for path in
                       tree.files(root, '.inc', under=TABLES))
    check_constants(layout, proof, minors[-1], problems)
    for minor in minors:
        structures = ucx_versions.structures(layout, minor)
        compared = lines_of(proof, minor)
        for name, members in structures.items():
            for member in members if name.startswith('abi_') else ():
                if (name, member) not in compared:
                    problems.append(f'{PROOF}: UCX 1.{minor}: no line of '
                                    f'{name}_t.{member}')
        code = '\n'.join(ucx_versions.preprocess(tables, minor))
        for name in FILLED:
            problems += [f'{TABLES}: UCX 1.{minor}: {name}_t.{member} is not set'
                         for member in unset(name, structures.get(name, {}),
                                             code)]


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
    check_members(root, minors, problems)
    check_ranges(root, minors[0], minors[-1], problems)
    tree.finish(problems, minors, 'minors')


main(sys.argv[1])
