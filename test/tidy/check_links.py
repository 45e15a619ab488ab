#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_links.py ROOT BUILD: what documents and sources refer to is there: a
relative link in a document, a path in backquotes that looks like one of ours
(in a folder's README.md also one below that folder), and from anywhere a
"decision N" of docs/DESIGN.md, a promise "(PN)" of docs/TESTING.md, a part of
docs/EFA-FACTS.md; each file and each identifier that CONTRIBUTING.md has between
backquotes."""

import glob
import os
import re
import sys

import tree

LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')
PATH = re.compile(r'`((?:src|test|docs|contrib|m4|bench)/[\w./-]+)`')
BELOW = re.compile(r'`([\w-]+/[\w./*-]*|[\w*-]+\.(?:sh|py|txt|c|cc|h))`')

DECISION = re.compile(r'\bdecisions? (\d+)(?: and (\d+))?')
PROMISE = re.compile(r'\((P\d+)\)|\b[Pp]romise (P\d+)')
FACTS = re.compile(r'(EFA-FACTS)(?:: ([\w ]+)[;).])?')


GUIDE = 'CONTRIBUTING.md'
NAMED = re.compile(r'`([^`\n]+)`')
FILE = re.compile(r'[\w./-]+\.(?:c|h|cc|inc|py|sh|md|mk|txt|1)')
WORD = re.compile(r'[A-Za-z_]\w+\*?')
TEXTS = ('.c', '.h', '.cc', '.inc', '.py', '.sh', '.md', '.mk', '.txt', '.1',
         '.in', '.ac', '.m4', '.am')


def guide_problems(root):
    """Names in the guide that are nowhere else."""
    files, words = tree.files(root, ''), set()
    if GUIDE not in files:
        return
    for path in files:
        if path.endswith(TEXTS) and path != GUIDE:
            words.update(re.findall(r'\w+', tree.read(root, path)))
    for name in sorted(set(NAMED.findall(tree.read(root, GUIDE)))):
        if FILE.fullmatch(name):
            found = any(('/' + path).endswith('/' + name) for path in files)
        elif WORD.fullmatch(name) and name.endswith('*'):
            found = any(word.startswith(name[:-1]) for word in words)
        else:
            found = name in words or not WORD.fullmatch(name)
        if not found:
            yield f'{GUIDE}: {name} is nowhere in the tree'


def targets_of(path, line):
    """Paths below the root that a line of a document refers to."""
    folder = os.path.dirname(path)
    found = [os.path.join(folder, link) for link in LINK.findall(line)
             if '://' not in link]
    paths = PATH.findall(line)
    if folder and os.path.basename(path) == 'README.md':
        found += [os.path.join(folder, below) for below in BELOW.findall(line)
                  if below not in paths and not below.startswith('build/')]
    return found + paths


def is_there(root, build, target):
    """A built file counts by its path below the build folder."""
    return '_NAME' in target or any(glob.glob(os.path.join(place, target))
                                    for place in (root, build))


def marks(root, path, pattern):
    """Names and numbers that a document gives, in lower case."""
    full = os.path.join(root, path)
    text = tree.read(root, path) if os.path.exists(full) else ''
    return {mark.lower() for mark in re.findall(pattern, text, re.M)}


class Citations:
    """Marks that may be cited, and the citations of a line that lead nowhere."""

    def __init__(self, root):
        self.known = [
            (DECISION, 'docs/DESIGN.md', r'^\*\*(\d+)\. '),
            (PROMISE, 'docs/TESTING.md', r'^\| (P\d+) \|'),
            (FACTS, 'docs/EFA-FACTS.md', r'^#+ (EFA-FACTS|[\w -]+)')]
        self.known = [(cited, path, marks(root, path, pattern))
                      for cited, path, pattern in self.known]

    def dangling(self, line):
        for cited, path, known in self.known:
            for names in cited.findall(line):
                for name in filter(None, names):
                    if name.strip().lower() not in known:
                        yield f'no {name.strip()} in {path}'


def main(root, build):
    problems = list(guide_problems(root))
    checked = 0
    citations = Citations(root)
    for path in tree.files(root, '.md', '.c', '.h', '.cc', '.sh', '.py'):
        if path.startswith('test/tidy/'):
            continue # samples of what is wrong
        for number, line in enumerate(tree.read(root, path).split('\n'), 1):
            where = f'{path}:{number}: '
            problems += [where + text for text in citations.dangling(line)]
            for target in targets_of(path, line) if path.endswith('.md') \
                    else ():
                checked += 1
                if not is_there(root, build, target):
                    problems.append(f'{where}no {target} here')
    tree.finish(problems, checked, 'links in documents')


main(sys.argv[1], sys.argv[2])
