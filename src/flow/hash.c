/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The indices: peers by incarnation and by address, receiving flows by peer and
 * endpoint number. Chains through the records, short ones: a head for each few
 * records costs less than a table with room to spare, and only packets without
 * a token and control packets come this way. Incarnations, addresses and
 * endpoint numbers are a peer's claims: the hash is keyed, else a peer could
 * choose them so that one chain holds them all. (Multiplying by a constant was
 * tried: 16,000 chosen incarnations made a ping cost 255 us, and numbers of one
 * maker's network cards a chain of 1,000 without any malice.)
 */
#include "flow/assert.h"
#include "flow/hash_priv.h"
#include "flow/rx_priv.h"

#include "util/keyed_hash.h"

static uint32_t *flow_hash_head(flow_core_t *core, enum flow_index which,
                                uint64_t first, uint64_t second)
{
    uint32_t slot = (uint32_t)keyed_hash(core->params.key, first, second) &
                    (core->hash_size - 1);

    return &core->hash[(uint32_t)which * core->hash_size + slot];
}

uint32_t *flow_hash_incarnation(flow_core_t *core, uint64_t incarnation)
{
    return flow_hash_head(core, FLOW_INDEX_INCARNATION, incarnation, 0);
}

uint32_t *flow_hash_addr(flow_core_t *core, const flow_peer_t *peer)
{
    return flow_hash_head(core, FLOW_INDEX_ADDR, peer->gid,
                          ((uint64_t)peer->prefix << 32) | peer->qpn);
}

uint32_t *flow_hash_rx(flow_core_t *core, uint32_t peer, uint32_t ep)
{
    return flow_hash_head(core, FLOW_INDEX_RX, peer, ep);
}

uint32_t flow_hash_next_size(const flow_core_t *core)
{
    return (core->hash_size == 0) ? FLOW_CHUNK : core->hash_size * 2;
}

/* Insert a record at the head of its chain; remove it from anywhere. */
#define FLOW_HASH_DEFINE(_name, _type, _get, _link, _index, _head) \
    void flow_hash_insert_##_name(flow_core_t *core, _type *record) \
    { \
        uint32_t *head = _head; \
        record->_link  = *head; \
        *head          = _index; \
    } \
    void flow_hash_remove_##_name(flow_core_t *core, _type *record) \
    { \
        uint32_t *head = _head; \
        _type *before; \
        if (*head == (_index)) { \
            *head = record->_link; \
            return; \
        } \
        before = _get(core, *head); \
        while (before->_link != (_index)) { \
            if (!flow_holds(before->_link != 0)) { \
                return; \
            } \
            before = _get(core, before->_link); \
        } \
        before->_link = record->_link; \
    }

FLOW_HASH_DEFINE(peer, flow_peer_t, flow_core_peer, hash_next, record->index,
                 flow_hash_incarnation(core, record->incarnation))
FLOW_HASH_DEFINE(addr, flow_peer_t, flow_core_peer, addr_next, record->index,
                 flow_hash_addr(core, record))
FLOW_HASH_DEFINE(rx, flow_rx_t, flow_core_rx, hash_next, flow_rx_index(record),
                 flow_hash_rx(core, record->peer, record->ep))

/* Move a chain of the old table, record by record. */
#define FLOW_HASH_MOVE(_core, _index, _name, _get, _link) \
    while (_index != 0) { \
        uint32_t _next = _get(_core, _index)->_link; \
        flow_hash_insert_##_name(_core, _get(_core, _index)); \
        _index = _next; \
    }

void *flow_hash_move(flow_core_t *core, void *mem)
{
    uint32_t *old     = core->hash;
    uint32_t old_size = core->hash_size;
    uint32_t slot, index;

    core->hash_size = flow_hash_next_size(core);
    core->hash      = mem;
    for (slot = 0; slot < old_size; ++slot) {
        index = old[FLOW_INDEX_INCARNATION * old_size + slot];
        FLOW_HASH_MOVE(core, index, peer, flow_core_peer, hash_next)
        index = old[FLOW_INDEX_ADDR * old_size + slot];
        FLOW_HASH_MOVE(core, index, addr, flow_core_peer, addr_next)
        index = old[FLOW_INDEX_RX * old_size + slot];
        FLOW_HASH_MOVE(core, index, rx, flow_core_rx, hash_next)
    }
    return old;
}
