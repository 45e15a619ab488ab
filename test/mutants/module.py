# SPDX-License-Identifier: BSD-3-Clause
"""Mutants of the transport: the module as it was built, with one object (of a
header: those that include it) in place of its own, under tests of the transport
that the mutant's name begins with (suite uct)."""

import glob
import os
import shutil
import subprocess

UD = ("UctUd.*:UctUdPeer.killed__is*:-*link_down*:*storm__in_order*:"
      "*simultaneous*")
TESTS = {"UD": (("gtest_uct", UD), ("gtest_accident", "UdVariable.EFA_UD_MTU")),
         "SRD": (("gtest_uct", "*UctFence*:UctHostile*:*UctList*:UctAm.am_short*:"
                  "UctOrder.pending__a_*:UctReads*:*UctNested*:"
                  "*UctDestroy.in_a_callback*:UctArm.*"),)}


class Module:
    def __init__(self, source, build, work):
        self.source = source
        self.build = build
        self.work = work
        self.objects = sorted(
            glob.glob(build + "/src/ucp_hooks/lib_libuct_srd_so_0-*.o") +
            glob.glob(build + "/src/uct/ib/**/lib_libuct_srd_so_0-*.o",
                      recursive=True) +
            glob.glob(build + "/src/record/lib_libuct_srd_so_0-*.o") +
            glob.glob(build + "/obj/flow/*.o"))

    def check(self, mutants):
        """Which of the mutants' texts does not occur once, or None."""
        for what, name, old, _ in mutants:
            with open(f"{self.source}/src/uct/ib/{name}",
                      encoding="utf-8") as file:
                if file.read().count(old) != 1:
                    return what
        return None

    def compile(self, tree, name, text):
        """{object of the build: that of a tree in which a file of src/uct/ib is
        changed}; of a header those that include it."""
        shutil.copytree(self.source + "/src", tree + "/src")
        with open(f"{tree}/src/uct/ib/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        changed = {}
        for own in self.objects:
            path = os.path.relpath(own, self.build).replace(
                "lib_libuct_srd_so_0-", "")[:-len(".o")] + ".c"
            if path != f"src/uct/ib/{name}" and not self.includes(own, name):
                continue
            changed[own] = f"{tree}/{os.path.basename(path)}.o"
            subprocess.run(
                ["gcc", "-DHAVE_CONFIG_H", "-I", self.build, "-I",
                 tree + "/src", "-std=gnu11", "-fPIC", "-fvisibility=hidden",
                 "-O1", "-g", "-c", f"{tree}/{path}", "-o", changed[own]],
                check=True)
        if not changed:
            raise FileNotFoundError(name)
        return changed

    @staticmethod
    def includes(own, name):
        """Does the object's source include this header, as make knows?"""
        folder, base = os.path.split(own)
        known = f"{folder}/.deps/{base[:-len('.o')]}.Po"
        if not name.endswith(".h") or not os.path.exists(known):
            return False
        with open(known, encoding="utf-8") as file:
            return f"src/uct/ib/{name}:" in file.read()

    def mutate(self, number, mutant):
        """A folder with bin/srdrun and its module; None: the sound one."""
        tree = f"{self.work}/module{number}"
        os.makedirs(tree + "/lib")
        os.makedirs(tree + "/bin")
        shutil.copy(self.build + "/bin/srdrun", tree + "/bin/")
        objects = self.objects
        if mutant is not None:
            _, name, old, new = mutant
            with open(f"{self.source}/src/uct/ib/{name}",
                      encoding="utf-8") as file:
                text = file.read().replace(old, new)
            changed = self.compile(tree, name, text)
            objects = [changed.get(each, each) for each in objects]
        subprocess.run(
            ["gcc", "-shared", "-Wl,-z,nodelete", "-Wl,--as-needed",
             f"-Wl,--version-script={self.source}/src/ucp_hooks/hooks.map",
             "-Wl,-soname,libuct_srd.so.0", *objects, "-lpthread", "-ldl",
             "-o", tree + "/lib/libuct_srd.so.0"], check=True)
        return tree

    def commands(self, tree, transport):
        """The commands that judge it."""
        run = ["env", "-u", "EFASIM_STAT", "UCT_TRANSPORT=" + transport.lower(),
               "UCX_WARN_UNUSED_ENV_VARS=n", "UCX_HANDLE_ERRORS=none",
               self.build + "/bin/efasim", "run", "--fabric",
               f"m{os.getpid()}", "--", tree + "/bin/srdrun"]
        return [[*run, f"{self.build}/test/{program}", "--gtest_brief=1",
                 "--gtest_break_on_failure", f"--gtest_filter={tests}"]
                for program, tests in TESTS[transport]]
