/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at endpoints, and selects those to show: the busiest, and those that
 * have waited longest. */
#include "base_top_look.h"
#include "base_counters.h"

#include <flow/look.h>
#include <flow/peer.h>

#include <string.h>

#define BASE_TOP_LONG 100 /* shortest wait that is shown as one, ms */
#define BASE_TOP_MSG  64  /* bytes added per message to rank by traffic */

/* A number that changes when a user's operation is posted or completed, or a
 * message received, but not when either is only sent again. */
static uint64_t base_top_moves(const base_iface_t *iface)
{
    return iface->ops_posted + iface->ops_done + iface->received;
}

/* Keeps when the oldest message, outstanding or unsent, began to wait. */
static void base_top_look_age(base_top_ep_t *top, const flow_look_t *look,
                              flow_time_t now)
{
    int waits = (look->oldest != look->psn) ||
                ((look->wait != FLOW_LOOK_FREE) &&
                 (look->wait != FLOW_LOOK_FAILED));

    if (!waits) {
        top->since = 0;
    } else if ((top->since == 0) || (look->oldest != top->oldest)) {
        top->since = now;
    }
    top->oldest = look->oldest;
}

static void
base_top_look_bytes(const base_iface_t *iface, const base_top_bytes_t *bytes,
                    base_ep_t *ep, unsigned sent, uint64_t rma)
{
    base_top_ep_t *top = &ep->top;
    base_top_sum_t sum;

    base_top_bytes_sum(bytes, &iface->ops, ep, top->psn, sent, &sum);
    if (sum.messages > 0) {
        top->size = (uint32_t)(sum.message_bytes / sum.messages);
    }
    top->bytes += (uint64_t)sent * top->size;
    if (bytes->rma > 0) {
        top->bytes += rma * sum.rma_bytes / bytes->rma;
    }
}

/* Progress clears the bit that the look before set. The thread of the interface
 * changes other bits without a lock: one that overwrites this bit does so in a
 * call of ours, and none of its own is lost. */
static void base_top_look_progress(base_iface_t *iface,
                                   base_top_second_t *second, flow_time_t now)
{
    if (!(__atomic_load_n(&iface->todo, __ATOMIC_RELAXED) &
          BASE_TODO_LOOKED)) {
        second->progressed = now;
        __atomic_fetch_or(&iface->todo, BASE_TODO_LOOKED, __ATOMIC_RELAXED);
    }
}

void base_top_look(base_iface_t *iface, base_top_second_t *second,
                   base_top_bytes_t *bytes, flow_time_t now)
{
    uint64_t       rma = iface->rma_posted - second->rma_posted;
    base_ep_t     *ep;
    base_top_ep_t *top;
    flow_look_t    look;
    unsigned       sent;

    base_top_bytes_sort(bytes, &iface->ops);
    for (ep = iface->alive; ep != NULL; ep = ep->list_next) {
        top = &ep->top;
        flow_look(iface->core, ep->tx, &look);
        sent           = (flow_psn_t)(look.psn - top->psn);
        top->sent     += sent;
        top->received += (flow_psn_t)(look.rx_psn - top->rx_psn);
        top->psn       = look.psn;
        top->rx_psn    = look.rx_psn;
        top->lost      = look.lost;
        top->wait      = (uint8_t)look.wait;
        top->blocked  += look.wait == FLOW_LOOK_LIMIT;
        top->refused  += look.wait == FLOW_LOOK_RNR;
        if (look.depth > top->depth) {
            top->depth = look.depth;
        }
        base_top_look_age(top, &look, now);
        if ((sent > 0) || (ep->rma_ops > 0)) {
            base_top_look_bytes(iface, bytes, ep, sent, rma);
        }
    }
    if (bytes->rma > 0) { /* else the next look attributes them */
        second->rma_posted = iface->rma_posted;
    }
    if (second->moves != base_top_moves(iface)) {
        second->moves = base_top_moves(iface);
        second->moved = now;
    }
    base_top_look_progress(iface, second, now);
    ++second->looks;
}

/* The `max` rows with the highest keys. */
typedef struct base_top_rank {
    base_top_row_t *rows;
    uint64_t        key[BASE_TOP_ROWS];
    unsigned        count, max;
} base_top_rank_t;

