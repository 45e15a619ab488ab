#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the probe's answers under the kernel's driver and under efasim.

usage: probe_compare.py --part (rest | huge) KERNEL EFASIM ALLOWED

ALLOWED has a line for each difference that may be: a pattern of questions, a
tab, the reason. Fails if another answer differs or if there are more than 10
allowed differences. No question about huge pages may differ; there are 150 others
at least, and each allowed difference is one.
"""
import difflib
import re
import sys

QUESTIONS_MIN = {"rest": 150, "huge": 50}
ALLOWED_MAX = 10


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if ": " in line]


def main():
    part = sys.argv[2]
    kernel, efasim = lines(sys.argv[3]), lines(sys.argv[4])
    with open(sys.argv[5], encoding="utf-8") as file:
        allowed = [line.split("\t", 1)[0] for line in file
                   if "\t" in line and not line.startswith("#")]
    allowed = allowed if part == "rest" else []
    used, faults = set(), []
    for line in difflib.unified_diff(kernel, efasim, lineterm="", n=0):
        if line.startswith(("---", "+++", "@@")):
            continue
        question = line[1:].rsplit(": ", 1)[0]
        matching = [one for one in allowed if re.fullmatch(one, question)]
        used.update(matching)
        if not matching:
            faults.append(("the kernel: " if line[0] == "-" else
                           "efasim:     ") + line[1:])
    faults += [f"allowed, and no difference: {one}"
               for one in allowed if one not in used]
    if len(kernel) < QUESTIONS_MIN[part]:
        faults.append(f"only {len(kernel)} answers, not {QUESTIONS_MIN[part]}")
    if len(allowed) > ALLOWED_MAX:
        faults.append(f"{len(allowed)} differences are allowed, more than "
                      f"{ALLOWED_MAX}")
    for fault in faults:
        print(fault)
    print(f"note: {len(kernel)} answers of the kernel, {len(faults)} faults, "
          f"{len(allowed)} kinds of differences allowed")
    return 1 if faults else 0


sys.exit(main())
