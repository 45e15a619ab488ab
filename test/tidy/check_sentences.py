#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_sentences.py ROOT BUILD: no sentence of a comment, or of a Python
docstring, begins with a word of WORDS, which hides its subject: "What it holds
..." says less than "Its credits ...". Sentences in parentheses count, too.
Other words for a beginning are free."""

import ast
import re
import sys

import tree

WORDS = 'What|Whatever|Who|Whoever|Whose|So|Of'
PARTS = ('bench', 'contrib', 'src', 'test')
C_CODE = ('.c', '.cc', '.h', '.inc')
OTHERS = ('.sh', '.py', '.mk', '.in', '.m4', 'configure.ac')

BEGIN = re.compile(r'(?:^|(?<=[.?!] )|(?<=[.?!]\) )|(?<=[.?!]" )|\()'
                   rf'((?:{WORDS})\b[^.]*)')


def c_comments(text):
    """(line, text) of each comment, without its marks."""
    for match in tree.TOKEN.finditer(text):
        token = match.group(0)
        if token[:2] not in ('/*', '//'):
            continue
        body = token[2:] if token[:2] == '//' else token[2:-2]
        yield (text.count('\n', 0, match.start()) + 1,
               '\n'.join(re.sub(r'^\s*\*?', '', line)
                         for line in body.split('\n')))


def line_comments(text):
    """The same for code whose comments begin with #: lines in a row are one."""
    block, start = [], 0
    for number, line in enumerate(text.split('\n') + [''], 1):
        whole = re.match(r'\s*#(?!!)(.*)', line)
        if whole:
            start = start if block else number
            block.append(whole.group(1))
            continue
        if block:
            yield start, '\n'.join(block)
            block = []
        behind = re.search(r'\s# (.*)$', line)
        if behind:
            yield number, behind.group(1)


def docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            said = ast.get_docstring(node)
            if said:
                yield node.body[0].lineno, said


def comments(path, text):
    if path.endswith(C_CODE):
        yield from c_comments(text)
        return
    yield from line_comments(text)
    if path.endswith('.py'):
        yield from docstrings(text)


def sentences(text):
    """The beginnings in a comment, each paragraph and list item by itself."""
    for paragraph in re.split(r'\n\s*\n|\n\s*[-*] ', text):
        yield from BEGIN.findall(' '.join(paragraph.split()))


def main(root):
    problems = []
    paths = [path for path in tree.files(root, *C_CODE, *OTHERS)
             if path.startswith(tuple(part + '/' for part in PARTS))]
    for path in paths:
        for number, text in comments(path, tree.read(root, path)):
            for sentence in sentences(text):
                problems.append(f'{path}:{number}: a sentence begins with '
                                f'"{sentence[:40].strip()}"')
    tree.finish(problems, paths, 'source files')


main(sys.argv[1])
