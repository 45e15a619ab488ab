# SPDX-License-Identifier: BSD-3-Clause
"""Runs two processes on emulated nodes, and reads what crossed the device."""
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CHROOT = os.path.join(TOP, "contrib", "ci", "chroot.sh")
# The folder of cache.sh, which refuses one where others may put programs.
CACHE = subprocess.run(
    ["bash", "-c", '. "$0" && printf %s/python "$srd_cache"',
     os.path.join(TOP, "contrib", "ci", "cache.sh")],
    stdout=subprocess.PIPE, text=True, check=False).stdout or sys.exit(1)
sys.path.insert(0, os.path.join(TOP, "contrib", "examples"))
import efa_top_prom # noqa: E402 (after its path)


def write(path, data):
    """In place of what has that name; a link may be another user's, or /dev/stdout."""
    if os.path.islink(path):
        sys.exit(f"{path} is a link: name a file")
    efa_top_prom.replace(path, data)


class Failed(Exception):
    """A run that ended badly, or whose bytes went another way."""


class Missing(Failed):
    """A program or system that is not on this machine."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Counters:
    """The output of `efasim run --stat`."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.devices = [dict(word.split("=", 1) for word in line.split()
                                 if "=" in word)
                            for line in file if line.startswith("node=")]

    def check(self, payload, over_device):
        """All of it went over the device, or nothing."""
        crossed = sum(int(values.get(name, 0)) for values in self.devices for name
                      in ("tx_bytes", "rdma_read_bytes", "rdma_write_bytes"))
        if over_device and crossed < payload:
            raise Failed(f"{crossed} of {payload} bytes crossed the device: "
                         "something else did the work")
        if not over_device and crossed > 0:
            raise Failed(f"{crossed} bytes crossed the device, none should have")


def payload_of(text):
    match = re.search(r"^payload (\d+)$", text, re.M)
    if not match:
        raise Failed("it did not say what it sent")
    return int(match.group(1))


class Bench:
    """Where things are, and how long to measure."""

    def __init__(self, build, quick, work):
        self.build, self.quick, self.work = build, quick, work
        self.efasim = os.path.join(build, "bin", "efasim")
        self.srdrun = os.path.join(build, "bin", "srdrun")
        self.milliseconds = 30 if quick else 60
        self.rounds = 3 if quick else 5
        self.longest = 60 if quick else 480 # seconds of a study's rounds
        self.start, self.labels = time.time(), {} # of columns

    def say(self, text):
        print(f"   {time.time() - self.start:6.0f} s  {text}", file=sys.stderr,
              flush=True)

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    def words(self, command, options=(), prefix=(), env=(), name=""):
        """COMMAND in a fabric of its own, and the file of its counters. Several at
        once have a name each."""
        handle, stat = tempfile.mkstemp(dir=self.work, suffix=".stat")
        os.close(handle)
        return [*prefix, "env", "UCX_WARN_UNUSED_ENV_VARS=n", *env, self.efasim,
                "run", "--fabric", f"b{os.getpid()}{name}", f"--stat={stat}",
                *options, "--", *command], stat

    def fabric(self, command, limit=120, **where):
        """COMMAND's output and the counters."""
        words, stat = self.words(command, **where)
        try:
            done = subprocess.run(words, capture_output=True, text=True,
                                  timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"took more than {limit} s") from None
        if done.returncode:
            text = done.stderr.strip() or done.stdout.strip()
            raise Failed(text.splitlines()[-1][:160] if text
                         else f"status {done.returncode}")
        return done.stdout, Counters(stat)

    def two(self, command, nodes=(0, 1), limit=100, **where):
        """COMMAND PORT and COMMAND PORT ADDRESS, the client: its output and the
        counters. Each has a core of its own where there are two."""
        cores, command = sorted(os.sched_getaffinity(0)), [*command, free_port()]
        sides = [[*(["taskset", "-c", str(core)] if len(cores) > 1 else []),
                  "timeout", str(limit), self.efasim, "run", "--node", str(node),
                  "--", *command, *address]
                 for core, node, address in zip([*cores, 0], nodes,
                                                ([], ["127.0.0.1"]))]
        return self.fabric([os.path.join(HERE, "two.sh"), command[-1], *sides[0],
                            "@@", *sides[1]], limit=limit + 20, **where)
