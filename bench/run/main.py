#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs all studies, prints the tables, writes JSON and plots.

usage: main.py [--quick] [--only STUDY,...] [--out DIR] BUILD_DIR
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

import cachelines
import columns
import cpu
import floors
import perftest
import report
import sizes
import studies
import targets
import wheel
from launch import Bench, Failed, Missing


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "not there"
    return (done.stdout or done.stderr).strip().split("\n")[0]


def machine():
    """The machine on which the figures were taken."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    libraries = {}
    for name in ("libucp", "libefa", "libibverbs", "libfabric", "libmpi"):
        files = subprocess.run(["ldconfig", "-p"], capture_output=True,
                               text=True, check=False).stdout
        match = re.search(rf"{name}\.so\.\d+ .*=> (\S+)", files)
        libraries[name] = (os.path.basename(os.path.realpath(match.group(1)))
                           if match else "not there")
    with open("/etc/os-release", encoding="utf-8") as file:
        system = re.search(r'^PRETTY_NAME="(.*)"', file.read(), re.M)
    return {
        "cpu": model.group(1) if model else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "system": system.group(1) if system else "unknown",
        "load at start": os.getloadavg()[0],
        "commit": first_line("git", "-C", columns.TOP, "describe", "--always",
                             "--dirty"),
        "UCX": first_line("ucx_info", "-v").lstrip("# "),
        "Open MPI": first_line("mpirun", "--version"),
        **libraries,
    }


class Run:
    """All that was found, and why the rest was not."""

    def __init__(self, bench, only):
        self.bench, self.only, self.start = bench, only, time.time()
        self.found = {"machine": machine(), "quick": bench.quick,
                      "not measured": {}}
        self.unknown = [] # goals that may be lost: their measure failed

    def say(self, text):
        print(f"   {time.time() - self.start:6.0f} s  {text}", file=sys.stderr,
              flush=True)

    def study(self, name, function, *arguments):
        if self.only and name not in self.only:
            self.found["not measured"][name] = "not asked for (--only)"
            return
        self.say(f"{name}:")
        try:
            result = function(self.bench, *arguments)
        except (Failed, OSError, subprocess.SubprocessError) as error:
            self.found["not measured"][name] = str(error)
            if not isinstance(error, Missing):
                self.unknown += targets.unknown(name, None, {})
            return
        if isinstance(result, tuple):
            result, failures = result
            self.found["not measured"].update(
                {f"{name}, {key}": why for key, why in failures.items()})
            self.unknown += targets.unknown(name, result, failures)
        self.found[name] = result

    def all(self):
        there, without, broken = columns.all_columns(self.bench)
        self.unknown += [name for name in broken if name in targets.ASKED]
        self.found["not measured"].update(without)
        self.found["labels"] = {column.name: column.label for column in there}
        why = perftest.reason()
        if why:
            self.found["not measured"]["verbs"] = why
        else:
            there.insert(0, perftest.Perftest())
            self.found["labels"]["verbs"] = perftest.Perftest.label
        quick, cases = self.bench.quick, {}
        cases[""] = sizes.cases_of(quick)
        cases["verbs"] = sizes.cases_of_perftest(quick)
        self.study("ratios", targets.measure, there, self.say)
        self.study("rails", studies.rails, self.say)
        self.study("host", studies.host, there, self.say)
        self.study("sizes", sizes.in_turn, there, cases, self.say)
        self.study("matching", studies.tag_matching, there, self.say)
        self.study("instructions", floors.transport)
        self.study("floors_ns", floors.named_times)
        self.study("floors_rdma", floors.with_rdma)
        if "direct" not in without:
            self.study("floors_direct", floors.direct)
            self.study("instructions_direct", floors.transport, "--direct")
        self.study("intree", wheel.beside, self.say)
        self.study("intree_floors", wheel.instructions)
        self.study("cpu", cpu.study, self.say)
        self.study("floors", floors.operations) # the last: see profile()
        self.study("peers", studies.peers)
        if quick:
            self.found["not measured"]["cachelines"] = "not with --quick"
        else:
            self.study("cachelines", cachelines.study)
        self.found["seconds"] = round(time.time() - self.start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default="")
    parser.add_argument("build")
    options = parser.parse_args()
    build = os.path.realpath(options.build)
    out = options.out or os.path.join(build, "bench", "results")
    os.makedirs(out, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as work:
        run = Run(Bench(build, options.quick, work),
                  [name for name in options.only.split(",") if name])
        run.all()
        verdict = targets.verdicts(run.found)
        run.found["targets"] = verdict
        if any(not line["met"] for line in verdict):
            run.found["profile"] = floors.profile(run.bench)
    with open(os.path.join(out, "bench.json"), "w", encoding="utf-8") as file:
        json.dump(run.found, file, indent=1)
    text = report.text(run.found)
    with open(os.path.join(out, "bench.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text)
    try:
        import plot
        plot.draw(run.found, out)
    except ImportError as error:
        print(f"not drawn: {error} (Debian: python3-matplotlib)")
    print(f"written: {out}/bench.json, bench.txt and the plots")
    if run.unknown:
        sys.exit("run.sh: failed, so that goals may be lost (\"not measured\" says "
                 "why): " + "; ".join(run.unknown + targets.lost(verdict)))
    if targets.lost(verdict):
        sys.exit("run.sh: lost, though it was met before (docs/BENCH.md, \"The "
                 "goals\"): " + "; ".join(targets.lost(verdict)))


main()
