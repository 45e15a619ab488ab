#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_guide.py ROOT BUILD: CONTRIBUTING leads to places that exist: each file and
each identifier that it has between backquotes is in the tree."""

import re
import sys

import tree

GUIDE = 'CONTRIBUTING.md'
NAMED = re.compile(r'`([^`\n]+)`')
FILE = re.compile(r'[\w./-]+\.(?:c|h|cc|inc|py|sh|md|mk|txt|1)')
WORD = re.compile(r'[A-Za-z_]\w+\*?')
TEXTS = ('.c', '.h', '.cc', '.inc', '.py', '.sh', '.md', '.mk', '.txt', '.1',
         '.in', '.ac', '.m4', '.am')


def missing(root, text, problems):
    files = tree.files(root, '')
    words = set()
    for path in files:
        if path.endswith(TEXTS) and path != GUIDE:
            words.update(re.findall(r'\w+', tree.read(root, path)))
    names = sorted(set(NAMED.findall(text)))
    for name in names:
        if FILE.fullmatch(name):
            found = any(('/' + path).endswith('/' + name) for path in files)
        elif WORD.fullmatch(name) and name.endswith('*'):
            found = any(word.startswith(name[:-1]) for word in words)
        else:
            found = name in words or not WORD.fullmatch(name)
        if not found:
            problems.append(f'{GUIDE}: {name} is nowhere in the tree')
    return names


def main(root):
    problems = []
    text = tree.read(root, GUIDE)
    names = missing(root, text, problems)
    tree.finish(problems, names, 'names')


main(sys.argv[1])
