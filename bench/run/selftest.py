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
import floors
import targets
from columns import Column
from launch import Bench, Failed


def must_fail(bench, tls, srdrun, over_device, text):
    column = Column("x", "x", "pair-ucp", [f"UCX_TLS={tls}"], srdrun,
                    over_device=over_device)
    try:
        column.measure(bench, ["lat:8"])
    except Failed as error:
        if text in str(error):
            return
        sys.exit(f"UCX_TLS={tls}: {error}")
    sys.exit(f"UCX_TLS={tls}: nobody noticed who did the work")


def ask_cpu(bench, tls, cases):
    program = cpu.Program(bench, Column("srd", "srd", "cpu", [f"UCX_TLS={tls}"],
                                        True))
    found, failures = cpu.in_turn({"srd": program}, cases, 2, lambda text: None)
    program.stop()
    return found.get("srd"), failures.get("srd", "")


def check_cpu(bench):
    """CPU time: its bytes crossed the device; the median of the rounds' ratios; the
    size that is dearest."""
    cases = ["tag:8:1", "am:65536:32", "put:512:1", "get:4096:32"]
    figures, why = ask_cpu(bench, "srd", cases)
    if why or list(figures) != cases or min(map(min, figures.values())) <= 0:
        sys.exit(f"CPU time: {figures} {why}")
    for tls, case, text in (("tcp", "tag:8:1", "something else did the work"),
                            ("srd", "tag:8:64", "Invalid parameter")):
        figures, why = ask_cpu(bench, tls, [case])
        if text not in why:
            sys.exit(f"CPU time of {case}, {tls}: {figures} {why}")
    found = {"intree": {"put:8:1": [100.0, 200.0, 50.0], "put:512:1": [100.0]},
             "srd": {"put:8:1": [110.0, 220.0, 90.0], "put:512:1": [90.0]},
             "direct": {"put:8:1": [140.0]}}
    lines = targets.verdicts({"cpu": found})
    if [(line["value"], line["met"], line["lost"]) for line in lines] != [
            (1.1, False, False), (1.4, False, True)]:
        sys.exit(f"CPU time, targets: {lines}")


def check_targets():
    found = {"ratios": {"srd": {"lat:8": [[1.4, 0, 1, 0]] * 3},
                        "verbs": {"lat:8": [[1.0, 0, 1, 0]] * 3}},
             "rails": {"rails1": {"bw:4194304:8": [0, 10.0, 1, 0]},
                       "rails2": {"bw:4194304:8": [0, 10.1, 1, 0]}}}
    met = [line["met"] for line in targets.verdicts(found)]
    if met != [False, True]:
        sys.exit(f"targets: {met}")
    check_lost()


def check_lost():
    """Missed is not lost: a time has a margin, and some goals are known."""
    whole = {"UCP": 100, "UCT": 0, "transport": 100, "verbs": 0}
    dear = dict(whole, transport=111)
    found = {"intree": {"intree": {"lat:8": [1.0, 0, 1, 0],
                                   "bw:8:32": [1.0, 8, 1, 0]},
                        "srd": {"lat:8": [1.2, 0, 1, 0],
                                "bw:8:32": [0.5, 4, 1, 0]},
                        "direct": {"lat:8": [1.4, 0, 1, 0]}},
             "intree_floors": {"intree": {"get": whole, "blocks_list": dear,
                                          "blocks_calls": dear},
                               "srd": {"get": dear, "blocks_list": dear,
                                       "blocks_calls": whole}}}
    lost = targets.lost(targets.verdicts(found))
    if lost != ["UCP get, instructions of UCX and libefa, srd to UCX's own",
                "a block of a list to one by a call, UCX and libefa, srd",
                "latency 8 B, srd direct to UCX's own"]:
        sys.exit(f"lost: {lost}")


def check_ratios():
    """A round in which a column failed pairs with nothing; without cores no goal
    is lost, without a figure each is."""
    def ratios(mine, theirs):
        return {"ratios": {"srd": {"lat:8": mine}, "verbs": {"lat:8": theirs}}}

    calm, busy = [9.0, 0, 1, 0], [9.0, 0, 0.3, 0]
    ones = [[1.0, 0, None, 0]] * 5
    for mine, theirs, value, is_lost in (
            ([calm] * 5, ones, 9.0, True), ([busy] * 5, ones, 9.0, False),
            ([calm, [2.0, 0, 1, 0]], [None, [2.0, 0, 1, 0]], 1.0, False),
            ([[float("inf"), 0, 1, 0]] * 5, ones, float("inf"), True)):
        line, = targets.verdicts(ratios(mine, theirs))
        if (line["value"], line["lost"]) != (value, is_lost):
            sys.exit(f"ratios: {line}")
    line, = targets.verdicts({"cpu": {"srd": {"put:8:1": [0.0]},
                                      "intree": {"put:8:1": [1.0]}}})
    if not line["lost"]:
        sys.exit(f"no figure: {line}")
    for text in ("put:8:1 0 1", "put:8:1 nan 1", "put:8:1 inf 1", "put:8:1 -1 1"):
        try:
            sys.exit(f"a figure: {cpu.read(text, 'put:8:1')}")
        except Failed:
            pass


def check_unknown():
    """A goal whose measure failed is not met."""
    figures = {"srd": {"lat:8": [1.0, 0, 1, 0]}, "verbs": {"lat:8": [None, None]},
               "intree": {"lat:8": [1.0, 0, 1, 0]}}
    told = [targets.unknown("cpu", None, {}), targets.unknown("peers", None, {}),
            targets.unknown("ratios", figures,
                            {"srd": "", "verbs": "", "direct": "", "ofi": "",
                             "rounds": ""})]
    if told != [["cpu"], [], ["ratios, verbs", "ratios, direct"]]:
        sys.exit(f"unknown: {told}")


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as work:
        bench = Bench(os.path.realpath(sys.argv[1]), True, work)
        figures, _ = Column("srd", "srd", "pair-ucp", ["UCX_TLS=srd"],
                            True).measure(bench, ["lat:8", "bw:65536:16",
                                                  "tag:100:50",
                                                  "unexp:100:50"])
        if any(values[0] <= 0 for values in figures.values()):
            sys.exit(f"no figures: {figures}")
        must_fail(bench, "tcp", False, True, "something else did the work")
        must_fail(bench, "srd", True, False, "none should have")
        check_cpu(bench)
        check_targets()
        check_ratios()
        check_unknown()
        tag = floors.operations(bench)["tag_8"]
        if min(tag["UCP"], tag["transport"], tag["verbs"],
               tag["device"]) < 50:
            sys.exit(f"a floor is missing: {tag}")
    print(f"ok {figures['lat:8'][0]:.2f} us, "
          f"{tag['transport']:.0f} instructions of the transport")


main()
