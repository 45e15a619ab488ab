/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strangers: flows whose data came before their hello. Nobody vouches for them,
 * so their number is bounded, and so are the bytes held for them; beyond that
 * the oldest expires. An honest sender's hello is on its way, mostly for
 * microseconds, and then it is no stranger any more; where there was no buffer
 * for the hello, the flow sends nothing else until another one got through.
 *
 * An expired stranger may have been an honest one, whose messages completed
 * well. Therefore the last expired ones are remembered, by a hash, and a hello
 * for one is answered by a reset, as it is when there is no index left for it.
 * A known peer's flow need not wait for its hello. (A table in which newer ones
 * overwrite older by chance was tried: a simulated flood lost messages of an
 * honest peer after a good completion.)
 *
 * The queue is a ring of tokens, in which those of flows that said hello are
 * left: a token that names no stranger any more costs nothing to skip.
 */
#include "flow/stranger_priv.h"

#include "util/keyed_hash.h"

/* Never 0. Long enough that no other flow has that of one in the table, by
 * chance: that would be refused though nothing of it was lost. */
static uint64_t flow_stranger_hash(const flow_core_t *core,
                                   uint64_t incarnation, uint32_t ep)
{
    return keyed_hash(core->params.key, incarnation, ep) | (1ull << 63);
}

static uint16_t *flow_stranger_chain(flow_core_t *core, uint64_t hash)
{
    return &core->expired_head[flow_stranger_bucket(hash)];
}

static void flow_stranger_forget(flow_core_t *core, uint16_t index)
{
    uint16_t *link = flow_stranger_chain(core, core->expired[index]);

    while (*link != index) {
        link = &core->expired_next[*link];
    }
    *link = core->expired_next[index];
}

void flow_stranger_remember(flow_core_t *core, uint64_t incarnation,
                            uint32_t ep)
{
    uint64_t hash  = flow_stranger_hash(core, incarnation, ep);
    uint16_t index = (uint16_t)(1 + core->counters.expired % FLOW_EXPIRED);
    uint16_t *head = flow_stranger_chain(core, hash);

    if (core->expired[index] != 0) {
        flow_stranger_forget(core, index);
    }
    core->expired[index]      = hash;
    core->expired_next[index] = *head;
    *head                     = index;
    ++core->counters.expired;
}

int flow_stranger_expired(flow_core_t *core, uint64_t incarnation, uint32_t ep)
{
    uint64_t hash = flow_stranger_hash(core, incarnation, ep);
    uint16_t index;

    for (index = *flow_stranger_chain(core, hash); index != 0;
         index = core->expired_next[index]) {
        if (core->expired[index] == hash) {
            return 1;
        }
    }
    return 0;
}

void flow_stranger_hold(flow_core_t *core, flow_ring_t *ring, size_t len)
{
    uint32_t bytes = (uint32_t)len + FLOW_STRANGER_ROOM;

    ring->bytes          += bytes;
    core->stranger_bytes += bytes;
}

void flow_stranger_unhold(flow_core_t *core, flow_ring_t *ring)
{
    core->stranger_bytes -= ring->bytes;
    ring->bytes           = 0;
}

void flow_stranger_leave(flow_core_t *core, const flow_rx_t *rx)
{
    if (rx->ring != 0) {
        flow_stranger_unhold(core, flow_core_ring(core, rx->ring));
    }
}
