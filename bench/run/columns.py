# SPDX-License-Identifier: BSD-3-Clause
"""The programs that are compared, and those that this machine has. A column
measures three figures of each case (bench/pair/pair.c says which)."""
import glob
import os
import platform
import re
import shutil
import subprocess

from launch import CACHE, CHROOT, Failed, Missing, payload_of


class Column:
    """One library or transport under bench/pair."""

    def __init__(self, name, label, tls="srd", program="pair-ucp", env=(), srdrun=True,
                 nodes=(0, 1), over_device=True, prefix=(), options=()):
        self.name, self.label, self.program = name, label, program
        self.env, self.srdrun, self.nodes = [f"UCX_TLS={tls}", *env], srdrun, nodes
        self.over_device, self.prefix, self.options = over_device, prefix, options

    def command(self, bench, *words):
        return [*[bench.srdrun] * self.srdrun, *words]

    def where(self, *env):
        """How Bench.words() is to run it."""
        return {"prefix": self.prefix, "options": self.options,
                "env": [*self.env, *env]}

    def measure(self, bench, cases):
        """{case: (three figures)}"""
        text, counters = bench.two(
            self.command(bench, bench.program(self.program), ",".join(cases)),
            self.nodes, **self.where(f"PAIR_MS={bench.milliseconds}"))
        counters.check(payload_of(text), self.over_device)
        found = {words[0]: tuple(map(float, words[1:]))
                 for words in map(str.split, text.splitlines())
                 if len(words) == 4 and words[0] in cases}
        missing = [case for case in cases if case not in found]
        if missing:
            raise Failed(f"no figure for {missing[0]}")
        return found


# By libefa, also where it tells of its queues (rdma-core 60): that is the column direct.
SRD = Column("srd", "srd", env=["UCX_EFA_DIRECT=n"])
OFI = Column("ofi", "libfabric efa", program="pair-ofi", srdrun=False)


class Perftest:
    """Raw verbs: perftest's programs over SRD queue pairs, a run for each case.
    Messages go in one packet, of 8928 bytes at most; what is larger is read (RDMA
    READ)."""
    name, label = "verbs", "raw verbs (perftest)"

    def measure(self, bench, cases):
        figures = {}
        for case in cases:
            kind, size, *window = case.split(":")
            figures[case] = (*self.tries(bench, kind, int(size), *window), None)
        return figures

    def tries(self, *arguments, left=2):
        """It gives up now and then ("Can't produce a report")."""
        try:
            return self.once(*arguments)
        except Failed:
            if not left:
                raise
        return self.tries(*arguments, left=left - 1)

    def once(self, bench, kind, size, window=1):
        what, window = "send" if size <= 8192 else "read", int(window)
        count = max(5, int(bench.milliseconds / 1e3 / (0.5e-6 + size / 8e9)))
        if kind == "lat":
            count, options = min(count, 20000), []
        else:
            count = max(count, window + 1)
            options = ["-t", str(window), "--report_gbits"]
            if what == "send":
                options += ["-r", str(max(512, window)), "-Q", "1"]
            elif window > 16:
                options[1] = "16"
        command = [f"ib_{what}_{kind}", "-c", "SRD", "-d", "rdmap0s6", "-x", "0",
                   "-s", str(size), "-n", str(count), *options, "-p"]
        text, counters = bench.two(command)
        counters.check(size * count, True)
        lines = re.findall(r"^ +(\d+ +\d+ .*)$", text, re.M)
        if not lines:
            raise Failed(f"{command[0]} printed no figures")
        words = [float(word) for word in lines[-1].split()]
        if kind == "lat": # microseconds: median and mean
            return words[4], words[5]
        bytes_a_second = words[3] * 1e9 / 8
        return bytes_a_second / size, bytes_a_second / 1e6


def is_sid_made():
    return subprocess.run([CHROOT, "--made", "sid"], check=False,
                          capture_output=True).returncode == 0


