#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_abort.py ROOT BUILD: nothing in the module ends the process. The one
exception is flow_assert_failed(), which guards our own logic only."""

import re
import sys

import tree

ENDING = re.compile(r'\b(abort|exit|_exit|_Exit|quick_exit|ucs_fatal\w*|'
                    r'ucs_assert\w*|assert|raise|kill|__builtin_trap)\s*\(')
HOOK = re.compile(r'\bflow_assert_failed\s*\([^;{]*\)\s*\{(.*?)^\}',
                  re.S | re.M)


def without_hook(code):
    """The code with the body of the assertion hook blanked."""
    return HOOK.sub(lambda m: '\n' * m.group(0).count('\n'), code)


def main(root):
    problems = []
    paths = [path for folder in ('src/uct', 'src/ucp_hooks', 'src/flow')
             for path in tree.files(root, '.c', '.h', under=folder)]
    for path in paths:
        code = without_hook(tree.code_of(tree.read(root, path)))
        for number, line in enumerate(code.split('\n'), 1):
            found = ENDING.search(line)
            if found:
                problems.append(f'{path}:{number}: {found.group(1)}() would '
                                'end the process')
    tree.finish(problems, paths, 'files of the module')


main(sys.argv[1])
