/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending flows: their states.
 *
 *   state    | open  answer  close         fail          goodbye or reset sent
 *   ---------+------------------------------------------------------------
 *   FREE     | HELLO
 *   HELLO    |       OPEN    LINGER        FAILED
 *   OPEN     |       -       LINGER        FAILED
 *   FAILED   |       -       LINGER(reset) -
 *   LINGER   |       -       -             (reset)       FREE
 */
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/list_priv.h"
#include "flow/pair_priv.h"
#include "flow/path_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx_life_priv.h"
#include "flow/tx_priv.h"

static flow_status_t flow_tx_open_peer(flow_core_t *core,
                                       const flow_addr_t *addr,
                                       flow_peer_t **peer_p)
{
    flow_peer_t *peer = flow_peer_find(core, addr->incarnation);

    if (((peer == NULL) || (peer->state == FLOW_PEER_UNKNOWN)) &&
        !flow_peer_fits(core, addr)) {
        return FLOW_NO_RESOURCE;
    }
    if (peer == NULL) {
        peer = flow_peer_create(core, addr->incarnation,
                                flow_src(FLOW_AH_UNKNOWN, addr->qpn));
        if (peer == NULL) {
            return FLOW_NO_MEMORY;
        }
    } else if ((peer->state == FLOW_PEER_DEAD) ||
               ((peer->state != FLOW_PEER_UNKNOWN) &&
                !flow_peer_same_addr(core, peer, addr))) {
        return FLOW_NO_RESOURCE;
    }
    *peer_p = peer;
    return FLOW_OK;
}

flow_status_t flow_tx_open(flow_core_t *core, const flow_addr_t *addr,
                           void *cookie, flow_tx_t **tx_p)
{
    flow_peer_t *peer;
    flow_status_t status;
    flow_tx_t *tx;
    uint32_t index;

    flow_list_sweep(core);
    if (core->counters.lingering >= core->params.max_linger) {
        return FLOW_LINGERING;
    }
    if ((addr->incarnation == 0) || (addr->qpn > FLOW_QPN_MAX)) {
        return FLOW_NO_RESOURCE;
    }
    if (core->tx_free.count == 0) {
        return (core->tx_count < FLOW_INDEX_MAX) ? FLOW_NO_MEMORY :
                                                   FLOW_NO_RESOURCE;
    }
    status = flow_tx_open_peer(core, addr, &peer);
    if (status != FLOW_OK) {
        return status;
    }

    index         = flow_pool_tx_get(core);
    tx            = flow_core_tx(core, index);
    tx->hdr       = ((uint64_t)core->params.first_psn << FLOW_WIRE_PSN_SHIFT) |
                    FLOW_WIRE_LONG;
    tx->una       = core->params.first_psn;
    tx->limit     = core->params.first_psn + core->params.init_window;
    tx->stop      = flow_is_ud(core) ? tx->una : tx->limit; /* UD: no ring */
    tx->state     = FLOW_TX_HELLO;
    tx->cookie    = cookie;
    tx->peer      = peer->index;
    flow_list_add_tx(peer, tx);
    if (flow_is_ud(core)) {
        flow_path_init(flow_core_path(core, index),
                       core->random + tx->ep,
                       core->params.first_window, tx->una);
    }
    ++peer->live;
    flow_peer_introduce(core, peer, addr);
    flow_trace(core, FLOW_TRACE_OPEN, tx->ep, flow_tx_psn(tx), peer->index);
    flow_pair_open(core, tx);
    flow_due_tx_ctl(core, tx, FLOW_CTL_TX_HELLO);
    *tx_p = tx;
    return FLOW_OK;
}

/* The peer cannot know of it: no hello and no data went out. */
static int flow_tx_is_unannounced(const flow_core_t *core, const flow_tx_t *tx)
{
    return !(tx->flags & FLOW_TXF_HELLOED) &&
           (flow_tx_psn(tx) == core->params.first_psn);
}

