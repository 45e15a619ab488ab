/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a packet had no effect: one name and one counter for each place. */
#ifndef FLOW_DROP_H_
#define FLOW_DROP_H_

#define FLOW_DROP_LIST(_) \
    _(SHORT)         /* fewer bytes than its header                        */ \
    _(LENGTH)        /* a control packet of the wrong length               */ \
    _(FLAGS)         /* flag bits that do not go together                  */ \
    _(TYPE)          /* unknown control type                               */ \
    _(VERSION)       /* hello of another protocol version                  */ \
    _(NOT_FOR_US)    /* meant for another (dead) incarnation of this QP    */ \
    _(TOKEN)         /* index out of range or generation of another flow   */ \
    _(SENDER)        /* address handle or QPN is not the flow's            */ \
    _(DEAD)          /* the incarnation died                               */ \
    _(CLOSED)        /* the flow said goodbye or failed                    */ \
    _(DUPLICATE)     /* number seen before                                 */ \
    _(BEYOND)        /* number at or above the limit                       */ \
    _(FULL)          /* no index is left for a new flow or peer            */ \
    _(STALE)         /* control packet about a flow that is no more        */ \
    _(FIELD)         /* control packet with an impossible value            */ \
    _(IMMEDIATE)     /* its completion has one: no packet of ours          */

typedef enum flow_drop {
    FLOW_DROP_NONE,
#define FLOW_DROP_ENUM(_name) FLOW_DROP_##_name,
    FLOW_DROP_LIST(FLOW_DROP_ENUM)
#undef FLOW_DROP_ENUM
    FLOW_DROP_LAST
} flow_drop_t;

/* Name of a reason, "?" when out of range. Never NULL. */
const char *flow_drop_name(flow_drop_t reason);

#endif
