/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The function as the kernel's efa driver sees it: registers, admin queue
 * and event queues, little endian. The layouts and numbers are the device's
 * published interface (Linux, drivers/infiniband/hw/efa); only the fields that
 * are used here have names.
 */
#ifndef EFASIM_PCI_EFA_REGS_H
#define EFASIM_PCI_EFA_REGS_H

#include <stdint.h>

enum pci_reg { /* offsets in BAR 0 */
    PCI_REG_VERSION       = 0x00,
    PCI_REG_CONTROLLER    = 0x04,
    PCI_REG_CAPS          = 0x08,
    PCI_REG_AQ_BASE_LO    = 0x10,
    PCI_REG_AQ_BASE_HI    = 0x14,
    PCI_REG_AQ_CAPS       = 0x18,
    PCI_REG_ACQ_BASE_LO   = 0x20,
    PCI_REG_ACQ_BASE_HI   = 0x24,
    PCI_REG_ACQ_CAPS      = 0x28,
    PCI_REG_AQ_PROD       = 0x2c,
    PCI_REG_AENQ_CAPS     = 0x34,
    PCI_REG_AENQ_BASE_LO  = 0x38,
    PCI_REG_AENQ_BASE_HI  = 0x3c,
    PCI_REG_AENQ_CONS     = 0x40,
    PCI_REG_INTR_MASK     = 0x4c,
    PCI_REG_DEV_CTL       = 0x54,
    PCI_REG_DEV_STS       = 0x58,
    PCI_REG_MMIO_READ     = 0x5c, /* 15:0 id, 31:16 register */
    PCI_REG_MMIO_RESP_LO  = 0x60, /* where the answer goes */
    PCI_REG_MMIO_RESP_HI  = 0x64,
    PCI_REG_EQ_DB         = 0x68, /* 15:0 number, 31 arm */
};

/* Values of the version registers. From version 0.2 of the admin queue on, its
 * answers have a checksum */
#define PCI_VERSION            0x0002u
#define PCI_CONTROLLER_VERSION 0x000001u

/* PCI_REG_CAPS: a reset takes at most 1 s; addresses have 48 bits; commands
 * take at most the driver's own time */
#define PCI_CAPS (10u << 1 | 48u << 8)

#define PCI_CTL_RESET         0x01u
#define PCI_STS_READY         0x01u
#define PCI_STS_RESETTING     0x08u
#define PCI_STS_FATAL         0x20u
#define PCI_EQ_DB_ARM         0x80000000u

/* A queue's register: 15:0 depth, 23:16 or 31:16 bytes of an entry, 31:24
 * interrupt */
#define PCI_QUEUE_DEPTH(_caps)  ((_caps) & 0xffff)
#define PCI_QUEUE_VECTOR(_caps) ((_caps) >> 24)

struct pci_mmio_resp {
    uint16_t id;
    uint16_t reg;
    uint32_t value;
};

/* Commands: the number, and the function that executes it, in the file that the
 * word behind pci_ names (objects.h). From CREATE_CNTR on: since Linux 7.3. */
#define PCI_OP_LIST(_) \
    _(CREATE_QP, 1, pci_qp_create) \
    _(MODIFY_QP, 2, pci_qp_modify) \
    _(QUERY_QP, 3, pci_qp_query) \
    _(DESTROY_QP, 4, pci_qp_destroy) \
    _(CREATE_AH, 5, pci_object_ah_create) \
    _(DESTROY_AH, 6, pci_object_ah_destroy) \
    _(REG_MR, 7, pci_object_mr_register) \
    _(DEREG_MR, 8, pci_object_mr_deregister) \
    _(CREATE_CQ, 9, pci_object_cq_create) \
    _(DESTROY_CQ, 10, pci_object_cq_destroy) \
    _(GET_FEATURE, 11, pci_feature_get) \
    _(SET_FEATURE, 12, pci_feature_set) \
    _(GET_STATS, 13, pci_feature_stats) \
    _(ALLOC_PD, 14, pci_object_pd_alloc) \
    _(DEALLOC_PD, 15, pci_object_pd_dealloc) \
    _(ALLOC_UAR, 16, pci_object_uar_alloc) \
    _(DEALLOC_UAR, 17, pci_object_uar_dealloc) \
    _(CREATE_EQ, 18, pci_event_queue_create) \
    _(DESTROY_EQ, 19, pci_event_queue_destroy) \
    _(CREATE_CNTR, 25, pci_object_cntr_create) \
    _(DESTROY_CNTR, 26, pci_object_cntr_destroy) \
    _(ATTACH_CNTR, 27, pci_object_cntr_attach) \
    _(MODIFY_CNTR, 28, pci_object_cntr_modify) \
    _(DETACH_CNTR, 29, pci_object_cntr_detach)

