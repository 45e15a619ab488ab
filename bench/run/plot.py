# SPDX-License-Identifier: BSD-3-Clause
"""Plots that tell what they show without the text."""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (after the choice above)

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


def draw(found, out):
    if "sizes" in found:
        latency(found, out)
