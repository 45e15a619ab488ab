# SPDX-License-Identifier: BSD-3-Clause
"""Tag matching, several devices, traffic within a host."""
from columns import Column
from launch import Failed
from sizes import in_turn

DEPTHS = [1, 16, 128, 1024, 4096, 32768]
SHARES = [0, 1, 10, 100]


def tag_cases(quick):
    depths = [1, 1024, 32768] if quick else DEPTHS
    shares = [0, 100] if quick else SHARES
    kinds = ["tag"] if quick else ["tag", "unexp"]
    return [f"{kind}:{depth}:{share}" for kind in kinds for depth in depths
            for share in shares]


def tag_matching(bench, columns, say):
    """UCP's queues of tags, over srd; libfabric's, which is a list, has room
    for a limited number of receives."""
    wanted = [column for column in columns
              if column.name in ("srd", "direct", "ofi")]
    if bench.quick:
        wanted = wanted[:1]
    cases = {"": tag_cases(bench.quick)}
    if not bench.quick:
        cases["ofi"] = [f"tag:{depth}:{share}" for depth in (1, 128, 1024)
                        for share in (0, 100)]
    return in_turn(bench, wanted, cases, say)


class Rails:
    """srd over N devices; each has its share of the bytes."""

    def __init__(self, count):
        self.count, self.name = count, f"rails{count}"
        self.label = f"srd, {count} device" + ("s" if count > 1 else "")

    def measure(self, bench, cases, options=(), env=()):
        column = Column(self.name, self.label, "pair-ucp", ["UCX_TLS=srd"],
                        True)
        figures, counters = column.measure(
            bench, cases, options=["--devices", str(self.count)],
            env=[f"UCX_MAX_RNDV_RAILS={self.count}", "UCX_RNDV_THRESH=65536"])
        names = {values["device"] for values in counters.devices}
        shares = [counters.total("rdma_read_bytes", name) for name in names]
        if len(names) != self.count or min(shares) * self.count * 2 < sum(shares):
            raise Failed(f"the devices read {sorted(shares)} bytes")
        return figures, counters


def rails(bench, say):
    counts = [1, 2] if bench.quick else [1, 2, 4]
    size = 4 << 20
    return in_turn(bench, [Rails(count) for count in counts],
                   {"": [f"bw:{size}:8", f"bi:{size}:8"]}, say)


HOST_CASES = ["lat:8", "bw:8:64", "lat:4096", "bw:65536:64", "bw:1048576:16"]


def host(bench, columns, say):
    """Within a host: what srd in the list costs sm, and libfabric's efa with
    its own shared memory. Not a packet may cross the device."""
    there = {column.name for column in columns}
    wanted = [Column(name, label, "pair-ucp", [f"UCX_TLS={tls}"], srdrun,
                     nodes=(0, 0), over_device=False)
              for name, label, tls, srdrun in
              (("host_sm", "sm,self", "sm,self", False),
               ("host_srd", "srd,sm,self", "srd,sm,self", True))]
    if "ofi" in there:
        wanted.append(Column("host_ofi", "libfabric efa with its shm",
                             "pair-ofi", nodes=(0, 0), over_device=False))
    return in_turn(bench, wanted, {"": HOST_CASES}, say)


def peers(bench):
    """{number: [bytes, create, connect, close]} of bench/peers"""
    numbers = ["1", "100", "10000"]
    text, counters = bench.fabric([bench.srdrun, bench.program("peers"),
                                   *numbers])
    if counters.total("tx_pkts") < sum(map(int, numbers)):
        raise Failed("fewer packets than peers")
    return {words[0]: [float(word) for word in words[1:]]
            for words in map(str.split, text.splitlines()) if len(words) == 5}
