/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers: one record for each incarnation we exchange flows with. It is made by
 * the first of: our own endpoint, its hello, its data that overtook the hello.
 * It goes with the last flow. A dead one stays as a tombstone for a while, so
 * that its packets that are still on the wire are recognised.
 */
#include "flow/assert.h"
#include "flow/ctl_priv.h"
#include "flow/due_priv.h"
#include "flow/fifo_priv.h"
#include "flow/hash_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/trace_priv.h"
#include "flow/turn_priv.h"

flow_peer_t *flow_peer_find(flow_core_t *core, uint64_t incarnation)
{
    flow_peer_t *peer;
    uint32_t index;

    if (core->hash_size == 0) {
        return NULL;
    }

    for (index = *flow_hash_incarnation(core, incarnation); index != 0;
         index = peer->hash_next) {
        peer = flow_core_peer(core, index);
        if (peer->incarnation == incarnation) {
            return peer;
        }
    }
    return NULL;
}

flow_peer_t *flow_peer_create(flow_core_t *core, uint64_t incarnation,
                              flow_src_t src)
{
    uint32_t index = flow_pool_peer_get(core);
    flow_peer_t *peer;

    if (index == 0) {
        return NULL;
    }

    peer              = flow_core_peer(core, index);
    peer->incarnation = incarnation;
    peer->state       = FLOW_PEER_UNKNOWN;
    peer->ah          = FLOW_AH_UNKNOWN;
    peer->qpn         = flow_src_qpn(src);
    flow_hash_insert_peer(core, peer);
    return peer;
}

static void flow_addr_split(const flow_addr_t *addr, uint64_t *upper,
                            uint64_t *lower)
{
    memcpy(upper, addr->gid, sizeof(*upper));
    memcpy(lower, addr->gid + sizeof(*upper), sizeof(*lower));
}

/* Where this prefix is, or has room; FLOW_PREFIXES: nowhere. */
static unsigned flow_prefix_find(const flow_core_t *core, uint64_t upper)
{
    unsigned room = FLOW_PREFIXES;
    unsigned i;

    for (i = 0; i < FLOW_PREFIXES; ++i) {
        if ((core->prefixes[i].gid == upper) &&
            (core->prefixes[i].peers != 0)) {
            return i;
        }
        if ((core->prefixes[i].peers == 0) && (room == FLOW_PREFIXES)) {
            room = i;
        }
    }
    return room;
}

int flow_peer_fits(const flow_core_t *core, const flow_addr_t *addr)
{
    uint64_t upper, lower;

    flow_addr_split(addr, &upper, &lower);
    return flow_prefix_find(core, upper) != FLOW_PREFIXES;
}

flow_addr_t flow_peer_addr(const flow_core_t *core, const flow_peer_t *peer)
{
    flow_addr_t addr = {.incarnation = peer->incarnation,
                        .qpn         = peer->qpn,
                        .qkey        = peer->qkey};

    memcpy(addr.gid, &core->prefixes[peer->prefix].gid, sizeof(uint64_t));
    memcpy(addr.gid + sizeof(uint64_t), &peer->gid, sizeof(uint64_t));
    return addr;
}

int flow_peer_same_addr(const flow_core_t *core, const flow_peer_t *peer,
                        const flow_addr_t *addr)
{
    uint64_t upper, lower;

    flow_addr_split(addr, &upper, &lower);
    return (peer->qpn == addr->qpn) && (peer->qkey == addr->qkey) &&
           (peer->gid == lower) && (core->prefixes[peer->prefix].gid == upper);
}

int flow_peer_addr_sent(flow_core_t *core, const flow_addr_t *addr,
                        flow_src_t src)
{
    flow_peer_t newcomer = {.qpn = addr->qpn};
    unsigned left        = FLOW_RIVALS;
    const flow_peer_t *other;
    uint64_t upper, lower;
    uint32_t index;

    flow_addr_split(addr, &upper, &lower);
    newcomer.gid    = lower;
    newcomer.prefix = flow_prefix_find(core, upper) & (FLOW_PREFIXES - 1);
    if ((core->hash_size == 0) ||
        (core->prefixes[newcomer.prefix].gid != upper)) {
        return 1;
    }
    for (index = *flow_hash_addr(core, &newcomer);
         (index != 0) && (left-- != 0); index = other->addr_next) {
        other = flow_core_peer(core, index);
        if (flow_peer_is_rival(&newcomer, other) &&
            !flow_peer_sent(other, src)) {
            return 0;
        }
    }
    return 1;
}

