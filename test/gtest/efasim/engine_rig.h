/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rig for engine tests: several processes' devices in one process, on one
 * directory, with rings, clock and liveness in the hands of the test. libefa's
 * work (ring doorbells, read completions) is done here, so wrong things can be
 * done, too. C behind, because the engine's headers use C11 atomics.
 */
#ifndef TEST_EFASIM_ENGINE_RIG_H
#define TEST_EFASIM_ENGINE_RIG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
extern "C" {
#endif

#include "efasim/engine/efa_io.h"

struct rig;

enum {
    RIG_QKEY  = 0x1234567,
    RIG_LOCAL = 1,            /* access: local write */
    RIG_WRITE = 2,            /* remote write */
    RIG_READ  = 4,            /* remote read */
    RIG_SGID  = 1,            /* flags of a QP: receive CQ tells source GIDs */
    RIG_REQ_ID_64   = 8,      /* long request ids */
    RIG_UD    = 16,           /* datagrams */
    RIG_RESET = 0,            /* QP states */
    RIG_RTS   = 3,
    RIG_ERR   = 6,
    RIG_RNR_DEFAULT = 8,      /* not told */
};

struct rig_qp_conf {
    unsigned proc;
    unsigned sq, rq, cq;  /* depths, powers of two */
    unsigned rnr_retry;   /* 7: endless */
    unsigned flags;
};

/* `procs` processes; process i is on host nodes[i], and has device 0 of it. */
struct rig *rig_open(unsigned procs, const unsigned *nodes);
void rig_close(struct rig *rig);

/* Close and reopen one process's device with these knobs, "name=value ...".
 * Returns 0, or -1 for a bad one. */
int rig_knobs(struct rig *rig, unsigned proc, const char *text);

/* Reopen all devices under a plan. 0, or -1 with a line in err. */
int rig_plan(struct rig *rig, const char *text, char err[320]);
int rig_fatal_of(struct rig *rig, unsigned proc); /* 1 removed, 2 killed */

/* The process's device is a guest's from now on, before it has a QP. */
void rig_guest(struct rig *rig, unsigned proc);
const char *rig_trace(struct rig *rig, unsigned *lines); /* the last */

void rig_advance(struct rig *rig, uint64_t ns);
unsigned rig_progress(struct rig *rig, unsigned proc);

/* Progress of all live processes until nobody does anything. */
void rig_settle(struct rig *rig);

/* The process stops being alive; its device is never run again. */
void rig_kill(struct rig *rig, unsigned proc);
int rig_is_busy(struct rig *rig, unsigned proc);

/* How often the process looked for a ring from another. */
unsigned rig_ring_asked(struct rig *rig, unsigned proc);
/* Size and length of the first packet from one to another. */
void rig_ring_damage(struct rig *rig, unsigned src, unsigned dst,
                     uint32_t size, uint32_t length);
const char *rig_log(struct rig *rig); /* the last line */
/* A counter of device 0, as `efasim stat` names it. */
uint64_t rig_counter(struct rig *rig, unsigned node, const char *name);

/* The program of a node calls the device after each of its doorbells. */
void rig_calls(struct rig *rig, unsigned node);
uint64_t rig_pair(struct rig *rig, unsigned src, unsigned dst);

/* Takes back all that a process has; what is left is counted. */
int rig_purge_leaves(struct rig *rig, unsigned proc);

/* 0 or a negative errno. Each process has two PDs, 0 and 1. */
int rig_ah(struct rig *rig, unsigned proc, unsigned pd, unsigned node,
           uint16_t *number);
int rig_ah_destroy(struct rig *rig, unsigned proc, uint16_t number);
void rig_gid(struct rig *rig, unsigned node, uint8_t gid[16]);
int rig_mr(struct rig *rig, unsigned proc, unsigned pd, const void *buf,
           uint64_t length, uint32_t access, uint32_t *key);
int rig_mr_destroy(struct rig *rig, unsigned proc, uint32_t key);

/* A QP in PD 0 with CQs of its own, in RTS. */
int rig_qp(struct rig *rig, const struct rig_qp_conf *conf);
uint16_t rig_qpn(struct rig *rig, int qp);
int rig_qp_modify(struct rig *rig, int qp, unsigned state);
int rig_qp_state(struct rig *rig, int qp);
void rig_qp_destroy(struct rig *rig, int qp);

static inline void rig_buf(struct io_buf *buf, const void *addr, uint32_t length,
                           uint32_t key)
{
    buf->addr_lo = (uint32_t)(uintptr_t)addr;
    buf->addr_hi = (uint32_t)((uintptr_t)addr >> 32);
    buf->length  = length;
    buf->lkey    = key;
}

/* Ring for a request. Bits that the rig sets, but those set already: damage. */
void rig_post(struct rig *rig, int qp, const struct io_tx_wqe *wqe);

/* One receive of several elements. */
void rig_post_recv(struct rig *rig, int qp, uint16_t req_id, unsigned num,
                   void *const *buf, const uint32_t *length, uint32_t key);
void rig_doorbell(struct rig *rig, int qp, uint32_t value);
void rig_recv_doorbell(struct rig *rig, int qp, uint32_t value);

/* Read a completion; 1 or 0. Does not run the device. */
int rig_poll_send(struct rig *rig, int qp, struct io_cqe *cqe);
int rig_poll_recv(struct rig *rig, int qp, struct io_cqe *cqe);

#ifdef __cplusplus
}
#endif

#endif
