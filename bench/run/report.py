# SPDX-License-Identifier: BSD-3-Clause
"""The tables, as text that is Markdown, too."""
import cpu
import papers
import targets
import wheel
from sizes import BUSY


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


def table(head, rows):
    rows = [list(map(str, row)) for row in rows]
    widths = [max(len(row[i]) for row in [head, *rows])
              for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) if i == 0
                               else cell.rjust(width)
                               for i, (cell, width)
                               in enumerate(zip(row, widths))) + " |"
             for row in [head, *rows]]
    lines.insert(1, "|" + "|".join("-" * (width + 2) if i == 0
                                   else "-" * (width + 1) + ":"
                                   for i, width in enumerate(widths)) + "|")
    return lines


def cell(figures, index, scale=1):
    """A figure; ~ where the processes did not get their cores."""
    if figures is None or figures[index] is None:
        return "-"
    busy = figures[2] is not None and figures[2] < BUSY
    return ("~" if busy else "") + number(figures[index] * scale)


def by_size(found, kind, index, scale=1):
    sizes, labels = found["sizes"], found["labels"]
    names = [name for name in labels if name in sizes]
    cases = {}
    for name in names:
        for case in sizes[name]:
            parts = case.split(":")
            if parts[0] == kind and (kind == "lat" or parts[2] == "64" or
                                     int(parts[1]) > 8):
                cases[int(parts[1])] = case
    return table([""] + [labels[name] for name in names],
                 [[size_name(size)] + [cell(sizes[name].get(cases[size]),
                                            index, scale) for name in names]
                  for size in sorted(cases)])


def by_window(found):
    sizes, labels = found["sizes"], found["labels"]
    names = [name for name in labels if name in sizes]
    windows = sorted({int(case.split(":")[2]) for name in names
                      for case in sizes[name] if case.startswith("bw:8:")})
    return table(["in flight"] + [labels[name] for name in names],
                 [[window] + [cell(sizes[name].get(f"bw:8:{window}"), 0, 1e-6)
                              for name in names] for window in windows])


def sizes_text(found):
    return ["", "## Latency, half a round trip, median in microseconds",
            *by_size(found, "lat", 0),
            "", "## One way, MB/s, 64 messages (at most 64 MB) in flight",
            *by_size(found, "bw", 1),
            "", "## Both ways together, MB/s", *by_size(found, "bi", 1),
            "", "## Millions of 8 B messages a second, one way, by window",
            *by_window(found),
            "~ a process had less than "
            f"{BUSY:.2f} of a core: the machine had other work"]


def bounds_text(ratios):
    """The bounds of the ratios on this device."""
    lines = []
    ceiling = targets.ratio(ratios, "verbs", "ofi", targets.RATE, 0)
    if ceiling:
        lines += ["", f"Raw verbs, 64 in flight, reach {ceiling:.2f} of "
                  "libfabric's message rate on this device: a library over "
                  "them can hardly have more."]
    half = targets.ratio(ratios, "srd", "verbs", targets.READ_HALF, 1)
    if half:
        lines += ["", f"Bandwidth to ib_read_bw at 512 KB: {half:.2f}. (At "
                  "1 MB source and destination fill a core's second-level "
                  "cache of 2 MB, which may be why it is less.)"]
    return lines


def verdict(line):
    word = ("met" if line["met"] else "**LOST**" if line["lost"] else
            "missed (docs/BENCH.md)" if line["name"] in targets.MISSED else
            "**missed**")
    return word + (", ~ busy" if line.get("busy") else "")


def targets_text(found):
    rows = [[line["name"] + line.get("where", ""), line["value"],
             (">= " if line["least"] else "<= ") + str(line["bound"]),
             line["intree"] or "", verdict(line)]
            for line in found["targets"]]
    lines = ["", "## Targets (ratios: medians of five rounds, in turn)",
             *table(["", "here", "target", "UCX's own srd", ""], rows)]
    floors = found.get("floors", {}).get("tag_8")
    if floors and not all(line["met"] for line in found["targets"]):
        whole = sum(floors.values())
        lines += ["", f"Of the {whole:.0f} instructions of a UCP tag message "
                  "of 8 B, both sides, " + ", ".join(
                      f"{name} has {value:.0f} ({100 * value / whole:.0f} %)"
                      for name, value in floors.items()) +
                  ". The device's share is the emulator's, the same for every "
                  "competitor over it: rates differ less here than on a card."]
    lines += bounds_text(found.get("ratios", {}))
    if found.get("profile"):
        lines += ["", "## Where a UCP tag message of 8 B spends its "
                  "instructions: both sides, the emulated device included",
                  *table(["function", "instructions"],
                         [[where, count]
                          for count, where in found["profile"]])]
    kernel = [(name, row) for name, cases in found.get("ratios", {}).items()
              for row in cases.get("bw:1048576:16", [])[:1]
              if row and row[3]]
    if kernel:
        lines += ["", "1 MB messages: part of the time that the kernel has, "
                  "which copies for the device: " +
                  ", ".join(f"{name} {row[3]:.2f}" for name, row in kernel)]
    return lines


