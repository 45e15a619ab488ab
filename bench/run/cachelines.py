# SPDX-License-Identifier: BSD-3-Clause
"""Cache lines that the transport touches for a message: valgrind's lackey lists
each access of bench/instr, and those of libuct_srd's own instructions are
counted, the stack's apart. A batch is 16 messages; a line that several of them
touch counts for each message alone, and once in the batch."""
import glob
import os
import re
import signal
import subprocess
from statistics import median

from launch import Failed

LINE = 64
BASE = 0x108000 # where valgrind puts a program
STACK = 0x1ff0000000 - (1 << 30)
PHASES = {"bench_post_short": "post", "bench_receive": "receive",
          "bench_complete": "completion"}
CALLERS = ("bench_run", "bench_data_path", "main", "bench_settle")
ENOUGH = 8 # batches


def module_range(folder):
    """Where the loader says that libuct_srd lies, at last: in the program that
    the others have become."""
    found = None
    for path in glob.glob(f"{folder}/*"):
        with open(path, encoding="utf-8") as file:
            for base, size in re.findall(
                    r"libuct_srd\.so\.0 .*generating link map\n.*"
                    r"base: 0x([0-9a-f]+) +size: 0x([0-9a-f]+)", file.read()):
                found = int(base, 16), int(base, 16) + int(size, 16)
    if found is None:
        raise Failed("the loader did not say where the module is")
    return found


class Trace:
    """Follows lackey's lines; `found` has the sets of lines of each call."""

    def __init__(self, program):
        symbols = re.findall(
            r"^([0-9a-f]+) ([0-9a-f]+) [tT] (\w+)$", subprocess.run(
                ["nm", "-S", program], capture_output=True, text=True,
                check=True).stdout, re.M)
        self.entries = {name: BASE + int(start, 16) for start, _, name in symbols}
        self.phases = {self.entries[name]: name for name in PHASES}
        self.callers = [range(BASE + int(start, 16),
                              BASE + int(start, 16) + int(size, 16))
                        for start, size, name in symbols if name in CALLERS]
        self.found = {name: [] for name in PHASES}

    def is_enough(self):
        return len(self.found["bench_complete"]) >= ENOUGH

    def read(self, stream, low, high):
        phase, lines, ours = None, set(), False
        for line in stream:
            if line[0] not in "I " or (phase is None and line[0] != "I"):
                continue
            address = int(line[3:line.index(",")], 16)
            if line[0] == " ":
                if ours and address < STACK:
                    lines.add(address // LINE)
            elif phase is None:
                phase = self.phases.get(address)
            else:
                ours = low <= address < high
                if not ours and any(address in caller for caller in self.callers):
                    self.found[phase].append(lines)
                    phase, lines = None, set()
                    if self.is_enough():
                        return

    def summary(self):
        """{phase: (lines of one message, new ones of one message in a batch)},
        medians: now and then a thread of the module works within one."""
        posts = self.found["bench_post_short"]
        batches = [set().union(*posts[i:i + 16])
                   for i in range(0, len(posts) - 15, 16)]
        return {"post": (median(map(len, posts)), median(map(len, batches)) / 16),
                **{PHASES[name]: (None, median(map(len, polls)) / 16)
                   for name, polls in self.found.items()
                   if name != "bench_post_short"}}


def study(bench):
    program, folder = bench.program("instr"), os.path.join(bench.work, "loader")
    os.makedirs(folder, exist_ok=True)
    trace = Trace(program)
    with subprocess.Popen(
            [bench.efasim, "run", "--fabric", f"l{os.getpid()}", "--", "env",
             "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={folder}/ld", bench.srdrun,
             "valgrind", "--tool=lackey", "--trace-mem=yes", program, "64"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True) as child:
        try:
            for line in child.stderr: # until it runs
                if line.startswith(f"I  {trace.entries['main']:08x}"):
                    break
            trace.read(child.stderr, *module_range(folder))
        finally:
            os.killpg(child.pid, signal.SIGTERM)
    if not trace.is_enough():
        raise Failed("the phases were not found in lackey's list")
    return trace.summary()
