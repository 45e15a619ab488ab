#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A module that loses limits, and the srd_replay of its core: why.py SOURCE_DIR
BUILD_DIR FOLDER makes FOLDER/bin/srdrun, FOLDER/lib/libuct_srd.so.0 and
FOLDER/bin/srd_replay."""

import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from module import Module  # noqa: E402
from table import MUTANTS  # noqa: E402

# Those of a pair's headers, too: else traffic the other way saves the flow.
NAMES = {"limit packet ignored": "ctl_rx", "piggybacked limit ignored": "rx"}


def objects_of(source, build, work):
    """The mutants' objects, in place of the build's."""
    own = {}
    for name, file, old, new in (each[:4] for each in MUTANTS
                                 if each[0] in NAMES):
        with open(f"{source}/src/flow/{file}", encoding="utf-8") as text:
            text = text.read()
        if text.count(old) != 1:
            sys.exit(f"{name}: not once in {file}")
        path = f"{work}/{file}"
        with open(path, "w", encoding="utf-8") as out:
            out.write(text.replace(old, new))
        subprocess.run(["gcc", "-std=gnu11", "-O1", "-g", "-fPIC",
                        "-ffreestanding", "-w", "-I", source + "/src", "-c",
                        path, "-o", path + ".o"], check=True)
        own[f"{build}/obj/flow/{file[:-2]}.o"] = path + ".o"
    if len(own) != len(NAMES):
        sys.exit("the table of mutants has other names")
    return own


def main(source, build, work):
    os.makedirs(work, exist_ok=True)
    own = objects_of(source, build, work)
    module = Module(source, build, work)
    if not set(own) <= set(module.objects):
        sys.exit("the objects of the core are not where they were")
    module.objects = [own.get(each, each) for each in module.objects]
    tree = module.mutate(0, None)
    objects = [own.get(each, each)
               for each in glob.glob(build + "/obj/flow/*.o")]
    objects += glob.glob(build + "/src/tools/replay/*.o")
    objects += [build + "/src/files/output.o"]
    objects += [f"{build}/src/record/record_{part}.o"
                for part in ("call", "call_rx", "file", "format", "guard",
                             "packet")]
    subprocess.run(["gcc", *objects, "-o", tree + "/bin/srd_replay"],
                   check=True)
    print(tree)


main(*sys.argv[1:])
