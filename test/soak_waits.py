#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Causes of the waits of a soak, and of the sessions that broke.
usage: soak_waits.py EVENTS LOG...
EVENTS: lines "KIND BEGIN END" of what was done: moment (a cut that nobody need
notice), cut (one that ends endpoints), stop, kill. LOG: what ucp_soak printed.
A wait may last 5 s beyond the time in which something was done to it, or in
which the process had no CPU. Status 1: one did not, or a session broke without
a cut or a kill."""

import re
import sys

ALLOWED = 5.0   # seconds of a wait that nothing explains
AFTER = 2.0     # seconds until all moves again after something was done
BREAKS = 30.0   # seconds until each side has noticed what breaks a session
WAIT = re.compile(r"^([\d.]+) (\d+) wait ([\d.]+) s, of them ([\d.]+) without"
                  r" a CPU, in (.*)$")
BROKEN = re.compile(r"^([\d.]+) (\d+) broken session (.*)$")


def overlap(events, begin, end):
    """Seconds between begin and end in which something was done."""
    total, at = 0.0, begin
    for _, first, last in sorted(events, key=lambda event: event[1]):
        first, last = max(first, at), min(last + AFTER, end)
        if last > first:
            total += last - first
            at = last
    return total


def judge(events, lines):
    """Lines of what nothing explains; waits and broken sessions in all."""
    bad, waits, broken, longest = [], 0, 0, 0.0
    for line in lines:
        found = WAIT.match(line)
        if found:
            end, length, delay = (float(found[i]) for i in (1, 3, 4))
            waits += 1
            longest = max(longest, length)
            rest = length - delay - overlap(events, end - length, end)
            if rest > ALLOWED:
                bad.append(f"{rest:.1f} s of it unexplained: {line}")
        found = BROKEN.match(line)
        if found:
            broken += 1
            at = float(found[1])
            if not any(kind in ("cut", "kill") and
                       begin - 1 <= at <= end + BREAKS
                       for kind, begin, end in events):
                bad.append(f"nothing broke it: {line}")
    return bad, f"{waits} waits over 5 s (the longest {longest:.1f} s) and " \
                f"{broken} broken sessions, all explained"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = [(kind, float(begin), float(end)) for kind, begin, end in
                  (line.split() for line in file)]
    lines = []
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines += file.read().splitlines()
    bad, summary = judge(events, lines)
    done = {kind: sum(event[0] == kind for event in events)
            for kind in ("moment", "cut", "stop", "kill")}
    print("\n".join(bad) if bad else
          f"{summary}, by {done}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
