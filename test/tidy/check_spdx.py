#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_spdx.py ROOT BUILD: a file of code names its license in one of its
first three lines (what an interpreter or an XML reader wants first may stand
there)."""

import os
import sys

import tree

LINE = 'SPDX-License-Identifier: BSD-3-Clause'
NAMES = ('.c', '.h', '.cc', '.inc', '.map', '.sh', '.py', '.m4', '.mk', '.in',
         '.am', '.ac', '.1', '.8', '.supp', '.clang-format')

# Read by others as text in one piece.
NOT_CODE = {'copyright.in'}


def main(root):
    problems = []
    paths = [path for path in tree.files(root, *NAMES)
             if os.path.basename(path) not in NOT_CODE]
    for path in paths:
        if LINE not in '\n'.join(tree.read(root, path).split('\n')[:3]):
            problems.append(f'{path}: no line "{LINE}"')
    tree.finish(problems, paths, 'source files')


main(sys.argv[1])
