# SPDX-License-Identifier: BSD-3-Clause
"""The parts whose lines are broken: how each is compiled and linked, and its tests, in
order of their price."""

import glob
import os
import re
import shutil
import subprocess


SANITIZE = (["-fsanitize=address,undefined"]
            if "SRD_SANITIZE" in os.environ else [])


def run(command, folder):
    """Must succeed."""
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL)


class Area:
    """Objects of the build that a mutant may be in; own: {object: source}."""
    folders = spared = commands = ()
    memory = None # bytes that a test may use
    flags = ["-DHAVE_CONFIG_H", "-D_GNU_SOURCE"]

    def __init__(self, source, build, work):
        self.source, self.build, self.work = source, build, work
        self.own, self.known = {}, {}
        for mine in self.objects():
            folder, name = os.path.split(os.path.relpath(mine, build))
            folder = folder.replace("obj/flow", "src/flow")
            self.own[mine] = f"{folder}/{name.split('-')[-1][:-2]}.c"
            known = mine[:-2] + ".d"
            if not os.path.exists(known):
                known = f"{build}/{folder}/.deps/{name[:-2]}.Po"
            with open(known, encoding="utf-8") as text:
                self.known[self.own[mine]] = text.read()

    def compile(self, tree, mine, out):
        """An object of the build from a tree's source. False: it is no C."""
        return subprocess.run(
            ["gcc", "-std=gnu11", "-O2", "-w", "-fPIC", *self.flags, "-I",
             self.build, "-I", "src", "-c", self.own[mine], "-o", out],
            cwd=tree, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def users(self, file):
        """The objects that a file of src is part of, as make knows."""
        return [mine for mine, path in self.own.items()
                if path == file or
                re.search(rf"\b{re.escape(file)}:", self.known[path])]

    def prepare(self):
        """Once, before anything is linked."""


class Flow(Area):
    """The core; its programs are linked when they run."""
    changed = {}
    memory = None if SANITIZE else 2 << 30
    folders = ("src/flow",)
    # image: suites sim (record_*) and fuzz
    spared = ("check.c", "image.c", "trace.c", "trace_priv.h")
    flags = ["-ffreestanding"]
    programs = {"sim": "test/{sim,driver}/flow_sim-*.o "
                       "src/{record,files}/test_flow_sim-*.o",
                "model": "test/model/flow_model-*.o",
                "flow": "test/gtest/flow/flow-*.o test/driver/gtest_flow-*.o",
                "rate": "test/{sim,driver}/flow_rate-*.o",
                "link": "test/{sim,driver}/flow_link-*.o"}
    commands = [
        "sim --plan small", "model srd 2 2 0 1 1", "model ud 2 2 0 1 1",
        "model --recalls 2 --buffers 1 srd 4 5 0 1 0",
        "model --lap 2 --eager srd 1 4 4 0 0",
        "model --errors 1 --eager srd 1 1 1 0 0",
        "model --twin 1 0 --eager srd 1 1 0 1 0",
        "model --third 0 1 --eager srd 1 0 1 1 0",
        "model --reborn 0 1 --eager srd 1 0 1 1 0",
        "model --reborn 0 1 --eager ud 1 0 1 1 0",
        "model --pings 2 srd 1 1 1 0 0", "model --held 3 ud 2 2 0 1 0",
        "flow --gtest_brief=1 --gtest_fail_fast", "sim --plan small --wrap "
        "--count 2 --seed 5", "rate idle shares incast phases turns pingpong",
        "link"]

    def objects(self):
        return sorted(glob.glob(self.build + "/obj/flow/*.o"))

    def prepare(self):
        """Each program without the core."""
        for name, objects in self.programs.items():
            run(["bash", "-c", f"ld -r -S -o {self.work}/{name}.o {objects}"],
                self.build)

    def link(self, tree, changed):
        for name in self.programs:
            if os.path.exists(f"{tree}/{name}"):
                os.unlink(f"{tree}/{name}")
        self.changed[tree] = [changed.get(mine, mine) for mine in self.own]

    def command(self, tree, words):
        name, *rest = words.split()
        program = f"{tree}/{name}"
        if not os.path.exists(program):
            gtest = ([] if name in ("sim", "model", "rate", "link") else
                     ["-lgtest", "-lgtest_main"])
            run(["g++", *SANITIZE, "-no-pie", "-Wl,-S", "-o", program,
                 f"{self.work}/{name}.o", *self.changed[tree], *gtest,
                 "-lpthread"], tree)
        return {}, [program, *rest]


class Uct(Area):
    """The module. The emulated device runs beside; each test takes half a
    minute."""
    folders = ("src/uct/ib/base", "src/uct/ib/efa", "src/uct/ib/srd",
               "src/uct/ib/ud")
    spared = ("base_top.c", "base_trace.c", "base_vfs.c")
    flags = [*Area.flags, "-fvisibility=hidden"]
    commands = ["srd", "ud"]

    def objects(self):
        of = "lib_libuct_srd_so_0-*.o"
        return [*glob.glob(f"{self.build}/src/ucp_hooks/{of}"),
                *glob.glob(f"{self.build}/src/uct/ib/**/{of}", recursive=True),
                *glob.glob(f"{self.build}/src/record/{of}"),
                *glob.glob(f"{self.build}/src/files/{of}"),
                *glob.glob(f"{self.build}/obj/flow/*.o")]

    def link(self, tree, changed):
        """Folders bin and lib with srdrun and its module."""
        for folder in ("bin", "lib"):
            os.makedirs(f"{tree}/{folder}", exist_ok=True)
        shutil.copy(self.build + "/bin/srdrun", tree + "/bin/")
        run(["gcc", "-shared", "-Wl,-z,nodelete", "-Wl,--as-needed",
             f"-Wl,--version-script={self.source}/src/ucp_hooks/hooks.map",
             "-Wl,-soname,libuct_srd.so.0",
             *[changed.get(mine, mine) for mine in self.own], "-lpthread",
             "-ldl", "-o", "lib/libuct_srd.so.0"], tree)

    def command(self, tree, words):
        return ({"UCT_TRANSPORT": words, "UCX_WARN_UNUSED_ENV_VARS": "n",
                 "UCX_HANDLE_ERRORS": "none"},
                [f"{self.build}/bin/efasim", "run", "--fabric",
                 f"m{os.getpid()}{os.path.basename(tree)}", "--", "timeout",
                 "300", f"{tree}/bin/srdrun", f"{self.build}/test/gtest_uct",
                 "--gtest_brief=1", "--gtest_fail_fast"])


class Engine(Flow):
    """The emulated device's."""
    folders = ("src/efasim/engine",)
    spared = ("log.c",)
    memory = None
    flags = Area.flags
    programs = {"engine": "test/gtest/efasim/engine-*.o"}
    commands = ["engine --gtest_brief=1 --gtest_fail_fast"]

    def objects(self):
        return glob.glob(f"{self.build}/src/efasim/engine/"
                         "lib_libefasim_so-*.o")


AREAS = {"engine": Engine, "flow": Flow, "uct": Uct}
