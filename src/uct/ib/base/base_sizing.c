/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_sizing.h"
#include "base_ah.h"
#include "base_op.h"
#include "base_top.h"
#include "base_types.h"

#include <uct/ib/efa/efa_ah.h>
#include <uct/ib/efa/efa_events.h>

#include <flow/limits.h>
#include <flow/tx.h>

#include <string.h>

/* The most that UCP asks for, in all versions that are known. */
#define NEED_HEADROOM 128
#define NEED_ALIGN    64

#define NEED_PAGE 4096

static size_t need_pages(size_t bytes)
{
    return (bytes + NEED_PAGE - 1) & ~(size_t)(NEED_PAGE - 1);
}

/* From a receive buffer to the next. */
static size_t need_stride(size_t max_msg)
{
    base_rxq_layout_t layout = {
        .packet_size = max_msg,
        .headroom    = NEED_HEADROOM,
        .align       = NEED_ALIGN
    };

    return base_rxq_stride(&layout);
}

/* Registered for so many receive buffers, chunk by chunk (base_rxq.c). */
static size_t
need_rxq(unsigned buffers, unsigned first, unsigned max, size_t max_msg)
{
    size_t   bytes = 0;
    unsigned count, total;

    for (total = 0; total < buffers; total += count) {
        count  = base_rxq_next_chunk(total, first, max);
        bytes += need_pages(count * need_stride(max_msg));
    }
    return bytes;
}

/* Huge pages that hold some of them, as the queue grows to so many. */
static unsigned need_huge(const base_config_t *config, unsigned first,
                          unsigned buffers, size_t max_msg)
{
    unsigned count = EFA_HUGE_PAGE / need_stride(max_msg);
    unsigned max   = config->rx_buffers_max, target = config->rx_queue_len;
    unsigned total = (first < target) ? first : 0, pages = 0;

    for (;;) {
        while ((total < target) && (total < max)) {
            if (base_rxq_takes_huge(total, target, max, count)) {
                total += count;
                ++pages;
            } else {
                total += base_rxq_next_chunk(total, first, max);
            }
        }
        if (target >= buffers) {
            return pages;
        }
        target = base_rxq_next_base(target, max);
        if ((target < total) || (target > buffers)) {
            target = buffers; /* from here on it covers its peers */
        }
    }
}

/* The same for control packets, and for operations and bounce buffers
 * (base_op.c). */
static size_t need_ctl(unsigned count)
{
    return need_pages(count * sizeof(base_op_t));
}

static size_t need_ops(const base_op_counts_t *counts, unsigned bounces,
                       size_t packet)
{
    size_t   stride = base_op_bounce_stride(base_op_bounce_bytes(packet));
    size_t   bytes  = need_pages((counts->common + counts->reserve) *
                                 sizeof(base_op_t));
    unsigned count, total;

    for (total = 0; total < bounces; total += count) {
        count  = efa_at_most(BASE_BOUNCE_CHUNK, bounces - total);
        bytes += need_pages(count * stride);
    }
    return bytes;
}

/* The share of each of `peers` active senders in a queue (flow/grant.c). */
static unsigned need_share(unsigned base, unsigned peers)
{
    return (base - BASE_RXQ_RESERVE) * 3 / 4 / peers;
}

/* Receive buffers when as many peers send: the queue doubles while they could
 * use more, and has one for each that is silent. */
static unsigned need_buffers(const base_config_t *config, unsigned peers)
{
    unsigned max    = config->rx_buffers_max, base = config->rx_queue_len;
    unsigned window = efa_at_most(FLOW_SCARCE_WINDOW, config->window), cover;

    if (peers == 0) {
        return base;
    }
    while ((need_share(base, peers) < window) && (base < max / 2)) {
        base = base_rxq_next_base(base, max);
    }
    cover = base_rxq_covering(efa_at_most(peers, max) * FLOW_IDLE_WINDOW, max);
    return (cover > base) ? cover : base;
}

/* Bytes of `count` records of the protocol core and of those that lie ready, in
 * chunks of a power of two (flow/pool.c). */
static size_t need_records(size_t count, size_t size, unsigned shift)
{
    size_t chunks = (count >> shift) + 1;

    return chunks * ((size << shift) + FLOW_ALIGN);
}

static size_t need_core(unsigned peers)
{
    size_t heads = FLOW_CHUNK;

    while (peers + FLOW_RX_BATCH >= heads * FLOW_HASH_LOAD) {
        heads *= 2;
    }
    return sizeof(flow_core_t) + heads * FLOW_INDEX_LAST * sizeof(uint32_t) +
           need_records(peers + 1, sizeof(flow_tx_t), FLOW_CHUNK_SHIFT) +
           need_records(peers + FLOW_QUARANTINE + FLOW_RX_BATCH,
                        sizeof(flow_rx_t), FLOW_CHUNK_SHIFT) +
           need_records(peers + FLOW_RX_BATCH + 1, sizeof(flow_peer_t),
                        FLOW_CHUNK_SHIFT) +
           need_records(FLOW_RX_BATCH, sizeof(flow_ring_t), FLOW_RING_SHIFT);
}

/* Memory that the module has from malloc. */
static size_t need_heap(const base_config_t *config,
                        const base_op_counts_t *counts, unsigned peers,
                        unsigned handles)
{
    size_t users = base_op_count(counts) + config->rx_buffers_max +
                   efa_gid_buckets(config->max_ah) +
                   efa_gid_buckets(EFA_AH_COMMON);

    return sizeof(efa_device_t) + sizeof(efa_md_t) + sizeof(base_iface_t) +
           sizeof(base_top_t) +
           (counts->common + counts->reserve) * sizeof(uint16_t) +
           users * sizeof(void*) +
           need_core(efa_at_most(peers, FLOW_RX_MAX)) +
           peers * sizeof(base_ep_t) +
           handles * (sizeof(base_ah_t) + sizeof(efa_ah_t));
}

void base_sizing_get(base_sizing_t *need, const base_config_t *config,
                     size_t max_msg, unsigned devices, unsigned peers,
                     unsigned gids)
{
    base_op_counts_t counts = base_op_counts(config->tx_queue_len);
    unsigned         first  = base_rxq_first(config->rx_queue_len, devices);
    int              late   = base_rxq_is_late(devices);
    unsigned         ctl    = base_op_ctl_first(late);

    memset(need, 0, sizeof(*need));
    need->queue_pairs  = 1;
    need->queues       = 2;
    need->files        = EFA_EVENTS_FILES + BASE_TOP_FILES;
    need->sends        = base_op_count(&counts);
    need->receives     = config->rx_buffers_max;
    need->buffers_open = first;
    need->buffers      = need_buffers(config, peers);
    need->locked_open  = need_ctl(ctl) +
                         need_rxq(first, first, config->rx_buffers_max,
                                  max_msg);
    if (!late) {
        need->locked_open += need_ops(&counts, BASE_BOUNCE_CHUNK, config->mtu);
    }
    need->locked       = need_ctl(ctl) + need_ctl(counts.ctl - ctl) +
                         need_ops(&counts, counts.common + counts.reserve,
                                  config->mtu) +
                         need_rxq(need->buffers, first, config->rx_buffers_max,
                                  max_msg);
    need->huge_pages        = need_huge(config, first, need->buffers, max_msg);
    need->handles           = efa_at_most(gids, config->max_ah);
    need->heap_open         = need_heap(config, &counts, 0, 0);
    need->heap              = need_heap(config, &counts, peers, need->handles);
    need->is_short_of_flows = peers > FLOW_RX_MAX;
}
