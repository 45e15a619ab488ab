#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""That the bench measures what it says: a column fails when another transport
does its work, and the targets see what is missed.

usage: selftest.py BUILD_DIR
"""
import os
import sys
import tempfile

import cpu
import studies
import targets
from columns import SRD, Column
from launch import Bench, Failed

CALM, BUSY = [9.0, 0, 1], [9.0, 0, 0.3]
ONE = [1.0, 1.0, 1]


def equal(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found}, where {expected} was expected")


def must_fail(text, action, *arguments):
    try:
        action(*arguments)
    except Failed as error:
        if text in str(error):
            return
        sys.exit(str(error))
    sys.exit(f"nobody noticed: {text}")


def ask_cpu(bench, tls, cases):
    program = cpu.Program(bench, Column("srd", "srd", tls))
    found, failures = cpu.measure(bench, [program], cases, 2)
    program.stop()
    return found.get("srd"), failures.get("srd", "")


def check_cpu(bench):
    """CPU time: its bytes crossed the device."""
    cases = ["tag:8:1", "am:65536:32:3", "put:512:1", "get:4096:32:3:zipf",
             "rpc:64:4:3:few"]
    figures, why = ask_cpu(bench, "srd", cases)
    if why or list(figures) != cases or None in sum(figures.values(), []):
        sys.exit(f"CPU time: {figures} {why}")
    for tls, case, text in (("tcp", "tag:8:1", "something else did the work"),
                            ("srd", "tag:8:1024", "Invalid parameter"),
                            ("srd", "tag:8:1:3:none", "Invalid parameter")):
        figures, why = ask_cpu(bench, tls, [case])
        if text not in why:
            sys.exit(f"CPU time of {case}, {tls}: {figures} {why}")
    for figure in ("0", "nan", "inf", "-1"):
        must_fail("no figure", cpu.read, f"put:8:1 {figure} 1", "put:8:1")


def verdicts(found):
    return [(line["value"], line["met"], line["lost"])
            for line in targets.verdicts(found)]


def check_targets():
    """Missed is not lost: a time has a margin, and some goals are known. The dearest
    size counts; a round in which a column failed pairs with nothing; without cores no
    goal is lost."""
    def of_time(*values):
        return [[value, None, None] for value in values]

    equal("CPU time", verdicts({"cpu": {
        "intree": {"put:8:1": of_time(100.0, 200.0, 50.0),
                   "put:512:1": of_time(100.0)},
        "srd": {"put:8:1": of_time(110.0, 220.0, 90.0), "put:512:1": of_time(90.0)},
        "direct": {"put:8:1": of_time(140.0)}}}),
          [(1.1, False, False), (1.4, False, True)])
    for rate, met in ((1.01, True), (float("inf"), False)):
        equal("host", verdicts({"host": {
            "host_sm": {"bw:1048576:16": [ONE]},
            "host_srd": {"bw:1048576:16": [[0, rate, 1]]}}}), [(rate, met, not met)])
    for mine, theirs, value, is_lost in (
            ([CALM] * 5, [ONE] * 5, 9.0, True), ([BUSY] * 5, [ONE] * 5, 9.0, False),
            ([CALM, None, ONE], [None, ONE, ONE], 1.0, False)):
        equal("ratios", verdicts({"ratios": {
            "srd": {"lat:8": mine}, "verbs": {"lat:8": theirs}}}),
              [(value, not is_lost and value < 9, is_lost)])
    whole = {"UCP": 100, "UCT": 0, "transport": 100, "verbs": 0}
    dear = dict(whole, transport=111)
    equal("lost", targets.lost(targets.verdicts({
        "intree": {"intree": {"lat:8": [ONE], "bw:8:32": [ONE]},
                   "srd": {"lat:8": [[1.2, 0, 1]]},
                   "direct": {"lat:8": [[1.4, 0, 1]], "bw:8:32": [[0.5, 4, 1]]}},
        "intree_floors": {"intree": {"get": whole, "blocks_list": dear,
                                     "blocks_calls": dear},
                          "srd": {"get": dear, "blocks_list": dear,
                                  "blocks_calls": whole}}})),
          ["UCP get, instructions of UCX and libefa, srd to UCX's own",
           "a block of a list to one by a call, UCX and libefa, srd",
           "latency 8 B, srd direct to UCX's own"])


def check_unknown():
    """A goal whose measure failed is not met."""
    figures = {"srd": {"lat:8": [ONE]}, "verbs": {"lat:8": [None, None]},
               "intree": {"lat:8": [ONE]}}
    equal("unknown", [
        targets.unknown("cpu", None, {}), targets.unknown("sizes", None, {}),
        targets.unknown("ratios", figures, dict.fromkeys(
            ["srd", "verbs", "direct", "ofi", "rounds"], ""))],
          [["cpu"], [], ["ratios, verbs", "ratios, direct"]])


def main():
    check_targets()
    check_unknown()
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as work:
        bench = Bench(os.path.realpath(sys.argv[1]), True, work)
        figures = SRD.measure(bench, ["lat:8", "bw:65536:16"])
        if any(values[0] <= 0 for values in figures.values()):
            sys.exit(f"no figures: {figures}")
        must_fail("something else did the work", Column("x", "x", "tcp").measure,
                  bench, ["lat:8"])
        must_fail("none should have", Column("x", "x", over_device=False).measure,
                  bench, ["lat:8"])
        check_cpu(bench)
        tag = studies.operations(bench)["tag:8:16:1"]
        if min(tag["UCP"], tag["transport"], tag["verbs"],
               tag["device"]) < 50:
            sys.exit(f"a floor is missing: {tag}")
    print(f"ok {figures['lat:8'][0]:.2f} us, "
          f"{tag['transport']:.0f} instructions of the transport")


main()
