# SPDX-License-Identifier: BSD-3-Clause
"""UCX's own srd beside this module: the UCX that PyPI's nixl wheel brings with it,
one libucp for both, over the libefa of Debian sid."""
import glob
import os
import platform
import subprocess

import columns
import floors
from columns import Column
from launch import Missing
from sizes import in_turn

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or
                     os.path.expanduser("~/.cache"), "ucx-efa-srd", "python")
DEVICE = ["--device", "efa2"]
LENGTHS = [8, 4096, 65536, 1 << 20]
LABELS = {"intree": "in-tree srd", "srd": "srd", "direct": "srd direct",
          "early": "srd direct, UCX_RNDV_THRESH=32k"}
WHOLE = ("intree", "srd", "direct") # whose instructions are counted


def packages():
    """The folder of the wheel's libraries."""
    found = glob.glob(os.path.join(CACHE, "nixl", "lib", "python3*",
                                   "site-packages", "nixl_cu*.libs"))
    if not found:
        raise Missing("it comes with PyPI's nixl: contrib/test.sh python "
                     "fetches it")
    return os.path.realpath(found[0])


def link(source, folder, name):
    os.symlink(source, os.path.join(folder, name))


def folder_of(bench):
    """The wheel's libraries under the names that programs of others look for. Its
    copy of libibverbs looks for drivers elsewhere: the system's stands for it."""
    wheel = packages()
    folder = os.path.join(bench.work, "wheel")
    if os.path.isdir(folder):
        return folder
    modules = os.path.join(folder, "ucx")
    os.makedirs(modules)
    for name in ("ucp", "uct", "ucs", "ucm"):
        link(glob.glob(f"{wheel}/lib{name}-*.so*")[0], folder, f"lib{name}.so.0")
    for path in glob.glob(f"{wheel}/libibverbs-*.so*"):
        link(f"/usr/lib/{platform.machine()}-linux-gnu/libibverbs.so.1", folder,
             os.path.basename(path))
    for path in glob.glob(f"{wheel}/ucx/*.so.0.0.0"):
        name = os.path.basename(path)
        link(path, modules, name)
        link(path, modules, name.removesuffix(".0.0"))
    return folder


def prefix_of(bench):
    folder, wheel = folder_of(bench), packages()
    made = subprocess.run([columns.CHROOT, "--made", "sid"], check=False,
                          capture_output=True)
    if made.returncode:
        raise Missing("Debian sid is not made here: contrib/ci/chroot.sh sid")
    return [columns.CHROOT, "--bind", bench.build, "--bind", bench.work,
            "--bind", wheel, "sid", "--", "env",
            f"LD_LIBRARY_PATH={folder}:{wheel}"]


def rivals(bench):
    prefix = prefix_of(bench)
    return [Column(name, LABELS[name], "pair-ucp", ["UCX_TLS=srd", *env],
                   name != "intree", prefix=prefix)
            for name, env in (("intree", []), ("srd", ["UCX_EFA_DIRECT=n"]),
                              ("direct", ["UCX_EFA_DIRECT=y"]),
                              ("early", ["UCX_EFA_DIRECT=y",
                                         "UCX_RNDV_THRESH=32k"]))]


def beside(bench, say):
    """Latency and bandwidth, as sizes.in_turn."""
    cases = [f"lat:{length}" for length in LENGTHS]
    cases += [f"bw:{length}:32" for length in LENGTHS]
    return in_turn(bench, rivals(bench), {"": cases}, say, options=DEVICE)


def instructions(bench):
    """{column: {operation of bench/floors: {floor: instructions}}}"""
    found = {}
    for column in rivals(bench)[:len(WHOLE)]:
        options = [*DEVICE, *(["--no-strict-batch"] * (column.name == "direct"))]
        found[column.name] = floors.operations(
            bench, prefix=column.prefix, env=column.env, options=options,
            srdrun=column.srdrun)
        # zero-copy, as without valgrind, under which UCP takes another processor
        found[column.name].update(floors.operations(
            bench, prefix=column.prefix, env=[*column.env, "UCX_ZCOPY_THRESH=1"],
            options=options, srdrun=column.srdrun, arguments=["4", "blocks"]))
    return found