def in_sid(bench, libraries="/opt/ucx-1.13/lib", folders=(), release="sid"):
    binds = [word for folder in (bench.build, bench.work, *folders)
             for word in ("--bind", folder)]
    return [CHROOT, *binds, release, "--", "env", f"LD_LIBRARY_PATH={libraries}"]


def why_not_direct(bench):
    """Why the direct path cannot be measured; None if it can."""
    if is_sid_made():
        return None
    if bench.quick:
        return ("it needs rdma-core 59: contrib/ci/chroot.sh sid makes a system "
                "that has it, and the run without --quick makes that")
    made = subprocess.run([CHROOT, "sid"], capture_output=True, text=True,
                          check=False)
    return (f"it needs rdma-core 59: {made.stderr.strip()[-100:]}"
            if made.returncode else None)


def direct(bench, *options):
    return Column("direct", "srd direct", env=["UCX_EFA_DIRECT=y"],
                  prefix=in_sid(bench), options=options)


def all_columns(bench):
    """([columns], {name: why not}, [names of those that are here and fail])"""
    without = {
        "verbs": not shutil.which("ib_send_lat") and "perftest is missing",
        "direct": why_not_direct(bench),
        "ofi": not os.access(bench.program("pair-ofi"), os.X_OK) and
               "pair-ofi was not built: libfabric-dev is missing"}
    without = {name: why for name, why in without.items() if why}
    columns = [column for column in (
        Perftest(), SRD, direct(bench), Column("ud", "ud", "ud"),
        Column("tcp", "UCX tcp", "tcp", srdrun=False, over_device=False), OFI)
               if column.name not in without]
    there = []
    for column in columns: # that get a message through
        try:
            column.measure(bench, ["lat:8"])
            there.append(column)
        except Failed as error:
            without[column.name] = str(error)
    return there, without, [column.name for column in columns
                            if column not in there]


# UCX's own srd beside this module: the UCX that PyPI's nixl wheel brings with it, one
# libucp for both, over the libefa of Debian sid.
RIVALS = {"intree": "UCX's own srd", "srd": "srd", "direct": "srd direct"}


def wheel(bench):
    """The folder of the wheel's libraries, and one that has them under the names
    that programs of others look for. The wheel's libibverbs looks for drivers
    elsewhere: the system's stands for it."""
    found = glob.glob(os.path.join(CACHE, "nixl", "lib", "python3*",
                                   "site-packages", "nixl_cu*.libs"))
    if not found:
        raise Missing("it comes with PyPI's nixl: contrib/test.sh python "
                     "fetches it")
    source, folder = os.path.realpath(found[0]), os.path.join(bench.work, "wheel")
    if os.path.isdir(folder):
        return source, folder
    os.makedirs(os.path.join(folder, "ucx"))
    links = {f"lib{name}.so.0": glob.glob(f"{source}/lib{name}-*.so*")[0]
             for name in ("ucp", "uct", "ucs", "ucm")}
    for path in glob.glob(f"{source}/libibverbs-*.so*"):
        links[os.path.basename(path)] = (
            f"/usr/lib/{platform.machine()}-linux-gnu/libibverbs.so.1")
    for path in glob.glob(f"{source}/ucx/*.so.0.0.0"):
        name = os.path.join("ucx", os.path.basename(path))
        links[name] = links[name.removesuffix(".0.0")] = path
    for name, path in links.items():
        os.symlink(path, os.path.join(folder, name))
    return source, folder


def rivals(bench, calls_device=False):
    """calls_device: the program calls the emulated device (bench/twins.h)."""
    source, folder = wheel(bench)
    if not is_sid_made():
        raise Missing("Debian sid is not made here: contrib/ci/chroot.sh sid")
    return [Column(name, label, srdrun=name != "intree",
                   env=[f"UCX_EFA_DIRECT={'y' if name == 'direct' else 'n'}"],
                   prefix=in_sid(bench, f"{folder}:{source}", [source]),
                   options=["--device", "efa2", *["--no-strict-batch"] *
                            (calls_device and name == "direct")])
            for name, label in RIVALS.items()]
