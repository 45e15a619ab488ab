# SPDX-License-Identifier: BSD-3-Clause
"""The tables, as text that is Markdown, too."""
import re
import statistics

import columns
import cpu
import targets
from launch import write
from studies import FLOORS


def size_name(size):
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def number(value):
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(title, head, rows):
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["-" * widths[0], *["-" * (width - 1) + ":"
                                       for width in widths[1:]]])
    return ["", f"## {title}"] + [
        "| " + " | ".join([row[0].ljust(widths[0]), *[
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]]) +
        " |" for row in rows]


def put(page, lines):
    """Renews in a page the table below each heading that LINES have, too."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for part in "\n".join(lines).split("\n## ")[1:]:
        title, _, rest = part.partition("\n")
        rows = re.match(r"(?:\|.*(?:\n|$))+", rest)
        if rows:
            text = re.sub(
                rf"(\n## {re.escape(title)}\n(?:(?!\||#).*\n)*)(?:\|.*\n)+",
                lambda found, rows=rows: found[1] + rows[0].rstrip("\n") + "\n",
                text)
    write(page, text.encode())


def case_name(case):
    kind, size, *more = case.split(":")
    if not more:
        name = size_name(int(size))
        return f"{name}, us" if kind == "lat" else f"{kind} {name}, us"
    return f"{size_name(int(size))}, {more[0]} in flight, MB/s"


def cell(found, study, name, case):
    """Medians; ~ where the processes did not get their cores."""
    share = targets.median(found, study, name, case, 2)
    busy = share is not None and share < targets.BUSY
    return ("~" if busy else "") + number(targets.median(
        found, study, name, case, int(case.startswith("bw"))))


def study_text(found, study, title):
    """A row for each case, a column for each competitor."""
    names = list(found[study])
    cases = list(dict.fromkeys(case for name in names
                               for case in found[study][name]))
    return table(title, ["", *[found["labels"][name]
                               for name in names]],
                 [[case_name(case), *[cell(found, study, name, case)
                                      for name in names]] for case in cases])


def verdict(line):
    word = ("met" if line["met"] else "**LOST**" if line["lost"] else
            "missed (docs/BENCH.md)" if line["name"] in targets.MISSED else
            "**missed**")
    return word + (", ~ busy" if line["busy"] else "")


def targets_text(found):
    return table("Targets (ratios: medians of the rounds, in turn)",
                 ["", "here", "target", "UCX's own srd", ""],
                 [[line["name"] + line["where"], line["value"],
                   (">= " if line["least"] else "<= ") + str(line["bound"]),
                   line["intree"] or "", verdict(line)]
                  for line in found["targets"]])


def instructions_text(found):
    direct = targets.rows_of(found, "instructions_direct")
    lines = table("Instructions for each operation, callgrind",
                  ["", "transport", "libibverbs + libefa", "direct: all"],
                  [[name, number(transport), number(verbs),
                    number(direct.get(name, [None])[0])]
                   for name, transport, verbs in found["instructions"]["rows"]])
    return lines + ["", *[f"- {line}" for line in found["instructions"]["memory"]]]


def floors_text(found, study, title):
    return table(f"UCP over UCT over verbs, instructions: {title}", ["", *FLOORS],
                 [[phase, *map(number, values.values())]
                  for phase, values in found[study].items()])


def times(found, name, case):
    """Parts of UCX's own srd's CPU time, ± half of what lies between the quartiles."""
    values, _ = targets.ratios(found, "shapes", name, "intree", case, 0)
    if len(values) < 2:
        return ""
    low, middle, high = statistics.quantiles(values, n=4)
    half = (high - low) / 2
    bold = "**" * (middle - half > 1)
    return f"{bold}{middle:.2f}±{half:.2f}{bold}"


def intree_floors_text(found):
    def costs(name, phase, *floors):
        return number(sum(found["intree_floors"][name][phase][floor]
                          for floor in floors))

    return table(
        "Beside UCX's own srd: instructions and CPU time",
        ["", *columns.RIVALS.values(), "time: srd, srd direct"],
        [[phase, *[costs(name, phase, "UCP", "UCT", "transport", "verbs") + "/" +
                   costs(name, phase, "transport", "verbs")
                   for name in columns.RIVALS],
          ", ".join(filter(None, [times(found, name, phase)
                                  for name in targets.OURS])) or "-"]
         for phase in found["intree_floors"]["srd"]])


def beside(found, study, case):
    """CPU time beside UCX's own srd: its ns, and ours as parts of that."""
    def ratio(name):
        value, _ = targets.ratio(found, study, name, "intree", case, 0)
        return "-" if value is None else (
            f"**{value:.2f}**" if value > targets.DEARER else f"{value:.2f}")

    if case not in found[study].get("intree", {}):
        return "-"
    return (f"{number(targets.median(found, study, 'intree', case, 0))}: "
            f"{ratio('srd')}, {ratio('direct')}")


def cpu_text(found):
    return table(
        "CPU time of both ends, the emulated device's work included: of UCX's own "
        "srd in ns; srd and srd direct as parts of that",
        ["", *map(size_name, cpu.SIZES)],
        [[f"{operation}, {words}", *[
            beside(found, "cpu", f"{operation}:{size}:{window}")
            for size in cpu.SIZES]]
         for operation in cpu.OPERATIONS
         for window, words in cpu.WINDOWS.items()])


def kernels_text(found):
    return table("Operations of a GPU's kernels, srd_gpu directly",
                 ["", "each"], found["kernels"].items())


PARTS = {
    "ratios": (study_text, "What the targets compare"),
    "sizes": (study_text, "By size: latency, half a round trip; one way"),
    "instructions": (instructions_text,),
    "floors": (floors_text, "here"),
    "floors_direct": (floors_text, "Debian sid, direct"),
    "intree": (study_text, "Beside UCX's own srd: one libucp (of PyPI's nixl), "
               "one libefa (of Debian sid)"),
    "network": (study_text, "One message alone on a network of 8 us and 100 Gb/s"),
    "collectives": (study_text, "MPI on that network: eight ranks, four hosts"),
    "intree_floors": (intree_floors_text,),
    "cpu": (cpu_text,),
    "kernels": (kernels_text,),
    "host": (study_text, "Within a host (no byte crossed the device)")}


def text(found):
    lines = ["# One run of bench/run.sh" +
             (" --quick" if found["quick"] else ""), "",
             *[f"- {name}: {value}"
               for name, value in found["machine"].items()],
             f"- seconds: {found['seconds']}",
             "- the device is emulated (efasim): ratios and instructions "
             "tell, absolute times do not",
             f"- ~: a process had less than {targets.BUSY:.2f} of a core: the "
             "machine had other work"]
    lines += targets_text(found)
    for study, (part, *title) in PARTS.items():
        if study in found:
            lines += part(found, study, *title) if title else part(found)
    lines += ["", "## Not measured"]
    lines += [f"- {name}: {why}"
              for name, why in found["not measured"].items()]
    return "\n".join(lines) + "\n"
