/* SPDX-License-Identifier: BSD-3-Clause */
/* grant.c alone: how many credits there are for flows of each kind, and how
 * many a flow has. */
#ifndef FLOW_ROOM_PRIV_H_
#define FLOW_ROOM_PRIV_H_

#include "flow/rx_priv.h"
#include "flow/state_priv.h"

/* Receives that senders may have credits for. */
static inline int64_t flow_grant_usable(const flow_core_t *core)
{
    int64_t usable = (int64_t)core->params.rx_posted -
                     (int64_t)core->params.rx_reserve;

    return (usable < 2) ? 2 : usable;
}

/* Credits for all active flows together. The rest is for calm ones. */
static inline int64_t flow_grant_capacity(const flow_core_t *core)
{
    int64_t usable = flow_grant_usable(core);
    int64_t calm   = (int64_t)(core->granted - core->active) *
                     FLOW_IDLE_WINDOW;

    calm = (calm < usable / 4) ? usable / 4 : calm;
    calm = (calm > usable / 2) ? usable / 2 : calm;
    return usable - calm;
}

/* `capacity`, here and below: flow_grant_capacity. */
static inline int64_t flow_grant_room(const flow_core_t *core, int64_t capacity)
{
    return capacity - core->owed;
}

/* Credits that calm flows together may still be lent. */
static inline int64_t flow_grant_room_calm(const flow_core_t *core,
                                           int64_t capacity)
{
    return flow_grant_usable(core) - capacity - core->lent;
}

static inline int flow_grant_is_short_of(const flow_core_t *core,
                                         int64_t capacity)
{
    return (core->granted > 1) &&
           ((int64_t)core->granted * core->params.grant > capacity);
}

/* The most credits of a calm flow that may have `window`. */
static inline int flow_grant_calm_most(const flow_core_t *core, int window)
{
    int64_t most = flow_grant_usable(core) / 8;

    most = (most > window) ? window : most;
    return (most > core->params.grant) ? core->params.grant : (int)most;
}

/* The least that is given where there is too little for all. */
static inline int flow_grant_least(const flow_core_t *core, int64_t capacity)
{
    int64_t least = capacity / 16;

    least = (least > FLOW_WAKE_WINDOW) ? FLOW_WAKE_WINDOW : least;
    least = (least > core->params.grant) ? core->params.grant : least;
    return (least < 1) ? 1 : (int)least;
}

/* Credits that the sender has left. */
static inline int flow_grant_credits_left(const flow_rx_t *rx)
{
    return flow_psn_diff(flow_rx_use(rx), flow_rx_psn(rx));
}

#endif
