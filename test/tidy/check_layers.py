#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_layers.py ROOT BUILD: who may include whom (docs/DESIGN.md, layers),
that private parts of UCX are declared in src/ucp_hooks alone, and that only the
protocol core looks into the protocol core."""

import os
import re
import sys

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)

# Layer: what of ours it may include besides itself.
LAYERS = {
    'util': set(),
    'files': set(),
    'flow': {'util'},
    'record': {'flow'},
    'efasim': {'files', 'util'},
    'ucp_hooks': set(),
    'uct/ib/efa': {'ucp_hooks', 'util'},
    'uct/ib/base': {'uct/ib/efa', 'ucp_hooks', 'flow', 'record'},
    'uct/ib/srd': {'uct/ib/base', 'uct/ib/efa', 'ucp_hooks', 'flow'},
    'uct/ib/ud': {'uct/ib/base', 'uct/ib/efa', 'ucp_hooks', 'flow'},
    'tools': {'util', 'uct/ib/srd', 'uct/ib/base', 'uct/ib/efa', 'ucp_hooks', 'flow',
              'record', 'files'},
}

# Headers of ucp_hooks that are meant for other layers.
HOOKS_PUBLIC = {'ucp_hooks/host.h', 'ucp_hooks/provider.h'}

# A pure core may use the freestanding headers, and string.h for mem*().
PURE = {'float.h', 'iso646.h', 'limits.h', 'stdalign.h', 'stdarg.h',
        'stdbool.h', 'stddef.h', 'stdint.h', 'stdnoreturn.h', 'string.h'}

# Layers that may know verbs, and what they alone may write.
VERBS = {'uct/ib/efa', 'efasim'}
VERBS_NAME = re.compile(r'\b(?:ibv|IBV|efadv|EFADV)_\w+')

PRIVATE_STRUCT = re.compile(
    r'\bstruct\s+(uct_component|uct_tl|uct_md|uct_md_ops|uct_base_iface|'
    r'uct_iface_internal_ops|uct_base_ep|ucs_class|ucs_config_field|'
    r'ucs_config_parser|ucs_config_global_list_entry|ucs_arbiter\w*|'
    r'ucs_mpool\w*)\s*\{')

# The state of the core, and what finds its objects.
CORE_STATE = re.compile(r'\b(?:core|tx|rx)\s*->\s*\w+|'
                        r'\bflow_core_(?:rx|tx|peer|ring)\s*\(')

# Layers whose own structs are called tx and rx, too.
OWN_STATE = {'efasim', 'tools'}

PRIVATE_HEADER = re.compile(
    r'(uct/(base|sm|tcp|ib/(base|mlx5|rc|dc))|ucp/(core|dt|proto|rma|tag|'
    r'wireup|stream)|ucs/(arch|datastruct|debug|profile|stats|vfs|'
    r'memory/rcache|type/class))\b')


def layer_of(path):
    """The layer a path below src/ belongs to, or None."""
    for layer in LAYERS:
        if path.startswith(layer + '/'):
            return layer
    return None


def check_include(root, layer, path, name):
    """One include of one file: what is wrong with it, or None."""
    beside = os.path.join(os.path.dirname(path), name)
    if os.path.exists(os.path.join(root, 'src', beside)):
        name = os.path.normpath(beside)
    ours = os.path.exists(os.path.join(root, 'src', name))
    target = layer_of(name) if ours else None
    if ours and target and target != layer:
        if target not in LAYERS[layer]:
            return f'{layer} may not include {target}'
        if target == 'ucp_hooks' and name not in HOOKS_PUBLIC:
            return f'{name} is private to ucp_hooks'
    if not ours and layer in ('flow', 'util') and name not in PURE:
        return 'the protocol core is freestanding'
    if name.startswith(('infiniband/', 'rdma/')) and layer not in VERBS:
        return 'only src/uct/ib/efa and src/efasim know verbs'
    if not ours and layer != 'ucp_hooks' and PRIVATE_HEADER.match(name):
        return "a private header of UCX's"
    return None


def main(root):
    problems = []
    checked = 0
    for path in tree.files(root, '.c', '.h', under='src'):
        inner = os.path.relpath(path, 'src')
        layer = layer_of(inner)
        if layer is None:
            continue
        checked += 1
        code = tree.code_of(tree.read(root, path))
        for found in INCLUDE.finditer(code):
            wrong = check_include(root, layer, inner, found.group(1))
            if wrong:
                line = code.count('\n', 0, found.start(1)) + 1
                problems.append(f'{path}:{line}: includes {found.group(1)}: '
                                f'{wrong}')
        if layer != 'ucp_hooks':
            for found in PRIVATE_STRUCT.finditer(code):
                line = code.count('\n', 0, found.start()) + 1
                problems.append(f'{path}:{line}: declares {found.group(1)}, '
                                'private to UCX: src/ucp_hooks does that')
        if layer.startswith('uct/') and layer not in VERBS:
            for found in VERBS_NAME.finditer(code):
                line = code.count('\n', 0, found.start()) + 1
                problems.append(f'{path}:{line}: {found.group(0)}: verbs are '
                                'the business of src/uct/ib/efa')
        if layer != 'flow':
            for found in CORE_STATE.finditer(code):
                if layer in OWN_STATE and found.group(0)[0] in 'tr':
                    continue
                line = code.count('\n', 0, found.start()) + 1
                problems.append(f'{path}:{line}: {found.group(0)}: the state '
                                'of the core is private to src/flow')
    tree.finish(problems, checked, 'files of a layer')


main(sys.argv[1])
