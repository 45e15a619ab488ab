#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of a key-value cache moved by NIXL between two emulated hosts: this
module with lists and without, and what a user would take instead, in turn, in
one run. Every byte is compared, and the device's counters must have them.

WRITE needs RDMA WRITE, which Debian 12's rdma-core has not: --release runs it in
another Debian (contrib/ci/chroot.sh makes it). The wheel's own srd finds libefa
in Debian 13, the direct data path serves in sid. NIXL is taken from the cache of
suite python, or --python names a Python that has it."""
import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "run"))
import targets # noqa: E402 (after its path)
from columns import Column, in_sid # noqa: E402
from launch import CACHE, TOP, Bench, Failed, write # noqa: E402
from report import table # noqa: E402
from studies import in_turn # noqa: E402

SHAPES = "1024x4096,1024x65536,4096x16384,16384x4096,16384x16384"
OURS = "srd,cuda_copy,sm,self,tcp"
ARMS = { # name: label, UCX_TLS, with lists, by this module, variables
    "lists": ("this module, lists", OURS, 1, True),
    "blocks": ("this module, a call a block", OURS, 0, True),
    "lists_libefa": ("lists, over libefa", OURS, 1, True, "UCX_EFA_DIRECT=n"),
    "intree": ("the wheel's own srd", OURS, 0, False),
    "tcp": ("UCX tcp", "tcp", 0, False)}
FIGURES = ["bytes_per_second", "cpu_us_per_block_mover", "cpu_us_per_block_owner",
           "requests_per_doorbell"]


class Arm(Column):
    """A way that the blocks go."""

    def __init__(self, name, options, prefix):
        label, tls, lists, module, *env = ARMS[name]
        env += [f"NIXL_UCX_SGL_ENABLE={lists}", f"PYTHONPATH={TOP}/contrib/examples",
                f"PATH={options.build}/bin:{os.environ['PATH']}",
                *["KV_ALONE=y"] * options.alone]
        super().__init__(name, label, tls, env=env, srdrun=module,
                         options=["--device", "efa2"],
                         over_device=tls != "tcp", prefix=prefix)
        self.words = [options.python, "-B", os.path.join(HERE, "kv", "side.py")]

    def measure(self, bench, cases):
        """{case: the figures, medians of its transfers}"""
        text, counters = bench.two(
            self.command(bench, *self.words, ",".join(cases)), limit=300,
            **self.where())
        if not text.rstrip().endswith("ok"):
            raise Failed("it did not end")
        lines = [json.loads(line) for line in text.splitlines()
                 if line.startswith("{")]
        counters.check(sum(line["moved"] for line in lines), self.over_device)
        return {line["case"]: self.figures(line) for line in lines}

    @staticmethod
    def figures(line):
        blocks, size = map(int, line["case"].split(":")[1].split("x"))
        took, mover, owner = map(statistics.median, zip(*line["samples"]))
        rung = line["counters"]["doorbells"]
        pieces = sum(line["counters"][name] for name in
                     ("rdma_read_wrs", "rdma_write_wrs", "send_wrs"))
        return (blocks * size / took, mover / blocks * 1e6, owner / blocks * 1e6,
                pieces / rung if rung else None)


def rows_of(found):
    """A dictionary for each case and arm, in the order of the table: WRITE first."""
    cases = dict.fromkeys(case for cases in found.values() for case in cases)
    for case in sorted(cases, key=lambda case: case.startswith("READ")):
        operation, blocks, size = case.replace("x", ":").split(":")
        for name in found:
            values = [targets.median({"kv": found}, "kv", name, case, index)
                      for index in range(len(FIGURES))]
            if values[0]:
                yield {"arm": name, "operation": operation, "blocks": int(blocks),
                       "size": int(size), **dict(zip(FIGURES, values))}


def table_of(data):
    """A row for each operation and shape, a column for each way."""
    arms = list(dict.fromkeys(row["arm"] for row in data["rows"]))
    cells = {}
    for row in data["rows"]:
        case = (row["operation"], row["blocks"], row["size"])
        cells.setdefault(case, {})[row["arm"]] = (
            f"{row['bytes_per_second'] / 1e9:.2f}; "
            f"{row['cpu_us_per_block_mover']:.1f}")
    return table("Blocks moved by NIXL: GB/s; CPU a block at the mover, µs",
                 ["", *[ARMS[name][0] for name in arms]],
                 [[f"{operation} {blocks} of {size // 1024} kB",
                   *[there.get(name, "") for name in arms]]
                  for (operation, blocks, size), there in cells.items()])


def plot(data, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shapes = list(dict.fromkeys((row["blocks"], row["size"]) for row in data["rows"]))
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), sharex=True)
    values = (("bytes_per_second", 1e-9, "GB/s (more is better)"),
              ("cpu_us_per_block_mover", 1, "CPU a block, mover, µs (less is better)"))
    arms = list(dict.fromkeys(row["arm"] for row in data["rows"]))
    for column, operation in enumerate(("WRITE", "READ")):
        for line, (value, factor, title) in enumerate(values):
            axis = axes[line][column]
            for i, name in enumerate(arms):
                there = [row for row in data["rows"] if row["arm"] == name and
                         row["operation"] == operation]
                axis.bar([shapes.index((row["blocks"], row["size"])) +
                          0.8 * i / len(arms) for row in there],
                         [row[value] * factor for row in there],
                         0.8 / len(arms), label=ARMS[name][0])
            axis.set_title(f"{operation}: {title}", fontsize=9)
            axis.set_xticks([x + 0.4 for x in range(len(shapes))],
                            [f"{blocks} ×\n{size // 1024} kB"
                             for blocks, size in shapes], fontsize=8)
            axis.grid(axis="y", alpha=0.3)
    axes[0][0].legend(fontsize=7)
    figure.suptitle("Blocks of a key-value cache by NIXL, host memory (emulated device)")
    figure.tight_layout()
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=80)
    write(path, picture.getvalue())


def python_says(options, text):
    done = subprocess.run([options.python, "-I", "-c", text], capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f"kv.py: {options.python} has no NIXL: suite python makes an "
                 "environment (contrib/test.sh python), or --python names one")
    return done.stdout.strip()


def prefix_of(bench, options):
    """The words ahead of a command that is to run in the Debian asked for."""
    if options.release == "here":
        return []
    base = python_says(options, "import os, sys; print(os.path.realpath(sys.base_prefix))")
    if base == "/usr":
        sys.exit(f"kv.py: Debian {options.release} has another Python than "
                 f"{options.python}: take one that does not lie in /usr")
    return in_sid(bench, "", [base, os.path.dirname(os.path.dirname(options.python))],
                  options.release)


def measure(options):
    with tempfile.TemporaryDirectory(dir=options.build) as work:
        bench = Bench(options.build, False, work)
        prefix = prefix_of(bench, options)
        found, missing = in_turn(
            bench, [Arm(name, options, prefix) for name in options.arms.split(",")],
            [f"{operation}:{shape}" for shape in options.shapes.split(",")
             for operation in ("WRITE", "READ")], options.rounds)
    return {"nixl": python_says(options, "from importlib.metadata import version; "
                                "print(version('nixl'))"),
            "alone": options.alone, "rounds": options.rounds,
            "rows": list(rows_of(found)), "missing": missing}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("build", nargs="?", default=os.path.join(TOP, "build"))
    add("--release", default="here", help="13 or sid")
    add("--python", default=os.path.join(CACHE, "nixl", "bin", "python"))
    add("--shapes", default=SHAPES, help="BLOCKSxBYTES,...")
    add("--arms", default=",".join(ARMS), help=", ".join(
        f"{name} ({arm[0]})" for name, arm in ARMS.items()))
    add("--alone", action="store_true",
        help="without NIXL's thread of progress at the mover: it polls as long as\n"
        "the process lives, and its CPU counts")
    add("--rounds", type=int, default=3)
    add("--json", default="", help="a file for the figures")
    add("--plot", default="", help="a PNG file (Debian: python3-matplotlib)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.python = os.path.abspath(options.python)
    unknown = set(options.arms.split(",")) - set(ARMS)
    if unknown:
        parser.error(f"unknown arm {unknown.pop()}; there are {', '.join(ARMS)}")
    data = measure(options)
    print("\n".join(table_of(data)))
    for why in data["missing"].values():
        print(f"not measured: {why}")
    if options.json:
        write(options.json, json.dumps(data, indent=1).encode())
    if options.plot and data["rows"]:
        plot(data, options.plot)


if __name__ == "__main__":
    main()
