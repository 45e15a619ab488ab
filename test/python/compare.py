# SPDX-License-Identifier: BSD-3-Clause
"""compare.py ONE.xml OTHER.xml MINIMUM: two runs of the same tests, as pytest
writes them with --junit-xml, test by test. Nothing that passes in the first may
fail, be missing or be skipped in the second; at least MINIMUM pass in the first.
The path above the folder "tests" is no part of a test's name."""

import re
import sys
import xml.etree.ElementTree


def results(path):
    """{test: passed, failed or skipped}; one that a set-up failed counts, too."""
    found = {}
    for case in xml.etree.ElementTree.parse(path).iter('testcase'):
        folder = re.sub(r'^.*\.tests\.', '', case.get('classname'))
        name = f'{folder}.{case.get("name")}'
        kinds = {child.tag for child in case}
        if kinds & {'failure', 'error'}:
            found[name] = 'failed'
        elif 'skipped' in kinds:
            found[name] = 'skipped'
        else:
            found.setdefault(name, 'passed')
    return found


def count(found, kind):
    return sum(1 for value in found.values() if value == kind)


def main():
    first, second = results(sys.argv[1]), results(sys.argv[2])
    minimum = int(sys.argv[3])
    worse = [name for name, result in sorted(first.items())
             if result == 'passed' and second.get(name) != 'passed']
    for found in first, second:
        print('note: ' + ', '.join(f'{count(found, kind)} {kind}' for kind in
                                   ('passed', 'failed', 'skipped')))
    for name in sorted(set(first) & set(second)):
        if first[name] == second[name] == 'failed':
            print(f'note: fails in both: {name}')
    for name in worse:
        print(f'FAIL: {name} passes in the first run, in the second it is '
              f'{second.get(name, "missing")}')
    if count(first, 'passed') < minimum:
        sys.exit(f'FAIL: only {count(first, "passed")} tests pass at all, '
                 f'{minimum} did')
    sys.exit(1 if worse else 0)


if __name__ == '__main__':
    main()
