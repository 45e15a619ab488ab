#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_functions.py ROOT BUILD: no function of more than 70 lines (from its
first line to its closing brace) or 7 parameters, found by universal-ctags.
Operations of UCT have the parameters that UCX's table gives them."""

import json
import os
import re
import shutil
import subprocess
import sys

import tree

LIMIT = 70
PARAMETERS = 7
UCT_OPERATION = re.compile(r'^abi_|(am|put|get)_zcopy$')


def functions(root, paths):
    """Yields (path, name, first line, last line, parameters)."""
    out = subprocess.run(
        ['ctags', '--output-format=json', '--fields=+neS', '-f', '-',
         '--languages=C,C++', '--kinds-C=f', '--kinds-C++=f',
         '--langmap=C:.c.h.inc,C++:.cc'] + paths,
        cwd=root, check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        tag = json.loads(line)
        if tag.get('kind') == 'function' and 'end' in tag:
            yield (tag['path'], tag['name'], tag['line'], tag['end'],
                   parameters_of(tag.get('signature', '()')))


def parameters_of(signature):
    """Counts them; commas inside a function pointer's own list do not."""
    depth = commas = 0
    for char in signature:
        depth += (char == '(') - (char == ')')
        commas += char == ',' and depth == 1
    return 0 if signature in ('()', '(void)') else commas + 1


def main(root):
    if not shutil.which('ctags'):
        print('ctags is missing (Debian: universal-ctags)')
        sys.exit(77)
    problems = []
    lengths = []
    paths = tree.files(root, '.c', '.h', '.cc', '.inc')
    for path, name, first, last, count in \
            functions(root, paths) if paths else ():
        lengths.append(last - first + 1)
        if lengths[-1] > LIMIT:
            problems.append(f'{path}:{first}: {name} has {lengths[-1]} lines, '
                            f'at most {LIMIT}')
        if count > PARAMETERS and not UCT_OPERATION.search(name):
            problems.append(f'{path}:{first}: {name} has {count} parameters, '
                            f'at most {PARAMETERS}')
    if lengths and not problems:
        lengths.sort()
        print(f'{len(lengths)} functions, half of them within '
              f'{lengths[len(lengths) // 2]} lines, nine in ten within '
              f'{lengths[len(lengths) * 9 // 10]}, the longest {lengths[-1]}')
    tree.finish(problems, lengths, 'functions')


os.environ['LC_ALL'] = 'C.UTF-8'
main(sys.argv[1])