#define PCI_OP_NUMBER(_op, _number, _handler) PCI_OP_##_op = _number,

enum pci_admin_op {
    PCI_OP_LIST(PCI_OP_NUMBER)
    PCI_OPS
};

enum pci_admin_status {
    PCI_ST_OK          = 0,
    PCI_ST_NO_RESOURCE = 1,
    PCI_ST_UNSUPPORTED = 3,
    PCI_ST_MALFORMED   = 4,
    PCI_ST_ILLEGAL     = 5,
    PCI_ST_BUSY        = 7,
};

struct pci_admin_head {
    uint16_t id;        /* 11:0 */
    uint8_t  op;        /* enum pci_admin_op */
    uint8_t  flags;     /* 0 phase, 1 control data, 2 indirect control data */
};

#define PCI_ADMIN_PHASE    0x01u
#define PCI_ADMIN_DATA     0x02u
#define PCI_ADMIN_INDIRECT 0x04u

/* A buffer in the guest's memory, also the link at the end of a page list's
 * chunk */
struct pci_buffer {
    uint32_t length;
    uint32_t addr_lo;
    uint32_t addr_hi;
};

struct pci_cmd_create_qp {
    uint16_t pd;
    uint8_t  type;      /* 1 UD, 2 SRD */
    uint8_t  flags;     /* 2 unsolicited writes, 3 64-bit request ids; 0 and 1:
                           virtual rings */
    uint64_t sq_base, rq_base;
    uint32_t send_cq, recv_cq;
    uint32_t sq_lkey, rq_lkey;
    uint32_t sq_bytes, sq_depth; /* of the ring, of requests */
    uint32_t rq_bytes, rq_depth;
    uint16_t uar;
    uint8_t  sl, mbz;
    uint32_t mbz2;
} __attribute__((packed));

struct pci_resp_create_qp {
    uint32_t handle;
    uint16_t number, mbz;
    uint16_t send_sub_cq, recv_sub_cq;
    uint32_t sq_db, rq_db; /* offsets in BAR 4 */
    uint32_t llq;          /* offset in BAR 2 */
};

enum { /* pci_cmd_modify_qp.mask */
    PCI_QPM_STATE     = 1 << 0,
    PCI_QPM_CUR_STATE = 1 << 1,
    PCI_QPM_QKEY      = 1 << 2,
    PCI_QPM_SQ_PSN    = 1 << 3,
    PCI_QPM_RNR_RETRY = 1 << 5,
};

struct pci_cmd_modify_qp {
    uint32_t mask, handle, state, cur_state, qkey, sq_psn;
    uint8_t  drained_notify, rnr_retry;
    uint16_t mbz;
};

struct pci_cmd_handle { /* query or destroy a QP; deregister an MR: its key */
    uint32_t handle;
};

struct pci_resp_query_qp {
    uint32_t state, qkey, sq_psn;
    uint8_t  draining, rnr_retry;
    uint16_t mbz;
};

struct pci_cmd_create_ah {
    uint8_t  gid[16];
    uint16_t pd, mbz;
};

struct pci_cmd_destroy_ah {
    uint16_t ah, pd;
};

struct pci_resp_number { /* of a PD, UAR, EQ or address handle */
    uint16_t number, mbz;
};

