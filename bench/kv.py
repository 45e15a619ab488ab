#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Blocks of a key-value cache moved by NIXL between two emulated hosts: this
module with lists and without, and what a user would take instead, in turn, in
one run. Every byte is compared, and the device's counters must have them.

usage: bench/kv.py [--release 13|sid] [OPTION]... [BUILD_DIR]

WRITE needs RDMA WRITE, which Debian 12's rdma-core has not: --release runs it in
another Debian (contrib/ci/chroot.sh makes it). The wheel's own srd finds libefa
in Debian 13, the direct data path serves in sid. NIXL is taken from the cache of
suite python, or --python names a Python that has it."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "run"))
from launch import (CACHE, CHROOT, Bench, Failed, # noqa: E402 (after its path)
                    free_port)
from report import table # noqa: E402

SHAPES = "1024x4096,1024x65536,4096x16384,16384x4096,16384x16384"


class Arm:
    """A way that the blocks go."""

    def __init__(self, label, tls, lists=0, module=True, env=()):
        self.label, self.module = label, module
        self.over_device = tls != "tcp"
        self.env = [f"UCX_TLS={tls}", f"NIXL_UCX_SGL_ENABLE={lists}", *env]


OURS = "srd,cuda_copy,sm,self,tcp"
ARMS = {
    "lists": Arm("this module, lists", OURS, 1),
    "blocks": Arm("this module, a call a block", OURS),
    "lists_libefa": Arm("lists, over libefa", OURS, 1,
                        env=["UCX_EFA_DIRECT=n"]),
    "intree": Arm("the wheel's own srd", OURS, module=False),
    "tcp": Arm("UCX tcp", "tcp", module=False),
}


def environment(arm, bench, options):
    env = [*arm.env, "PYTHONPATH=" + ":".join(
        [os.path.join(TOP, "contrib", "examples"),
         os.path.join(TOP, "test", "gpu", "python")]),
        "PATH=" + os.path.join(bench.build, "bin") + ":" + os.environ["PATH"]]
    env += ["KV_ALONE=y"] if options.alone else []
    env += [f"KV_AGAIN={options.again}"] if options.again else []
    if options.memory == "gpu":
        env.append("LD_LIBRARY_PATH=" + ":".join(
            [os.path.join(bench.build, "test", "gpu"),
             os.environ.get("LD_LIBRARY_PATH", "")]))
    return env


def run(arm, bench, options):
    """The lines of a run of both sides, checked."""
    port = free_port()
    command = [*[bench.srdrun] * arm.module, options.python, "-B",
               os.path.join(HERE, "kv", "side.py"), options.memory,
               options.shapes, options.operations, str(port)]
    device = ["--device", options.device]
    if options.memory == "gpu":
        device += ["--gpus", "1", "--no-peer-memory"]
    text, counters = bench.two(command, [*command, "127.0.0.1"], port,
                               limit=300, options=device,
                               env=environment(arm, bench, options))
    if not text.rstrip().endswith("ok"):
        raise Failed("it did not end")
    lines = [json.loads(line) for line in text.splitlines()
             if line.startswith("{")]
    counters.check(sum(line["moved"] for line in lines), arm.over_device)
    return lines


def measure(bench, options):
    """{(arm, operation, blocks, size): [lines of the rounds]}, {arm: why not}"""
    found, missing = {}, {}
    for turn in range(options.rounds):
        for name in options.arms:
            if name in missing:
                continue
            print(f"round {turn + 1} of {options.rounds}: {ARMS[name].label}",
                  file=sys.stderr, flush=True)
            try:
                lines = run(ARMS[name], bench, options)
            except Failed as error:
                missing[name] = str(error)
                print(f"  not measured: {error}", file=sys.stderr)
                continue
            for line in lines:
                key = name, line["operation"], line["blocks"], line["size"]
                found.setdefault(key, []).append(line)
    return found, missing


def summary(lines):
    """The medians of all transfers of all rounds."""
    blocks, size = lines[0]["blocks"], lines[0]["size"]

    def median(name):
        return statistics.median(value for line in lines
                                 for value in line[name])

    sums = {name: sum(line["counters"][name] for line in lines)
            for name in lines[0]["counters"]}
    pieces = sums["rdma_read_wrs"] + sums["rdma_write_wrs"] + sums["send_wrs"]
    return {
        "bytes_per_second": blocks * size / median("seconds"),
        "cpu_us_per_block_mover": median("cpu_mover") / blocks * 1e6,
        "cpu_us_per_block_owner": median("cpu_owner") / blocks * 1e6,
        "requests_per_doorbell": pieces / sums["doorbells"]
        if sums["doorbells"] else None,
    }


HEAD = ["operation", "blocks", "which", "GB/s", "CPU a block, µs: mover", "owner",
        "requests a doorbell"]


def text_of(data):
    rows = sorted(data["rows"], key=lambda row: (
        row["operation"] != "WRITE", row["blocks"] * row["size"],
        row["blocks"], list(ARMS).index(row["arm"])))
    return table("Blocks of a key-value cache", HEAD, [
        [row["operation"], f"{row['blocks']} of {row['size'] // 1024} kB",
         ARMS[row["arm"]].label, f"{row['bytes_per_second'] / 1e9:.2f}",
         f"{row['cpu_us_per_block_mover']:.2f}",
         f"{row['cpu_us_per_block_owner']:.2f}",
         f"{row['requests_per_doorbell'] or 0:.1f}"] for row in rows]) + [
             f"not measured: {ARMS[name].label}: {why}"
             for name, why in data["missing"].items()]