def direct_counts(found):
    """{operation: instructions} of the direct path; none where it did not run."""
    return {name: whole for name, whole, _ in
            found.get("instructions_direct", {}).get("rows", [])}


def instructions_text(found):
    rows, direct = [], direct_counts(found)
    for name, transport, verbs in found["instructions"]["rows"]:
        rows.append([name, number(transport), number(verbs),
                     number(direct.get(name))])
    return ["", "## Instructions for each operation, callgrind",
            *table(["", "transport", "libibverbs + libefa", "direct: all"],
                   rows), "",
            *[f"- {line}" for line in found["instructions"]["memory"]]]


RANKS = [8, 96, 192]
GROWN = 4096 * 9216 # UCX_SRD_RX_BUFFERS_MAX buffers, of the device's 8928 B


def locked_text(found):
    """Memory that a host's ranks lock, computed from that of one interface."""
    opened = [int(word) for line in found["instructions"]["memory"]
              if "at open" in line for word in line.split() if word.isdigit()]
    if not opened:
        return []
    rows = []
    for name, size in (("at open, 1 device", opened[0]),
                       ("at open, 4 devices", 4 * opened[0]),
                       ("at open, 32 devices", 32 * opened[0]),
                       ("1 device, receive queue grown to its cap", GROWN)):
        rows.append([name, f"{size / 1e6:.1f} MB"] +
                    [f"{size * ranks / 1e9:.2f} GB" for ranks in RANKS])
    return ["", "## Memory of the interfaces, nearly all locked: computed of "
            "one measured at open",
            *table(["", "a rank"] + [f"{ranks} ranks a host"
                                     for ranks in RANKS], rows)]


def floors_text(found):
    lines = []
    for key, title in (("floors", "here"),
                       ("floors_rdma", "Debian sid, with RDMA WRITE"),
                       ("floors_direct", "Debian sid, direct")):
        if key not in found:
            continue
        head = ["UCP", "UCT", "transport", "verbs", "device", "libc"]
        lines += ["", f"## UCP over UCT over verbs, instructions: {title}",
                  *table(["", *head], [
                      [phase] + [number(values[name]) for name in head]
                      for phase, values in found[key].items()])]
    if "floors_ns" in found:
        lines += ["Here gets are " + found["floors_ns"]["gets are"] +
                  "; nanoseconds for each, the emulated device's work "
                  "included: " +
                  ", ".join(f"{name} {value:.0f}" for name, value
                            in found["floors_ns"]["ns"].items())]
    if lines:
        lines += ["first: nothing outstanding before the post; more: 32 are "
                  "(16 puts); flush_busy, progress_busy: with 16 gets under "
                  "way", *beside("floors")]
    return lines


OURS = ("UCP", "UCT", "transport", "verbs") # floors of a program on hardware


def intree_text(found):
    """UCX's own srd and this module, over one libucp and one libefa."""
    lines = []
    if "intree" in found:
        names = [name for name in wheel.LABELS if name in found["intree"]]
        rows = [[("latency " if kind == "lat" else "MB/s ") + size_name(length)] +
                [cell(found["intree"][name].get(case), index)
                 for name in names] for kind, index in (("lat", 0), ("bw", 1))
                for length in wheel.LENGTHS
                for case in [f"lat:{length}" if kind == "lat"
                             else f"bw:{length}:32"]]
        lines += ["", "## Beside UCX's own srd: one libucp (of PyPI's nixl), one "
                  "libefa (of Debian sid), in turn",
                  *table(["microseconds, MB/s"] +
                         [wheel.LABELS[name] for name in names], rows)]
    if "intree_floors" in found:
        floors = found["intree_floors"]
        rows = []
        for phase in floors["srd"]:
            whole = [sum(floors[name][phase][floor] for floor in OURS)
                     for name in wheel.WHOLE]
            lower = [sum(floors[name][phase][floor]
                         for floor in ("transport", "verbs"))
                     for name in wheel.WHOLE]
            rows.append([phase] + [f"{number(a)} ({number(b)})"
                                   for a, b in zip(whole, lower)])
        lines += ["", "## The same, instructions of all of UCX and libefa (of "
                  "transport and libefa)",
                  *table(["", *[wheel.LABELS[name]
                                for name in wheel.WHOLE]], rows)]
    return lines


