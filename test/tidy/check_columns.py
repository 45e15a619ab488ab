#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_columns.py ROOT BUILD: C within 80 columns, other code within 100;
no tabs in C, no blanks at the end of a line."""

import sys

import tree


def main(root):
    problems = []
    paths = tree.files(root, '.c', '.h', '.cc', '.sh', '.py', '.m4')
    for path in paths:
        c_code = path.endswith(('.c', '.h', '.cc'))
        limit = 80 if c_code and path.startswith('src/') else 100
        for number, line in enumerate(tree.read(root, path).split('\n'), 1):
            where = f'{path}:{number}: '
            if len(line) > limit:
                problems.append(f'{where}{len(line)} columns, at most {limit}')
            if c_code and '\t' in line:
                problems.append(where + 'a tab')
            if line != line.rstrip():
                problems.append(where + 'blanks at the end of the line')
    tree.finish(problems, paths, 'source files')


main(sys.argv[1])
