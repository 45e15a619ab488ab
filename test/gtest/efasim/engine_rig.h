/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rig for engine tests: several processes' devices in one process, on one
 * directory, with rings, clock and liveness in the hands of the test. libefa's
 * work (build work requests, ring doorbells, read completions) is done here by
 * hand, so wrong things can be built too. C behind, because the engine's
 * headers use C11 atomics.
 */
#ifndef TEST_EFASIM_ENGINE_RIG_H
#define TEST_EFASIM_ENGINE_RIG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rig;

enum {
    RIG_MAX_MSG  = 8928,
    RIG_QKEY     = 0x1234567,
    RIG_LOCAL    = 1,    /* access: local write */
    RIG_WRITE    = 2,    /* remote write */
    RIG_READ     = 4,    /* remote read */
    RIG_INLINE   = 1,    /* flags of a send */
    RIG_IMM      = 2,
    RIG_SGID     = 1,    /* flags of a QP: receive CQ tells source GIDs */
    RIG_LARGE    = 2,    /* 128 B work requests */
    RIG_UNSOLICITED = 4, /* writes with immediate take no receive */
    RIG_REQ_ID_64   = 8, /* long request ids */
    RIG_UD          = 16, /* datagrams */
    RIG_RESET    = 0,    /* QP states */
    RIG_INIT     = 1,
    RIG_RTR      = 2,
    RIG_RTS      = 3,
    RIG_ERR      = 6,
};

enum rig_counter {
    RIG_TX_PKTS,
    RIG_TX_BYTES,
    RIG_RX_PKTS,
    RIG_RX_BYTES,
    RIG_READ_BYTES,
    RIG_READ_RESP_BYTES,
    RIG_WRITE_BYTES,
    RIG_WRITE_RECV_BYTES,
    RIG_WRITE_ERR,
    RIG_RX_DROPS,
    RIG_RNR,
    RIG_CQ_OVERRUNS,
    RIG_LOST,
    RIG_DUPLICATED,
};

struct rig_cqe {
    uint16_t req_id;
    uint64_t long_id;   /* of a send */
    uint8_t  status;
    uint8_t  queue;     /* 1 send, 2 receive */
    uint8_t  op;
    uint8_t  has_imm;
    uint8_t  unsolicited;
    uint16_t qpn;
    uint32_t length;
    uint16_t ah;
    uint16_t src_qpn;
    uint32_t imm;
    uint8_t  src_gid[16];
};

struct rig_qp_conf {
    unsigned proc;
    unsigned sq, rq, cq;  /* depths, powers of two; 0: 64 (cq: 256) */
    unsigned rnr_retry;   /* 7: endless */
    unsigned flags;
    unsigned cqe_size;    /* 0: 32 */
    int      reset;       /* leave it in RESET */
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
unsigned rig_events(struct rig *rig);

/* How often the process looked for a ring from another. */
unsigned rig_ring_asked(struct rig *rig, unsigned proc);
const char *rig_log(struct rig *rig); /* the last line */
uint64_t rig_counter(struct rig *rig, unsigned node, enum rig_counter which);
uint64_t rig_pair(struct rig *rig, unsigned src, unsigned dst);

/* 0 or a negative errno. Each process has two PDs, 0 and 1. */
int rig_ah(struct rig *rig, unsigned proc, unsigned pd, unsigned node,
           uint16_t *number);
int rig_ah_gid(struct rig *rig, unsigned proc, unsigned pd,
               const uint8_t *gid, uint16_t *number);
int rig_ah_destroy(struct rig *rig, unsigned proc, uint16_t number);
void rig_gid(struct rig *rig, unsigned node, uint8_t gid[16]);
int rig_mr(struct rig *rig, unsigned proc, unsigned pd, const void *buf,
           uint64_t length, uint32_t access, uint32_t *key);
int rig_mr_destroy(struct rig *rig, unsigned proc, uint32_t key);

/* A QP in PD 0 with CQs of its own; a number, or a negative errno. */
int rig_qp(struct rig *rig, const struct rig_qp_conf *conf);
uint16_t rig_qpn(struct rig *rig, int qp);
int rig_qp_modify(struct rig *rig, int qp, unsigned state, unsigned mask);
int rig_qp_state(struct rig *rig, int qp);
int rig_rnr_default(struct rig *rig, int qp); /* as after a reset */
void rig_qp_destroy(struct rig *rig, int qp);

struct rig_send {
    uint16_t    req_id;
    uint16_t    ah;
    uint16_t    qpn;
    uint32_t    qkey;      /* 0: RIG_QKEY */
    const void *buf;
    uint32_t    length;
    uint32_t    key;
    const void *buf2;      /* second element of the list; NULL: none */
    uint32_t    length2;
    uint32_t    key2;
    unsigned    flags;
    uint32_t    imm;
    unsigned    op;        /* to build operations that do not exist */
};

void rig_post_send(struct rig *rig, int qp, const struct rig_send *send);

/* An RDMA read, or with `write` a write */
struct rig_read {
    uint16_t    req_id;
    uint16_t    ah;
    uint16_t    qpn;
    uint32_t    qkey;
    void       *buf;
    uint32_t    length;
    uint32_t    key;
    uint64_t    remote;
    uint32_t    rkey;
    int         write;
    unsigned    flags;     /* RIG_INLINE, RIG_IMM */
    uint32_t    imm;
    uint64_t    long_id;   /* bits 16 to 63 of the request's id */
};

void rig_post_read(struct rig *rig, int qp, const struct rig_read *read);

/* One receive of up to 3 elements. */
void rig_post_recv(struct rig *rig, int qp, uint16_t req_id, unsigned num,
                   void *const *buf, const uint32_t *length, uint32_t key);

/* Damage for tests of refusal: or these into the next work request. */
void rig_damage(struct rig *rig, uint8_t ctrl1, uint8_t ctrl2,
                uint8_t reserved);
void rig_doorbell(struct rig *rig, int qp, uint32_t value);
void rig_recv_doorbell(struct rig *rig, int qp, uint32_t value);
/* In RTS, by a user who is privileged or not */
int rig_qkey(struct rig *rig, int qp, uint32_t qkey, int privileged);

/* Read a completion; 1 or 0. Does not run the device. */
int rig_poll_send(struct rig *rig, int qp, struct rig_cqe *cqe);
int rig_poll_recv(struct rig *rig, int qp, struct rig_cqe *cqe);
void rig_arm_recv(struct rig *rig, int qp);

/* Entry points of ring.c and dir.c, for their own tests */
struct rig_ring;
struct rig_ring *rig_ring_open(void);
void rig_ring_close(struct rig_ring *ring);
int rig_ring_write(struct rig_ring *ring, uint32_t token, const void *data,
                   uint32_t length);                     /* 1 or 0: full */
int rig_ring_read(struct rig_ring *ring, uint32_t *token, void *data,
                  uint32_t *length);                    /* 1, 0, -1: damaged */
int rig_ring_answer(struct rig_ring *ring, uint32_t token, uint32_t status);
int rig_ring_answer_take(struct rig_ring *ring, uint32_t *token,
                         uint32_t *status);
void rig_ring_damage(struct rig_ring *ring, uint32_t size, uint32_t length);
void rig_ring_start_at(struct rig_ring *ring, uint32_t position);
int rig_dir_mr_cycle(struct rig *rig, unsigned node, unsigned times);
int rig_dir_purge_leaves(struct rig *rig, unsigned proc);

#ifdef __cplusplus
}
#endif

#endif
