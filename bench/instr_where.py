# SPDX-License-Identifier: BSD-3-Clause
"""Reads what callgrind counted of phases of bench/instr and bench/twins.

A file comes from callgrind with --dump-instr=yes --separate-callers=60 and a
--toggle-collect for each phase, which is a function (bench_*): callgrind then
names a function with all its callers, by which its phase is told.
"""
import re

TRANSPORT, VERBS = "libuct_srd", "libefa.so|libibverbs"
HOOK = "hook_poll_cq"  # of the emulated device


class Profile:
    """Instructions of each phase, and of None outside of them, executed at
    each address, and who calls whom. (Calls are listed whether or not they were
    made while collecting: their numbers say nothing, but how often an entry was
    executed does.)"""

    def __init__(self, path, phases):
        self.phases = phases
        self.costs = {phase: {} for phase in [None, *phases]}  # (object, address)
        self.calls = set()  # (calling function, called, (object, address))
        self.names, self.object, self.function = {}, None, None
        self.to_object, self.to_function = None, None
        self.skip, self.address, self.phase = False, 0, None
        with open(path, encoding="utf-8") as out:
            for line in out:
                self.take(line.rstrip("\n"))

    def take(self, line):
        match = re.match(r"(c?)(ob|fn)=(\(\d+\))(?: (.*))?", line)
        if match:
            self.name(*match.groups())
        elif line.startswith("calls="):
            called = self.address_of(line.split()[1])
            self.calls.add((self.function, self.to_function,
                            (self.to_object, called)))
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
            self.to_function = name.split("'")[0]
        else:
            callers = name.split("'")
            self.function, self.to_object = callers[0], self.object
            self.phase = next((caller for caller in callers
                               if caller in self.phases), None)

    def address_of(self, word):
        if word.startswith("0x"):
            return int(word, 16)
        return self.address + (int(word) if word != "*" else 0)

    def cost(self, line):
        """A line of costs; that after calls= has those of the function called,
        and an object not named before it is the caller's."""
        where, _, cost = line.split()[:3]
        self.address = self.address_of(where)
        if not self.skip and int(cost):
            costs, key = self.costs[self.phase], (self.object, self.address)
            costs[key] = costs.get(key, 0) + int(cost)
        self.skip, self.to_object = False, self.object

    def total(self, phase, wanted):
        return sum(cost for (name, _), cost in self.costs[phase].items()
                   if re.search(wanted, name.rsplit("/", 1)[-1]))

    def polls_again(self, phase):
        """Polls that no other device makes: the emulated one stands before libefa's
        poll and, when nothing was there, works and polls once more. The cost of an
        empty poll is to be taken off as often."""
        inside = {to for function, _, to in self.calls
                  if function == HOOK and re.search(VERBS, to[0])}
        hook = {to for _, called, to in self.calls if called == HOOK}
        costs = self.costs[phase]
        return (sum(costs.get(entry, 0) for entry in inside) -
                sum(costs.get(entry, 0) for entry in hook))
