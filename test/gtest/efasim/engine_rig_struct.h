/* SPDX-License-Identifier: BSD-3-Clause */
/* The rig, for its own files. */
#ifndef TEST_EFASIM_ENGINE_RIG_STRUCT_H
#define TEST_EFASIM_ENGINE_RIG_STRUCT_H

#include "engine_rig.h"

#include "efasim/engine/engine.h"

enum {
    RIG_PROCS = 16,
    RIG_QPS   = 64,
};

struct rig_proc {
    struct rig       *rig;
    unsigned          index;
    unsigned          nic;
    int               dead;
    int               fatal; /* 1 + enum sim_fatal */
    unsigned          ring_asked;
    struct sim_knobs  knobs;
    struct sim_dev   *dev;
    struct sim_pd    *pd[2];
};

struct rig_cq {
    struct sim_cq   *cq;
    uint8_t         *buf;
    _Atomic uint32_t db;
    uint32_t         depth, cqe_size, subs;
    uint32_t         consumed[2];
};

struct rig_qp {
    struct sim_qp    *qp;
    unsigned          proc;
    struct rig_cq     scq, rcq;
    uint8_t          *sq, *rq;
    _Atomic uint32_t  sq_db, rq_db;
    uint32_t          sq_depth, rq_depth, sq_stride;
    uint16_t          sq_pc, rq_pc;
};

struct rig {
    struct dir     *dir;
    struct rig_proc proc[RIG_PROCS];
    unsigned        procs;
    struct ring    *ring[RIG_PROCS][RIG_PROCS];
    uint64_t        now;
    unsigned        events;
    char            log[256], trace[256];
    unsigned        traced;
    struct sim_plan plan;
    struct rig_qp  *qp[RIG_QPS];
    uint8_t         ctrl1, ctrl2, reserved;
};

#endif
