# SPDX-License-Identifier: BSD-3-Clause
"""Runs two processes on emulated nodes, and reads what crossed the device."""
import os
import re
import socket
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


class Failed(Exception):
    """A run that ended badly, or whose bytes went another way."""


class Missing(Failed):
    """A program or system that is not on this machine."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Counters:
    """The output of `efasim run --stat`."""

    def __init__(self, path):
        self.devices, self.pairs = [], {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                values = dict(word.split("=", 1) for word in line.split()
                              if "=" in word)
                if line.startswith("node="):
                    self.devices.append(values)
                elif line.startswith("pair "):
                    key = int(values["src"]), int(values["dst"])
                    self.pairs[key] = int(values["bytes"])

    def total(self, name, device=None):
        return sum(int(values.get(name, 0)) for values in self.devices
                   if device in (None, values["device"]))

    def payload(self):
        return sum(self.total(name) for name in
                   ("tx_bytes", "rdma_read_bytes", "rdma_write_bytes"))


class Bench:
    """Where things are, and how long to measure."""

    def __init__(self, build, quick, work):
        self.build, self.quick, self.work = build, quick, work
        self.efasim = os.path.join(build, "bin", "efasim")
        self.srdrun = os.path.join(build, "bin", "srdrun")
        self.milliseconds = 30 if quick else 60
        self.rounds = 3 if quick else 5
        self.longest = 60 if quick else 480 # seconds of a study's rounds

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    def words(self, command, options=(), prefix=(), env=(), name=""):
        """COMMAND in a fabric of its own, and the file of its counters. Several at
        once have a name each."""
        handle, stat = tempfile.mkstemp(dir=self.work, suffix=".stat")
        os.close(handle)
        return [*prefix, "env", *env, self.efasim, "run", "--fabric",
                f"b{os.getpid()}{name}", f"--stat={stat}", *options, "--",
                *command], stat

    def fabric(self, command, options=(), prefix=(), env=(), limit=120):
        """COMMAND's output and the counters."""
        words, stat = self.words(command, options, prefix, env)
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

    def two(self, server, client, port, nodes=(0, 1), limit=100, **where):
        return self.fabric([os.path.join(HERE, "two.sh"), self.efasim,
                            str(nodes[0]), str(nodes[1]), str(port),
                            str(limit), *server, "@@", *client], **where)

    def pair(self, program, cases, before=(), nodes=(0, 1), env=(), **where):
        """{case: (four figures)} of bench/pair, and the counters. Which
        figures these are, bench/pair/pair.c says."""
        port = free_port()
        command = [*before, self.program(program), str(port)]
        text, counters = self.two(
            [*command, "--", *cases], [*command, "127.0.0.1", "--", *cases],
            port, nodes, env=[f"PAIR_MS={self.milliseconds}",
                              "UCX_WARN_UNUSED_ENV_VARS=n", *env], **where)
        return read_pair(text, cases), counters, read_payload(text)


def read_pair(text, cases):
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 5 and words[0] in cases:
            found[words[0]] = tuple(None if word == "na" else float(word)
                                    for word in words[1:])
    missing = [case for case in cases if case not in found]
    if missing:
        raise Failed(f"no figure for {missing[0]}")
    return found


def read_payload(text):
    match = re.search(r"^payload (\d+)$", text, re.M)
    if not match:
        raise Failed("it did not say what it sent")
    return int(match.group(1))


def check_bytes(counters, payload, over_device):
    """All of it over the device, or nothing."""
    crossed = counters.payload()
    if over_device and crossed < payload:
        raise Failed(f"{crossed} of {payload} bytes crossed the device: "
                     "something else did the work")
    if not over_device and crossed > 0:
        raise Failed(f"{crossed} bytes crossed the device, none should have")
