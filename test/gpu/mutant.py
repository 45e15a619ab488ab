#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mutant.py SOURCE BUILD WORK cpu|cpu-message|stale: a module in WORK/module1 with
one fault that a test of device memory must find: `cpu` looks with the CPU at what
it is to read into, `cpu-message` at a message that it is to send, `stale` keeps the
registration of memory that was freed."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../mutants"))
from module import Module  # noqa: E402

MUTANTS = {
    "cpu": (
        "a read looks at its buffer", "srd/srd_get.c",
        "    return srd_rma_zcopy(tl_ep, BASE_OUT_GET_ZCOPY,",
        "    (void)*(volatile const char*)iov->buffer;\n"
        "    return srd_rma_zcopy(tl_ep, BASE_OUT_GET_ZCOPY,"),
    "cpu-message": (
        "a message is looked at", "base/base_am.c",
        "        base_op_set_piece(op, 1, iov->buffer, length, efa_memh_lkey(",
        "        (void)*(volatile const char*)iov->buffer;\n"
        "        base_op_set_piece(op, 1, iov->buffer, length, efa_memh_lkey("),
    "stale": (
        "the cache is not told of freed memory", "efa/efa_mr.c",
        "    efa_rcache_unmapped(&md->cache, (uintptr_t)address,\n"
        "                        (uintptr_t)address + length);\n",
        "    (void)md, (void)address, (void)length;\n"),
}


def main(source, build, work, which):
    module = Module(os.path.abspath(source), os.path.abspath(build), work)
    missing = module.check([MUTANTS[which]])
    if missing:
        sys.exit(f"the line of a mutant has changed: {missing}")
    module.mutate(1, MUTANTS[which])


main(*sys.argv[1:])
