#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_minors.py ROOT BUILD: in each minor of UCX every callback of a table that
UCX gets is set, as UCX asserts some in the constructor and calls others without a
look; and hooks_layout.cc compares every constant of the newest with UCX's."""

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


def main(root):
    problems = []
    minors = [int(minor) for minor in
              re.findall(r'^ *X\((\d+), ', tree.read(root, LIST), re.M)]
    if not minors:
        tree.finish(problems, minors, 'minors')
    layout = tree.read(root, LAYOUT)
    check_constants(layout, tree.read(root, PROOF), minors[-1], problems)
    tables = '\n'.join(tree.read(root, path) for path in
                       tree.files(root, '.inc', under=TABLES))
    for minor in minors:
        structures = ucx_versions.structures(layout, minor)
        code = '\n'.join(ucx_versions.preprocess(tables, minor))
        for name in FILLED:
            problems += [f'{TABLES}: UCX 1.{minor}: {name}_t.{member} is not set'
                         for member in unset(name, structures.get(name, {}),
                                             code)]
    tree.finish(problems, minors, 'minors')


main(sys.argv[1])
