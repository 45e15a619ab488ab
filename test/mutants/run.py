#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Break lines of a part of the source (mutator.py), one at a time, and run its tests
(areas.py) until one fails.
BUILD_DIR is one after "make test-programs".
usage: run.py [--jobs N] [--one-of N | --count N] [--match REGEX] AREA SOURCE_DIR BUILD_DIR
N of --one-of: about one mutant of N; --count: so many; which, their names decide,
not chance. A mutant that compiles to the same code, or that survivors.txt names,
does not run. A line each; exit status 1 if another survives (P15)."""

import argparse
import concurrent.futures
import filecmp
import glob
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from areas import AREAS  # noqa: E402
from mutator import mutants  # noqa: E402


def judge(memory, seconds, environment, command):
    """(CPU time it used, None if it passed, else how it failed); too much CPU
    time ends a hang."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    program = subprocess.Popen(command, env={**os.environ, **environment},
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, preexec_fn=limits)
    _, status, usage = os.wait4(program.pid, 0)
    used = usage.ru_utime + usage.ru_stime
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return used, ("hangs" if number in (signal.SIGXCPU, signal.SIGKILL)
                      else f"signal {number}")
    return used, f"status {status >> 8}" if status else None


class Runner:
    def __init__(self, area, jobs):
        self.area = area
        self.trees = queue.Queue()
        for number in range(jobs):
            tree = f"{area.work}/{number}"
            shutil.copytree(area.source + "/src", tree + "/src")
            self.trees.put(tree)
        self.sound = f"{area.work}/sound"
        os.makedirs(self.sound)
        area.link(self.sound, {})
        self.seconds = {}
        self.lock = threading.Lock()

    def limit(self, words):
        """Thrice the CPU time that the unchanged one needs."""
        with self.lock:
            if words not in self.seconds:
                used, failed = judge(self.area.memory, 300,
                                     *self.area.command(self.sound, words))
                if failed:
                    sys.exit(f"unchanged it fails already: {words}: {failed}")
                self.seconds[words] = int(3 * used) + 2
            return self.seconds[words]

    def compiled(self, tree, mutant, path):
        """{object: the mutant's}, without those that are the same code. None:
        it is no C."""
        own = {}
        with open(f"{tree}/{path}", encoding="utf-8") as file:
            text = file.read()
        for mine in self.area.users(path):
            out = f"{tree}/{os.path.basename(mine)}"
            sound = out + ".sound"
            if not os.path.exists(sound):
                self.area.compile(tree, mine, sound)
            with open(f"{tree}/{path}", "w", encoding="utf-8") as file:
                file.write(mutant.apply(text))
            good = self.area.compile(tree, mine, out)
            with open(f"{tree}/{path}", "w", encoding="utf-8") as file:
                file.write(text)
            if not good:
                return None
            if not filecmp.cmp(out, sound, False):
                own[mine] = out
        return own

    def look(self, item):
        """(mutant, what became of it)."""
        path, mutant = item
        tree = self.trees.get()
        try:
            own = self.compiled(tree, mutant, path)
            if not own:
                return mutant, "no C" if own is None else "same code"
            self.area.link(tree, own)
            for words in self.area.commands:
                seconds = self.limit(words)
                how = judge(self.area.memory, seconds,
                            *self.area.command(tree, words))[1]
                if how:
                    return mutant, f"caught by {words}: {how}"
            return mutant, "SURVIVES"
        finally:
            self.trees.put(tree)


def survivors(area):
    """{name: why}"""
    known = {}
    path = os.path.dirname(os.path.abspath(__file__)) + f"/{area}.txt"
    if not os.path.exists(path):
        return known
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("  "):
                known[name] = line.strip()
            elif line.strip() and not line.startswith("#"):
                name = line.strip()
                known[name] = None
    return known


def choose(area, options, known):
    """[(path, mutant)]"""
    every = []
    for folder in area.folders:
        for path in sorted(glob.glob(f"{area.source}/{folder}/*.[ch]")):
            if os.path.basename(path) not in area.spared:
                with open(path, encoding="utf-8") as file:
                    every += [(os.path.relpath(path, area.source), mutant)
                              for mutant in mutants(os.path.basename(path),
                                                    file.read())]
    stale = set(known) - {mutant.name for _, mutant in every}
    if stale:
        sys.exit("no such mutants any more: " + "; ".join(sorted(stale)))
    every = [each for each in every if each[1].name not in known and
             re.search(options.match, each[1].name)]
    every.sort(key=lambda each: each[1].rank)
    chosen = [each for each in every
              if each[1].rank < (1 << 32) / options.one_of]
    return chosen[:options.count]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--one-of", type=float, default=1)
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--match", default="")
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("source")
    parser.add_argument("build")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    work = f"{build}/mutants/{options.area}"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    area = AREAS[options.area](os.path.abspath(options.source), build, work)
    chosen = choose(area, options, survivors(options.area))
    area.prepare()
    runner = Runner(area, options.jobs)
    alive = tried = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant, end in pool.map(runner.look, chosen):
            alive += end == "SURVIVES"
            tried += end not in ("no C", "same code")
            print(f"{end} | {mutant.name}", flush=True)
    print(f"{tried} mutants, {alive} survive")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