static void base_top_rank_add(base_top_rank_t *rank, const base_top_row_t *row,
                              uint64_t key)
{
    unsigned least = 0, i;

    if (rank->count < rank->max) {
        least = rank->count++;
    } else {
        for (i = 1; i < rank->max; ++i) {
            if (rank->key[i] < rank->key[least]) {
                least = i;
            }
        }
        if (rank->key[least] >= key) {
            return;
        }
    }
    rank->key[least]  = key;
    rank->rows[least] = *row;
}

static uint64_t
base_top_per_second(uint64_t count, const base_top_second_t *second,
                    flow_time_t now)
{
    return (uint64_t)((double)count * 1e9 / (double)(now - second->began));
}

static void base_top_row(const base_iface_t *iface, const base_ep_t *ep,
                         const base_top_second_t *second, flow_time_t now,
                         base_top_row_t *row)
{
    const base_top_ep_t *top  = &ep->top;
    flow_addr_t          addr = flow_peer_addr(
            iface->core, flow_tx_peer(iface->core, ep->tx));

    memset(row, 0, sizeof(*row));
    memcpy(row->gid, addr.gid, sizeof(row->gid));
    row->qpn      = addr.qpn;
    row->sent     = (uint32_t)base_top_per_second(top->sent, second, now);
    row->received = (uint32_t)base_top_per_second(top->received, second, now);
    row->bytes    = base_top_per_second(top->bytes, second, now);
    row->blocked  = (uint16_t)(BASE_TOP_SHARE * top->blocked / second->looks);
    row->refused  = (uint16_t)(BASE_TOP_SHARE * top->refused / second->looks);
    row->lost     = top->lost;
    row->depth    = top->depth;
    row->wait     = top->wait;
    row->rma      = ep->rma_ops;
    if (top->since != 0) {
        row->age = (uint32_t)((now - top->since) / 1000000);
    }
}

/* For the next second. */
static void base_top_ep_clear(base_top_ep_t *top)
{
    top->sent     = 0;
    top->received = 0;
    top->bytes    = 0;
    top->blocked  = 0;
    top->refused  = 0;
    top->depth    = 0;
}

static void base_top_fill_rows(base_iface_t *iface,
                               const base_top_second_t *second,
                               base_top_page_t *page, flow_time_t now)
{
    base_top_rank_t stuck = {.rows = page->row, .max = BASE_TOP_STUCK};
    base_top_row_t  busy_rows[BASE_TOP_BUSY], row;
    base_top_rank_t busy  = {.rows = busy_rows, .max = BASE_TOP_BUSY};
    base_ep_t      *ep;

    page->peers = 0;
    page->stuck = 0;
    for (ep = iface->alive; ep != NULL; ep = ep->list_next) {
        base_top_row(iface, ep, second, now, &row);
        base_top_ep_clear(&ep->top);
        ++page->peers;
        page->stuck += row.blocked > BASE_TOP_SHARE / 2;
        if (row.age >= BASE_TOP_LONG) {
            base_top_rank_add(&stuck, &row, row.age);
        } else {
            base_top_rank_add(&busy, &row,
                              row.bytes + BASE_TOP_MSG * (uint64_t)(
                                                  row.sent + row.received));
        }
    }
    memcpy(page->row + stuck.count, busy_rows,
           busy.count * sizeof(*busy_rows));
    page->rows = stuck.count + busy.count;
    memset(page->row + page->rows, 0,
           (BASE_TOP_ROWS - page->rows) * sizeof(*page->row));
}

void base_top_fill(base_iface_t *iface, base_top_second_t *second,
                   base_top_page_t *page, flow_time_t now)
{
    base_counters_read(iface, page->counters);
    base_top_fill_rows(iface, second, page, now);
    page->written = now;
    page->moved   = second->moved;
    page->looks   = second->looks;

    page->progressed = second->progressed;
    second->began = now;
    second->looks = 0;
}

_Static_assert((int)BASE_COUNTER_LAST <= (int)BASE_TOP_COUNTERS,
               "room for all counters");
