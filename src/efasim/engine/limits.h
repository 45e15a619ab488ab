/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All limits of the emulated device, in one block. The figures are those of a
 * second-generation EFA device; where the hardware's own figure is not public
 * the line says "ours".
 */
#ifndef EFASIM_ENGINE_LIMITS_H
#define EFASIM_ENGINE_LIMITS_H

enum {
    /* the fabric (ours) */
    SIM_HOSTS          = 8,
    SIM_DEVICES        = 32,      /* of a host, at most */
    SIM_GPUS           = 8,       /* likewise */
    SIM_NICS           = SIM_HOSTS * SIM_DEVICES, /* devices in the fabric */
    SIM_SLOTS          = 256,     /* devices open at one time, per process,
                                     and processes that keep a fabric */
    SIM_RING_BYTES     = 1 << 18, /* packet ring between two processes */
    SIM_RING_ACKS      = 4096,    /* packets not yet answered, per pair */

    /* what the device reports */
    SIM_MAX_QP         = 256,
    SIM_MAX_CQ         = 512,
    SIM_MAX_PD         = 256,
    SIM_MAX_MR         = 262144,
    SIM_MAX_CNTR       = 1024,    /* event counters: a completion counter is
                                     two */
    SIM_MAX_CNTR_VALUE = 0x7fffffff, /* of one; behind it comes 0 */
    SIM_MAX_AH         = 1024,
    SIM_MAX_SQ_WR      = 4096,
    SIM_MAX_RQ_WR      = 32768,
    SIM_MAX_CQE        = 32768,
    SIM_COMP_VECTORS   = 64,      /* interrupts of completion queues, at most
                                     (ours) */
    SIM_MAX_SQ_SGE     = 2,
    SIM_MAX_RQ_SGE     = 3,
    SIM_MAX_RDMA_SGE   = 1,
    SIM_MAX_MSG        = 8928,    /* one message is one packet */
    SIM_UD_PREFIX      = 40,      /* bytes left free before a received one */
    SIM_MAX_RDMA       = 1 << 30,
    SIM_MAX_TX_BATCH   = 32,      /* ours: 64 B units per doorbell */
    SIM_SUB_CQS_MAX    = 2,
    SIM_MTU_ENUM       = 5,       /* IB_MTU_4096: the enum ends there */

    /* how much one progress call may do (ours) */
    SIM_RX_BURST       = 16,      /* packets taken from one peer */
    SIM_TX_BURST       = 64,      /* work requests taken from one QP */
    SIM_RDMA_CHUNK     = 1 << 18, /* bytes of an RDMA read or write */
    SIM_TIMERS         = 256,     /* requests whose time has come */
    SIM_GUEST_FETCH    = 512,     /* work requests of a guest's device */
    SIM_GUEST_OPS      = 65536,   /* its requests under way, at most */

    SIM_QUIET          = 64,      /* calls in which no request came or ended:
                                     nothing is left to overtake others */

    SIM_RETRANS_NS     = 100000,  /* without an answer a packet (SRD) is sent
                                     again */
    SIM_CHECK_NS       = 10000000, /* between checks of silent peers */
    SIM_UD_WAIT_NS     = 100000000, /* a datagram finds no room: lost */

    SIM_LATE_MAX       = 64,      /* bytes not yet in place (knob late) */
    SIM_AGAIN_MAX      = 64,      /* writes that come once more */

    SIM_RNR_ENDLESS    = 7,       /* rnr_retry that means "for ever" */
};

#define SIM_MAX_MR_SIZE  (96ull << 30)
#define SIM_MR_PAGES     (1u << 20)  /* that peers may write */
#define SIM_DEVICE_PAGES (24u << 20) /* in all registrations */
#define SIM_QKEY_PRIV    0x80000000u /* and above: the privileged range */

#endif
