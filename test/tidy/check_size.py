#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_size.py ROOT BUILD: no file of code has more than 600 lines."""

import sys

import tree

LIMIT = 600


def main(root):
    problems = []
    paths = tree.files(root, '.c', '.h', '.cc', '.inc', '.sh', '.py', '.m4', '.mk',
                       '.in', '.am', '.ac')
    for path in paths:
        lines = tree.read(root, path).count('\n')
        if lines > LIMIT:
            problems.append(f'{path}: {lines} lines, at most {LIMIT}')
    tree.finish(problems, paths, 'source files')


main(sys.argv[1])
