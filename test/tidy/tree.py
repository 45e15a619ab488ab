# SPDX-License-Identifier: BSD-3-Clause
"""The common part of the source checks: the files of a tree, and C without comments."""

import os
import re
import sys

SKIPPED_FOLDERS = {'.git', 'build', 'build-aux', 'autom4te.cache',
                   '__pycache__'}
GENERATED = {'.git', 'configure', 'aclocal.m4', 'config.h.in', 'Makefile.in'}


def is_environment(*path):
    """A virtual environment of Python, such as that of README's example."""
    return os.path.exists(os.path.join(*path, 'pyvenv.cfg'))


def files(root, *suffixes, under=''):
    """Paths below root, relative to it, that end in one of the suffixes."""
    found = []
    for folder, folders, names in os.walk(os.path.join(root, under)):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS
                            and not f.startswith('build-')
                            and not is_environment(folder, f))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.endswith(suffixes) and name not in GENERATED and \
                    not name.endswith('~') and not os.path.islink(path):
                found.append(os.path.relpath(path, root))
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8',
              errors='replace') as stream:
        return stream.read()


TOKEN = re.compile(r'''/\*.*?\*/ | //[^\n]* |
                       "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' ''',
                   re.S | re.X)


def code_of(text):
    """C source with comments and the contents of literals blanked; the line
    numbers stay. The file names of #include "..." are kept."""
    def blank(match):
        token = match.group(0)
        if token[0] == '"':
            start = text.rfind('\n', 0, match.start()) + 1
            if re.match(r'\s*#\s*include\s*$', text[start:match.start()]):
                return token
            return '""'
        if token[0] == "'":
            return "' '"
        return '\n' * token.count('\n') or ' '
    return TOKEN.sub(blank, text)


def finish(problems, checked, what):
    """Prints the problems and ends: 0 none, 1 some, 1 when nothing was
    looked at (a check that saw nothing proves nothing)."""
    for problem in problems:
        print(problem)
    if not checked:
        print('nothing to check was found:', what)
    sys.exit(1 if problems or not checked else 0)
