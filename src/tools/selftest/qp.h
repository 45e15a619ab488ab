/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs, memory and handles of the self-test, by plain verbs. */
#ifndef SRD_SELFTEST_QP_H_
#define SRD_SELFTEST_QP_H_

#include <uct/ib/efa/efa_ah.h>
#include <uct/ib/efa/efa_qp.h>

#include <tools/probe.h> /* probe_seconds */

enum {
    ST_QKEY      = 0x11223344,
    ST_MEM_BYTES = 4 << 20,
    ST_WAIT_S    = 10 /* for what comes at once */
};

/* Registered memory; mr NULL: none. pd is its own, from st_qp_mem_open. */
typedef struct st_mem {
    uint8_t       *base;
    size_t         size;
    struct ibv_mr *mr;
    struct ibv_pd *pd;
} st_mem_t;

typedef struct st_qp_params {
    int      ud;
    unsigned sends, receives;     /* depths; 0: 64 */
    unsigned send_sge, receive_sge; /* 0: 1 */
    unsigned inline_bytes;
    unsigned entries;   /* of each completion queue; 0: ample */
    unsigned rnr_retry; /* SRD */
    uint32_t qkey;      /* 0: ST_QKEY */
    struct ibv_comp_channel *channel;
} st_qp_params_t;

typedef struct st_qp {
    const efa_device_t *device;
    struct ibv_qp      *qp;
    struct ibv_qp_ex   *qpx; /* NULL on UD */
    struct ibv_cq      *send_cq, *recv_cq;
} st_qp_t;

typedef struct st_dest {
    struct ibv_ah *ah;
    uint32_t       qpn, qkey;
} st_dest_t;

/* A piece of registered memory. */
typedef struct st_piece {
    const st_mem_t *mem;
    size_t          at, length;
} st_piece_t;

/* 0, or an errno. */
int  st_qp_mem_open(st_mem_t *mem, const efa_device_t *device, size_t size);
void st_qp_mem_close(st_mem_t *mem, const efa_device_t *device);
/* Access flags of a registration: all that the device can. */
int  st_qp_access(const efa_device_t *device);

/* Ready to send. 0, or an errno; then nothing is owed. */
int  st_qp_open(st_qp_t *qp, const efa_device_t *device, struct ibv_pd *pd,
                const st_qp_params_t *params);
void st_qp_close(st_qp_t *qp);

/* 0, or an errno. */
int st_qp_send(st_qp_t *qp, const st_dest_t *dest, const st_piece_t *piece,
               uint64_t id, int inside);
int st_qp_recv(st_qp_t *qp, const st_piece_t *piece, uint64_t id);
int st_qp_rdma(st_qp_t *qp, const st_dest_t *dest, const st_piece_t *piece,
               int is_write, uint64_t addr, uint32_t rkey);

/* The device's status of a completion: 0 to 255, 0 is success. */
unsigned st_qp_status(const struct ibv_wc *wc);

#endif
