/* SPDX-License-Identifier: BSD-3-Clause */
/* Where all begins: the cores, which of their memory a few flows change, and
 * the flows that are open from the start. */
#include "model.h"

extern "C" {
#include "flow/hash_priv.h"
#include "flow/stranger_priv.h"
}

namespace model {

/* The part of a core's own memory that a few flows change. */
static void may_change(flow_core_t *core)
{
    memory_may_change(&core->rx_count,
                      offsetof(flow_core_t, params) -
                              offsetof(flow_core_t, rx_count));
    memory_may_change(&core->tx_count,
                      offsetof(flow_core_t, prefixes) -
                              offsetof(flow_core_t, tx_count));
    memory_may_change(core->prefixes, sizeof(core->prefixes[0]));
    memory_may_change(&core->tombstones,
                      offsetof(flow_core_t, trace) -
                              offsetof(flow_core_t, tombstones));
    memory_no_matter(core->trace, sizeof(core->trace));
    memory_may_change(&core->trace[FLOW_TRACE_LEN - 1], sizeof(core->trace[0]));
}

enum {
    RINGS   = 4,  /* of a core: as many as can be in use, and a few           */
    EXPIRED = 16, /* of a core, one after another                             */
    PEERS   = 6,  /* of a core, one after another                             */
    OBJECTS = 640 /* bytes at either end of a chunk                           */
};

/* The heads of its indices: where the others and their flows are, as peer 1 to
 * PEERS. */
static void heads_may_change(unsigned id)
{
    flow_core_t *core = cores[id];
    flow_peer_t other;

    memset(&other, 0, sizeof(other));
    for (unsigned node = 0; node < bounds.nodes; ++node) {
        other.qpn = qpn_of(node);
        memory_may_change(flow_hash_incarnation(core, node + 1), 1);
        memory_may_change(flow_hash_addr(core, &other), 1);
    }
    for (uint32_t peer = 1; peer <= PEERS; ++peer) {
        memory_may_change(flow_hash_rx(core, peer, FLOW_INDEX_MAX + 1), 1);
        memory_may_change(flow_hash_rx(core, peer, FLOW_INDEX_MAX + 2), 1);
    }
}

/* The memory of flows that expired: where it lies is shown by an expiry. */
static void expired_may_change(flow_core_t *core)
{
    const uint64_t count = core->counters.expired;

    for (unsigned node = 0; node < bounds.nodes; ++node) {
        for (uint32_t ep = 1; ep <= FLOWS / 2; ++ep) {
            flow_stranger_remember(core, node + 1, FLOW_INDEX_MAX + ep);
        }
    }
    for (uint16_t &head : core->expired_head) {
        if (head != 0) {
            memory_may_change(&head, sizeof(head));
            head = 0;
        }
    }
    memory_may_change(core->expired, EXPIRED * sizeof(core->expired[0]));
    memory_may_change(core->expired_next,
                      EXPIRED * sizeof(core->expired_next[0]));
    memset(core->expired, 0, sizeof(core->expired));
    memset(core->expired_next, 0, sizeof(core->expired_next));
    core->counters.expired = count;
}

static void start_core(unsigned id)
{
    flow_params_t params;

    if (ud()) {
        flow_params_default_ud(&params);
    } else {
        flow_params_default(&params);
    }
    params.self.incarnation = id + 1;
    params.self.qpn         = qpn_of(id);
    params.self.qkey        = qkey_of(id);
    params.seed             = bounds.key ? id : 0; /* other tokens */
    if (ud() && bounds.reborn) {
        params.tries = TRIES_REBORN;
    }
    params.grant            = (uint16_t)bounds.window;
    params.lap              = (uint16_t)bounds.lap;
    params.init_window      = (uint16_t)bounds.window;
    params.rx_posted        = 8 + bounds.buffers;
    params.rx_reserve       = 8;
    params.first_psn        = 0xfffe;
    cores[id] = flow_core_init(memory_take(id, flow_core_size(&params)),
                               flow_core_size(&params), &params);
    if (cores[id] == nullptr) {
        broken("the core refuses its parameters");
    }
    for (unsigned pool = 0; pool < FLOW_POOL_LAST; ++pool) {
        size_t size = flow_pool_chunk_size(cores[id], (flow_pool_t)pool);
        void *chunk = memory_take(id, size);
        flow_pool_grow(cores[id], (flow_pool_t)pool, chunk);
        if (pool == FLOW_POOL_RING) {
            memory_may_change(chunk, (RINGS + 1) * sizeof(flow_ring_t));
        } else if (pool != FLOW_POOL_HASH) {
            /* a few are used, and free ones queue behind the last */
            memory_may_change(chunk, OBJECTS);
            if (pool == FLOW_POOL_TX) { /* UD: paths are behind the flows */
                size = FLOW_CHUNK * sizeof(flow_tx_t);
            }
            memory_may_change((uint8_t*)chunk + size - OBJECTS, OBJECTS);
        }
    }
    if (ud()) {
        memory_may_change(flow_core_path(cores[id], 0),
                          2 * sizeof(flow_path_t));
    }
    heads_may_change(id);
    expired_may_change(cores[id]);
    cores[id]->ring_free.tail  = RINGS; /* so that they go round */
    cores[id]->ring_free.count = RINGS;
    flow_core_ring(cores[id], RINGS)->next = 0;
    may_change(cores[id]);
}

void open_flow(unsigned flow)
{
    unsigned id = from_of(flow), other = to_of(flow);
    flow_addr_t addr;

    memset(&addr, 0, sizeof(addr));
    addr.incarnation = other + 1;
    addr.qkey        = qkey_of(other);
    addr.qpn         = qpn_of(other);
    if (flow_tx_open(cores[id], &addr, nullptr, &world.tx[flow]) != FLOW_OK) {
        broken("no flow");
    }
    world.index[flow] = (uint8_t)flow_tx_index(world.tx[flow]);
}

void world_start()
{
    memset(&world, 0, sizeof(world));
    /* stamps of flows that begin later were 0 long ago from the start */
    world.now     = bounds.reborn ? (AGO_MAX + 1ull) << FLOW_STAMP_SHIFT : 1;
    world.losses  = bounds.losses;
    world.repeats = bounds.repeats;
    world.recalls = bounds.recalls;
    world.errors  = bounds.errors;
    world.pings   = bounds.pings;
    world.held    = bounds.held;
    if (cores[0] == nullptr) {
        for (unsigned id = 0; id < bounds.nodes; ++id) {
            start_core(id);
        }
        memory_started();
    }
    memory_reset();
    touched = (1u << bounds.nodes) - 1;
    trail.clear();
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        world.alive[id] = (id < 2) || !bounds.reborn;
    }
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        if ((bounds.messages[flow] != 0) && world.alive[from_of(flow)] &&
            world.alive[to_of(flow)]) {
            open_flow(flow);
        }
    }
    settle();
}

} /* namespace model */
