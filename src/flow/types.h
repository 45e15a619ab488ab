/* SPDX-License-Identifier: BSD-3-Clause */
/* Types that every part of the core and its caller share. */
#ifndef FLOW_TYPES_H_
#define FLOW_TYPES_H_

#include <stddef.h>
#include <stdint.h>
#include "flow/drop.h"
#include "flow/limits.h"
#include "flow/psn.h"
#include "flow/wire.h"

#define flow_likely(_x)   __builtin_expect(!!(_x), 1)
#define flow_unlikely(_x) __builtin_expect(!!(_x), 0)

/* Nanoseconds of any monotonic clock that starts above 0. */
typedef uint64_t flow_time_t;
#define FLOW_TIME_NEVER  UINT64_MAX
#define FLOW_BACKOFF_MAX (1ull << 40) /* so that sums of times do not wrap */

typedef struct flow_core flow_core_t;
typedef struct flow_tx   flow_tx_t;
typedef struct flow_rx   flow_rx_t;
typedef struct flow_peer flow_peer_t;
typedef struct flow_op   flow_op_t; /* of the transport: flow/tx.h */

typedef enum flow_status {
    FLOW_OK,
    FLOW_NO_MEMORY,  /* hand over the pools flow_pool_grow_needed names       */
    FLOW_NO_RESOURCE, /* a limit of flow/limits.h or of the parameters        */
    FLOW_LINGERING   /* max_linger: time and progress make room               */
} flow_status_t;

typedef enum flow_profile {
    FLOW_SRD, /* a send completion means delivered once                       */
    FLOW_UD   /* a send completion means that the device is done with the
                 bytes; the core acknowledges and sends again                 */
} flow_profile_t;

/* How an interface is reached, and which life of it. */
typedef struct flow_addr {
    uint8_t  gid[16];
    uint64_t incarnation; /* random, not 0                                    */
    uint32_t qpn;         /* 24 bits                                          */
    uint32_t qkey;
} flow_addr_t;

/*
 * Sender of a received packet: our address handle's number for it (0xffff when
 * the device knows none) and its QPN, in one word so that a check is a compare.
 * The device reports both in 16 bits, and in this order.
 */
typedef uint32_t flow_src_t;
#define FLOW_AH_UNKNOWN 0xffffu
static inline flow_src_t flow_src(uint16_t ah, uint32_t qpn)
{
    return (qpn << 16) | ah;
}

/* FLOW_AH_UNKNOWN: the device knows none. */
static inline uint16_t flow_src_ah(flow_src_t src)
{
    return (uint16_t)src;
}

static inline uint16_t flow_src_qpn(flow_src_t src)
{
    return (uint16_t)(src >> 16);
}

/* How a send ended, for packets that the core asked to send: by the transport,
 * from the status of the completion (srd_status.c, ud_iface.c). */
typedef enum flow_send_status {
    FLOW_SEND_OK,
    FLOW_SEND_RNR,  /* certainly not delivered, send again after a back-off: the
                       peer had no receive posted, or one of the two no address
                       handle                                                 */
    FLOW_SEND_LOST, /* no answer came. It may have arrived, and
                       the peer may live: the network may have been cut       */
    FLOW_SEND_DEAD, /* its queue pair is gone, and so the peer                */
    FLOW_SEND_ERROR, /* any other, as our own failure: the flow cannot go on  */
    FLOW_SEND_GIVEN_UP /* no completion: for flow_tx_fail, its user cancels   */
} flow_send_status_t;

#endif
