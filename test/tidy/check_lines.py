#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_lines.py ROOT BUILD: no line of C in src/ is longer than 80 columns, none of
other code than 100; no tabs in C, no blanks at a line's end. A file of code has at
most 600 lines, and names its license in one of the first three (what an interpreter
or an XML reader wants first may stand there). Nothing unfinished is marked in the
tree, and no file names a path of one machine or a package host."""

import os
import re
import sys

import tree

LIMIT = 600
LICENSE = 'SPDX-License-Identifier: BSD-3-Clause'
C_CODE = ('.c', '.h', '.cc')
WIDE = C_CODE + ('.sh', '.py', '.m4')
CODE = WIDE + ('.inc', '.mk', '.in', '.am', '.ac')
LICENSED = CODE + ('.map', '.1', '.8', '.supp', '.clang-format')
NOT_CODE = {'copyright.in'}  # read by others as text in one piece

# Written so that this file does not match itself.
FORBIDDEN = [
    (r'\b(TO' r'DO|FIX' r'ME|XX' r'X|HA' r'CK)\b', 'unfinished work'),
    (r'(?<![\w.])/(wo' r'rk|ho' r'me/\w+|ro' r'ot)/', "a machine's path"),
    (r'/tm' r'p/(src|plan|bash)', "a machine's path"),
    (r'\b(deb|ftp|archive|security|snapshot)\.(debian|ubuntu)\.' r'\w+',
     'a package host'),
    (r'\b(pypi|files\.pythonhosted|conda|anaconda|crates|npmjs|quay|docker)'
     r'\.(org|io|com)\b', 'a package host'),
]


def of_line(path, line):
    limit = 80 if path.endswith(C_CODE) and path.startswith('src/') else 100
    if path.endswith(WIDE) and len(line) > limit:
        yield f'{len(line)} columns, at most {limit}'
    if path.endswith(C_CODE) and '\t' in line:
        yield 'a tab'
    if path.endswith(WIDE) and line != line.rstrip():
        yield 'blanks at the end of the line'
    for pattern, what in FORBIDDEN:
        found = re.search(pattern, line)
        if found:
            yield f'{what}: {found.group(0)}'


def of_file(path, lines):
    if path.endswith(CODE) and len(lines) - 1 > LIMIT:
        yield f'{path}: {len(lines) - 1} lines, at most {LIMIT}'
    if path.endswith(LICENSED) and os.path.basename(path) not in NOT_CODE and \
            not any(LICENSE in line for line in lines[:3]):
        yield f'{path}: no line "{LICENSE}"'
    for number, line in enumerate(lines, 1):
        for problem in of_line(path, line):
            yield f'{path}:{number}: {problem}'


def main(root):
    paths = [path for path in tree.files(root, '')
             if '/corpus/' not in path and not path.endswith('.png')]
    tree.finish([problem for path in paths for problem in
                 of_file(path, tree.read(root, path).split('\n'))], paths, 'files')


main(sys.argv[1])
