/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's part of the uverbs commands: the structures that libefa appends
 * to a command and expects behind an answer. The layouts are the kernel's
 * interface (rdma/efa-drv.h of Linux 6.18); spelled out here because the header
 * of an older distribution lacks the newest fields, and a newer one has renamed
 * older ones. An older libefa sends a shorter structure; the rest reads as 0.
 */
#ifndef EFASIM_DRIVER_EFA_UAPI_H
#define EFASIM_DRIVER_EFA_UAPI_H

#include <stdint.h>

enum { /* drv_efa_context_in.supported_caps */
    DRV_EFA_CONTEXT_TX_BATCH  = 1 << 0,
};

struct drv_efa_context_in {
    uint32_t supported_caps;
    uint8_t  reserved[4];
};

enum { /* drv_efa_context_out.cmds_supp_udata */
    DRV_EFA_UDATA_QUERY_DEVICE = 1 << 0,
    DRV_EFA_UDATA_CREATE_AH    = 1 << 1,
};

struct drv_efa_context_out {
    uint32_t comp_mask;
    uint32_t cmds_supp_udata;
    uint16_t sub_cqs_per_cq;
    uint16_t inline_buf_size;
    uint32_t max_llq_size;       /* bytes */
    uint16_t max_tx_batch;       /* in units of 64 bytes */
    uint16_t min_sq_wr;
    uint16_t inline_buf_size_ex; /* with 128 B work requests; 0: none */
    uint8_t  reserved[2];
};

struct drv_efa_pd_out {
    uint32_t comp_mask;
    uint16_t pdn;
    uint8_t  reserved[2];
};

struct drv_efa_ah_out {
    uint32_t comp_mask;
    uint16_t number;
    uint8_t  reserved[2];
};

enum { /* drv_efa_cq_in.flags */
    DRV_EFA_CQ_CHANNEL   = 1 << 0,
    DRV_EFA_CQ_SGID      = 1 << 1,
    DRV_EFA_CQ_REQ_ID_64 = 1 << 2,
};

struct drv_efa_cq_in {
    uint32_t comp_mask;
    uint32_t entry_size;
    uint16_t num_sub_cqs;
    uint8_t  flags;
    uint8_t  reserved[5];
};

enum { /* drv_efa_cq_out.comp_mask */
    DRV_EFA_CQ_OUT_DB = 1 << 0,
};

struct drv_efa_cq_out {
    uint32_t comp_mask;
    uint8_t  reserved[4];
    uint64_t q_mmap_key;
    uint64_t q_mmap_size;
    uint16_t cq_idx;
    uint8_t  reserved2[2];
    uint32_t db_off;
    uint64_t db_mmap_key;
};

enum { /* drv_efa_qp_in.flags */
    DRV_EFA_QP_UNSOLICITED_WRITE = 1 << 0,
    DRV_EFA_QP_REQ_ID_64         = 1 << 1,
};

enum { /* drv_efa_qp_in.driver_qp_type */
    DRV_EFA_QP_SRD = 0,
};

struct drv_efa_qp_in {
    uint32_t comp_mask;
    uint32_t rq_ring_size;       /* bytes */
    uint32_t sq_ring_size;       /* bytes */
    uint32_t driver_qp_type;
    uint16_t flags;              /* from here on: since rdma-core 52 */
    uint8_t  sl;
    uint8_t  reserved[5];
};

struct drv_efa_qp_out {
    uint32_t comp_mask;
    uint32_t rq_db_offset;
    uint32_t sq_db_offset;
    uint32_t llq_desc_offset;
    uint64_t rq_mmap_key;
    uint64_t rq_mmap_size;
    uint64_t rq_db_mmap_key;
    uint64_t sq_db_mmap_key;
    uint64_t llq_desc_mmap_key;
    uint16_t send_sub_cq;
    uint16_t recv_sub_cq;
    uint8_t  reserved[4];
};

struct drv_efa_device_out {
    uint32_t comp_mask;
    uint32_t max_sq_wr;
    uint32_t max_rq_wr;
    uint16_t max_sq_sge;
    uint16_t max_rq_sge;
    uint32_t max_rdma_size;
    uint32_t device_caps;        /* enum sim_cap */
};

/* Methods and attributes of the driver's own */
enum {
    DRV_EFA_DRIVER_NS        = 0x1000,
    DRV_EFA_METHOD_MR_QUERY  = DRV_EFA_DRIVER_NS,
    DRV_EFA_MR_HANDLE        = DRV_EFA_DRIVER_NS,
    DRV_EFA_MR_IC_VALIDITY,
    DRV_EFA_MR_RECV_IC,
    DRV_EFA_MR_READ_IC,
    DRV_EFA_MR_RDMA_RECV_IC,
    DRV_EFA_CNTR_BUFFER      = DRV_EFA_DRIVER_NS,
    DRV_EFA_CNTR_ERR_BUFFER,
};

enum { /* bits of DRV_EFA_MR_IC_VALIDITY, for the three numbers */
    DRV_EFA_MR_IC_ALL = 7,
};

/* Parts of the kernel's interface that a distribution's headers may lack */
enum {
    DRV_CQ_BUFFER_VA = 8, /* attributes of CQ_CREATE */
    DRV_CQ_BUFFER_LENGTH,
    DRV_CQ_BUFFER_FD,
    DRV_CQ_BUFFER_OFFSET,

    DRV_DEVICE_QUERY_PORT_SPEED = 7,
    DRV_PORT_SPEED_NUMBER = 0,
    DRV_PORT_SPEED_RESP,
    DRV_PORT_SPEED_EX = 44, /* active_speed_ex in the answer of QUERY_PORT */

    DRV_DEVICE_QUERY_CNTR_CAPS = 8,
    DRV_CNTR_CAPS_MAX = 0,
    DRV_CNTR_CAPS_MAX_VALUE,
    DRV_CNTR_CAPS_OPS,

    DRV_QP_ATTACH_CNTR  = 2,
    DRV_QP_ATTACH_QP    = 0,
    DRV_QP_ATTACH_WHICH,
    DRV_QP_ATTACH_OPS,

    DRV_OBJECT_CNTR     = 19,
    DRV_CNTR_CREATE     = 0, /* methods */
    DRV_CNTR_DESTROY,
    DRV_CNTR_MODIFY,
    DRV_CNTR_READ,
    DRV_CNTR_HANDLE     = 0, /* attributes: of all methods, */
    DRV_CNTR_ENTRY      = 1, /* of MODIFY and READ, */
    DRV_CNTR_MODIFY_OP  = 2, /* of MODIFY */
    DRV_CNTR_MODIFY_VALUE,
    DRV_CNTR_READ_VALUE = 2, /* of READ */
};

enum { /* drv_buffer_desc.type */
    DRV_BUFFER_DMABUF,
    DRV_BUFFER_VA,
};

struct drv_buffer_desc {
    uint32_t type;
    int32_t  fd;
    uint32_t flags;
    uint32_t optional_flags;
    uint64_t addr; /* of a dma-buf: the offset in it */
    uint64_t length;
};

#endif
