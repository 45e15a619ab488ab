#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""broken.py SOURCE BUILD WORK {FILE OLD NEW}...: the module with faults of our
choice, in WORK/bin and WORK/lib, and WORK/bin/srd_replay with those of the core. Each
text OLD must stand once in FILE, a path in src."""

import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from areas import Uct  # noqa: E402


def main(source, build, work, *faults):
    source, build, work = map(os.path.abspath, (source, build, work))
    area = Uct(source, build, work)
    shutil.copytree(source + "/src", work + "/src")
    changed = {}
    for path, old, new in zip(*[iter(faults)] * 3):
        with open(f"{work}/src/{path}", encoding="utf-8") as file:
            text = file.read()
        if text.count(old) != 1:
            sys.exit(f"the line of a fault has changed: {old!r} in {path}")
        with open(f"{work}/src/{path}", "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        for mine in area.users(f"src/{path}"):
            changed[mine] = f"{work}/{os.path.basename(mine)}"
            if not area.compile(work, mine, changed[mine]):
                sys.exit(f"{path} does not compile")
    area.link(work, changed)
    core = [changed.get(mine, mine)
            for mine in glob.glob(build + "/obj/flow/*.o")]
    parts = glob.glob(build + "/src/record/record_*.o")
    parts += [f"{build}/src/{part}.o"
              for part in ("files/bus", "files/output", "command/json",
                           "command/options")]
    subprocess.run(["gcc", *core, *parts,
                    *glob.glob(build + "/src/tools/replay/*.o"), "-o",
                    work + "/bin/srd_replay"], check=True)


main(*sys.argv[1:])
