#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_layers.py ROOT BUILD: who may include whom (docs/DESIGN.md, layers),
that private parts of UCX are declared in src/ucp_hooks alone, that only the
protocol core looks into the protocol core, and that nothing in the module ends
the process, but what stands in builds with AddressSanitizer alone."""

import os
import re
import sys

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)

# Layer: what of ours it may include besides itself.
LAYERS = {
    'util': set(),
    'files': set(),
    'command': {'files', 'util'},
    'flow': {'util'},
    'record': {'flow', 'files'},
    'efasim': {'files', 'util', 'command'},
    'ucp_hooks': {'util'},
    'uct/ib/efa': {'ucp_hooks', 'util', 'files'},
    'uct/ib/base': {'uct/ib/efa', 'ucp_hooks', 'flow', 'record'},
    'uct/ib/srd': {'uct/ib/base', 'uct/ib/efa', 'ucp_hooks', 'flow'},
    'uct/ib/srd_gpu': {'uct/ib/srd', 'uct/ib/base', 'uct/ib/efa', 'ucp_hooks', 'flow'},
    'uct/ib/ud': {'uct/ib/base', 'uct/ib/efa', 'ucp_hooks', 'flow'},
    'tools': {'util', 'uct/ib/srd', 'uct/ib/base', 'uct/ib/efa', 'ucp_hooks', 'flow',
              'record', 'files', 'command'},
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

# The state of the core, and what finds its objects; layers whose own structs are
# called tx and rx, too.
CORE_STATE = re.compile(r'\b(?:tx|rx)\s*->\s*\w+')
CORE_OBJECT = re.compile(r'\bcore\s*->\s*\w+|\bflow_core_(?:rx|tx|peer|ring)\s*\(')
OWN_STATE = {'flow', 'efasim', 'tools'}

ENDING = re.compile(r'\b(?:abort|exit|_exit|_Exit|quick_exit|ucs_fatal\w*|'
                    r'ucs_assert\w*|assert|raise|kill|__builtin_trap)\s*\(')
SANITIZED = re.compile(r'^#ifdef __SANITIZE_ADDRESS__\b.*?^#endif', re.S | re.M)
ENDS_NOTHING = ('uct/', 'ucp_hooks', 'flow')

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


# Things that code may not have, in which layers, and why.
RULES = (
    (PRIVATE_STRUCT, lambda layer: layer != 'ucp_hooks',
     'private to UCX: src/ucp_hooks declares that'),
    (VERBS_NAME, lambda layer: layer.startswith('uct/') and layer not in VERBS,
     'verbs are the business of src/uct/ib/efa'),
    (CORE_STATE, lambda layer: layer not in OWN_STATE,
     'the state of the core is private to src/flow'),
    (CORE_OBJECT, lambda layer: layer != 'flow',
     'the state of the core is private to src/flow'),
    (ENDING, lambda layer: layer.startswith(ENDS_NOTHING),
     'that would end the process'))


def problems_of(root, path, layer):
    code = tree.code_of(tree.read(root, path))
    plain = SANITIZED.sub(lambda found: '\n' * found.group(0).count('\n'), code)

    def problem(text, found, what):
        return f'{path}:{text.count(chr(10), 0, found.start(found.lastindex or 0)) + 1}: ' + what

    for found in INCLUDE.finditer(code):
        wrong = check_include(root, layer, os.path.relpath(path, 'src'), found.group(1))
        if wrong:
            yield problem(code, found, f'includes {found.group(1)}: {wrong}')
    for pattern, is_for, why in RULES:
        text = plain if pattern is ENDING else code
        for found in pattern.finditer(text) if is_for(layer) else ():
            yield problem(text, found, f'{found.group(0)}: {why}')


def main(root):
    layers = {path: layer for path in tree.files(root, '.c', '.h', under='src')
              for layer in [layer_of(os.path.relpath(path, 'src'))] if layer}
    tree.finish([problem for path, layer in layers.items()
                 for problem in problems_of(root, path, layer)], layers,
                'files of a layer')


main(sys.argv[1])
