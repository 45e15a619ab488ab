#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mutants of the direct data path, which takes a newer rdma-core than Debian
12's: the transport's tests in Debian sid (contrib/ci/chroot.sh) on each.
usage: direct.py SOURCE_DIR BUILD_DIR [EVERY]
Every mutant must be caught, by a failing test or the trial that stands before
the direct path; exit status 1 if one survives, or if the sound module fails."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from module import Module  # noqa: E402

FILTER = ("UctAm.*:UctGet.*:UctContract.event*:UctContract.am_short*:"
          "UctFailure.event*:UctLoad.*:*UctList*:*UctFence*:"
          "UctPut.flush_of*")
SECONDS = 60

MUTANTS = [
    ("the phase of requests stays", "efa/efa_direct.c",
     "        sq->must ^= EFA_IO_WR_PHASE;\n", ""),
    ("the ring of requests has no end", "efa/efa_direct.c",
     "        sq->slot  = sq->ring;\n", ""),
    ("an arming that asks for nothing", "efa/efa_direct.c",
     "cq->taken | EFA_IO_CQ_ARM |", "cq->taken |"),
    ("events are not counted", "efa/efa_queue.c",
     "    ++(is_rx ? &qp->direct.rx : &qp->direct.tx)->events;",
     "    (void)qp; (void)is_rx;"),
    ("the second piece of a request is lost", "efa/efa_direct.c",
     "efa_direct_send_pieces(", "efa_direct_send_piece("),
    ("one doorbell announces a whole list", "efa/efa_direct.c",
     "efa_at_most(wq->max_batch, wq->num_entries) :", "wq->num_entries :"),
    ("behind a list the ring's end is missed", "efa/efa_direct.c",
     "sq->silent);\n    }\n    efa_direct_sq_aim(sq);\n",
     "sq->silent);\n    }\n"),
    ("a list's last pieces have no doorbell", "srd/srd_list.c",
     "    efa_direct_list_ring(qp, sq.slot, sq.must, i - rung);\n    efa_direct",
     "    qp->direct.sq.slot = sq.slot, qp->direct.sq.must = sq.must;\n"
     "    qp->direct.sq.written += i - rung;\n    efa_direct"),
    ("a user is not told of the end of RMA", "base/base_progress.c",
     "        if (comp != NULL) { /* as in", "        if (0) { /* as in"),
    ("receives without a doorbell", "base/base_rxq.c",
     "        efa_direct_recv_ring(&rxq->qp->direct.rq, rxq->written);\n", ""),
    ("read completions of receives are not told", "base/base_rx.c",
     "        efa_direct_taken(cq, count);\n", ""),
    ("read completions of sends are not told", "base/base_progress.c",
     "    efa_direct_taken(&iface->qp.direct.tx, read);\n", ""),
    ("completions of RDMA are not looked for", "base/base_progress.c",
     "            *is_other |= !(id & EFA_IO_CQE_PHASE);\n", ""),
    ("a short message is sent again as something else", "base/base_core_events.c",
     "    if (op->wr.inside > 0) {", "    if (0) {"),
    ("pieces that were posted are not kept", "srd/srd_direct.c",
     "    memcpy(op->buf, &am, sizeof(am));\n"
     "    op->wr.inside = FLOW_SHORT_HDR + length;",
     "    op->wr.inside = FLOW_SHORT_HDR + length;"),
    ("messages that end pass an interface's fence", "base/base_progress.c",
     "    *iface->ops.sink = free;\n", "    iface->ops.free = free;\n"),
    ("short RMA that ends passes an interface's fence", "base/base_progress.c",
     "    efa_direct_cq_t   copy  = iface->qp.direct.tx;\n"
     "    base_op_t        *free  = *iface->ops.sink, *op;",
     "    efa_direct_cq_t   copy  = iface->qp.direct.tx;\n"
     "    base_op_t        *free  = iface->ops.free, *op;"),
    ("a put ends without the read behind it", "base/base_complete.h",
     "op->reserved | iface->put_flush) == 0", "op->reserved) == 0"),
]


def overruns(path):
    """Completions that were lost, as the device counted them."""
    with open(path, encoding="utf-8") as stat:
        return sum(int(word.partition("=")[2]) for line in stat
                   for word in line.split()
                   if word.startswith("cq_overruns="))


def judge(module, source, tree):
    """Whether the tests pass on a module."""
    stat = tree + "/stat"
    run = [source + "/contrib/ci/chroot.sh", "--bind", module.build, "sid", "--",
           "env", "LD_LIBRARY_PATH=/opt/ucx-1.13/lib", "UCX_EFA_DIRECT=y",
           "UCX_WARN_UNUSED_ENV_VARS=n", "UCX_HANDLE_ERRORS=none",
           module.build + "/bin/efasim", "run", "--fabric",
           f"d{os.getpid()}", "--device", "efa2",
           "--stat=" + stat, "--", "timeout",
           str(SECONDS), tree + "/bin/srdrun",
           module.build + "/test/gtest_uct", "--gtest_brief=1",
           "--gtest_break_on_failure", f"--gtest_filter={FILTER}"]
    status = subprocess.run(run, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, check=False).returncode
    return status == 0 and overruns(stat) == 0


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    source, build = (os.path.abspath(path) for path in sys.argv[1:3])
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    work = build + "/mutants/direct"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    module = Module(source, build, work)
    stale = module.check(MUTANTS)
    if stale:
        sys.exit(f"{stale}: its text does not occur once")
    if not judge(module, source, module.mutate("sound", None)):
        sys.exit("the tests fail on the sound module")
    survivors = []
    chosen = MUTANTS[::every]
    for number, mutant in enumerate(chosen):
        lives = judge(module, source, module.mutate(number, mutant))
        print(f"{'LIVES ' if lives else 'caught'} {mutant[0]}", flush=True)
        survivors += [mutant[0]] if lives else []
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
