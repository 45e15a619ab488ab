# SPDX-License-Identifier: BSD-3-Clause
"""Plots that tell what they show without the text."""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (after the choice above)

import columns  # noqa: E402
import targets  # noqa: E402
from report import size_name  # noqa: E402


def save(figure, out, name):
    figure.tight_layout()
    figure.savefig(os.path.join(out, name), dpi=80)
    plt.close(figure)


def latency(found, out):
    figure, axes = plt.subplots(figsize=(8, 4.8))
    ticks = set()
    for name in found["sizes"]:
        points = [(int(case[4:]), value) for case in found["sizes"][name]
                  if case.startswith("lat:") for value in
                  [targets.median(found, "sizes", name, case, 0)] if value]
        if points:
            axes.loglog(*zip(*points), marker="o", markersize=4,
                        label=found["labels"][name],
                        linewidth=2.6 if name in targets.OURS else 1.3)
            ticks |= {size for size, _ in points}
    ticks = sorted(ticks - {512, 8192})
    axes.set_xticks(ticks, [size_name(size) for size in ticks])
    axes.minorticks_off()
    axes.set_xlabel("message size")
    axes.set_ylabel("half a round trip, us (less is better)")
    axes.set_title("Latency by message size (emulated device)")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, out, "latency.png")


def instructions(found, out):
    """Ours beside UCX's own srd, stacked: UCP, transport, libefa."""
    phases = {"tag_8": "tag message of 8 B, both ends", "get_8": "get of 8 B",
              "put_8": "put of 8 B, posted",
              "progress_idle": "progress, nothing there"}
    figure, axes = plt.subplots(figsize=(8, 4.8))
    for i, phase in enumerate(phases):
        for j, name in enumerate(columns.WHOLE):
            where, left = i + (j - 1) * 0.28, 0
            for floor, alpha in (("UCP", 0.3), ("transport", 1), ("verbs", 0.6)):
                count = found["intree_floors"][name][phase][floor]
                axes.barh(where, count, 0.26, left=left, alpha=alpha,
                          color=f"C{j}")
                left += count
            axes.text(left + 8, where, f"{left:.0f} {columns.RIVALS[name]}",
                      va="center", fontsize=8)
    axes.set_yticks(range(len(phases)), list(phases.values()))
    axes.invert_yaxis()
    axes.set_xlim(0, 1600)
    axes.set_xlabel("instructions: UCP (light), transport (full), libefa (fewer "
                    "is better)")
    axes.set_title("What an operation costs the CPU, over one libucp and libefa")
    save(figure, out, "instructions.png")


def draw(found, out):
    if "sizes" in found:
        latency(found, out)
    if "intree_floors" in found:
        instructions(found, out)
