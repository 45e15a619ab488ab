#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads what callgrind counted of one phase of bench/instr.

usage: instr_where.py OUT                  "TRANSPORT VERBS AGAIN"
       instr_where.py OUT MODULE OPERATIONS [FUNCTION]
                                           per function of MODULE, and, of the
                                           one named, per instruction

OUT comes from callgrind with --dump-instr=yes. Transport is libuct_srd.so.0,
verbs is libefa and libibverbs; the emulated device, UCT's dispatch and libc are
not counted. AGAIN is a number of polls: the emulated device stands before
libefa's poll and, when nothing was there, works and polls once more, which no
other device does. The cost of an empty poll is to be taken off as often.

Functions are those of the module's symbol table, so what was inlined counts
where it runs. Their numbers are divided by OPERATIONS.
"""
import re
import subprocess
import sys

TRANSPORT, VERBS = "libuct_srd", "libefa.so|libibverbs"
HOOK = "hook_poll_cq"  # of the emulated device


class Profile:
    """Instructions executed at each address, and who calls whom. (Calls are
    listed whether or not they were made while collecting: their numbers say
    nothing, but how often an entry was executed does.)"""

    def __init__(self, path):
        self.costs = {}     # (object, address): instructions
        self.calls = set()  # (calling function, called, (object, address))
        self.names, self.object, self.function = {}, None, None
        self.to_object, self.to_function = None, None
        self.skip, self.address = False, 0
        with open(path, encoding="utf-8") as out:
            for line in out:
                self.take(line.rstrip("\n"))

    def take(self, line):
        match = re.match(r"(c?)(ob|fn)=(\(\d+\))(?: (.*))?", line)
        if match:
            self.name(*match.groups())
        elif line.startswith("calls="):
            target = line.split()[1]
            if target.startswith("0x"):
                self.address_called = int(target, 16)
            elif target != "*":
                self.address_called = self.address + int(target)
            else:
                self.address_called = self.address
            self.calls.add((self.function, self.to_function,
                            (self.to_object, self.address_called)))
            self.skip = True
        elif re.match(r"0x|[+*-]", line):
            self.cost(line)

    def name(self, called, kind, number, text):
        if text:
            self.names[kind, number] = text
        name = self.names[kind, number]
        if kind == "ob" and called:
            self.to_object = name
        elif kind == "ob":
            self.object = self.to_object = name
        elif called:
            self.to_function = name
        else:
            self.function, self.to_object = name, self.object

    def cost(self, line):
        """A line of costs; that after calls= has those of the function called,
        and an object not named before it is the caller's."""
        where, _, cost = line.split()[:3]
        if where.startswith("0x"):
            self.address = int(where, 16)
        elif where != "*":
            self.address += int(where)
        if not self.skip:
            key = (self.object, self.address)
            self.costs[key] = self.costs.get(key, 0) + int(cost)
        self.skip, self.to_object = False, self.object

    def total(self, wanted):
        return sum(cost for (name, _), cost in self.costs.items()
                   if re.search(wanted, name))

    def polls_again(self):
        """Polls that only the emulated device makes: of libefa, less of it."""
        inside = {to for function, _, to in self.calls
                  if function == HOOK and re.search(VERBS, to[0])}
        hook = {to for _, called, to in self.calls if called == HOOK}
        return (sum(self.costs.get(entry, 0) for entry in inside) -
                sum(self.costs.get(entry, 0) for entry in hook))


def listing(module):
    """(function, [(address, text)]) of a module, in order."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", module],
                          check=True, capture_output=True, text=True).stdout
    functions = []
    for line in text.splitlines():
        match = re.match(r"[0-9a-f]+ <(.*)>:", line)
        if match:
            functions.append((match.group(1), []))
        match = re.match(r" *([0-9a-f]+):\t(.*)", line)
        if match:
            functions[-1][1].append((int(match.group(1), 16), match.group(2)))
    return functions


def show(profile, module, count, wanted):
    base, totals = module.rsplit("/", 1)[-1], []
    found = {address: cost for (name, address), cost in profile.costs.items()
             if name.endswith(base)}
    for name, body in listing(module):
        total = sum(found.get(address, 0) for address, _ in body)
        if not total:
            continue
        totals.append((total, name))
        for address, text in body if name == wanted else []:
            if address in found:
                print(f"{found[address] / count:8.3f}  {text}")
    for total, name in sorted(totals, reverse=True):
        print(f"{total / count:8.2f}  {name}")
    print(f"{sum(found.values()) / count:8.2f}  in all")


def main():
    if len(sys.argv) not in (2, 4, 5):
        sys.exit(__doc__)
    profile = Profile(sys.argv[1])
    if len(sys.argv) == 2:
        print(profile.total(TRANSPORT), profile.total(VERBS),
              profile.polls_again())
    else:
        show(profile, sys.argv[2], float(sys.argv[3]),
             sys.argv[4] if len(sys.argv) == 5 else None)


main()
