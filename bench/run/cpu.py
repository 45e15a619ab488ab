# SPDX-License-Identifier: BSD-3-Clause
"""CPU time of an operation beside UCX's own srd (bench/twins.c): one process with two
workers, so that both ends are counted and neither waits for another's core. The
competitors stand beside each other and are asked for one case in turn, as a core's
clock changes within seconds."""
import contextlib
import math
import os
import signal
import subprocess
import threading

import columns
from launch import Counters, Failed, payload_of
from studies import SHAPES, in_turn

OPERATIONS = ["tag", "am", "put", "get"]
SIZES = [8, 512, 1024, 4096, 8192, 16384, 32768, 65536, 262144, 1 << 20, 4 << 20]
WINDOWS = {1: "one at a time", 32: "32 outstanding"}
LIMIT = 20 # seconds of an answer
LONGEST = 70 # of the rounds


class Program:
    """bench/twins, running."""

    def __init__(self, bench, column):
        self.name, self.label = column.name, column.label
        self.over_device = column.over_device
        words, self.stat = bench.words(column.command(bench, bench.program("twins")),
                                       name=column.name, **column.where())
        with open(self.stat + ".log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, start_new_session=True)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError): # what it did not read
            self.process.stdin.close()

    def answer(self, line):
        """Its answer to LINE; without one, all that it says until its end."""
        watch = threading.Timer(LIMIT, self.stop)
        watch.start()
        try:
            if not line:
                return self.process.communicate()[0]
            self.process.stdin.write(line)
            self.process.stdin.flush()
            return self.process.stdout.readline()
        except (OSError, ValueError): # it has ended, or was stopped
            return ""
        finally:
            watch.cancel()

    def measure(self, _, cases):
        """The first of the figures are nanoseconds."""
        return {case: read(self.answer(case + "\n") or self.last_words(), case)
                for case in cases}

    def last_words(self):
        self.stop()
        self.process.wait()
        with open(self.stat + ".log", encoding="utf-8") as log:
            raise Failed((log.read().strip().splitlines() or ["it ended"])[-1]
                         [:160])

    def close(self):
        """The bytes of all that it measured went over the device."""
        text = self.answer("")
        if self.process.wait():
            self.last_words()
        Counters(self.stat).check(payload_of(text), self.over_device)


def read(line, case):
    words = line.split()
    if (len(words) != 3 or words[0] != case or
            not 0 < float(words[1]) < math.inf):
        raise Failed(f"no figure for {case}: {line.strip()}")
    return float(words[1]), None, None


def measure(bench, programs, cases, rounds):
    """Nothing is left of one that failed, or whose bytes went another way."""
    found, failures = in_turn(bench, programs, cases, rounds, longest=LONGEST,
                              by_case=True)
    for program in programs:
        try:
            if program.name not in failures:
                program.close()
        except Failed as error:
            failures[program.name] = f"{program.label}: {error}"
    return {name: found[name] for name in found if name not in failures}, failures


def compare(bench, cases):
    programs = []
    try:
        for column in columns.rivals(bench, calls_device=True):
            programs.append(Program(bench, column))
        return measure(bench, programs, cases, 7 if bench.quick else 19)
    finally:
        for program in programs:
            program.stop()


def study(bench):
    sizes = [8, 4096, 65536] if bench.quick else SIZES
    return compare(bench, [
        f"{operation}:{size}:{window}" for operation in OPERATIONS
        for window in WINDOWS for size in sizes])


def shapes(bench):
    """Programs of their own for each number of endpoints."""
    found, failures = {}, {}
    for endpoints in dict.fromkeys(case.split(":")[3] for case in SHAPES):
        part, failed = compare(bench, [case for case in SHAPES
                                       if case.split(":")[3] == endpoints])
        failures.update(failed)
        for name in part:
            found.setdefault(name, {}).update(part[name])
    return found, failures
