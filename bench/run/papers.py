# SPDX-License-Identifier: BSD-3-Clause
"""Findings of papers about things that are measured here."""

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
