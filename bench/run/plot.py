# SPDX-License-Identifier: BSD-3-Clause
"""Plots that tell what they show without the text."""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (after the choice above)

import wheel  # noqa: E402
from report import size_name  # noqa: E402

COLOURS = {"srd": "#c0392b", "direct": "#e67e22", "verbs": "#2c3e50",
           "ofi": "#2980b9", "ud": "#8e44ad", "tcp": "#7f8c8d",
           "sm": "#27ae60", "mpi_srd": "#d98880", "mpi_ofi": "#85c1e9",
           "verbs65": "#b7950b"}


def series(cases, kind, index):
    points = []
    for case, values in cases.items():
        parts = case.split(":")
        if parts[0] != kind or values[index] is None:
            continue
        if kind != "lat" and parts[1] == "8" and parts[2] != "64":
            continue
        points.append((int(parts[1]), values[index]))
    return sorted(points)


def save(figure, out, name):
    figure.tight_layout()
    figure.savefig(os.path.join(out, name), dpi=80)
    plt.close(figure)


def by_size(found, out, kind, index, name, title, unit):
    figure, axes = plt.subplots(figsize=(8, 4.8))
    ticks = set()
    for column, label in found["labels"].items():
        points = series(found["sizes"].get(column, {}), kind, index)
        if points:
            axes.loglog(*zip(*points), marker="o", markersize=4, label=label,
                        color=COLOURS.get(column),
                        linewidth=2.6 if column in ("srd", "direct") else 1.3)
            ticks |= {size for size, _ in points}
    ticks = [size for size in sorted(ticks) if size not in (512, 8192)]
    axes.set_xticks(ticks, [size_name(size) for size in ticks])
    axes.minorticks_off()
    axes.set_xlabel("message size")
    axes.set_ylabel(unit)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, out, name)


def instructions(found, out):
    """Ours beside UCX's own srd, stacked: UCP, transport, libefa."""
    floors = found["intree_floors"]
    phases = [("tag_8", "tag message of 8 B, both ends"),
              ("get_8", "get of 8 B"), ("put_8", "put of 8 B, posted"),
              ("progress_idle", "progress, nothing there")]
    figure, axes = plt.subplots(figsize=(8, 4.8))
    colours = {"intree": "#34495e", "srd": "#c0392b", "direct": "#e67e22"}
    for i, (phase, _) in enumerate(phases):
        for j, name in enumerate(wheel.WHOLE):
            where, left = i + (j - 1) * 0.28, 0
            for floor, alpha in (("UCP", 0.3), ("transport", 1), ("verbs", 0.6)):
                count = floors[name][phase][floor]
                axes.barh(where, count, 0.26, left=left, alpha=alpha,
                          color=colours[name])
                left += count
            axes.text(left + 8, where, f"{left:.0f} {wheel.LABELS[name]}",
                      va="center", fontsize=8)
    axes.set_yticks(range(len(phases)), [label for _, label in phases])
    axes.invert_yaxis()
    axes.set_xlim(0, 1600)
    axes.set_xlabel("instructions: UCP (light), transport (full), libefa (fewer "
                    "is better)")
    axes.set_title("What an operation costs the CPU, over one libucp and libefa")
    save(figure, out, "instructions.png")


def matching(found, out):
    cases = found["matching"].get("srd") or {}
    figure, axes = plt.subplots(figsize=(8, 4.2))
    for share in (0, 1, 10, 100):
        points = sorted((int(case.split(":")[1]), values[0])
                        for case, values in cases.items()
                        if case.startswith("tag:") and values[0] and
                        case.endswith(f":{share}"))
        if points:
            axes.loglog(*zip(*points), marker="o",
                        label=f"{share} % share the message's bin")
    axes.set_xlabel("receives posted before")
    axes.set_ylabel("latency of 8 B, us")
    axes.set_title("UCP's tag matching over srd: what a long queue costs")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, out, "matching.png")


def draw(found, out):
    if "sizes" in found:
        by_size(found, out, "lat", 0, "latency.png",
                "Latency by message size (emulated device)",
                "half a round trip, us (less is better)")
        by_size(found, out, "bw", 1, "bandwidth.png",
                "One way, 64 messages in flight (emulated device)",
                "MB/s (more is better)")
        by_size(found, out, "bi", 1, "bandwidth-both-ways.png",
                "Both ways, 64 messages in flight (emulated device)",
                "MB/s, both together (more is better)")
    if "intree_floors" in found:
        instructions(found, out)
    if "matching" in found:
        matching(found, out)
