#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Instructions per message, by callgrind, on the emulated device.

--direct: of the direct data path, which takes the rdma-core of Debian sid
(contrib/ci/chroot.sh sid makes it); --sid: over the libefa of sid. --recorded: only
of a message of 8 B, with UCX_EFA_RECORD and without; with --check it fails when the
one is more than 1.6 of the other.

"transport" is libuct_srd.so.0 alone, "verbs" is libibverbs and libefa under it. The
emulated device, UCT's dispatch and libc are not counted. Counts repeat exactly. Each
has a bound, a little above what it was last: --check fails when one is exceeded by
more than INSTR_MARGIN per cent (default: 0; the bounds are those of gcc 12 at -O2 on
x86-64). INSTR_KEEP=1 keeps what callgrind wrote, for callgrind_annotate."""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from instr_where import TRANSPORT, VERBS, Profile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "run"))
from columns import in_sid # noqa: E402 (after its path)
from launch import TOP, Bench # noqa: E402

BATCH = 16


def phases_of(rounds, sid, endpoints):
    """[(run, arguments, [(phase, operations in the whole run, bounds for the
    transport over libefa and directly, label)])]"""
    messages, pieces = rounds * BATCH, rounds * 64
    full, lists = ("put_short", 2) if sid else ("get_zcopy", 1)
    return [("data_path", [rounds], [row for row in [
        ("bench_empty", rounds, 36, 20, "empty progress"),
        ("bench_post_short", messages * 3, 69, 66, "post am_short 8 B"),
        ("bench_post_payload", messages, 72, 92, "post am_short 8 B + 8 B"),
        ("bench_post_iov", messages, 101, 119, "post am_short_iov 8 B"),
        ("bench_post_iov_two", messages, 121, 142, "post am_short_iov 8 B + 8 B"),
        ("bench_post_bcopy", messages, 81, 100, "post am_bcopy 1 KB"),
        ("bench_post_zcopy", messages, 164, 220, "post am_zcopy 1 KB"),
        ("bench_post_get_bcopy", messages, 109, 113, "post get_bcopy 1 KB"),
        ("bench_post_get_zcopy", messages, 119, 124, "post get_zcopy 1 KB"),
        ("bench_complete_get", messages, 61, 80, "completion of get_zcopy, 16"),
        ("bench_complete_copy", messages, 69, 113, "completion of get_bcopy, 16"),
        sid and ("bench_post_put_short", messages, 122, 127, "post put_short 8 B"),
        sid and ("bench_complete_put", messages, 55, 49,
                 "completion of put_short, 16"),
        ("bench_post_get_list", pieces, 140, 84, "post a piece of a list, get"),
        sid and ("bench_post_put_list", pieces, 142, 84,
                 "post a piece of a list, put"),
        ("bench_complete_list", pieces * lists, 59, 51,
         "completion of a piece, 16 in a poll"),
        # half of the polls have a limit packet, which is counted with those
        ("bench_receive", messages * 3 / 2, 77, 82, "receive, 16 in a poll"),
        ("bench_receive_reversed", messages / 2, 151, 169, "receive, 16 reversed"),
        ("bench_receive_alone", messages * 31 / 32, 159, 181, "receive, alone"),
        ("bench_complete", messages * 3 / 2, 30, 33, "completion, 16 in a poll"),
        ("bench_complete_alone", messages * 31 / 32, 102, 169,
         "completion, alone"),
        # of their own polls, without which the rest is what a limit packet costs
        ("bench_receive_limit", rounds * 3 / 2, 1820, 1957,
         "16 received, limit sent"),
        ("bench_complete_limit", rounds * 3 / 2, 805, 833,
         "16 complete, limit taken"),
        ("bench_limit_done", rounds * 7 / 2, 255, 350, "completion of a limit"),
        # limits included: more flows may not mean more limits
        ("bench_turn_one", 64 * BATCH, 95, 103, "receive and limits, one flow"),
        ("bench_turn_sixteen", 64 * BATCH, 94, 101,
         "receive and limits, 16 flows")] if row]),
            ("full", [rounds, "full"], [
                ("bench_refuse", messages, 176, 174, f"{full}, full queue: refused"),
                ("bench_queue", messages, 88, 88, f"{full}, full queue: and waits"),
                ("bench_serve", messages, 370, 440, f"{full}, full queue: served")]),
            ("create_100", [rounds, 100], [
                ("bench_create", 100, 1950, 2020, "endpoint, 100 GIDs")]),
            ("create", [rounds, endpoints], [
                ("bench_flush", rounds, 15, 15,
                 f"iface_flush, {endpoints} endpoints"),
                ("bench_create", endpoints, 1750, 1750,
                 f"endpoint, {endpoints} GIDs")])]


class Run:
    def __init__(self, options, out):
        self.options, self.bench = options, Bench(options.build, True, out)
        self.prefix = in_sid(self.bench) if options.sid else ()
        self.device = ["--device", "efa2" if options.sid else "efa1",
                       *["--no-strict-batch"] * options.direct]

    def collect(self, name, phases, arguments, *env):
        """One run that collects in these functions: {phase: (transport, verbs, the
        emulated device's own polls)}, and what it printed."""
        path, handles = f"{self.bench.work}/{name}", str(self.options.endpoints * 2)
        words, _ = self.bench.words(
            [self.bench.srdrun, "valgrind", "--tool=callgrind", "--dump-instr=yes",
             "--separate-callers=60", f"--callgrind-out-file={path}",
             # sorted: it forgets names whose beginning it is told behind them
             *[f"--toggle-collect={phase}" for phase in sorted(phases)],
             self.bench.program("instr"), *map(str, arguments)],
            [*self.device, "--max-ah", handles], self.prefix,
            [f"UCX_EFA_DIRECT={'y' if self.options.direct else 'n'}",
             "UCX_EFA_HUGE_PAGES=n", # as where none are free
             f"UCX_SRD_MAX_AH={handles}", *env], name)
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            sys.exit(f"{done.stdout[-2000:]}\ninstr: the run failed")
        profile = Profile(path, phases)
        if profile.costs[None]:
            sys.exit(f"instr: {sum(profile.costs[None].values())} instructions of "
                     "no phase")
        return {phase: (profile.total(phase, TRANSPORT),
                        profile.total(phase, VERBS), profile.polls_again(phase))
                for phase in phases}, done.stdout


class Report:
    """Prints, and keeps what is wrong."""

    def __init__(self, check):
        self.check, self.is_bad = check, False

    def bad(self, text, always=False):
        print(f"{'FAIL' if self.check or always else 'NOTE'}: {text}")
        self.is_bad = self.is_bad or self.check or always


def row(label, transport, verbs, more=""):
    print(f"{label:<34} transport {transport:7.1f}   verbs {verbs:7.1f}{more}")


def recorded(run, report):
    """A message of 8 B, without the device's polls."""
    phases = ["bench_empty", "bench_post_short", "bench_receive", "bench_complete"]
    rounds, whole = run.options.rounds, []
    os.mkdir(f"{run.bench.work}/recordings")
    for name, *env in (("plain",),
                       ("with", f"UCX_EFA_RECORD={run.bench.work}/recordings:4M")):
        counts, _ = run.collect(name, phases, [rounds], *env)
        poll = counts.pop("bench_empty")[1] / 2 / rounds
        whole.append(sum(
            (transport + verbs - again * poll) / rounds / BATCH /
            (3 if phase == "bench_post_short" else 1.5)
            for phase, (transport, verbs, again) in counts.items()))
    print(f"a message of 8 B {whole[0]:.1f}   recorded {whole[1]:.1f}   "
          f"{whole[1] / whole[0]:.2f} times as much")
    if whole[1] > 1.6 * whole[0]:
        report.bad("it should be at most 1.6")


def said_by_comments(way):
    """[(phase, count, file)] that the fast paths state in their comments."""
    found = []
    for path in glob.glob(f"{TOP}/src/uct/ib/**/*.[ch]", recursive=True):
        with open(path, encoding="utf-8") as file:
            found += [(phase, int(count), path) for count, phase in re.findall(
                rf"(\d+) instructions \((bench_[a-z_]+), {way}\)", file.read())]
    if len(found) < 3:
        sys.exit("instr: the comments of the fast paths are gone")
    return found


def measure(run, report):
    options = run.options
    margin = float(os.environ.get("INSTR_MARGIN", 0))
    runs = phases_of(options.rounds, options.sid, options.endpoints)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = list(pool.map(
            lambda name, arguments, rows: run.collect(
                name, [phase for phase, *_ in rows], arguments,
                *["UCX_SRD_TX_QUEUE_LEN=16"] * (name == "full")), *zip(*runs)))
    t, v = {}, {} # of one operation: transport, verbs
    print(f"instructions per operation, {options.rounds} rounds of {BATCH} messages")
    poll = found[0][0]["bench_empty"][1] / 2 / options.rounds # it polls twice
    for (counts, _), (_, _, rows) in zip(found, runs):
        for phase, operations, *bounds, label in rows:
            transport, verbs, again = counts[phase]
            t[phase] = transport / operations
            v[phase] = (verbs - again * poll) / operations
            row(label, t[phase], v[phase])
            bound = bounds[options.direct] * (1 + margin / 100)
            if t[phase] > bound:
                report.bad(f"{label} takes {t[phase]:.1f} instructions, "
                           f"{bound:.0f} are its bound")
            if transport <= 0:
                report.bad(f"{phase} was never entered", True)
    for phase, count, path in said_by_comments(
            "direct" if options.direct else "libefa"):
        if phase not in t:
            report.bad(f"the comment in {path} names no phase", True)
        elif not margin and abs(t[phase] - count) > 1:
            report.bad(f"{phase} takes {t[phase]:.1f} instructions, the comment in "
                       f"{path} says {count}")
    summary(t, v, report, options.direct and not margin)
    print("\n".join(re.findall("^memory of .*", found[2][1], re.M)))


def summary(t, v, report, is_direct):
    def limit(c): # what a limit packet costs, its polls apart
        return (c["bench_receive_limit"] + c["bench_complete_limit"] - BATCH *
                (c["bench_receive"] + c["bench_complete"]) + c["bench_limit_done"])

    def message(c):
        return c["bench_post_short"] + c["bench_receive"] + c["bench_complete"]

    row("a limit packet, both ends", limit(t), limit(v))
    # each second batch brings one, or the program says so and fails
    row("messages to each limit packet", 2 * BATCH, 0)
    whole = message(t) + message(v)
    row("a message of 8 B", message(t), message(v), f"   whole {whole:7.1f}")
    print(f"{'with its share of a limit packet':<34} "
          f"{whole + (limit(t) + limit(v)) / (2 * BATCH):55.1f}")
    if is_direct and whole > 180:
        report.bad("a message takes more than 180")
    turns = t["bench_turn_sixteen"] / t["bench_turn_one"]
    print(f"{'receiving from 16 flows':<34} {turns:.2f} of one")
    if turns > 1.2:
        report.bad("it should be at most 1.2")


def main():
    parser = argparse.ArgumentParser(
        prog="instr.sh", description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter)
    for name in ("--check", "--direct", "--sid", "--recorded"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("build", nargs="?", default=os.path.join(TOP, "build"))
    parser.add_argument("rounds", nargs="?", type=int, default=16)
    parser.add_argument("endpoints", nargs="?", type=int, default=10000)
    options = parser.parse_args()
    options.build = os.path.realpath(options.build)
    options.sid = options.sid or options.direct
    if not shutil.which("valgrind"):
        sys.exit("instr: valgrind is missing (Debian: apt-get install valgrind)")
    # Longer, and the queue's reserve opens within the run, which is another way.
    if options.rounds % 4 or options.rounds > 32:
        parser.error(f"{options.rounds} rounds: a multiple of 4 up to 32, please")
    report = Report(options.check)
    out = tempfile.mkdtemp(prefix="instr.", dir=options.build)
    try:
        (recorded if options.recorded else measure)(Run(options, out), report)
    finally:
        if not os.environ.get("INSTR_KEEP"):
            shutil.rmtree(out)
    sys.exit(report.is_bad)


if __name__ == "__main__":
    main()