def ratio_cell(value):
    if value is None:
        return "-"
    return f"**{value:.2f}**" if value > targets.DEARER else f"{value:.2f}"


def cpu_text(found):
    """CPU time beside UCX's own srd."""
    rows = []
    for operation in cpu.OPERATIONS:
        for size in cpu.SIZES:
            cases = [cpu.name_of(operation, size, window)
                     for window in cpu.WINDOWS]
            if not any(cpu.median(found, "intree", case) for case in cases):
                continue
            row = [f"{operation} {size_name(size)}"]
            for case in cases:
                row += [number(cpu.median(found, "intree", case)),
                        *[ratio_cell(cpu.ratio(found, name, case))
                          for name in ("srd", "direct")]]
            rows.append(row)
    if not rows:
        return []
    head = [f"{window}: {column}" for window in cpu.WINDOWS.values()
            for column in ("in-tree, ns", "srd", "direct")]
    return ["", "## CPU time of both ends, the emulated device's work included: "
            "UCX's own srd, and parts of that", *table(["", *head], rows),
            "Directly the program calls the emulated device before each poll, "
            "where hardware would work by itself."]


def beside(study):
    return [f"- {source}: {finding}"
            for source, finding in papers.FINDINGS.get(study, [])]


def matching_text(found):
    labels, lines = found["labels"], []
    for kind, title in (("tag", "posted receives"),
                        ("unexp", "messages that nobody received")):
        for name, cases in found["matching"].items():
            keys = [case.split(":") for case in cases if
                    case.startswith(kind + ":")]
            depths = sorted({int(key[1]) for key in keys})
            shares = sorted({int(key[2]) for key in keys})
            if not keys:
                continue
            lines += ["", f"## Latency of 8 B behind {title}, microseconds: "
                      f"{labels[name]}",
                      *table(["depth"] + [f"{share} % in its bin"
                                          for share in shares],
                             [[depth] + [cell(cases.get(
                                 f"{kind}:{depth}:{share}"), 0)
                                 for share in shares] for depth in depths])]
    return lines + beside("matching")


def cachelines_text(found):
    rows = [[name, number(alone), number(batch)] for name, (alone, batch)
            in found["cachelines"]["rows"].items()]
    return ["", "## Cache lines that the transport's own instructions touch, "
            "the stack's apart",
            *table(["", "of one message", "of 16 together, for each"], rows)]


def small_text(found):
    lines = []
    if "host" in found:
        names = {"host_sm": "sm,self", "host_srd": "srd,sm,self",
                 "host_ofi": "libfabric efa with its shm"}
        there = [name for name in names if name in found["host"]]
        lines += ["", "## Within a host (no byte crossed the device): "
                  "microseconds, or messages a second",
                  *table([""] + [names[name] for name in there],
                         [[case] + [cell(found["host"][name].get(case), 0)
                                    for name in there]
                          for case in found["host"][there[0]]])]
    if "rails" in found:
        lines += ["", "## Several devices, 4 MB messages, MB/s",
                  *table(["devices", "one way", "both ways",
                          "kernel's part, one way"],
                         [[name[5:], cell(cases["bw:4194304:8"], 1),
                           cell(cases["bi:4194304:8"], 1),
                           number(cases["bw:4194304:8"][3])]
                          for name, cases in sorted(found["rails"].items())]),
                  "A process copies what it reads, in one thread, whatever the "
                  "number of devices (process_vm_readv): more of them cannot "
                  "be faster here than one"]
    if "peers" in found:
        lines += ["", "## A connected peer, both sides together",
                  *table(["peers", "bytes each", "create, us",
                          "and first message, us", "close, us"],
                         [[name, *map(number, row)]
                          for name, row in found["peers"].items()])]
    return lines


def text(found):
    lines = ["# One run of bench/run.sh" +
             (" --quick" if found["quick"] else ""), "",
             *[f"- {name}: {value}"
               for name, value in found["machine"].items()],
             f"- seconds: {found['seconds']}",
             "- the device is emulated (efasim): ratios and instructions "
             "tell, absolute times do not"]
    lines += targets_text(found)
    for name, part in (("sizes", sizes_text),
                       ("instructions", instructions_text),
                       ("matching", matching_text)):
        if name in found:
            lines += part(found)
    if "instructions" in found:
        lines += locked_text(found)
    lines += floors_text(found)
    lines += intree_text(found)
    if "cpu" in found:
        lines += cpu_text(found["cpu"])
    if "cachelines" in found:
        lines += cachelines_text(found)
    lines += small_text(found)
    lines += ["", "## Not measured"]
    lines += [f"- {name}: {why}"
              for name, why in found["not measured"].items()]
    return "\n".join(lines) + "\n"
