# SPDX-License-Identifier: BSD-3-Clause
"""Collectives of MPI (bench/pair/collectives.c): Open MPI 5 of PyPI, eight ranks on
four hosts."""
import os
import subprocess

import columns
from launch import CACHE, TOP, Failed, Missing, payload_of
from studies import DILATION, NETWORK, in_turn

MPI = os.path.join(CACHE, "mpi")
SIZES = [8, 1024, 8192, 32768, 131072, 1 << 20]
CASES = [f"{name}:{size}" for name in ("allreduce", "alltoall", "halo")
         for size in SIZES]
UCX = ["pml=ucx", "pml_ucx_tls=any", "pml_ucx_devices=any"]
OFI = ["pml=cm", "mtl=ofi", "mtl_ofi_provider_include=efa"]


class Ranks:
    """A column of columns.py, under MPI."""

    def __init__(self, column, mca, prefix):
        self.name, self.label = column.name, column.label
        self.column, self.mca, self.prefix = column, mca, prefix

    def measure(self, bench, cases):
        text, counters = bench.fabric(
            [f"{MPI}/bin/mpirun", "-np", "8", "--oversubscribe",
             *[word for pair in self.mca for word in ("--mca", *pair.split("="))],
             bench.efasim, "run", "--per-node", "2", "--",
             *self.column.command(bench, bench.program("collectives"),
                                  str(DILATION), *cases)],
            prefix=self.prefix, options=["--device", "efa2", *NETWORK], env=[
                f"OPAL_PREFIX={MPI}", "OMPI_ALLOW_RUN_AS_ROOT=1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "FI_PROVIDER=efa",
                *self.column.env, "UCX_TLS=srd,sm,self"])
        counters.check(payload_of(text), True)
        return {words[0]: (float(words[1]), None, None)
                for words in map(str.split, text.splitlines())
                if len(words) == 2 and words[0] in cases}


def study(bench):
    if not os.access(f"{MPI}/bin/mpicc", os.X_OK):
        raise Missing("Open MPI comes with PyPI: contrib/test.sh python fetches it")
    built = subprocess.run(
        [f"{MPI}/bin/mpicc", "-O2", "-o", bench.program("collectives"),
         os.path.join(TOP, "bench", "pair", "collectives.c")],
        env={**os.environ, "OPAL_PREFIX": MPI}, capture_output=True, text=True,
        check=False)
    if built.returncode:
        raise Failed(built.stderr[-160:])
    source, folder = columns.wheel(bench)
    there = [Ranks(column, UCX, columns.in_sid(bench, f"{folder}:{source}",
                                               [source, MPI]))
             for column in columns.rivals(bench)]
    there.append(Ranks(columns.OFI, OFI, columns.in_sid(bench, f"{MPI}/lib", [MPI])))
    return in_turn(bench, there, CASES, 3 if bench.quick else 7)
