#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_links.py ROOT BUILD: every relative link in a document leads to a file,
and every path in backquotes that looks like one of ours exists."""

import os
import re
import sys

import tree

LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
PATH = re.compile(r'`((?:src|test|docs|contrib|m4|bench)/[\w./-]+)`')


def main(root, build):
    problems = []
    checked = 0
    for path in tree.files(root, '.md'):
        folder = os.path.dirname(path)
        for number, line in enumerate(tree.read(root, path).split('\n'), 1):
            targets = [os.path.join(folder, link)
                       for link in LINK.findall(line) if '://' not in link]
            targets += PATH.findall(line)
            for target in targets:
                checked += 1
                # What is built, by its path below the build folder.
                if '_NAME' not in target and not any(
                        os.path.exists(os.path.join(place, target))
                        for place in (root, build)):
                    problems.append(f'{path}:{number}: no {target} here')
    tree.finish(problems, checked, 'links in documents')


main(sys.argv[1], sys.argv[2])
