# SPDX-License-Identifier: BSD-3-Clause
"""Cache lines that the transport touches for a message: valgrind's lackey lists
each access of bench/instr, and those of libuct_srd's own instructions are
counted, the stack's apart. A batch is 16 messages; a line that several of them
touch counts for each message alone, and once in the batch."""
import os
import re
import signal
import subprocess

from launch import Failed

LINE = 64
BASE = 0x108000 # where valgrind puts a program
STACK = 0x1ff0000000 - (1 << 30)
PHASES = ("bench_post_short", "bench_receive", "bench_complete")
CALLERS = ("bench_run", "bench_data_path", "main", "bench_settle")
ENOUGH = 8 # batches


def program_symbols(program):
    """[(start, end, name)] of its functions, where valgrind loads it."""
    text = subprocess.run(["nm", "-S", program], capture_output=True,
                          text=True, check=True).stdout
    found = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (\w+)$", text, re.M)
    return [(BASE + int(start, 16), BASE + int(start, 16) + int(size, 16),
             name) for start, size, name in found]


def module_range(folder):
    """Where the loader says that libuct_srd lies, at last: in the program that
    the others have become."""
    found = None
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for match in re.finditer(
                    r"libuct_srd\.so\.0 .*generating link map\n.*"
                    r"base: 0x([0-9a-f]+) +size: 0x([0-9a-f]+)", file.read()):
                base = int(match.group(1), 16)
                found = base, base + int(match.group(2), 16)
    if found is None:
        raise Failed("the loader did not say where the module is")
    return found


class Trace:
    """Follows lackey's lines; `found` has the sets of lines of each call."""

    def __init__(self, symbols, module):
        self.entries = {start: name for start, _, name in symbols
                        if name in PHASES}
        self.callers = [(start, end) for start, end, name in symbols
                        if name in CALLERS]
        self.low, self.high = module
        self.found = {name: [] for name in PHASES}
        self.phase, self.lines, self.ours = None, set(), False

    def instruction(self, address):
        if self.phase is None:
            self.phase = self.entries.get(address)
            return
        self.ours = self.low <= address < self.high
        if not self.ours and any(start <= address < end
                                 for start, end in self.callers):
            self.found[self.phase].append(self.lines)
            self.phase, self.lines = None, set()

    def access(self, address):
        if self.ours and address < STACK:
            self.lines.add(address // LINE)

    def enough(self):
        return len(self.found["bench_complete"]) >= ENOUGH

    def read(self, stream):
        for line in stream:
            if line.startswith("I"):
                self.instruction(int(line[3:line.index(",")], 16))
            elif self.phase and line.startswith(" "):
                self.access(int(line[3:line.index(",")], 16))
            if self.phase is None and self.enough():
                return


def summary(found):
    """{phase: (lines of one message, new ones of one message in a batch)}"""
    posts = found["bench_post_short"]
    batches = [posts[i:i + 16] for i in range(0, len(posts) - 15, 16)]
    rows = {"post": (sum(map(len, posts)) / len(posts),
                     sum(len(set().union(*batch)) / 16
                         for batch in batches) / len(batches))}
    for name, label in (("bench_receive", "receive"),
                        ("bench_complete", "completion")):
        polls = found[name]
        rows[label] = (None, sum(map(len, polls)) / len(polls) / 16)
    return rows


def study(bench):
    program, folder = bench.program("instr"), os.path.join(bench.work, "loader")
    os.makedirs(folder, exist_ok=True)
    command = [bench.efasim, "run", "--fabric", f"l{os.getpid()}", "--", "env",
               "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={folder}/ld", bench.srdrun,
               "valgrind", "--tool=lackey", "--trace-mem=yes",
               program, "64"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True,
                          stderr=subprocess.PIPE,
                          start_new_session=True) as child:
        try:
            symbols = program_symbols(program)
            main = [f"I  {start:08x}" for start, _, name in symbols
                    if name == "main"]
            for line in child.stderr: # until it runs
                if line.startswith(main[0]):
                    break
            trace = Trace(symbols, module_range(folder))
            trace.read(child.stderr)
        finally:
            os.killpg(child.pid, signal.SIGTERM)
    if not trace.enough():
        raise Failed("the phases were not found in lackey's list")
    return {"rows": summary(trace.found)}
