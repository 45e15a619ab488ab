# SPDX-License-Identifier: BSD-3-Clause
"""The goals of this project (docs/BENCH.md), beside what one run
found. Ratios: two competitors measured in turn, the median of the ratios of the
rounds."""
import math
import statistics

import collectives
import cpu
from studies import LATENCY, RATE, READ, SHAPES

MESSAGE, LIMIT = "a message of 8 B", "a limit packet, both ends"
SHARE = "messages to each limit packet"
# The transport's instructions: row of bench/instr.sh, goals over libefa and
# directly, and which of them are not reached.
COUNTS = [("empty progress", 36, 20, ""), ("post am_short_iov 8 B", 80, 110, "both"),
          ("post am_bcopy 1 KB", 80, 80, "both"),
          ("post am_zcopy 1 KB", 130, 130, "both"),
          ("post get_bcopy 1 KB", 95, 95, "both"),
          ("post get_zcopy 1 KB", 110, 110, "both"),
          ("completion of get_zcopy, 16", 60, 60, "direct"),
          ("post a piece of a list, put", None, 150, ""),
          ("receive, 16 reversed", 100, 100, "both"),
          ("completion, 16 in a poll", 30, 30, "direct"), (LIMIT, 450, 450, "both")]
OURS = {"srd": "srd", "direct": "srd direct"}
RIVALS = {"intree": "UCX's own", "ofi": "libfabric's efa"}
# Shapes of traffic in which it is UCX's own srd that is ahead (32:1000 with --quick).
BEHIND = ["tag:8:256:300:turn", "am:8:1:1000:random", "tag:8:32:1000:random"]
# Goals that are not reached, with the reasons in docs/BENCH.md. Any other that is
# missed has been lost: bench/run.sh fails.
MISSED = {"instructions: an endpoint, created",
          "direct: a message of 8 B with its share of a limit packet",
          "messages one way to each limit packet",
          "UCP tag message 8 B, all of UCX, direct",
          "message rate 8 B, srd to libfabric's efa",
          "message rate 8 B, srd direct to UCX's own",
          "CPU of am:8:1:1000:random, srd direct to UCX's own",
          *[f"MPI's collectives, {label} to {rival}" for label in OURS.values()
            for rival in RIVALS.values()],
          *[f"{words}, srd to UCX's own" for case in BEHIND for words in (
              f"CPU of {case}", f"UCP {case}, instructions of UCX and libefa")],
          *[f"instructions: {row}" for row, *_, which in COUNTS if which == "both"],
          *[f"direct: {row}" for row, *_, which in COUNTS if which]}
TIMED = 0.25 # how far a time may be off from run to run: only beyond it is a goal lost
DEARER = 1.05 # of what UCX's own srd needs in the same run
# Goals are asked of these columns. Where one fails, its goals may be lost.
ASKED = {"srd", "direct", "verbs", "intree", "host_srd", "host_sm"}
BUSY = 0.85 # of a core: with less of it a figure says little


def rounds_of(found, study, name, case):
    return found.get(study, {}).get(name, {}).get(case, [])


def median(found, study, name, case, index):
    values = [figures[index] for figures in rounds_of(found, study, name, case)
              if figures and figures[index] is not None]
    return statistics.median(values) if values else None


def calm(figures):
    """Did its processes get their cores? (perftest does not say.)"""
    return figures[2] is None or figures[2] >= BUSY


def ratios(found, study, one, other, case, index):
    """One / other, round by round, of the rounds that had their cores, and False,
    if three had; else of all, and True."""
    rounds = [(a[index] / b[index], calm(a) and calm(b))
              for a, b in zip(rounds_of(found, study, one, case),
                              rounds_of(found, study, other, case))
              if a and b and a[index] and b[index]]
    quiet = [value for value, good in rounds if good]
    busy = len(quiet) < min(3, len(rounds))
    return [value for value, _ in rounds] if busy else quiet, busy


def ratio(*arguments):
    """The median; None if one is missing."""
    values, busy = ratios(*arguments)
    return (statistics.median(values) if values else None), busy


def add(lines, name, value, bound, least=False, busy=False, timed=True,
        intree=None, where=""):
    if value is None or bound is None:
        return
    slack, measured = TIMED if timed else 0, 0 < value < math.inf
    met = measured and (value >= bound if least else value <= bound)
    near = measured and (value >= bound * (1 - slack) if least else
                         value <= bound * (1 + slack))
    lines.append({"name": name, "value": round(value, 3), "bound": bound,
                  "least": least, "met": bool(met), "busy": busy,
                  "intree": intree and round(intree, 3), "where": where,
                  "lost": not near and not busy and name not in MISSED})


