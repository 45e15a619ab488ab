#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_guide.py ROOT BUILD: CONTRIBUTING leads to places that exist. Each file
and each identifier that it has between backquotes is in the tree; and where it
says where a fault in a fence is looked for, no file of src is missing whose code
has a part in it."""

import re
import sys

import tree

GUIDE = 'CONTRIBUTING.md'
NAMED = re.compile(r'`([^`\n]+)`')
FILE = re.compile(r'[\w./-]+\.(?:c|h|cc|inc|py|sh|md|mk|txt|1)')
WORD = re.compile(r'[A-Za-z_]\w+\*?')
TEXTS = ('.c', '.h', '.cc', '.inc', '.py', '.sh', '.md', '.mk', '.txt', '.1',
         '.in', '.ac', '.m4', '.am')
# A row of the table of faults, by its first cell, and what tells that a file's
# code belongs to it.
PARTS = {'fence': (re.compile(r'\w*fence\w*|\bsink\b|\brma_ops\b|\w+_FENCE\b'),
                   ('src/flow', 'src/record', 'src/uct'))}
NO_PART = {'base_types.h',      # has the fields
           'base_top_bytes.c',  # counts memory
           'record_format.c',   # knows numbers
           'efa_barrier.h'}     # fences of memory


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


def unnamed(root, text, problems):
    for what, (part, folders) in PARTS.items():
        row = re.search(rf'^\| [^|]*\b{what}\b[^|]*\|([^|]*)\|', text, re.M)
        for folder in folders if row else ():
            for path in tree.files(root, '.c', '.h', under=folder):
                name = path.rpartition('/')[2]
                stem = name.partition('.')[0]
                if name not in NO_PART and \
                        part.search(tree.code_of(tree.read(root, path))) and \
                        not re.search(rf'\b{stem}\.[ch]\b', row.group(1)):
                    problems.append(f'{path}: has a part in a {what}, and '
                                    f'{GUIDE} does not look there')


def main(root):
    problems = []
    text = tree.read(root, GUIDE)
    names = missing(root, text, problems)
    unnamed(root, text, problems)
    tree.finish(problems, names, 'names')


main(sys.argv[1])
