# SPDX-License-Identifier: BSD-3-Clause
"""Instructions by callgrind: of UCP's operations, on each floor (bench/floors),
and of the transport's own (bench/instr.sh)."""
import glob
import os
import re
import shutil
import subprocess
import sys

import columns
from launch import HERE, TOP, Failed, Missing

# With the names that a wheel gives its libraries, and those of UCX's own srd.
FLOORS = [("UCP", r"libuc[ps][-.]"), ("UCT", r"libuct[-.]"),
          ("transport", r"libuct_srd\.so|libuct_ib_efa\.so|libuct_ib\.so"),
          ("verbs", r"libibverbs|libefa\.|libefa-"),
          ("device", r"libefasim"), ("libc", r"libc\.so|ld-linux|libc-|vdso")]


def by_object(path):
    """{object: instructions} of callgrind's output, calls apart."""
    names, costs, current, skip = {}, {}, "?", False
    with open(path, encoding="utf-8") as out:
        for line in out:
            match = re.match(r"ob=(\(\d+\))(?: (.*))?$", line.rstrip("\n"))
            if match:
                if match.group(2):
                    names[match.group(1)] = match.group(2)
                current = names[match.group(1)]
                continue
            match = re.match(r"cob=(\(\d+\)) (.*)$", line.rstrip("\n"))
            if match:
                names[match.group(1)] = match.group(2)
            elif line.startswith("calls="):
                skip = True
            elif re.match(r"0x|[+*-]", line):
                if not skip:
                    costs[current] = (costs.get(current, 0) +
                                      int(line.split()[2]))
                skip = False
    return costs


def polls_again(path):
    """Polls of libefa that only the emulated device makes: instr_where.py."""
    done = subprocess.run([sys.executable, os.path.join(TOP, "bench",
                                                   "instr_where.py"), path],
                          capture_output=True, text=True, check=True)
    return int(done.stdout.split()[2])


def split(path, count, poll):
    """Instructions of one operation on each floor."""
    costs, found = by_object(path), {}
    for name, pattern in FLOORS:
        found[name] = sum(cost for where, cost in costs.items()
                          if re.search(pattern, os.path.basename(where)))
    found["verbs"] -= polls_again(path) * poll
    return {name: value / count for name, value in found.items()}


def operations(bench, prefix=(), env=(), options=(), srdrun=True,
               arguments=("16",)):
    """{phase: {floor: instructions}}"""
    if not shutil.which("valgrind"):
        raise Missing("valgrind is missing")
    out = os.path.join(bench.work, "callgrind.floors")
    for old in glob.glob(out + "*"):
        os.unlink(old)
    command = [*[bench.srdrun] * srdrun, "valgrind", "--tool=callgrind",
               "--collect-atstart=no", "--dump-instr=yes",
               f"--callgrind-out-file={out}", bench.program("floors"),
               *arguments]
    env = ["UCX_TLS=srd", "UCX_WARN_UNUSED_ENV_VARS=n", *env]
    text, _ = bench.fabric(command, prefix=prefix, env=env, limit=200,
                           options=options)
    counts = {words[0]: int(words[1]) for words in map(str.split,
                                                       text.splitlines())
              if len(words) == 3}
    paths = {}
    for path in glob.glob(out + ".*"):
        with open(path, encoding="utf-8") as file:
            match = re.search(r"Client Request: (\w+)", file.read(4000))
        if match:
            paths[match.group(1)] = path
    if not counts or set(paths) != set(counts):
        raise Failed("callgrind's phases are missing")
    poll = 0 # of blocks: in what many of them need, the device's polls do not show
    if "progress_idle" in counts:
        idle = split(paths["progress_idle"], counts["progress_idle"], 0)
        again = polls_again(paths["progress_idle"]) / counts["progress_idle"]
        poll = idle["verbs"] / 2 / max(again, 1) # each is made twice, once for the device
    return {phase: split(paths[phase], counts[phase], poll)
            for phase in counts}


def times(bench, prefix=(), env=(), options=()):
    """{phase: nanoseconds}, the device's work included; and were gets RDMA? (UCP
    up to 1.13 does all by messages where there is no RDMA WRITE.)"""
    text, counters = bench.fabric(
        [bench.srdrun, bench.program("floors"), "256"], prefix=prefix,
        env=["UCX_TLS=srd", "UCX_WARN_UNUSED_ENV_VARS=n", *env],
        options=options)
    return ({words[0]: float(words[2]) for words in map(str.split,
                                                        text.splitlines())
             if len(words) == 3}, counters.total("rdma_read_wrs") > 1000)


def transport(bench, *options):
    """Rows of (operation, transport, verbs), and lines on memory; with --direct
    of the direct data path."""
    script = os.path.join(os.path.dirname(HERE), "instr.sh")
    rounds = ["16", "1000" if bench.quick else "10000"]
    done = subprocess.run([script, *options, bench.build, *rounds], text=True,
                          capture_output=True, timeout=600, check=False)
    rows = [(match.group(1).strip(), float(match.group(2)),
             float(match.group(3)))
            for match in re.finditer(r"^(.*\S) +transport +([\d.]+) +verbs +"
                                     r"([\d.]+)", done.stdout, re.M)]
    if done.returncode or not rows:
        raise Failed("instr.sh: " + (done.stderr.strip() or "no rows")[-100:])
    return {"rows": rows,
            "memory": re.findall(r"^memory of .*", done.stdout, re.M)}


def named_times(bench):
    found, rdma = times(bench)
    return {"ns": found, "gets are": "RDMA" if rdma else "UCP's messages"}


def with_rdma(bench):
    """The same where device and rdma-core have RDMA WRITE (Debian sid), so that
    UCP 1.13 takes the transport's put and get."""
    made = subprocess.run([columns.CHROOT, "--made", "sid"], check=False,
                          capture_output=True)
    if made.returncode:
        raise Missing("Debian sid is not made here: contrib/ci/chroot.sh sid")
    where = {"prefix": columns.in_sid(bench), "env": ["UCX_EFA_DIRECT=n"],
             "options": ["--device", "efa2"]}
    _, rdma = times(bench, **where)
    if not rdma:
        raise Failed("the gets were no RDMA reads")
    return operations(bench, **where)


def direct(bench):
    return operations(bench, prefix=columns.in_sid(bench),
                      env=["UCX_EFA_DIRECT=y"],
                      options=["--device", "efa2", "--no-strict-batch"])


def profile(bench, lines=16):
    """The functions that an 8 B message spends its instructions in, all of the
    process: [(instructions of one, where)]."""
    out, found = os.path.join(bench.work, "callgrind.floors"), []
    for path in glob.glob(out + ".*"):
        with open(path, encoding="utf-8") as file:
            if "Client Request: tag_8" not in file.read(4000):
                continue
        done = subprocess.run(["callgrind_annotate", "--threshold=97", path],
                              capture_output=True, text=True, check=False)
        for match in re.finditer(r"^ *([\d,]+) \([ \d.]+%\) +(\S.*)$",
                                 done.stdout, re.M):
            if "TOTALS" not in match.group(2):
                found.append((int(match.group(1).replace(",", "")) / 256,
                              match.group(2)))
    return [(round(count, 1), shorter(where)) for count, where in found[:lines]]


def shorter(where):
    """FUNCTION [LIBRARY], without folders."""
    match = re.match(r"(?:.*?:)?([^ \[]+).*?(?:\[(?:.*/)?([^/\]]+)\])?$", where)
    return f"{match.group(1)} [{match.group(2) or 'program'}]"
