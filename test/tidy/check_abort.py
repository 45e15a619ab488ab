#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_abort.py ROOT BUILD: nothing in the module ends the process, but what
stands in builds with AddressSanitizer alone."""

import re
import sys

import tree

ENDING = re.compile(r'\b(abort|exit|_exit|_Exit|quick_exit|ucs_fatal\w*|'
                    r'ucs_assert\w*|assert|raise|kill|__builtin_trap)\s*\(')
SANITIZED = re.compile(r'^#ifdef __SANITIZE_ADDRESS__\b.*?^#endif', re.S | re.M)


def without_sanitized(code):
    """The code without what only AddressSanitizer compiles."""
    return SANITIZED.sub(lambda m: '\n' * m.group(0).count('\n'), code)


def main(root):
    problems = []
    paths = [path for folder in ('src/uct', 'src/ucp_hooks', 'src/flow')
             for path in tree.files(root, '.c', '.h', under=folder)]
    for path in paths:
        code = without_sanitized(tree.code_of(tree.read(root, path)))
        for number, line in enumerate(code.split('\n'), 1):
            found = ENDING.search(line)
            if found:
                problems.append(f'{path}:{number}: {found.group(1)}() would '
                                'end the process')
    tree.finish(problems, paths, 'files of the module')


main(sys.argv[1])
