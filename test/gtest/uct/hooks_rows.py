#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""hooks_rows.py MINOR: the lines of hooks_layout.cc that compare each member of
the structures of abi_layout.h, as UCX 1.MINOR has them, with UCX's own."""

import os
import re
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3)
sys.path.insert(0, os.path.join(TOP, 'contrib', 'doc'))
import ucx_versions  # pylint: disable=wrong-import-position

# Members that UCX has in a structure within its own, and from which minor on not.
NESTED = {'abi_iface_attr_v2': ({'cap_flags': 'cap.flags'}, 99),
          'abi_md_attr': ({name: 'cap.' + name for name in (
              'max_alloc', 'max_reg', 'flags', 'reg_mem_types',
              'detect_mem_types', 'alloc_mem_types', 'access_mem_types')}, 14)}


def main(minor):
    layout = ucx_versions.read(TOP, ucx_versions.HEADER)
    for name, members in ucx_versions.structures(layout, minor).items():
        if not name.startswith('abi_'):
            continue
        theirs = re.sub(r' \(1.13: .*', '', ucx_versions.NAMES[name])
        theirs = 'their_md_attr_t' if name == 'abi_md_attr' else theirs
        nested, until = NESTED.get(name, ({}, 0))
        for member, declared in members.items():
            if minor < until and member in nested:
                print(f'FIELD_AS({name}_t, {member}, {theirs}, {nested[member]});')
            elif re.search(r'\(\*|^abi_\w+_zcopy_t\b|\babi_\w+_t \*', declared):
                print(f'CALLBACK({name}_t, {theirs}, {member});')
            else:
                print(f'FIELD({name}_t, {theirs}, {member});')


main(int(sys.argv[1]))
