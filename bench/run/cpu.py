# SPDX-License-Identifier: BSD-3-Clause
"""CPU time of an operation beside UCX's own srd (bench/twins.c): one process with two
workers, so that both ends are counted and neither waits for another's core. The
competitors stand beside each other and are asked for one case in turn, as a core's
clock changes within seconds."""
import math
import os
import signal
import subprocess
import threading
import time

import columns
from launch import Counters, Failed, payload_of

OPERATIONS = ["tag", "am", "put", "get"]
SIZES = [8, 512, 1024, 4096, 8192, 65536, 262144, 1 << 20, 4 << 20]
WINDOWS = {1: "one at a time", 32: "32 outstanding"}
LIMIT = 20 # seconds of an answer
LONGEST = 70 # of the rounds


class Program:
    """bench/twins, running."""

    def __init__(self, bench, column):
        self.column = column
        words, self.stat = bench.words(
            [*[bench.srdrun] * column.srdrun, bench.program("twins")],
            prefix=column.prefix, options=column.options, name=column.name,
            env=[*column.env, f"CPU_MS={5 if bench.quick else 8}"])
        with open(self.stat + ".log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, start_new_session=True)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

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
        except OSError:
            return ""
        finally:
            watch.cancel()

    def ask(self, case):
        """Figures, of which the first are nanoseconds."""
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
        Counters(self.stat).check(payload_of(text), self.column.over_device)


def read(line, case):
    words = line.split()
    if (len(words) != 3 or words[0] != case or
            not 0 < float(words[1]) < math.inf):
        raise Failed(f"no figure for {case}: {line.strip()}")
    return float(words[1]), None, None, None


def in_turn(bench, programs, cases, rounds):
    """As studies.in_turn, but A B C A B C ... for each case; of one that failed
    nothing is left."""
    found, failures, start = {}, {}, time.time()

    def tried(program, action, *arguments):
        try:
            if program.column.name not in failures:
                return action(*arguments)
        except Failed as error:
            failures[program.column.name] = f"{program.column.label}: {error}"
        return None

    for number in range(rounds):
        if number and time.time() - start > LONGEST * number / (number + 1):
            failures["rounds"] = f"{rounds - number} of {rounds} rounds: no time"
            break
        bench.say(f"round {number + 1} of {rounds}")
        for case in cases:
            for program in programs:
                found.setdefault(program.column.name, {}).setdefault(
                    case, []).append(tried(program, program.ask, case))
    for program in programs:
        tried(program, program.close)
    return {name: cases for name, cases in found.items()
            if name not in failures}, failures


def study(bench):
    programs = []
    try:
        for column in columns.rivals(bench, columns.WHOLE, calls_device=True):
            programs.append(Program(bench, column))
        sizes = [8, 4096, 65536] if bench.quick else SIZES
        return in_turn(bench, programs,
                       [f"{operation}:{size}:{window}"
                        for operation in OPERATIONS for window in WINDOWS
                        for size in sizes], 7 if bench.quick else 19)
    finally:
        for program in programs:
            program.stop()