/*
 * A newcomer at this address: the others lose the chance to prove themselves by
 * answers to earlier packets, which may be older than the newcomer. Those
 * before the last FLOW_RIVALS lost it when the last ones came.
 */
static void flow_peer_compare(flow_core_t *core, flow_peer_t *peer)
{
    unsigned left = FLOW_RIVALS;
    flow_peer_t *other;
    uint32_t index;

    /* it is the first of its chain */
    for (index = peer->addr_next; (index != 0) && (left-- != 0);
         index = other->addr_next) {
        other = flow_core_peer(core, index);
        if (flow_peer_is_rival(peer, other)) {
            peer->rival  = 1;
            other->rival = 0;
        }
    }
}

static void flow_peer_set_addr(flow_core_t *core, flow_peer_t *peer,
                               const flow_addr_t *addr)
{
    uint64_t upper, lower;

    flow_addr_split(addr, &upper, &lower);
    peer->addressed = 1;
    peer->qpn       = addr->qpn;
    peer->qkey      = addr->qkey;
    peer->gid       = lower;
    peer->prefix    = flow_prefix_find(core, upper) &
                      (FLOW_PREFIXES - 1);
    ++core->prefixes[peer->prefix].peers;
    core->prefixes[peer->prefix].gid = upper;
    flow_hash_insert_addr(core, peer);
    flow_trace(core, FLOW_TRACE_PEER, peer->index, 0, addr->incarnation);
    flow_due_peer_event(core, peer, FLOW_DUE_PEER_INTRO);
}

void flow_peer_introduce(flow_core_t *core, flow_peer_t *peer,
                         const flow_addr_t *addr)
{
    if (!peer->addressed) {
        if (peer->state == FLOW_PEER_UNKNOWN) {
            peer->state = FLOW_PEER_KNOWN;
        }
        flow_peer_set_addr(core, peer, addr);
        if (peer->state != FLOW_PEER_DEAD) {
            flow_peer_compare(core, peer);
        }
    }
    flow_peer_resume(core, peer);
}

void flow_peer_suspend(flow_core_t *core, flow_peer_t *peer)
{
    flow_assert(peer->live == 0);
    if (peer->state == FLOW_PEER_READY) {
        peer->state = FLOW_PEER_KNOWN;
        flow_turn_wake_all(core, peer); /* those with nothing due may go */
    }
}

int flow_peer_ref(flow_peer_t *peer)
{
    if (peer->refs >= FLOW_PEER_REFS_MAX) {
        return 0;
    }
    ++peer->refs;
    return 1;
}

void flow_peer_unref(flow_core_t *core, flow_peer_t *peer)
{
    --peer->refs;
    flow_peer_check_idle(core, peer);
}

void flow_peer_check_idle(flow_core_t *core, flow_peer_t *peer)
{
    if (!flow_peer_in_use(peer)) {
        flow_due_peer_event(core, peer, FLOW_DUE_PEER_GONE);
    }
}

static void flow_peer_forget(flow_core_t *core, flow_peer_t *peer)
{
    flow_hash_remove_peer(core, peer);
    flow_pool_peer_release(core, peer->index);
}

/* Remember it as dead, and forget the oldest of those that nobody needs. */
static void flow_peer_entomb(flow_core_t *core, flow_peer_t *peer)
{
    flow_peer_t *oldest;
    unsigned i;

    if (peer->entombed) {
        return;
    }
    peer->entombed = 1;
    flow_fifo_peer_tomb_push(core, &core->tombstones, peer->index);
    for (i = core->tombstones.count; i > FLOW_TOMBSTONES; --i) {
        oldest = flow_core_peer(core,
                                flow_fifo_peer_tomb_pop(core,
                                                        &core->tombstones));
        if (oldest->addressed) { /* in use again, for resets: keep it */
            flow_fifo_peer_tomb_push(core, &core->tombstones, oldest->index);
        } else {
            flow_peer_forget(core, oldest);
        }
    }
}

void flow_peer_release(flow_core_t *core, flow_peer_t *peer)
{
    flow_assert(!flow_peer_in_use(peer));
    if (peer->addressed) {
        flow_hash_remove_addr(core, peer);
        --core->prefixes[peer->prefix].peers;
    }
    peer->addressed  = 0;
    peer->introduced = 0;
    peer->handled    = 0;
    peer->cookie     = NULL;
    if (peer->state == FLOW_PEER_DEAD) {
        flow_peer_entomb(core, peer);
    } else {
        flow_peer_forget(core, peer);
    }
}

