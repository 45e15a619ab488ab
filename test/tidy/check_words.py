#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_words.py ROOT BUILD: nothing unfinished is marked in the tree, and no
file names a path of one machine or a package host."""

import re
import sys

import tree

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


def main(root):
    problems = []
    paths = [path for path in tree.files(root, '')
             if '/corpus/' not in path and not path.endswith('.png')]
    for path in paths:
        for number, line in enumerate(tree.read(root, path).split('\n'), 1):
            for pattern, what in FORBIDDEN:
                found = re.search(pattern, line)
                if found:
                    problems.append(f'{path}:{number}: {what}: '
                                    f'{found.group(0)}')
    tree.finish(problems, paths, 'files')


main(sys.argv[1])
