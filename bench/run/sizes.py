# SPDX-License-Identifier: BSD-3-Clause
"""Latency, message rate and bandwidth by size, one and two ways, by window;
all competitors in turn, several times."""
import statistics
import time

from launch import Failed

SIZES = [8, 64, 512, 4096, 8192, 65536, 262144, 1 << 20, 4 << 20, 16 << 20,
         64 << 20]
SIZES_QUICK = [8, 4096, 65536, 1 << 20]
WINDOWS = [1, 2, 4, 8, 16, 32, 64]
WINDOWS_QUICK = [1, 16, 64]
PERFTEST_SIZES = [8, 4096, 8192, 65536, 1 << 20, 16 << 20]
BUSY = 0.85  # of a core: with less of it a figure says little


def window_of(size):
    """In flight: 64 messages, or 64 MB."""
    return max(1, min(64, (64 << 20) // size if size > 1 << 20 else 64))


def cases_of(quick):
    sizes = SIZES_QUICK if quick else SIZES
    windows = WINDOWS_QUICK if quick else WINDOWS
    cases = [f"lat:{size}" for size in sizes]
    cases += [f"bw:{size}:{window_of(size)}" for size in sizes]
    cases += [f"bi:{size}:{window_of(size)}" for size in sizes]
    cases += [f"bw:8:{window}" for window in windows
              if window != window_of(8)]
    return cases


def cases_of_perftest(quick):
    """A run each, so fewer of them."""
    wanted = SIZES_QUICK if quick else PERFTEST_SIZES
    keep = []
    for case in cases_of(quick):
        kind, size = case.split(":")[:2]
        if int(size) in wanted and (kind != "bi" or size in ("8", "8192")):
            keep.append(case)
    return keep


def medians(rounds):
    """The median of each figure of each case, over the rounds that have it."""
    found = {}
    for case in {case for figures in rounds for case in figures}:
        rows = [figures[case] for figures in rounds if case in figures]
        found[case] = [
            statistics.median(values) if values else None
            for values in ([row[i] for row in rows if row[i] is not None]
                           for i in range(4))]
    return found


def in_turn(bench, columns, cases, say, **where):
    """{column: {case: medians of its figures}}, A B A B ... A column
    that fails in one round is measured in the others; one that always does has
    no figures."""
    rounds = {column.name: [] for column in columns}
    failures = {}
    start = time.time()
    for number in range(bench.rounds):
        if number and time.time() - start > bench.longest * number / (
                number + 1):
            failures["rounds"] = (f"{bench.rounds - number} of {bench.rounds} "
                                  "rounds: the machine is too busy")
            break
        for column in columns:
            wanted = cases.get(column.name, cases[""])
            say(f"round {number + 1} of {bench.rounds}: {column.label}")
            try:
                figures, _ = column.measure(bench, wanted, **where)
                rounds[column.name].append(figures)
            except Failed as error:
                failures[column.name] = f"{column.label}: {error}"
    return ({name: medians(found) for name, found in rounds.items() if found},
            failures)
