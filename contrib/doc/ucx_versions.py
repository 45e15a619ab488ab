#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ucx_versions.py [ROOT]: prints, for each minor of UCX that the module drives,
how it is known, the sizes of what the module declares of it, and what differs from
the minor before. All of it is read from src/ucp_hooks/minors.h and abi_layout.h.

The layout check of the tests (hooks_rows.py) and suite tidy use its parser."""

import os
import re
import sys

HEADER = 'src/ucp_hooks/abi_layout.h'
SIZES = ['config field', 'config entry', 'transport', 'component', 'MD ops',
         'internal ops', 'MD attr']

# UCX's names for our structures.
NAMES = {
    'abi_config_parser': 'ucs_config_parser_t',
    'abi_config_field': 'ucs_config_field_t',
    'abi_config_entry': 'ucs_config_global_list_entry_t',
    'abi_component': 'uct_component_t',
    'abi_tl': 'uct_tl_t',
    'abi_tl_device': 'uct_tl_device_resource_t',
    'abi_is_reachable_params': 'uct_iface_is_reachable_params_t',
    'abi_is_connected_params': 'uct_ep_is_connected_params_t',
    'abi_internal_ops': 'uct_iface_internal_ops_t',
    'abi_iface_attr_v2': 'uct_iface_attr_v2_t',
    'abi_md': 'uct_md_t',
    'abi_md_attr': 'uct_md_attr_v2_t (1.13: uct_md_attr_t)',
    'abi_mem_reg_params': 'uct_md_mem_reg_params_t',
    'abi_mem_dereg_params': 'uct_md_mem_dereg_params_t',
    'abi_mkey_pack_params': 'uct_md_mkey_pack_params_t',
    'abi_md_ops': 'uct_md_ops_t',
    'abi_perf_attr': 'uct_perf_attr_t',
}


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return file.read()


def preprocess(text, minor):
    """The lines that a compiler sees with UCX_MINOR=minor."""
    stack = []  # [now, any branch was taken]
    for line in text.split('\n'):
        word = re.match(r'#\s*(if|elif|else|endif|ifndef)\b(.*)', line)
        if not word:
            if all(now for now, _ in stack) and not line.startswith('#'):
                yield line
            continue
        kind, rest = word.groups()
        if kind in ('if', 'ifndef'):
            now = kind == 'if' and holds(rest, minor)
            stack.append([now, now])
        elif kind == 'elif':
            stack[-1][0] = not stack[-1][1] and holds(rest, minor)
            stack[-1][1] |= stack[-1][0]
        elif kind == 'else':
            stack[-1][0] = not stack[-1][1]
        else:
            stack.pop()


def holds(condition, minor):
    terms = []
    for term in condition.split('||'):
        found = re.fullmatch(r'\s*UCX_MINOR\s*(==|>=|<=)\s*(\d+)\s*', term)
        if not found:
            sys.exit(f'{HEADER}: condition not understood: {condition}')
        value = int(found.group(2))
        terms.append({'==': minor == value, '>=': minor >= value,
                      '<=': minor <= value}[found.group(1)])
    return any(terms)


def structures(text, minor):
    """{structure or call: {member: its declaration, without spaces}}"""
    code = re.sub(r'/\*.*?\*/', ' ', '\n'.join(preprocess(text, minor)),
                  flags=re.S)
    found = {}
    for match in re.finditer(r'struct (abi_\w+) \{(.*?)\n\}', code, re.S):
        members = {}
        for part in match.group(2).split(';'):
            part = re.sub(r'\s+', ' ', part).strip()
            name = re.search(r'\(\*(\w+)\)', part) or \
                re.search(r'(\w+)(\[\w+\])?$', part)
            if name:
                members[name.group(1)] = part
        found[match.group(1)] = members
    call = re.search(r'\(\*abi_fill_opts_t\)\((.*?)\);', code, re.S)
    if call:
        found['ucs_config_parser_fill_opts()'] = {
            'arguments': re.sub(r'\s+', ' ', call.group(1))}
    return found


def differences(old, new):
    """Lines: what became of each structure."""
    for name in sorted(set(old) | set(new), key=lambda n: NAMES.get(n, n)):
        before, after = old.get(name, {}), new.get(name, {})
        title = NAMES.get(name, name)
        if not before:
            yield f'{title}: new'
            continue
        parts = [('+', [m for m in after if m not in before]),
                 ('-', [m for m in before if m not in after]),
                 ('changed ', [m for m in after if m in before and
                               after[m] != before[m]])]
        moved = [m for m in before if m in after]
        if moved != [m for m in after if m in before]:
            parts.append(('order of members', ['']))
        text = ', '.join(sign + m
                         for sign, members in parts for m in members)
        if text:
            yield f'{title}: {text}'


def sizes(text, minor):
    found = re.search(rf'UCX_MINOR == {minor}\n#define ABI_SIZES (.*)', text)
    return [part.strip() for part in found.group(1).split(',')]


def known_by(symbol, stays):
    return symbol + ('' if stays == '1' else ', which no other has')


def main(root):
    text = read(root, HEADER)
    known = {int(minor): known_by(symbol, stays) for minor, symbol, stays in
             re.findall(r'^ *X\((\d+), "(\w+)", ([01])\)',
                        read(root, 'src/ucp_hooks/minors.h'), re.M)}
    for minor in known:
        print(f'UCX 1.{minor}, known by {known[minor]}')
        print('  bytes: ' + ', '.join(f'{name} {size}' for name, size in
                                      zip(SIZES, sizes(text, minor))))
        if minor - 1 in known:
            for change in differences(structures(text, minor - 1),
                                      structures(text, minor)):
                print(f'  {change}')


if __name__ == '__main__':
    if len(sys.argv) > 2 or sys.argv[1:2] in (['--help'], ['-h']):
        sys.exit(__doc__)
    main(sys.argv[1] if len(sys.argv) > 1 else
         os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                      os.pardir))
