# SPDX-License-Identifier: BSD-3-Clause
"""The studies: cases, and competitors in turn, A B A B."""
import copy
import glob
import math
import os
import re
import shutil
import subprocess
import sys
import time

import columns
from columns import Column
from launch import TOP, Failed, Missing

sys.path.append(os.path.join(TOP, "bench"))
from instr_where import Profile # noqa: E402 (after its path)

LATENCY, RATE = "lat:8", "bw:8:64"
READ = "bw:1048576:16"
RIVAL_SIZES = [8, 4096, 65536, 1 << 20]
# A network's times are longer by that factor, so that what a slow core does is little
# beside them.
DILATION = 100
NETWORK = ["--latency-us", str(8 * DILATION), "--rate-mbps", str(100000 // DILATION)]
# Operation, bytes, outstanding, endpoints (ascending), their order (bench/twins.c).
SHAPES = ["tag:8:1:1", "tag:8:16:1", "tag:8:32:1", "tag:8:64:1", "am:8:100:1",
          "get:8:16:1", "get:4096:16:1", "put:8:16:1", "tag:8:32:64:random",
          "get:4096:64:64:zipf", "tag:8:256:300:turn", "am:8:1:1000:random",
          "rpc:64:64:1000:random", "tag:8:32:1000:random", "tag:8:64:1000:few",
          "tag:8:64:1000:hot", "tag:8:64:1000:bursts", "tag:8:64:1000:zipf",
          "tag:8:256:1000:zipf", "tag:8:256:1000:turn"]
# With the names that a wheel gives its libraries, and those of UCX's own srd.
FLOORS = {"UCP": r"libuc[ps][-.]", "UCT": r"libuct[-.]",
          "transport": r"libuct_srd\.so|libuct_ib_efa\.so|libuct_ib\.so",
          "verbs": r"libibverbs|libefa\.|libefa-",
          "device": r"libefasim", "libc": r"libc\.so|ld-linux|libc-|vdso"}


def in_turn(bench, competitors, cases, rounds=None, times=1, longest=math.inf,
            by_case=False):
    """({column: {case: [its figures in each round; None: it failed]}}, {column:
    why}). Without ROUNDS as many as there is time for. BY_CASE: A B A B for each
    case."""
    found, failures, start = {}, {}, time.time()
    bench.milliseconds *= times
    if not rounds:
        rounds, longest = bench.rounds, bench.longest
    bench.labels.update({column.name: column.label for column in competitors})
    for number in range(rounds):
        if number and time.time() - start > longest * number / (number + 1):
            failures["rounds"] = (f"{rounds - number} of {rounds} rounds: the "
                                  "machine is too busy")
            break
        for part in [[case] for case in cases] if by_case else [cases]:
            for column in competitors:
                if not by_case or part[0] == cases[0]:
                    bench.say(f"round {number + 1} of {rounds}: {column.label}")
                try:
                    figures = column.measure(bench, part)
                except Failed as error:
                    failures[column.name] = f"{column.label}: {error}"
                    figures = {} # the round counts, else others would be its pairs
                for case in part:
                    found.setdefault(column.name, {}).setdefault(
                        case, []).append(figures.get(case))
    bench.milliseconds //= times
    return found, failures


def some(competitors, *names):
    return [column for column in competitors if column.name in names]


def ratios(bench, there):
    """The goals that compare."""
    return in_turn(bench, some(there, "srd", "direct", "verbs", "ofi"),
                   [LATENCY, RATE, READ], 5, 3)


def sizes(bench, there):
    """Latency and bandwidth; in flight 64 messages, at most 64 MB."""
    wanted = [8, 4096, 8192, 65536, 1 << 20, 16 << 20]
    return in_turn(bench, there, [f"lat:{size}" for size in wanted] + [
        f"bw:{size}:{min(64, (64 << 20) // size)}" for size in wanted])


def host(bench):
    """Within a host: what srd in the list costs sm. Not a packet may cross the
    device."""
    return in_turn(bench, [
        Column(name, tls, tls, srdrun=tls.startswith("srd"), nodes=(0, 0),
               over_device=False)
        for name, tls in (("host_sm", "sm,self"), ("host_srd", "srd,sm,self"))],
                   [LATENCY, RATE, "lat:4096", "bw:65536:64", READ])


def intree(bench):
    return in_turn(bench, columns.rivals(bench),
                   [f"lat:{size}" for size in RIVAL_SIZES] +
                   [f"bw:{size}:32" for size in RIVAL_SIZES])


def network(bench):
    """One message alone, 8 us each way and 100 Gb/s."""
    there = [*some(columns.rivals(bench), "intree", "srd"), copy.copy(columns.OFI)]
    for column in there:
        column.options = ["--device", "efa2", *NETWORK]
    found, failures = in_turn(bench, there, [
        f"lat:{1 << bits}" for bits in (3, 13, 14, 15, 16, 17, 18, 20, 22)], 5, 5)
    for cases in found.values():
        for rounds in cases.values():
            rounds[:] = [figures and (figures[0] / DILATION, *figures[1:])
                         for figures in rounds]
    return found, failures


def split(path, count, poll):
    """Instructions of one operation on each floor, and the polls of libefa that only
    the emulated device makes (instr_where.py), which cost POLL each."""
    profile = Profile(path, [None])
    again = profile.polls_again(None)
    found = {name: profile.total(None, pattern) / count
             for name, pattern in FLOORS.items()}
    found["verbs"] -= again * poll / count
    return found, again / count


def operations(bench, column=columns.SRD, env=(),
               arguments=("256", "tag:8:16:1")):
    """{phase of bench/twins: {floor: instructions}}"""
    if not shutil.which("valgrind"):
        raise Missing("valgrind is missing")
    out = os.path.join(bench.work, "callgrind.floors")
    for old in glob.glob(out + "*"):
        os.unlink(old)
    text, _ = bench.fabric(
        column.command(bench, "valgrind", "--tool=callgrind", "--collect-atstart=no",
                       "--dump-instr=yes", f"--callgrind-out-file={out}",
                       bench.program("twins"), *arguments),
        limit=200, **column.where(*env))
    counts = {words[0]: int(words[1]) for words in
              map(str.split, text.splitlines()) if len(words) == 2}
    paths = {}
    for path in glob.glob(out + ".*"):
        with open(path, encoding="utf-8") as file:
            match = re.search(r"Client Request: (\S+)", file.read(4000))
        if match:
            paths[match.group(1)] = path
    if not counts or set(paths) != set(counts):
        raise Failed("callgrind's phases are missing")
    poll = 0 # of blocks: in what many of them need, the device's polls do not show
    if "progress_idle" in counts:
        idle, again = split(paths["progress_idle"], counts["progress_idle"], 0)
        # each is made twice, once for the device
        poll = idle["verbs"] / 2 / max(again, 1)
    return {phase: split(paths[phase], counts[phase], poll)[0]
            for phase in counts}


def floors_direct(bench):
    return operations(bench, columns.direct(bench, "--device", "efa2",
                                            "--no-strict-batch"))


def intree_floors(bench):
    """{column: {operation of bench/twins: {floor: instructions}}}"""
    many = [case for case in SHAPES if ":1000:" in case]
    few = [case for case in SHAPES if case not in many]
    found, count = {}, 4096 if bench.quick else 16384
    for column in columns.rivals(bench, calls_device=True):
        # blocks by zero-copy, as without valgrind, under which UCP takes another
        # processor
        found[column.name] = {
            **operations(bench, column, ["UCX_ZCOPY_THRESH=1"], ("4", "blocks")),
            **operations(bench, column, (), (str(count), *few)),
            **operations(bench, column, (), (str(4 * count), *many))}
    return found


def instructions(bench, *options):
    """Rows of (operation, transport, verbs), and lines on memory, of
    bench/instr.sh; with --direct of the direct data path."""
    done = subprocess.run([os.path.join(TOP, "bench", "instr.sh"), *options,
                           bench.build, "16", "1000" if bench.quick else "10000"],
                          text=True, capture_output=True, timeout=600, check=False)
    rows = [(match.group(1).strip(), float(match.group(2)),
             float(match.group(3)))
            for match in re.finditer(r"^(.*\S) +transport +([\d.]+) +verbs +"
                                     r"([\d.]+)", done.stdout, re.M)]
    if done.returncode or not rows:
        raise Failed("instr.sh: " + (done.stderr.strip() or "no rows")[-100:])
    return {"rows": rows,
            "memory": re.findall(r"^memory of .*", done.stdout, re.M)}


def kernels(bench):
    """The cost of operations of a GPU's kernels, as suite gpu counts it: {one of them:
    what}"""
    done = subprocess.run(
        [os.path.join(TOP, "contrib", "test.sh"), "--in", bench.build, "gpu"],
        env={**os.environ, "CHECKS": "^device_cost$"}, text=True,
        capture_output=True, timeout=600, check=False)
    found = {}
    with open(os.path.join(bench.build, "logs", "gpu", "device_cost.log"),
              encoding="utf-8") as log:
        for eps, each, writes, bells in re.findall(
                r"(\d+) endpoints: (\d+) instructions a write, (\d+) writes, "
                r"(\d+) doorbells", log.read()):
            found[f"a write, of {eps} endpoints, instructions"] = each
            found[f"a write, of {eps} endpoints, doorbells"] = (
                f"{int(bells) / int(writes):.2f}")
        log.seek(0)
        for bells, packets in re.findall(
                r"one at a time: (\d+) doorbells, (\d+) packets", log.read()):
            found["a put, its increment and the answer, doorbells"] = bells
            found["a put, its increment and the answer, messages"] = packets
    if done.returncode or not found:
        raise Failed("suite gpu: " + done.stdout[-100:])
    return found
