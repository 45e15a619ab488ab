/* SPDX-License-Identifier: BSD-3-Clause */
/* ctl.c, for the core alone. */
#ifndef FLOW_CTL_PRIV_H_
#define FLOW_CTL_PRIV_H_

#include "flow/state_priv.h"

/* Control packets due, in the field ctl of a sending and of a receiving
 * flow. */
enum flow_ctl_due {
    FLOW_CTL_TX_HELLO   = 1u << 0,
    FLOW_CTL_TX_WANT    = 1u << 1,
    FLOW_CTL_TX_GOODBYE = 1u << 2,
    FLOW_CTL_TX_RESET   = 1u << 3,
    FLOW_CTL_TX_PING    = 1u << 4,
    FLOW_CTL_RX_ANSWER  = 1u << 0,
    FLOW_CTL_RX_LIMIT   = 1u << 1,
    FLOW_CTL_RX_WHO     = 1u << 2,
    FLOW_CTL_RX_RESET   = 1u << 3,
    FLOW_CTL_RX_PARTED  = 1u << 4, /* UD */
    FLOW_CTL_RX_ACK     = 1u << 5, /* UD */
    FLOW_CTL_TX_TIMED   = 1u << 5, /* in back-off: with FLOW_CTL_QUEUED       */
    FLOW_CTL_QUEUED     = 1u << 6, /* queued, parked (turn.c) or in back-off  */
    FLOW_CTL_DUE_END,              /* one more than the last (limits.c)       */
    FLOW_CTL_TX_LISTS   = FLOW_CTL_QUEUED | FLOW_CTL_TX_TIMED
};

#endif
