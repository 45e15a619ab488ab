# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of one run: two competitors measured in turn, the median of the ratios
of the rounds."""
import statistics

from launch import Failed
from sizes import BUSY

MESSAGE = "a message of 8 B"
DIRECT = [(MESSAGE, 180), ("empty progress", 20), ("post get_bcopy 1 KB", 150),
          ("post get_zcopy 1 KB", 150), ("receive, 16 reversed", 100),
          ("completion, 16 in a poll", 30), ("a limit packet, both ends", 600)]
LATENCY, RATE = "lat:8", "bw:8:64"
READ, READ_HALF = "bw:1048576:16", "bw:524288:16"
CASES = {"srd": [LATENCY, RATE, READ, READ_HALF],
         "direct": [LATENCY, RATE, READ, READ_HALF],
         "verbs": [LATENCY, RATE, READ, READ_HALF],
         "ofi": [LATENCY, RATE, READ]}


def measure(bench, columns, say):
    """{column: {case: [figures of each round]}}"""
    found, failures = {}, {}
    before = bench.milliseconds
    bench.milliseconds *= 3
    for number in range(5):
        for column in columns:
            if column.name not in CASES:
                continue
            say(f"round {number + 1} of 5: {column.label}")
            try:
                figures, _ = column.measure(bench, CASES[column.name])
            except Failed as error:
                failures[column.name] = f"{column.label}: {error}"
                continue
            for case, values in figures.items():
                found.setdefault(column.name, {}).setdefault(
                    case, []).append(values)
    bench.milliseconds = before
    return found, failures


def ratio(found, one, other, case, index):
    """The median of one / other, round by round, of the rounds that had their
    cores if three had; None if one is missing."""
    mine = found.get(one, {}).get(case, [])
    theirs = found.get(other, {}).get(case, [])
    rounds = [(a[index] / b[index], calm(a) and calm(b))
              for a, b in zip(mine, theirs) if a[index] and b[index]]
    quiet = [value for value, good in rounds if good]
    pairs = quiet if len(quiet) >= 3 else [value for value, _ in rounds]
    return statistics.median(pairs) if pairs else None


def calm(figures):
    """Did its processes get their cores? (perftest does not say.)"""
    return figures[2] is None or figures[2] >= BUSY


def of_medians(found, one, other, case, index):
    try:
        return found[one][case][index] / found[other][case][index]
    except (KeyError, TypeError, ZeroDivisionError):
        return None


def add(lines, name, value, bound, least=False, busy=False):
    if value is not None:
        met = value >= bound if least else value <= bound
        lines.append({"name": name, "value": round(value, 3), "bound": bound,
                      "least": least, "met": bool(met), "busy": busy})


def disturbed(found, case, *names):
    return any(not calm(found.get(name, {}).get(case) or [0, 0, None])
               for name in names)


def verdicts(found):
    lines, ratios = [], found.get("ratios", {})
    for name, label in (("srd", "srd"), ("direct", "srd direct")):
        if name not in ratios:
            continue
        add(lines, f"UCP tag latency 8 B, {label} to raw verbs",
            ratio(ratios, name, "verbs", "lat:8", 0), 1.3)
        add(lines, f"1 MB bandwidth, {label} to ib_read_bw",
            ratio(ratios, name, "verbs", "bw:1048576:16", 1), 0.95, True)
        add(lines, f"message rate 8 B, {label} to libfabric's efa",
            ratio(ratios, name, "ofi", "bw:8:64", 0), 1.5, True)
    rails, host = found.get("rails", {}), found.get("host", {})
    add(lines, "bandwidth of 2 devices to 1",
        of_medians(rails, "rails2", "rails1", "bw:4194304:8", 1), 1.0, True,
        disturbed(rails, "bw:4194304:8", "rails1", "rails2"))
    for case, index, least in (("lat:8", 0, False), ("lat:4096", 0, False),
                               ("bw:8:64", 0, True),
                               ("bw:1048576:16", 1, True)):
        add(lines, f"within a host, {case}: srd,sm,self to sm,self",
            of_medians(host, "host_srd", "host_sm", case, index),
            0.98 if least else 1.02, least,
            disturbed(host, case, "host_srd", "host_sm"))
    instruction_verdicts(found, lines)
    return lines


def instruction_verdicts(found, lines):
    rows = {name: values for name, *values in
            found.get("instructions", {}).get("rows", [])}
    if MESSAGE in rows:
        add(lines, "instructions of an 8 B message, transport and libefa",
            sum(rows[MESSAGE]), 650)
        add(lines, "receive of 16 reversed, transport",
            rows["receive, 16 reversed"][0], 100)
        add(lines, "send completion, transport",
            rows["completion, 16 in a poll"][0], 30)
        add(lines, "limit packet, both ends, transport and libefa",
            sum(rows["a limit packet, both ends"]), 600)
        add(lines, "messages one way to each limit packet",
            rows["messages to each limit packet"][0], 48, True)
        add(lines, "receive from 16 flows, to from one, transport",
            rows["receive and limits, 16 flows"][0] /
            rows["receive and limits, one flow"][0], 1.2)
    direct = {name: values for name, *values in
              found.get("instructions_direct", {}).get("rows", [])}
    for name, bound in DIRECT if direct else []:
        add(lines, f"direct: {name}", direct[name][0], bound)
    lines_of = found.get("cachelines", {}).get("rows", {})
    for name, bound in (("post", 4), ("receive", 5)):
        if name in lines_of:
            add(lines, f"cache lines of a message, transport, {name}",
                lines_of[name][1], bound)
    for name, label in (("floors", ""), ("floors_direct", ", direct")):
        tag = found.get(name, {}).get("tag_8")
        if tag:
            add(lines, f"UCP tag message 8 B, all of UCX{label}",
                tag["UCP"] + tag["UCT"] + tag["transport"], 650)
