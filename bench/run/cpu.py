# SPDX-License-Identifier: BSD-3-Clause
"""CPU time of an operation beside UCX's own srd (bench/cpu.c): one process with two
workers, so that both ends are counted and neither waits for another's core. The
competitors stand beside each other and are asked for one case in turn, as a core's
clock changes within seconds."""
import math
import os
import signal
import statistics
import subprocess
import threading
import time

import wheel
from launch import Counters, Failed, check_bytes, read_payload

OPERATIONS = ["tag", "am", "put", "get"]
SIZES = [8, 512, 1024, 4096, 8192, 65536, 262144, 1 << 20, 4 << 20]
SIZES_QUICK = [8, 4096, 65536]
WINDOWS = {1: "one at a time", 32: "32 outstanding"}
LONGEST = 70 # seconds of the rounds


def name_of(operation, size, window):
    return f"{operation}:{size}:{window}"


def cases_of(quick):
    return [name_of(operation, size, window) for operation in OPERATIONS
            for window in WINDOWS
            for size in (SIZES_QUICK if quick else SIZES)]


class Program:
    """bench/cpu, running."""

    def __init__(self, bench, column, options=()):
        self.column, self.limit = column, 20
        words, self.stat = bench.words(
            [*[bench.srdrun] * column.srdrun, bench.program("cpu")],
            prefix=column.prefix, options=options, name=column.name,
            env=[*column.env, f"CPU_MS={5 if bench.quick else 8}",
                 "UCX_WARN_UNUSED_ENV_VARS=n"])
        with open(self.stat + ".log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, start_new_session=True)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def answer(self, lines):
        """Its answer to LINES; without any, all that it says until its end."""
        watch = threading.Timer(self.limit, self.stop)
        watch.start()
        try:
            if not lines:
                return self.process.communicate()[0]
            self.process.stdin.write(lines)
            self.process.stdin.flush()
            return self.process.stdout.readline()
        except OSError:
            return ""
        finally:
            watch.cancel()

    def ask(self, case):
        """Nanoseconds."""
        return read(self.answer(case + "\n") or self.last_words(), case)

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
        check_bytes(Counters(self.stat), read_payload(text),
                    self.column.over_device)


def read(line, case):
    words = line.split()
    if (len(words) != 3 or words[0] != case or
            not 0 < float(words[1]) < math.inf):
        raise Failed(f"no figure for {case}: {line.strip()}")
    return float(words[1])


def in_turn(programs, cases, rounds, say):
    """{column: {case: [nanoseconds of each round]}}, A B C A B C ... for each case"""
    found, failures = {}, {}
    start = time.time()
    for number in range(rounds):
        if number and time.time() - start > LONGEST * number / (number + 1):
            failures["rounds"] = f"{rounds - number} of {rounds} rounds: no time"
            break
        say(f"round {number + 1} of {rounds}")
        for case in cases:
            for name, program in programs.items():
                if name in failures:
                    continue
                try:
                    found.setdefault(name, {}).setdefault(case, []).append(
                        program.ask(case))
                except Failed as error:
                    failures[name] = f"{program.column.label}: {error}"
    for name, program in programs.items():
        try:
            if name not in failures:
                program.close()
        except Failed as error:
            failures[name] = f"{program.column.label}: {error}"
    return {name: cases for name, cases in found.items()
            if name not in failures}, failures


def study(bench, say):
    programs = {}
    try:
        for column in wheel.rivals(bench):
            if column.name in wheel.WHOLE:
                options = [*wheel.DEVICE, *["--no-strict-batch"] *
                           (column.name == "direct")]
                programs[column.name] = Program(bench, column, options)
        return in_turn(programs, cases_of(bench.quick), 7 if bench.quick else 19,
                       say)
    finally:
        for program in programs.values():
            program.stop()


def median(found, name, case):
    values = found.get(name, {}).get(case)
    return statistics.median(values) if values else None


def ratio(found, name, case):
    """To UCX's own srd, the median of the rounds; None if one is missing."""
    mine, theirs = (found.get(column, {}).get(case, [])
                    for column in (name, "intree"))
    ratios = [one / other for one, other in zip(mine, theirs)]
    return statistics.median(ratios) if ratios else None


def worst(found, name, operation, window):
    """(ratio, size) of the size that fares worst; None if nothing was measured."""
    ratios = [(ratio(found, name, name_of(operation, size, window)), size)
              for size in SIZES]
    return max((pair for pair in ratios if pair[0] is not None), default=None)
