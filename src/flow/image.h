/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole state of a core as bytes, and a core made of such bytes elsewhere.
 *
 * An image has parts, one for each piece of memory that the core has: the core
 * itself, then its chunks. Beside them are the operations of the caller's that
 * the core has linked (flow_op_t). Nothing in an image is a pointer of the
 * core's: things that the caller named by a pointer (cookies, handles,
 * operations) are in it as the pointer's number. Equal states have equal
 * images.
 *
 *   save: flow_image_save of part 0 .. flow_image_parts - 1, then
 *         flow_image_op until it returns 0
 *   load: flow_image_begin with part 0; memory and flow_image_load for each
 *         other part, flow_image_put for each operation; flow_image_end
 *
 * Between begin and end no other function may have the core. A loaded image is
 * not trusted: a number that names no existing record is refused, and so is a
 * record or a ring in two places.
 */
#ifndef FLOW_IMAGE_H_
#define FLOW_IMAGE_H_

#include "flow/peer.h"
#include "flow/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Differs where an image of another build could not be loaded: a hash of sizes,
 * limits and the version of the protocol. */
uint64_t flow_image_layout(void);

/* How many parts there are, and the bytes of one (part < flow_image_parts). */
uint32_t flow_image_parts(const flow_core_t *core);
size_t   flow_image_size(const flow_core_t *core, uint32_t part);

/* Write one part: flow_image_size bytes, aligned to 8. */
void flow_image_save(const flow_core_t *core, uint32_t part, void *bytes);

/* Where the core has an operation linked; one may be in a list and in a ring.
 * Begins as zeros. */
typedef struct flow_image_op {
    flow_op_t *op;
    uint32_t   place; /* list or slot: for flow_image_put                     */
    uint32_t   tx;    /* its flow: flow_image_tx                              */
} flow_image_op_t;

/* The next of them, in an order that flow_image_put keeps. 1: there was one.
 * *at has been returned before, or zeros. */
int flow_image_op(const flow_core_t *core, flow_image_op_t *at);

/*
 * Make a core of part 0, `size` bytes, in mem, which is as flow_core_init has
 * it. NULL: not of a core of this layout.
 */
flow_core_t *flow_image_begin(void *mem, size_t mem_size, const void *bytes,
                              size_t size);

/* The other parts in order; mem is as flow_pool_grow has it, of flow_image_size
 * bytes, and has the part's bytes already. */
void flow_image_load(flow_core_t *core, uint32_t part, void *mem);

/* An operation, whose psn, flags, linked and sent are set. 0: no such place or
 * flow. */
int flow_image_put(flow_core_t *core, flow_op_t *op, uint32_t place,
                   uint32_t tx);

/* NULL: the core can be used. Else its fault. */
const char *flow_image_end(flow_core_t *core);

/* Incarnation of the interface itself. */
uint64_t     flow_image_incarnation(const flow_core_t *core);

/* Records by their numbers (flow_tx_index), 1 .. count - 1: NULL where there is
 * none in use. */
uint32_t     flow_image_tx_count(const flow_core_t *core);
flow_tx_t   *flow_image_tx(const flow_core_t *core, uint32_t number);
flow_peer_t *flow_image_peer(const flow_core_t *core, uint32_t number);
/* Does the cookie of a control packet name records that are there, and a peer
 * that has one out? */
int          flow_image_has_cookie(const flow_core_t *core, uint64_t cookie);
/* The number of its endpoint, as its hello and its receiver have it. */
uint32_t     flow_image_tx_ep(const flow_tx_t *tx);
uint32_t     flow_image_peer_number(const flow_peer_t *peer);
/* The sender that its packets come from, as the device reports it; with
 * FLOW_AH_UNKNOWN where the caller holds no handle. */
flow_src_t   flow_image_peer_src(const flow_peer_t *peer);

/* A receiving flow. */
typedef struct flow_image_rx {
    const flow_peer_t *peer;
    uint32_t           ep;     /* number of the sending endpoint              */
    flow_psn_t         first;  /* number of its first packet                  */
    flow_psn_t         next;   /* number expected next                        */
    flow_psn_t         limit;  /* its sender may use numbers before this one  */
    flow_psn_t         told;   /* the limit that it told its sender last      */
    unsigned           held;   /* packets that the core keeps                 */
    uint64_t           mask;   /* flow_psn_bit of each of them                */
    int                ready;  /* it has the next one (UD)                    */
} flow_image_rx_t;

/* By its number, 1 .. count - 1. 0: there is none, or its sender ended it. */
uint32_t flow_image_rx_count(const flow_core_t *core);
int      flow_image_rx(const flow_core_t *core, uint32_t number,
                       flow_image_rx_t *flow);
/* The number of the flow of this incarnation's endpoint; 0: there is none. */
uint32_t flow_image_rx_number(flow_core_t *core, uint64_t src, uint32_t ep);

#ifdef __cplusplus
}
#endif

#endif
