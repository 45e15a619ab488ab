# SPDX-License-Identifier: BSD-3-Clause
"""Raw verbs: perftest's programs over SRD queue pairs. Messages go in one
packet, of 8928 bytes at most; what is larger is read (RDMA READ)."""
import re
import shutil

from launch import Failed, check_bytes, free_port

LARGEST_SEND = 8192


def reason():
    if not shutil.which("ib_send_lat"):
        return "perftest is missing"
    return None


def run(bench, program, size, count, options=()):
    """Its line of figures. It gives up now and then ("Can't produce a report"):
    three tries."""
    for left in (2, 1, 0):
        try:
            return run_once(bench, program, size, count, options)
        except Failed:
            if not left:
                raise
    return None


def run_once(bench, program, size, count, options):
    port = free_port()
    command = [program, "-c", "SRD", "-d", "rdmap0s6", "-x", "0",
               "-p", str(port), "-s", str(size), "-n", str(count), *options]
    text, counters = bench.two(command, [*command, "127.0.0.1"], port)
    check_bytes(counters, size * count, True)
    lines = re.findall(r"^ +(\d+ +\d+ .*)$", text, re.M)
    if not lines:
        raise Failed(f"{program} printed no figures")
    return [float(word) for word in lines[-1].split()]


def messages(size, seconds):
    """How many take about that long."""
    return max(5, int(seconds / (0.5e-6 + size / 8e9)))


def latency(bench, size):
    """Microseconds: median and mean."""
    program = "ib_send_lat" if size <= LARGEST_SEND else "ib_read_lat"
    count = min(messages(size, bench.milliseconds / 1e3), 20000)
    words = run(bench, program, size, count)
    return words[4], words[5]


def bandwidth(bench, size, window, both=False):
    """Messages and megabytes a second."""
    program = "ib_send_bw" if size <= LARGEST_SEND else "ib_read_bw"
    count = max(messages(size, bench.milliseconds / 1e3), window + 1)
    options = ["-t", str(window), "--report_gbits"]
    if program == "ib_send_bw":
        options += ["-r", str(max(512, window)), "-Q", "1"]
    elif window > 16:
        options[1] = "16"
    if both:
        options.append("-b")
    words = run(bench, program, size, count, options)
    bytes_a_second = words[3] * 1e9 / 8
    return bytes_a_second / size, bytes_a_second / 1e6


class Perftest:
    """As the others, though each case is a run."""
    name, label = "verbs", "raw verbs (perftest)"

    def measure(self, bench, cases, options=(), env=()):
        figures = {}
        for case in cases:
            kind, size, *window = case.split(":")
            if kind == "lat":
                figures[case] = (*latency(bench, int(size)), None, None)
            elif kind in ("bw", "bi"):
                figures[case] = (*bandwidth(bench, int(size), int(window[0]),
                                            kind == "bi"), None, None)
        return figures, None