/* Before it is closed or fails. */
static void flow_tx_not_live(flow_core_t *core, const flow_tx_t *tx)
{
    if (flow_tx_is_live(tx)) {
        --flow_core_peer(core, tx->peer)->live;
    }
}

/*
 * A flow failed as a broken connection does: so does its pair (SRD). Later
 * messages of the peer would name an endpoint that is no more: UCP looks it up
 * by its address where it does not expect failures. On UD the peer would take
 * its repeats for another flow's, and finds nobody in the end.
 */
static void flow_tx_pair_break(flow_core_t *core, const flow_tx_t *tx)
{
    if ((tx->flags & FLOW_TXF_PAIRED) && (tx->carries != 0) &&
        !flow_is_ud(core)) {
        flow_rx_fail(core, flow_core_rx(core, tx->carries));
    }
}

void flow_tx_close(flow_core_t *core, flow_tx_t *tx)
{
    if (!flow_holds(flow_tx_is_live(tx) || (tx->state == FLOW_TX_FAILED))) {
        return;
    }

    flow_trace(core, FLOW_TRACE_CLOSE, tx->ep, flow_tx_psn(tx), tx->state);
    flow_tx_not_live(core, tx);
    if ((tx->state == FLOW_TX_FAILED) && (tx->why != FLOW_END_GIVEN_UP)) {
        flow_tx_pair_break(core, tx);
    }
    if (flow_tx_is_unannounced(core, tx)) {
        tx->flags |= FLOW_TXF_LAST;
        tx->ctl   &= FLOW_CTL_TX_LISTS;
    }
    tx->wait    = FLOW_WAIT_DRAIN |
                  (tx->wait & (FLOW_WAIT_LAP | FLOW_WAIT_HELLO)) |
                  ((tx->state == FLOW_TX_FAILED) ? FLOW_WAIT_RESET : 0);
    tx->state   = FLOW_TX_LINGER;
    tx->paused |= FLOW_PAUSE_CLOSED;
    tx->stop    = flow_tx_psn(tx);
    tx->events &= FLOW_DUE_QUEUED;
    tx->ctl    &= ~(unsigned)FLOW_CTL_TX_PING; /* the last word tells, too */
    ++core->counters.lingering;
    flow_tx_try_release(core, tx);
}

/* A flow ends by its own or its peer's failure. */
void flow_tx_died(flow_core_t *core, flow_tx_t *tx, flow_end_t why)
{
    if (flow_is_ud(core)) {
        flow_resend_fail(core, tx);
    }
    if ((why == FLOW_END_DEAD) || (why == FLOW_END_RESET) ||
        flow_tx_is_unannounced(core, tx)) {
        tx->flags |= FLOW_TXF_LAST; /* a reset would reach nobody */
        tx->ctl   &= FLOW_CTL_TX_LISTS;
    }
    if (tx->why == FLOW_END_NONE) {
        tx->why = why & 0xf;
    }
    if (flow_tx_is_live(tx)) {
        flow_trace(core, FLOW_TRACE_FAIL, tx->ep, flow_tx_psn(tx), why);
        ++core->counters.failed_flows;
        flow_tx_not_live(core, tx);
        tx->state   = FLOW_TX_FAILED;
        tx->paused |= FLOW_PAUSE_CLOSED;
        tx->stop    = flow_tx_psn(tx);
        tx->events &= FLOW_DUE_QUEUED;
        tx->ctl    &= FLOW_CTL_TX_LISTS;
        flow_pair_tx_failed(core, tx);
        if ((why == FLOW_END_ERROR) || (why == FLOW_END_RESET)) {
            flow_tx_pair_break(core, tx);
        }
        flow_due_tx_event(core, tx, FLOW_DUE_TX_FAILED);
    } else if ((tx->state == FLOW_TX_LINGER) &&
               !(tx->events & FLOW_DUE_TX_GONE)) {
        tx->wait |= FLOW_WAIT_RESET;
        tx->wait &= (uint8_t)~FLOW_WAIT_PART;
        tx->ctl  &= FLOW_CTL_TX_LISTS;
        flow_tx_try_release(core, tx);
    }
}