int flow_peer_reachable(const flow_peer_t *peer)
{
    return (peer->state == FLOW_PEER_READY) ||
           ((peer->state == FLOW_PEER_DEAD) && peer->handled);
}

int flow_peer_sent(const flow_peer_t *peer, flow_src_t src)
{
    uint16_t ah = flow_src_ah(src);

    return (flow_src_qpn(src) == (uint16_t)peer->qpn) &&
           ((ah == peer->ah) || (peer->ah == FLOW_AH_UNKNOWN) ||
            ((ah == FLOW_AH_UNKNOWN) && (peer->young != 0)));
}

int flow_peer_answered(const flow_peer_t *peer, flow_src_t src)
{
    uint16_t ah = flow_src_ah(src);

    return (peer->state == FLOW_PEER_READY) && (ah != FLOW_AH_UNKNOWN) &&
           ((ah == peer->ah) || (peer->ah == FLOW_AH_UNKNOWN));
}

flow_src_t flow_peer_src(const flow_peer_t *peer, flow_src_t seen)
{
    return (peer->ah == FLOW_AH_UNKNOWN) ?
                   seen :
                   flow_src((uint16_t)peer->ah, peer->qpn);
}

void flow_peer_age(flow_core_t *core, uint32_t taken, uint32_t posted)
{
    unsigned step = ((int32_t)(taken - core->young_last) >= 0) ? 2 : 1;
    flow_peer_t *peer;
    uint32_t index;

    core->posted_ever = posted;
    if ((step == 1) && ((int32_t)(taken - core->young_mark) < 0)) {
        return;
    }
    core->young_mark = posted;
    for (index = 1; (core->young_any != 0) && (index < core->peer_count);
         ++index) {
        peer        = flow_core_peer(core, index);
        peer->young = (peer->young > step) ? (peer->young - step) & 3 : 0;
    }
    core->young_any = (step == 1) ? core->young_any : 0;
}

/* Its address handle is new: the device did not report it in packets received
 * before, and will in those from now on. */
static void flow_peer_new_handle(flow_core_t *core, flow_peer_t *peer)
{
    uint32_t index;
    flow_rx_t *rx;

    peer->young      = 2;
    core->young_any  = 1;
    core->young_last = core->posted_ever;
    for (index = peer->rx_list; index != 0; index = rx->peer_next) {
        rx = flow_core_rx(core, index);
        if (rx->state == FLOW_RX_ACTIVE) {
            rx->src = flow_peer_src(peer, rx->src);
        }
    }
}

int flow_peer_spoke(const flow_peer_t *peer)
{
    return peer->spoke;
}

void flow_peer_set_cookie(flow_peer_t *peer, void *cookie)
{
    peer->cookie = cookie;
}

/* Each flow of the peer hears whether RMA is ready now. */
static void flow_peer_tell_rma(flow_core_t *core, flow_peer_t *peer)
{
    uint32_t index;
    flow_rx_t *rx;

    for (index = peer->rx_list; index != 0; index = rx->peer_next) {
        rx = flow_core_rx(core, index);
        if (rx->state == FLOW_RX_ACTIVE) { /* a stranger is not answered: its
                                      sender would never say hello again */
            flow_due_rx_ctl(core, rx, FLOW_CTL_RX_ANSWER);
        }
    }
}

void flow_peer_set_ah(flow_core_t *core, flow_peer_t *peer, uint16_t ah,
                      flow_rma_t rma)
{
    int reachable = flow_peer_reachable(peer);
    int changed   = (peer->state == FLOW_PEER_READY) && (peer->rma != rma);

    if ((peer->ah != ah) && (ah != FLOW_AH_UNKNOWN)) {
        peer->ah = ah;
        flow_peer_new_handle(core, peer);
    }
    peer->ah  = ah;
    peer->rma = rma;
    if (peer->state == FLOW_PEER_KNOWN) {
        peer->state = FLOW_PEER_READY;
    }
    peer->events    &= ~(unsigned)FLOW_DUE_PEER_INTRO;
    peer->introduced = 1;
    peer->handled    = 1;
    if (changed) {
        flow_peer_tell_rma(core, peer);
    }
    if (!reachable) {
        flow_turn_wake(core, peer);
    }
}