struct pci_cmd_number {
    uint16_t number, mbz;
};

enum { PCI_MR_PAGE = 0x3f }; /* bit 5 since Linux 7.3; 0 before */

struct pci_cmd_reg_mr {
    uint16_t pd, mbz;
    union {
        uint64_t page[4];        /* the list itself */
        struct pci_buffer list;  /* with PCI_ADMIN_DATA: where it is */
    };
    uint64_t length;
    uint8_t  flags;              /* PCI_MR_PAGE: log2 of a page; 7 physical */
    uint8_t  access;             /* SIM_ACCESS_ */
    uint16_t mbz2;
    uint32_t pages;              /* the driver leaves it 0 */
    uint64_t iova;
} __attribute__((packed));

struct pci_resp_reg_mr {
    uint32_t lkey, rkey;
    uint8_t  validity, recv_ic, read_ic, rdma_recv_ic;
};

/* An indirect page list is a chain of chunks. A chunk has PCI_CHUNK_PTRS
 * addresses, each of PCI_LIST_BYTES of the list, and a struct pci_buffer that
 * points to the next chunk */
enum {
    PCI_LIST_BYTES = 4096,
    PCI_LIST_ADDRS = PCI_LIST_BYTES / 8,
    PCI_CHUNK_PTRS = (PCI_LIST_BYTES - 12) / 8,
};

struct pci_cmd_create_cq {
    uint8_t  caps1;     /* 5 events, 6 virtual */
    uint8_t  caps2;     /* 4:0 words of an entry, 5 source address, 6 64-bit
                           request ids */
    uint16_t depth;     /* of a sub-CQ; 0 is 65536 */
    uint16_t eq, mbz;
    uint32_t base_lo, base_hi;
    uint32_t lkey;
    uint16_t subs, uar;
};

struct pci_resp_create_cq {
    uint16_t number, depth;
    uint32_t db;        /* offset in BAR 4 */
    uint32_t flags;     /* bit 0: db is valid */
};

struct pci_cmd_create_eq {
    uint16_t depth;
    uint8_t  vector;
    uint8_t  caps;      /* 4:0 words of an entry */
    uint32_t base_lo, base_hi;
    uint32_t events;    /* 0 completions */
    uint32_t mbz;
};

struct pci_cmd_create_cntr {
    uint16_t uar, mbz;
    uint64_t addr;
} __attribute__((packed));

struct pci_cmd_attach_cntr { /* or detach */
    uint32_t handle;
    uint8_t  type;      /* 0: events of a QP */
    uint8_t  mbz[3];
    uint32_t qp, events;
};

struct pci_cmd_modify_cntr {
    uint32_t handle;
    uint8_t  op;        /* 0 sets, 1 adds */
    uint8_t  mbz[7];
    uint64_t value;
} __attribute__((packed));

enum pci_feature {
    PCI_FEATURE_DEVICE  = 1,
    PCI_FEATURE_AENQ    = 2,
    PCI_FEATURE_NETWORK = 3,
    PCI_FEATURE_QUEUE   = 4,
    PCI_FEATURE_HINTS   = 5,
    PCI_FEATURE_HOST    = 6,
    PCI_FEATURE_EVENT   = 7,
    PCI_FEATURE_QUEUE_2 = 9,
};

struct pci_cmd_feature {
    struct pci_buffer data;
    uint8_t  mbz, feature;
    uint16_t mbz2;
    uint32_t aenq_supported, aenq_enabled; /* of PCI_FEATURE_AENQ */
};

struct pci_feature_device {
    uint64_t features, page_sizes;
    uint32_t firmware, api_version, device_version;
    uint16_t db_bar;
    uint8_t  phys_bits, virt_bits;
    uint32_t caps;      /* 0 read, 1 RNR retry, 2 polling 128, 3 write,
                           4 unsolicited, 5 event counters */
    uint32_t max_rdma;
    uint64_t guid;
    uint16_t gbps, mbz;
    uint32_t mbz2;
};

