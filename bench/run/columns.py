# SPDX-License-Identifier: BSD-3-Clause
"""The programs that are compared, and those that this machine has."""
import os
import subprocess

from launch import (TOP, Failed, check_bytes, free_port, read_pair,
                    read_payload)

CHROOT = os.path.join(TOP, "contrib", "ci", "chroot.sh")


class Column:
    """One library or transport under bench/pair."""

    def __init__(self, name, label, program, env=(), srdrun=False,
                 nodes=(0, 1), over_device=True, prefix=()):
        self.name, self.label, self.program = name, label, program
        self.env, self.srdrun, self.nodes = env, srdrun, nodes
        self.over_device, self.prefix = over_device, prefix

    def measure(self, bench, cases, options=(), env=()):
        before = [bench.srdrun] if self.srdrun else []
        figures, counters, payload = bench.pair(
            self.program, cases, before=before, nodes=self.nodes,
            env=[*self.env, *env], options=options, prefix=self.prefix)
        check_bytes(counters, payload, self.over_device)
        return figures, counters


class MpiColumn(Column):
    """The same program over MPI: mpirun starts both sides."""

    def measure(self, bench, cases, options=(), env=()):
        port = str(free_port())
        run = ["mpirun", "--oversubscribe", "--bind-to", "core"]
        if os.geteuid() == 0:
            run.append("--allow-run-as-root")
        for word in self.env:
            run += (["-x", word] if word.startswith("UCX_")
                    else ["--mca", *word.split("=", 1)])
        inner = [bench.efasim, "run", "--per-node", "1", "--"]
        inner += [bench.srdrun] if self.srdrun else []
        inner += [bench.program(self.program), port]
        command = [*run, "-np", "1", *inner, "--", *cases, ":", "-np", "1",
                   *inner, "127.0.0.1", "--", *cases]
        text, counters = bench.fabric(
            command, options=options,
            env=[f"PAIR_MS={bench.milliseconds}",
                 "UCX_WARN_UNUSED_ENV_VARS=n", *env])
        check_bytes(counters, read_payload(text), self.over_device)
        return read_pair(text, cases), counters


def direct_reason(bench):
    """Why the direct path cannot be measured; None if it can."""
    shown = subprocess.run([bench.srdrun, "ucx_info", "-cf"],
                           capture_output=True, text=True, check=False)
    if "UCX_EFA_DIRECT" not in shown.stdout:
        return "this build has no UCX_EFA_DIRECT"
    made = subprocess.run([CHROOT, "--made", "sid"], check=False,
                          capture_output=True)
    if made.returncode == 0:
        return None
    if bench.quick:
        return ("it needs rdma-core 59: contrib/ci/chroot.sh sid makes a system "
                "that has it, and the run without --quick makes that")
    made = subprocess.run([CHROOT, "sid"], capture_output=True, text=True,
                          check=False)
    if made.returncode:
        return f"it needs rdma-core 59: {made.stderr.strip()[-100:]}"
    return None


def in_sid(bench):
    return [CHROOT, "--bind", bench.build, "--bind", bench.work, "sid", "--",
            "env", "LD_LIBRARY_PATH=/opt/ucx-1.13/lib"]


def all_columns(bench):
    """([columns], {name: why not}, [names of those that are here and fail])"""
    columns = [
        Column("srd", "srd", "pair-ucp", ["UCX_TLS=srd"], True),
        Column("ud", "ud", "pair-ucp", ["UCX_TLS=ud"], True),
        Column("tcp", "UCX tcp", "pair-ucp", ["UCX_TLS=tcp"],
               over_device=False),
        Column("sm", "UCX sm", "pair-ucp", ["UCX_TLS=sm,self"], nodes=(0, 0),
               over_device=False),
    ]
    without = {}
    why = direct_reason(bench)
    if why is None:
        sid = in_sid(bench)
        columns[1:1] = [
            Column("direct", "srd direct", "pair-ucp",
                   ["UCX_TLS=srd", "UCX_EFA_DIRECT=y"], True, prefix=sid),
            Column("verbs65", "srd, rdma-core of sid", "pair-ucp",
                   ["UCX_TLS=srd", "UCX_EFA_DIRECT=n"], True, prefix=sid)]
    else:
        without["direct"] = why
    if os.access(bench.program("pair-ofi"), os.X_OK):
        columns.append(Column("ofi", "libfabric efa", "pair-ofi"))
    else:
        without["ofi"] = "pair-ofi was not built: libfabric-dev is missing"
    columns += mpi_columns(bench, without)
    there = probe(bench, columns, without)
    return there, without, [column.name for column in columns
                            if column not in there]


def mpi_columns(bench, without):
    if not os.access(bench.program("pair-mpi"), os.X_OK):
        without["mpi"] = "pair-mpi was not built: libopenmpi-dev is missing"
        return []
    return [
        MpiColumn("mpi_srd", "Open MPI, ucx srd", "pair-mpi",
                  ["pml=ucx", "pml_ucx_tls=any", "pml_ucx_devices=any",
                   "UCX_TLS=srd,self"], True),
        MpiColumn("mpi_ofi", "Open MPI, mtl/ofi efa", "pair-mpi",
                  ["pml=cm", "mtl=ofi", "btl=self",
                   "mtl_ofi_provider_include=efa",
                   "opal_common_ofi_provider_include=efa"]),
    ]


def probe(bench, columns, without):
    """Those that get a message through."""
    good = []
    for column in columns:
        try:
            column.measure(bench, ["lat:8"])
            good.append(column)
        except Failed as error:
            without[column.name] = str(error)
    return good