def plot(data, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shapes = sorted({(row["blocks"], row["size"]) for row in data["rows"]},
                    key=lambda shape: (shape[0] * shape[1], shape))
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), sharex=True)
    values = (("bytes_per_second", 1e-9, "GB/s (more is better)"),
              ("cpu_us_per_block_mover", 1,
               "CPU a block, mover, µs (less is better)"))
    arms = [name for name in ARMS
            if any(row["arm"] == name for row in data["rows"])]
    for column, operation in enumerate(("WRITE", "READ")):
        for line, (value, factor, title) in enumerate(values):
            axis = axes[line][column]
            for i, name in enumerate(arms):
                heights = [sum(row[value] * factor for row in data["rows"]
                               if (row["arm"], row["operation"], row["blocks"],
                                   row["size"]) == (name, operation, *shape))
                           for shape in shapes]
                axis.bar([x + 0.8 * i / len(arms) for x in range(len(shapes))],
                         heights, 0.8 / len(arms), label=ARMS[name].label)
            axis.set_title(f"{operation}: {title}", fontsize=9)
            axis.set_xticks([x + 0.4 for x in range(len(shapes))],
                            [f"{blocks} ×\n{size // 1024} kB"
                             for blocks, size in shapes], fontsize=8)
            axis.grid(axis="y", alpha=0.3)
    axes[0][0].legend(fontsize=7)
    figure.suptitle("Blocks of a key-value cache by NIXL, "
                    f"{data['memory']} memory (emulated device)")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def versions(options):
    done = subprocess.run([options.python, "-c", "from importlib.metadata "
                           "import version; print(version('nixl'))"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"kv.py: {options.python} has no NIXL: suite python makes an "
                 "environment (contrib/test.sh python), or --python names one")
    return done.stdout.strip()


def in_release(options, argv):
    """The same in another Debian; its results."""
    base = subprocess.run(
        [options.python, "-c", "import os, sys; "
         "print(os.path.realpath(sys.base_prefix))"],
        capture_output=True, text=True, check=True).stdout.strip()
    if base == "/usr":
        sys.exit(f"kv.py: Debian {options.release} has another Python than "
                 f"{options.python}: take one that does not lie in /usr")
    with tempfile.NamedTemporaryFile(dir=options.build, suffix=".json") as file:
        environment_folder = os.path.dirname(os.path.dirname(options.python))
        done = subprocess.run(
            [CHROOT, "--bind", options.build, "--bind", base,
             "--bind", environment_folder, options.release, "--",
             options.python, "-B", os.path.abspath(__file__), *argv,
             "--python", options.python, "--release", "inside",
             "--json", file.name, "--plot", "", options.build], check=False)
        if done.returncode:
            sys.exit(done.returncode)
        return json.load(file)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", nargs="?",
                        default=os.path.join(TOP, "build"))
    parser.add_argument("--release", default="here", help="13 or sid")
    parser.add_argument("--python", default=os.path.join(
        CACHE, "nixl", "bin", "python"))
    parser.add_argument("--memory", choices=("host", "gpu"), default="host",
                        help="gpu: the emulated one of the tests")
    parser.add_argument("--shapes", default=SHAPES, help="BLOCKSxBYTES,...")
    parser.add_argument("--operations", default="WRITE,READ")
    parser.add_argument("--arms", default=",".join(ARMS), help=", ".join(
        f"{name} ({arm.label})" for name, arm in ARMS.items()))
    parser.add_argument("--device", default="efa2", help="of efasim")
    parser.add_argument("--alone", action="store_true",
                        help="without NIXL's thread of progress at the mover: "
                        "it polls as long as\nthe process lives, and its CPU "
                        "counts")
    parser.add_argument("--again", type=int, default=0, metavar="N",
                        help="the same bytes N times, compared then: what perf "
                        "sees is transfers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", default="", help="a file for the figures")
    parser.add_argument("--plot", default="",
                        help="a PNG file (matplotlib)")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    options.python = os.path.abspath(options.python)
    options.arms = options.arms.split(",")
    unknown = [name for name in options.arms if name not in ARMS]
    if unknown:
        parser.error(f"unknown arm {unknown[0]}; there are {', '.join(ARMS)}")
    return options


def main():
    options = arguments()
    if options.release not in ("here", "inside"):
        argv = [word for word in sys.argv[1:] if word != options.build]
        data = in_release(options, argv)
    else:
        nixl = versions(options)
        with tempfile.TemporaryDirectory() as work:
            found, missing = measure(Bench(options.build, False, work),
                                     options)
        data = {"nixl": nixl, "memory": options.memory,
                "device": options.device, "alone": options.alone, "rounds": options.rounds,
                "missing": missing, "rows": [
                    {"arm": arm, "operation": operation, "blocks": blocks,
                     "size": size, **summary(lines)}
                    for (arm, operation, blocks, size), lines in found.items()]}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
    if options.plot and data["rows"]:
        plot(data, options.plot)
    if options.release != "inside":
        print("\n".join(text_of(data)))


if __name__ == "__main__":
    main()