struct pci_feature_queue {
    uint32_t max_qp, max_sq, inline_bytes, max_rq, max_cq, max_cqe;
    uint16_t sub_cqs, min_sq, send_sge, recv_sge;
    uint32_t max_mr, max_mr_pages, max_pd, max_ah, max_llq;
    uint16_t rdma_sge, tx_batch;
};

struct pci_feature_queue_2 {
    uint16_t inline_bytes, mbz[3];
    uint32_t cntr_events, max_cntr;
    uint64_t max_cntr_value;
};

struct pci_feature_event {
    uint32_t max_eq, max_depth, events;
};

struct pci_feature_network {
    uint8_t  gid[16];
    uint32_t mtu;
};

struct pci_cmd_stats {
    struct pci_buffer data;
    uint8_t  type, scope;
    uint16_t number;
};

enum { PCI_STATS_TYPES = 5, PCI_STATS_MAX = 6 };

struct pci_aenq_entry {
    uint16_t group, syndrome;
    uint8_t  flags;     /* 0 phase */
    uint8_t  mbz[3];
    uint32_t time_lo, time_hi;
    uint32_t data[12];
};

enum { /* groups of the AENQ */
    PCI_AENQ_FATAL      = 1,
    PCI_AENQ_KEEP_ALIVE = 4,
    PCI_AENQ_GROUPS     = 0x1e, /* 1 to 4 */
};

struct pci_eqe {
    uint32_t common;    /* 0 phase, 8:1 type: completion is 0 */
    uint32_t mbz;
    uint16_t cq, mbz2;
    uint32_t mbz3;
};

struct pci_admin_cmd {
    struct pci_admin_head head;
    union {
        uint8_t                   bytes[60];
        struct pci_cmd_create_qp  create_qp;
        struct pci_cmd_modify_qp  modify_qp;
        struct pci_cmd_handle     handle;
        struct pci_cmd_create_ah  create_ah;
        struct pci_cmd_destroy_ah destroy_ah;
        struct pci_cmd_reg_mr     reg_mr;
        struct pci_cmd_create_cq  create_cq;
        struct pci_cmd_create_eq  create_eq;
        struct pci_cmd_number     number;
        struct pci_cmd_feature    feature;
        struct pci_cmd_stats      stats;
        struct pci_cmd_create_cntr create_cntr;
        struct pci_cmd_attach_cntr attach_cntr;
        struct pci_cmd_modify_cntr modify_cntr;
    };
};

struct pci_admin_resp {
    uint16_t id;
    uint8_t  status;    /* enum pci_admin_status */
    uint8_t  flags;     /* 0 phase */
    uint16_t checksum;  /* CRC16 of all 64 bytes with 0 here */
    uint16_t mbz;
    union {
        uint8_t                    bytes[56];
        struct pci_resp_create_qp  create_qp;
        struct pci_resp_query_qp   query_qp;
        struct pci_resp_reg_mr     reg_mr;
        struct pci_resp_create_cq  create_cq;
        struct pci_resp_number     number;
        struct pci_feature_device  device;
        struct pci_feature_queue   queue;
        struct pci_feature_queue_2 queue_2;
        struct pci_feature_event   event;
        struct pci_feature_network network;
        uint32_t                   word[14];
        uint64_t                   stats[PCI_STATS_MAX];
    };
};

_Static_assert(sizeof(struct pci_admin_cmd) == 64, "admin command");
_Static_assert(sizeof(struct pci_admin_resp) == 64, "admin completion");
_Static_assert(sizeof(struct pci_aenq_entry) == 64, "AENQ entry");
_Static_assert(sizeof(struct pci_eqe) == 16, "EQ entry");
_Static_assert(sizeof(struct pci_buffer) == 12, "buffer");
_Static_assert(sizeof(struct pci_cmd_create_qp) == 60, "CREATE_QP");
_Static_assert(sizeof(struct pci_cmd_reg_mr) == 60, "REG_MR");
_Static_assert(sizeof(struct pci_cmd_create_cq) == 24, "CREATE_CQ");

#endif
