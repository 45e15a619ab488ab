#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs all studies, prints the tables, writes JSON."""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

import collectives
import columns
import cpu
import report
import studies
import targets
from launch import TOP, Bench, Failed, Missing, write


def said(command, pattern):
    """The group of the first match of PATTERN in COMMAND's output."""
    match = re.search(pattern, subprocess.getoutput(command), re.M)
    return match.group(1) if match else "not there"


def machine():
    """The machine on which the figures were taken."""
    return {
        "cpu": said("cat /proc/cpuinfo", r"^model name\s*: (.*)$"),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "system": said("cat /etc/os-release", '^PRETTY_NAME="(.*)"'),
        "load at start": os.getloadavg()[0],
        "commit": said(f"git -C '{TOP}' describe --always --dirty", "^(.*)$"),
        "UCX": said("ucx_info -v", r"Version (\S+)"),
        **{name: os.path.basename(os.path.realpath(said(
            "ldconfig -p", rf"{name}\.so\.\d+ .*=> (\S+)")))
           for name in ("libucp", "libefa", "libibverbs", "libfabric")},
    }


class Run:
    """All that was found, and why the rest was not."""

    def __init__(self, bench, only):
        self.bench, self.only = bench, only
        self.found = {"machine": machine(), "quick": bench.quick, "not measured": {}}
        self.unknown = [] # goals that may be lost: their measure failed

    def study(self, name, function, *arguments):
        without = self.found["not measured"]
        if self.only and name not in self.only:
            without[name] = "not asked for (--only)"
            return
        self.bench.say(f"{name}:")
        try:
            result = function(self.bench, *arguments)
        except (Failed, OSError, subprocess.SubprocessError) as error:
            without[name] = str(error)
            if not isinstance(error, Missing):
                self.unknown += targets.unknown(name, None, {})
            return
        if isinstance(result, tuple):
            result, failures = result
            without.update({f"{name}, {key}": why
                            for key, why in failures.items()})
            self.unknown += targets.unknown(name, result, failures)
        self.found[name] = result

    def all(self):
        there, without, broken = columns.all_columns(self.bench)
        self.unknown += [name for name in broken if name in targets.ASKED]
        self.found["not measured"].update(without)
        self.found["labels"] = self.bench.labels
        self.study("ratios", studies.ratios, there)
        self.study("host", studies.host)
        self.study("sizes", studies.sizes, there)
        self.study("instructions", studies.instructions)
        self.study("floors", studies.operations)
        if "direct" not in without:
            self.study("instructions_direct", studies.instructions, "--direct")
            self.study("floors_direct", studies.floors_direct)
        self.study("intree", studies.intree)
        self.study("network", studies.network)
        self.study("collectives", collectives.study)
        self.study("intree_floors", studies.intree_floors)
        self.study("cpu", cpu.study)
        self.study("shapes", cpu.shapes)
        self.study("kernels", studies.kernels)
        self.found["seconds"] = round(time.time() - self.bench.start)
        self.found["targets"] = targets.verdicts(self.found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    for name in ("--only", "--out", "--page"):
        parser.add_argument(name, default="")
    parser.add_argument("build")
    options = parser.parse_args()
    build = os.path.realpath(options.build)
    out = options.out or os.path.join(build, "bench", "results")
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as work:
        run = Run(Bench(build, options.quick, work),
                  [name for name in options.only.split(",") if name])
        run.all()
    text = report.text(run.found)
    print(text)
    write(os.path.join(out, "bench.json"), json.dumps(run.found, indent=1).encode())
    write(os.path.join(out, "bench.txt"), text.encode())
    if options.page:
        report.put(options.page, text.split("\n"))
    print(f"written: {out}/bench.json and bench.txt")
    lost = targets.lost(run.found["targets"])
    if run.unknown:
        sys.exit("run.sh: failed, so that goals may be lost (\"not measured\" says "
                 "why): " + "; ".join(run.unknown + lost))
    if lost:
        sys.exit("run.sh: lost, though it was met before: " + "; ".join(lost))


main()
