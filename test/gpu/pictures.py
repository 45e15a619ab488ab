#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pictures.py ROOT p4d|p5: /sys and /proc of such an instance, as far as it is
about GPUs and EFAs, below ROOT. Addresses are those of the topology files of
aws-ofi-nccl. A p4d shows no bridges; what a p5 shows of its switches is taken
from that file."""

import os
import sys


def function(root, path, kind):
    """A PCI function in the folder `path` below /sys/devices."""
    address = os.path.basename(path)
    folder = os.path.join(root, "sys/devices", path)
    os.makedirs(folder)
    texts = {
        "gpu": ("0x10de", "0x2330", "0x030200"),
        "efa": ("0x1d0f", "0xefa2", "0x020000"),
    }[kind]
    for name, text in zip(("vendor", "device", "class"), texts):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text + "\n")
    if kind == "efa":
        bus, slot = address.split(":")[1:3]
        name = f"rdmap{int(bus, 16)}s{int(slot.split('.')[0], 16)}"
        os.makedirs(os.path.join(folder, "infiniband", name))
    link = os.path.join(root, "sys/bus/pci/devices", address)
    os.symlink(os.path.join("../../../devices", path), link)


def p4d(root):
    for bus in ("10", "20", "90", "a0"):
        for slot, kind in (("1b", "efa"), ("1c", "gpu"), ("1d", "gpu")):
            function(root, f"pci0000:{bus}/0000:{bus}:{slot}.0", kind)


def p5(root):
    for number, first in enumerate((0x4f, 0x60, 0x70, 0x80, 0x90, 0xa0, 0xb0,
                                    0xc0)):
        bridge = f"pci0000:00/0000:00:{number:02x}.0"
        function(root, f"{bridge}/0000:{first:02x}:00.0", "gpu")
        for bus in range(first + 1, first + 5):
            function(root, f"{bridge}/0000:{bus:02x}:00.0", "efa")


def main(root, name):
    for folder in ("sys/bus/pci/devices", "sys/module/nvidia",
                   "proc/driver/nvidia"):
        os.makedirs(os.path.join(root, folder))
    if name == "p4d":
        os.makedirs(os.path.join(root, "sys/module/efa_nv_peermem"))
        text = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1\n"
    else:
        text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1\n"
    with open(os.path.join(root, "proc/driver/nvidia/version"), "w",
              encoding="ascii") as file:
        file.write(text)
    with open(os.path.join(root, "proc/meminfo"), "w",
              encoding="ascii") as file:
        file.write("HugePages_Total: 0\nHugePages_Free: 0\n")
    {"p4d": p4d, "p5": p5}[name](root)


main(*sys.argv[1:])