def verdicts(found):
    lines = []

    def compare(words, study, one, other, case, index, bound, least=False):
        value, busy = ratio(found, study, one, other, case, index)
        add(lines, words, value, bound, least, busy,
            intree=median(found, study, "intree", case, index))

    for name, label in OURS.items():
        compare(f"UCP tag latency 8 B, {label} to raw verbs", "ratios", name,
                "verbs", LATENCY, 0, 1.3)
        compare(f"1 MB bandwidth, {label} to ib_read_bw", "ratios", name, "verbs",
                READ, 1, 0.95, True)
        compare(f"message rate 8 B, {label} to libfabric's efa", "ratios", name,
                "ofi", RATE, 0, 1.5, True)
    for case, index in ((LATENCY, 0), ("lat:4096", 0), (RATE, 0), (READ, 1)):
        least = case.startswith("bw")
        compare(f"within a host, {case}: srd,sm,self to sm,self", "host",
                "host_srd", "host_sm", case, index, 0.98 if least else 1.02,
                least)
    for name, label in OURS.items(): # nothing dearer than with UCX's own srd
        for case in found.get("intree", {}).get(name, {}):
            kind, length = case.split(":")[:2]
            words, index, bound = (
                ("latency", 0, DEARER) if kind == "lat" else
                ("message rate", 0, 1.3) if length == "8" else
                ("bandwidth", 1, 0.95))
            compare(f"{words} {length} B, {label} to UCX's own", "intree", name,
                    "intree", case, index, bound, kind == "bw")
        for case in found.get("network", {}).get(name, {}):
            compare(f"alone on a network, {case}, {label} to UCX's own", "network",
                    name, "intree", case, 0, DEARER)
        floor_verdicts(found.get("intree_floors", {}), name, label, lines)
    for name, label in OURS.items():
        cpu_verdicts(found, name, label, lines)
    instruction_verdicts(found, lines)
    return lines


def floor_verdicts(floors, name, label, lines):
    def whole(name, phase):
        return sum(floors[name][phase][floor]
                   for floor in ("UCP", "UCT", "transport", "verbs"))

    def block(name):
        return whole(name, "blocks_list") / whole(name, "blocks_calls")

    for phase in floors.get(name, {}):
        theirs = whole("intree", phase)
        add(lines, f"UCP {phase}, instructions of UCX and libefa, {label} to "
            "UCX's own", whole(name, phase) / theirs, DEARER, timed=False,
            intree=theirs)
    if {"blocks_list", "blocks_calls"} <= set(floors.get(name, {})):
        add(lines, f"a block of a list to one by a call, UCX and libefa, {label}",
            block(name), 0.5, timed=False, intree=block("intree"))


def cpu_verdicts(found, name, label, lines):
    """The worst of all sizes, for each operation and window; and each shape."""
    def worst(words, study, cases, where="", rival="intree"):
        value, case = max(
            ((value, case) for case in cases for value, _ in
             [ratio(found, study, name, rival, case, 0)]
             if value is not None), default=(None, "::"))
        add(lines, f"{words}, {label} to {RIVALS[rival]}", value, DEARER,
            intree=median(found, study, "intree", case, 0),
            where=where.format(*case.split(":")))

    for operation in cpu.OPERATIONS:
        for window, words in cpu.WINDOWS.items():
            worst(f"CPU of {operation}, {words}", "cpu",
                  [f"{operation}:{size}:{window}" for size in cpu.SIZES],
                  ": at worst, {1} B")
    for case in SHAPES:
        worst(f"CPU of {case}", "shapes", [case])
    for rival in RIVALS:
        worst("MPI's collectives", "collectives", collectives.CASES,
              ": at worst, {0} of {1} B", rival)


def rows_of(found, name):
    return {row: values for row, *values in found.get(name, {}).get("rows", [])}


def instruction_verdicts(found, lines):
    def count(name, value, bound, least=False):
        add(lines, name, value, bound, least, timed=False)

    for study, label, which, goals in (
            ("instructions", "instructions", 0, (650, 780)),
            ("instructions_direct", "direct", 1, (180, 190))):
        rows = rows_of(found, study)
        if MESSAGE not in rows:
            continue
        message = sum(rows[MESSAGE])
        count(f"{label}: a message of 8 B, libefa's included", message, goals[0])
        count(f"{label}: a message of 8 B with its share of a limit packet",
              message + sum(rows[LIMIT]) / rows[SHARE][0], goals[1])
        for row, *bounds, _ in COUNTS:
            if row in rows:
                count(f"{label}: {row}", round(rows[row][0]), bounds[which])
        for row, value in rows.items():
            if row.startswith("iface_flush"):
                count(f"{label}: {row}", value[0], 15)
        if which == 0:
            count("messages one way to each limit packet", rows[SHARE][0], 48,
                  True)
            count("receive from 16 flows, to from one, transport",
                  rows["receive and limits, 16 flows"][0] /
                  rows["receive and limits, one flow"][0], 1.2)
            count("instructions: an endpoint, created", max(
                (value[0] for row, value in rows.items()
                 if row.startswith("endpoint,")), default=None), 1500)
    for study, label in (("floors", ""), ("floors_direct", ", direct")):
        tag = found.get(study, {}).get("tag:8:16:1")
        if tag:
            count(f"UCP tag message 8 B, all of UCX{label}",
                  tag["UCP"] + tag["UCT"] + tag["transport"], 650)


def unknown(study, result, failures):
    """The columns without a figure, though goals are asked of them; of a study
    that failed as a whole (no result) its name."""
    if study == "sizes": # no goals are asked of it
        return []
    if result is None:
        return [study]
    return [f"{study}, {name}" for name in failures if name in ASKED and
            not any(map(any, result.get(name, {}).values()))]


def lost(lines):
    return [line["name"] for line in lines if line["lost"]]
