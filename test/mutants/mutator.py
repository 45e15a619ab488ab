# SPDX-License-Identifier: BSD-3-Clause
"""Mutants of C source in UCX's style: a statement is gone, a condition turned, a
constant one more, a comparison shifted. A mutant's name stays when lines elsewhere
change, and by its hash it is chosen."""

import hashlib
import re

HIDDEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\''
                    r'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
FUNCTION = re.compile(r'^(?!static const|enum|struct|typedef)[^\n;]*?(\w+)\('
                      r'[^;{}]*?\)\n\{\n(.*?)^\}', re.S | re.M)
# Assertions and traces are no part of the result.
ASSERTS = re.compile(r'(?:flow_)?(?:assert|trace)\w*\(|sim_log\w*\(|ucs_\w+\(')
STATEMENT = re.compile(r'(?:[\w>.\-\[\]()+*&]+(?:->|\.)?\w*\s*[-+|&^<>]*=[^=]|'
                       r'[a-z]\w*\(|\+\+|--|break|continue|goto)')
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=",
            "!=": "=="}


def hide(text):
    """The text with blanks for comments, strings and what the preprocessor
    reads."""
    return HIDDEN.sub(lambda m: re.sub(r'[^\n]', ' ', m.group()), text)


def closing(text, start):
    """Where the parenthesis at start is closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return start


def statements(body):
    """(first, last) of what ends with a semicolon outside of parentheses."""
    first = at = 0
    while at < len(body):
        if body[at] == "(":
            at = closing(body, at)
            rest = body[at + 1:at + 80].lstrip()
            if re.match(r'\s*(?:if|for|while|switch)\s*\(', body[first:at]):
                first = at + 1
            elif rest[:1] == "{":
                first = at + 1
        elif body[at] == ";":
            yield first + len(body[first:at]) - len(body[first:at].lstrip()), at
            first = at + 1
        elif body[at] in "{}" or (body[at] == ":" and re.match(
                r'\s*(?:case\b|default\b|\w+$)', body[first:at])):
            first = at + 1
        at += 1


def changes(body):
    """(kind, first, last, new text) of the mutants of a function's body."""
    spared = []
    for first, last in statements(body):
        text = body[first:last]
        if ASSERTS.match(text):
            spared.append((first, last))
        elif STATEMENT.match(text):
            yield "gone", first, last, "(void)0"
    inside = lambda at: any(a <= at < b for a, b in spared)
    for found in re.finditer(r'\b(?:if|while) \(', body):
        first = found.end() - 1
        last = closing(body, first)
        yield "turned", first, last + 1, f"(!{body[first:last + 1]})"
    for found in re.finditer(r'(?<![\w.])(\d+|0x[0-9a-f]+)([uUlL]*)(?![\w.])',
                             body):
        if not inside(found.start()):
            other = ("0" if found.group(1) == "1" else
                     f"({found.group()} + 1)")
            yield "constant", found.start(), found.end(), other
    for found in re.finditer(r' (<=?|>=?|==|!=) ', body):
        if not inside(found.start()):
            new = f" {COMPARED[found.group(1)]} "
            yield "compared", found.start(), found.end(), new


class Mutant:
    def __init__(self, file, function, kind, text, count, span, new):
        self.file, self.span, self.new = file, span, new
        self.name = f"{file} {function} {kind} {count}: {text}"
        self.rank = int(hashlib.sha256(self.name.encode()).hexdigest()[:8], 16)

    def apply(self, text):
        first, last = self.span
        gone = text[first:last].count("\n") - self.new.count("\n")
        return text[:first] + self.new + "\n" * gone + text[last:]


def mutants(file, text):
    """All of a file."""
    plain = hide(text)
    for function in FUNCTION.finditer(plain):
        count = {}
        begin = function.start(2)
        for kind, first, last, new in changes(function.group(2)):
            span = (begin + first, begin + last)
            line = plain[span[0]:span[1]]
            if kind in ("constant", "compared"):
                start = plain.rfind("\n", 0, span[0]) + 1
                line = plain[start:plain.find("\n", span[1])]
            line = " ".join(line.split())
            key = (kind, line)
            count[key] = count.get(key, 0) + 1
            yield Mutant(file, function.group(1), kind, line, count[key],
                         span, new)
