#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_objects.py ROOT BUILD: symbols of what was built. The module links against libc
alone, and leaves no symbol of UCX or verbs to the loader: else every other program that
preloads it fails to start. A shared object exports what its list in
test/tidy/exports.NAME says, no symbol more and none less. None needs a glibc newer than
2.34: one binary for all distributions. The objects of the protocol core need nothing
but the four mem functions and the assertion hook: no clock, no malloc, no UCX."""

import glob
import os
import re
import subprocess
import sys

import tree

MODULE, EMULATOR = 'lib/libuct_srd.so.0', 'lib/libefasim.so'
MORE = ('lib/srd_shim.so', 'bin/srd_info', 'bin/efasim')  # where they are built
LIBRARIES = re.compile(r'libc\.so|libpthread\.so|libdl\.so|ld-linux')
FOREIGN = re.compile(r'(?:uct|ucs|ucp|ucm|ibv|efadv)_')
GLIBC = '2.34'
CORE = {'memcpy', 'memset', 'memmove', 'memcmp', 'flow_assert_failed',
        '_GLOBAL_OFFSET_TABLE_'}


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def symbols(path, *options):
    """(kind, name) of each that nm lists."""
    return [tuple(line.split()[-2:]) for line in said('nm', *options, path).splitlines()]


def of_module(path):
    for library in re.findall(r'\(NEEDED\).*\[(.*)\]', said('readelf', '-dW', path)):
        if not LIBRARIES.match(library):
            yield f'needs {library}: look it up at run time instead'
    for _, name in symbols(path, '-D', '-u'):
        if FOREIGN.match(name):
            yield f'leaves {name} undefined: look it up at run time instead'


def of_exports(path, list_name, text):
    wanted = set(re.sub(r'#.*', '', text).split())
    # (a version node of a version script is of kind A)
    found = {name.split('@')[0] for kind, name in symbols(path, '-D', '--defined-only')
             if kind != 'A'}
    yield from (f'exports {name}, which {list_name} lacks' for name in found - wanted)
    yield from (f'does not export {name} of {list_name}' for name in wanted - found)


def of_glibc(path, name):
    def number(version):
        return [int(part) for part in version.split('.')]

    needs = [needed.split('@GLIBC_') for _, needed in symbols(path, '-D', '-u')
             if '@GLIBC_' in needed and not needed.startswith('__isoc23_')]
    if not needs:
        yield 'nothing to check was found: no glibc symbol'
        return
    newest = max((version for _, version in needs), key=number)
    print(f'{name} needs glibc {newest} (at most {GLIBC})')
    if number(newest) > number(GLIBC):
        yield f'needs glibc {newest}, newer than {GLIBC}: ' + ' '.join(
            needed for needed, version in needs if version == newest)


def of_core(paths):
    own = {name for path in paths for _, name in symbols(path, '--defined-only')}
    for path in paths:
        for _, name in symbols(path, '-u'):
            if name not in own | CORE:
                yield f'{os.path.basename(path)}: needs {name}'


def main(root, build):
    problems, core = [], glob.glob(os.path.join(build, 'obj/flow/*.o'))
    for name in (MODULE, EMULATOR, *MORE):
        path, exports = os.path.join(build, name), 'test/tidy/exports.' + name[4:]
        if not os.path.exists(path):
            problems += [f'nothing to check was found: {name}'] * (name not in MORE)
            continue
        found = [*of_glibc(path, name), *(of_module(path) if name == MODULE else ())]
        if name not in MORE:
            found += of_exports(path, exports, tree.read(root, exports))
        problems += [f'{name}: {problem}' for problem in found]
    tree.finish(problems + list(of_core(core)), core, 'obj/flow/*.o')


main(*sys.argv[1:])
