#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Build each mutant of the core and run its tests on it: unit tests, simulator,
explorer, rates; and each of the transport (module.py).
usage: run.py SOURCE_DIR BUILD_DIR [EVERY]
EVERY 5: only each fifth mutant, and only until one of the tests catches it.
Every mutant must be caught (P15): by a failing test, a failing seed, a crash
or a run that does not end. Prints a table; exit status 1 if one survives."""

import glob
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from module import TESTS, Module  # noqa: E402
from table import MUTANTS  # noqa: E402
from transport import TRANSPORT  # noqa: E402

KINDS = {"gtest": ("test/gtest/flow", "test/driver"),
         "sim": ("test/sim", "test/driver"),
         "rate": ("test/sim", "test/driver"),
         "link": ("test/sim", "test/driver"),
         "model": ("test/model",)}
# Files of test/sim: those of "rate" and "link"; for "sim" all but these and programs of
# their own.
ONLY = {"rate": ("rate.cc", "rate_host.cc", "rate_phases.cc", "rate_report.cc",
                 "rate_trickle.cc"),
        "link": ("link.cc", "link_host.cc", "link_ideal.cc",
                 "link_network.cc")}
NOT_SIM = ONLY["rate"] + ONLY["link"] + ("scale.cc", "crowd.cc")
CFLAGS = ["-std=gnu11", "-O1", "-g", "-fPIC", "-ffreestanding"]
CXXFLAGS = ["-std=gnu++17", "-O1", "-g"]


def compile_all(jobs):
    """Run compile commands, two at a time."""
    running = []
    for job in jobs:
        running.append(subprocess.Popen(job))
        if len(running) == 2:
            if running.pop(0).wait() != 0:
                sys.exit("cannot compile: " + " ".join(job))
    for process in running:
        if process.wait() != 0:
            sys.exit("cannot compile a mutant")


class Builder:
    def __init__(self, source, build):
        self.source = source
        self.build = build
        self.work = os.path.join(build, "mutants")
        self.core = sorted(f for f in os.listdir(source + "/src/flow")
                           if f.endswith(".c"))
        self.recorder = sorted(f for f in os.listdir(source + "/src/record")
                               if f.endswith(".c"))
        self.tests = {
            kind: sorted(os.path.join(source, folder, f)
                         for folder in folders
                         for f in os.listdir(os.path.join(source, folder))
                         if f.endswith(".cc") and self.belongs(kind, f))
            for kind, folders in KINDS.items()}

    @staticmethod
    def belongs(kind, name):
        """Is a file of a folder of this kind part of its program?"""
        if kind in ONLY:
            return name in ONLY[kind] or name == "driver.cc"
        return name not in NOT_SIM

    def objects(self, tree, out, core, tests, recorder=()):
        """Compile core files, tests and the recorder (of the simulator)
        against a tree into out."""
        jobs = []
        for name in core:
            jobs.append(["gcc", *CFLAGS, "-I", tree, "-c",
                         f"{tree}/flow/{name}", "-o", f"{out}/{name}.o"])
        for name in recorder:
            jobs.append(["gcc", "-std=gnu11", "-O1", "-g", "-D_GNU_SOURCE",
                         "-I", tree, "-I", self.source + "/src", "-c",
                         f"{self.source}/src/record/{name}", "-o",
                         f"{out}/{name}.o"])
        for kind in tests:
            for path in self.tests[kind]:
                target = f"{out}/{kind}_{os.path.basename(path)}.o"
                jobs.append(["g++", *CXXFLAGS, "-I", tree, "-I",
                             self.source + "/src", "-I",
                             self.source + "/test", "-I",
                             os.path.dirname(path), "-c", path, "-o", target])
        compile_all(jobs)

    def base(self):
        """The sound core and the tests: the build's own objects of these,
        unless it has sanitizers, which the core here has not."""
        shutil.rmtree(self.work, ignore_errors=True)
        out = self.work + "/base"
        os.makedirs(out)
        self.objects(self.source + "/src", out, self.core, (), self.recorder)
        for kind, paths in self.tests.items():
            built = [self.built(kind, path) for path in paths]
            if "SRD_SANITIZE" in os.environ or not all(built):
                self.objects(self.source + "/src", out, (), (kind,))
                continue
            for path, file in zip(paths, built):
                os.symlink(file, f"{out}/{kind}_{os.path.basename(path)}.o")
        return out

    def built(self, kind, path):
        """The object that make made of a test for a program of this kind."""
        folder = os.path.join(self.build, os.path.relpath(
            os.path.dirname(path), self.source))
        stem = os.path.basename(path)[:-3]
        for file in glob.glob(f"{folder}/*-{stem}.o"):
            if not folder.endswith("driver") or kind in file:
                return file
        return None

    def link(self, own, base, kind):
        """Objects of own where it has them, else of base."""
        names = [n + ".o" for n in self.core]
        names += [f"{kind}_{os.path.basename(p)}.o" for p in self.tests[kind]]
        if kind == "sim":
            names += [name + ".o" for name in self.recorder]
        objects = [f"{own}/{n}" if os.path.exists(f"{own}/{n}")
                   else f"{base}/{n}" for n in names]
        libs = ["-lgtest", "-lgtest_main", "-lpthread"] if kind == "gtest" \
            else []
        subprocess.run(["g++", *objects, *libs, "-o", f"{own}/{kind}"],
                       check=True)
        return f"{own}/{kind}"

    def check_table(self):
        """Each text must occur once, of mutants that do not run this time,
        too."""
        for what, name, old, _ in MUTANTS:
            with open(f"{self.source}/src/flow/{name}",
                      encoding="utf-8") as file:
                count = file.read().count(old)
            if count != 1:
                sys.exit(f"mutant '{what}': its text occurs {count} times in "
                         f"{name}, not once; bring test/mutants/table.py up to "
                         "date")

    def mutate(self, number, mutant):
        _, name, old, new = mutant
        tree = f"{self.work}/{number}"
        for folder in ("flow", "util"):
            shutil.copytree(f"{self.source}/src/{folder}", f"{tree}/{folder}")
        path = f"{tree}/flow/{name}"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        if name.endswith(".h"):
            self.objects(tree, tree, self.core, KINDS, self.recorder)
        else:
            self.objects(tree, tree, [name], ())
        return tree


# Seconds that the sound build took for a command, by the command's own arguments.
SOUND_SECONDS = {}


def limit(key):
    """After how many seconds a run of a mutant hangs: ten times what the sound
    build took on this machine, which may be busy. At most two minutes."""
    if key not in SOUND_SECONDS:
        return 120
    return min(max(15, 10 * SOUND_SECONDS[key]), 120)


def caught_by(command, key):
    """None: it passed, and how long it took is kept if it is the first to do
    so under this key. Else how it failed."""
    began = time.monotonic()
    # timeout ends all of its process group: what efasim run has started, too
    result = subprocess.run(["timeout", "-k", "1", f"{limit(key):.1f}", *command],
                            stdout=subprocess.PIPE, check=False,
                            stderr=subprocess.STDOUT)
    if result.returncode in (124, 137):
        return "hangs"
    if result.returncode == 0:
        SOUND_SECONDS.setdefault(key, time.monotonic() - began)
        return None
    text = result.stdout.decode(errors="replace").splitlines()
    marks = [line for line in text
             if line.startswith(("[  FAILED  ]", "FAIL ", "BROKEN")) or
             line.endswith(": Failure")]
    if marks: # where a signal follows, gtest's own (--gtest_break_on_failure)
        return os.path.basename(marks[0].strip())[:60]
    return (f"crashes (signal {result.returncode - 128})"
            if result.returncode > 128 else "fails")


SEEDS = ["--plan", "small", "--count", "2"]
COMMANDS = {
    "gtest": [["--gtest_brief=1"]],
    "model": [["srd", "2", "2", "0", "1", "1"],
              ["ud", "2", "2", "0", "1", "1"],
              ["--eager", "srd", "2", "2", "2", "0", "0"],
              ["--recalls", "2", "--buffers", "1", "srd", "4", "5", "0", "1",
               "0"],
              ["--lap", "2", "--eager", "srd", "1", "4", "4", "0", "0"],
              ["--errors", "1", "--eager", "srd", "1", "1", "1", "0", "0"],
              ["--twin", "1", "0", "--eager", "srd", "1", "1", "0", "1", "0"],
              ["--third", "0", "1", "--eager", "srd", "1", "0", "1", "1", "0"],
              ["--reborn", "0", "1", "--eager", "srd", "1", "0", "1", "1",
               "0"],
              ["--reborn", "0", "1", "--eager", "ud", "1", "0", "1", "1", "0"],
              ["--pings", "2", "srd", "1", "1", "1", "0", "0"],
              ["--held", "3", "ud", "2", "2", "0", "1", "0"]],
    "rate": [["idle", "shares", "incast", "phases", "turns", "pingpong"]],
    "link": [[]],
    "sim": [SEEDS, SEEDS + ["--wrap"]]}


def test(programs, until_caught=False):
    """How each kind of test sees a build: {kind: None or how it failed}."""
    seen = {}
    for kind, program in programs:
        if not (until_caught and any(seen.values())):
            found = None
            for arguments in COMMANDS[kind]:
                found = found or caught_by([program(), *arguments],
                                           (kind, *arguments))
            seen[kind] = found
    return seen


def report(number, mutant, seen):
    """A line of the table. Returns whether it survived."""
    caught = any(seen.values())
    print(f"{number:2} {'caught  ' if caught else 'SURVIVES'} {mutant[0]:38}",
          *(f"{kind}: {how or '-'}" for kind, how in seen.items()),
          sep=" | ", flush=True)
    return not caught


def judge(module, tree, transport):
    """None: the tests of this transport pass. Else how they fail."""
    found = None
    for number, command in enumerate(module.commands(tree, transport)):
        found = found or caught_by(command, (transport, number))
    return found


def run_transport(builder, every):
    """Mutants of the transport: how many were tried, how many survive. None of
    a build with sanitizers, whose objects go with others of their kind."""
    if "SRD_SANITIZE" in os.environ:
        return 0, 0
    module = Module(builder.source, builder.build, builder.work)
    wrong = module.check(TRANSPORT)
    if wrong:
        sys.exit(f"mutant '{wrong}': its text does not occur once; bring "
                 "test/mutants/transport.py up to date")
    sound = module.mutate(0, None)
    for transport in TESTS:
        failed = judge(module, sound, transport)
        if failed:
            sys.exit(f"the unchanged {transport} fails already: {failed}")
    chosen = list(enumerate(TRANSPORT, 1))[::every]
    alive = 0
    for number, mutant in chosen:
        tree = module.mutate(number, mutant)
        transport = mutant[0].split(":")[0]
        alive += report(number, mutant,
                        {transport: judge(module, tree, transport)})
        shutil.rmtree(tree)
    return len(chosen), alive


def main():
    builder = Builder(*map(os.path.abspath, sys.argv[1:3]))
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    builder.check_table()
    base = builder.base()
    alive = 0

    def programs(tree):
        return [(kind, lambda kind=kind: builder.link(tree, base, kind))
                for kind in COMMANDS]

    sound = test(programs(base))
    if any(sound.values()):
        sys.exit(f"the unchanged core fails already: {sound}")
    chosen = list(enumerate(MUTANTS, 1))[::every]
    for number, mutant in chosen:
        tree = builder.mutate(number, mutant)
        seen = test(programs(tree), every > 1)
        alive += report(number, mutant, seen)
        shutil.rmtree(tree)
    tried, more = run_transport(builder, every // 2 + 1)
    alive += more
    print(f"{len(chosen) + tried} mutants, {alive} survive")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
