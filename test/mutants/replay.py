#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mutants of the core under recordings of the sound one: srd_replay, with one
object in place of its own, must name the call at which a recording differs.
usage: replay.py SOURCE_DIR BUILD_DIR FOLDER"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from table import MUTANTS  # noqa: E402

NAMES = ("limit packet ignored", "piggybacked limit ignored",
         "generation not raised")
DIFFERS = re.compile(r'call (\d+) (?:the core )?differs'
                     r'|in call (\d+) an assertion')


def mutate(source, build, work, mutant):
    """A srd_replay of a core with this fault."""
    _, name, old, new = mutant[:4]
    with open(f"{source}/src/flow/{name}", encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit(f"{mutant[0]}: not once in {name}")
    path = f"{work}/{name}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))
    compiler = os.environ.get("CC", "gcc").split()
    subprocess.run([*compiler, "-std=gnu11", "-O1", "-g", "-ffreestanding",
                    "-I", source + "/src", "-c", path, "-o", path + ".o"],
                   check=True)
    own = f"{build}/obj/flow/{os.path.splitext(name)[0]}.o"
    objects = [path + ".o" if each == own else each
               for each in glob.glob(build + "/obj/flow/*.o")]
    objects += glob.glob(build + "/src/tools/replay/*.o")
    objects += [build + "/src/files/output.o"]
    objects += [f"{build}/src/record/record_{part}.o"
                for part in ("call", "call_rx", "file", "format", "guard",
                             "packet")]
    program = f"{work}/srd_replay"
    subprocess.run([*compiler, *objects, "-o", program], check=True)
    return program


def main(source, build, folder):
    files = sorted(glob.glob(folder + "/*.srdrec"))
    survive = 0
    with tempfile.TemporaryDirectory() as work:
        for mutant in MUTANTS:
            if mutant[0] not in NAMES:
                continue
            program = mutate(source, build, work, mutant)
            said = [subprocess.run([program, file], stdout=subprocess.PIPE,
                                   universal_newlines=True, check=False)
                    for file in files]
            found = [DIFFERS.search(each.stdout) for each in said
                     if each.returncode == 1]
            caught = bool(found) and all(found)
            survive += not caught
            print(f"{mutant[0]}: in {len(found)} of {len(files)} recordings",
                  f"at {found[0].group(0)}" if caught else "SURVIVES")
    print(f"{len(NAMES)} mutants, {survive} survive")
    sys.exit(survive != 0)


main(*sys.argv[1:])
