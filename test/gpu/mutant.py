#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutant.py SOURCE BUILD WORK: a module in WORK/module1 whose RDMA read touches
the memory it is to read into. Over device memory it must die."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../mutants"))
from module import Module  # noqa: E402

MUTANTS = ((
    "a read looks at its buffer", "srd/srd_get.c",
    "    return srd_rma_zcopy((base_ep_t*)tl_ep, BASE_OUT_GET_ZCOPY,",
    "    (void)*(volatile const char*)iov->buffer;\n"
    "    return srd_rma_zcopy((base_ep_t*)tl_ep, BASE_OUT_GET_ZCOPY,"),)


def main(source, build, work):
    module = Module(os.path.abspath(source), os.path.abspath(build), work)
    missing = module.check(MUTANTS)
    if missing:
        sys.exit(f"the line of a mutant has changed: {missing}")
    module.mutate(1, MUTANTS[0])


main(*sys.argv[1:])
