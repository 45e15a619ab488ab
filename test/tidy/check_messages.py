#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_messages.py ROOT BUILD: what docs/TROUBLESHOOTING.md quotes as messages
of ours (at the begin of items of the list of them) is what the sources print."""

import re
import sys

import tree

PAGE = 'docs/TROUBLESHOOTING.md'
PART = re.compile('## Messages of this module\n(.*?)(?:\n## |$)', re.S)
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def strings_of(text):
    """All string literals, adjacent ones joined, conversions as '…'."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    text = re.sub(r'"\s*PRI\w+\s*"', '', text)
    joined = re.sub(r'"\s*\n?\s*"', '', text)
    for found in LITERAL.finditer(joined):
        yield re.sub(r'%[-+ #0]*[\d.*]*[hlzjt]*[a-zA-Z]', '…', found.group(1))


def quoted(page):
    """Yields (line number, message) for messages of ours that an item begins with."""
    part = PART.search(page)
    if part is None:
        return
    before = page.count('\n', 0, part.start(1))
    for number, line in enumerate(part.group(1).split('\n'), before + 1):
        head = re.match(r'- ((?:`[^`]+`(?: \([^)]*\))?,? ?)+)', line)
        for message in re.findall(r'`([^`]+)`', head.group(1)) if head else ():
            yield number, message


def main(root):
    messages = set()
    for path in tree.files(root, '.c', '.h', under='src'):
        messages.update(strings_of(tree.read(root, path)))
    messages.update(line for path in tree.files(root, 'srdrun.in', '.sh')
                    for line in tree.read(root, path).split('\n'))
    problems = []
    checked = 0
    for number, message in quoted(tree.read(root, PAGE)):
        checked += 1
        pieces = [re.escape(piece) for piece in message.split('…')]
        pattern = re.compile('.*'.join(pieces))
        if not any(pattern.search(text) for text in messages):
            problems.append(f'{PAGE}:{number}: nothing prints "{message}"')
    tree.finish(problems, checked, f'messages in {PAGE}')


main(sys.argv[1])
