# SPDX-License-Identifier: BSD-3-Clause
"""Figures of others, measured elsewhere, that are printed beside ours. None was
measured by this bench."""

INTREE = "in-tree srd of UCX 1.23, libefa 65, elsewhere"

# operation of bench/instr.sh: (transport, verbs) of INTREE
INTREE_INSTRUCTIONS = {
    "post am_short 8 B": (103, 268),
    "post am_bcopy 1 KB": (104, 234),
    "receive, 16 in a poll": (124, 219),
    "receive, alone": (191, None),
    "receive, 16 reversed": (205, None),
    "completion, 16 in a poll": (65, 133),
    "completion, alone": (145, None),
    "empty progress": (84, 130),
    "a message of 8 B": (292, 620),
}

BESIDE = {
    "source": INTREE,
    "instructions": INTREE_INSTRUCTIONS,
    "UCP tag message 8 B, all of UCX": 803.5,
    "heap of an interface at open, bytes": 21.6e6,
    "bytes of a connected peer, both directions": 202,
    "iface_flush, 10,000 endpoints, instructions": 666673,
    "endpoint create, 10,000 GIDs, instructions": 11883,
}

# Findings of papers, by study: (source, finding). Nothing is quoted here that was not
# read: the studies' own papers are not at hand, and say so.
FINDINGS = {
    "matching": [
        ("UCX 1.13, tag_match.h", "1,021 bins, chosen by the tag's two halves "
         "modulo 1,021: the search is linear within a bin"),
        ("Levy, Ferreira, Schonbein, Grant, Dosanjh, Parallel Computing 84, "
         "2019 (abstract)", "matching is unlikely to limit today's programs "
         "unless queues get much longer or slower"),
    ],
    "floors": [
        ("Zambre, Grodowitz, Chandramowlishwaran, Shamis: Breaking Band "
         "(abstract)", "splits injection and latency of small messages by "
         "software layer, I/O and network, on Arm with InfiniBand; no figure "
         "of it is given here, since the hardware is another"),
    ],
}
