/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_model: every interleaving of two peers, the real objects (P8).
 *
 * A state is the memory of both cores plus what is on the wire. From each state
 * every possible step is tried: a sends, a packet is delivered (any of those on
 * the wire), its completion comes, it meets receiver-not-ready, or is repeated
 * (which SRD does not do; but a hello, which may not come behind its flow's
 * goodbye, everything bears it). Memory is saved and
 * put back at the same addresses, so pointers stay good. States are told apart
 * by a hash of all that can influence the future; a state seen before is not
 * entered again. At every state the invariants hold; where nothing can move any
 * more, all messages must have arrived once and in order.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

extern "C" {
#include "flow/flow.h"
#include "flow/internal.h"
}

static std::string trail; /* the steps from the start to here */

static void broken(const char *what)
{
    printf("BROKEN: %s\n  after:%s\n", what, trail.c_str());
    exit(1);
}

extern "C" void flow_assert_failed(const char *expr, const char *file, int line)
{
    printf("assertion %s at %s:%d\n", expr, file, line);
    broken(expr);
}

enum { MESSAGES_MAX = 6, NODES = 2, HELLO = 1 };

struct Packet {
    uint8_t   from, len, ctl, lost_ok, repeats;
    uint8_t   bytes[FLOW_CTL_MAX];
    uint64_t  cookie;
    uint8_t   op;        /* data: which message */
};

/* Everything that is not core memory. Plain data: copied by assignment. */
struct World {
    flow_op_t  ops[NODES][MESSAGES_MAX];
    Packet     wire[40], kept[NODES][MESSAGES_MAX];
    unsigned   on_wire;
    unsigned   sent[NODES], got[NODES];
    unsigned   refusals, repeats; /* left */
    flow_tx_t *tx[NODES];
    uint8_t    closed[NODES];
    flow_time_t now;
};

static World                  world;
static flow_core_t           *cores[NODES];
static uint8_t               *memory;     /* of both cores, in one piece */
static size_t                 used;
static unsigned               messages, window;
static std::unordered_set<uint64_t> seen;
static uint64_t               states, steps, ends;
static uint64_t               states_max;

static const size_t MEMORY = 1 << 20;

static void *take(size_t size)
{
    void *mem = memory + used;

    used += (size + 63) & ~(size_t)63;
    if (used > MEMORY) {
        broken("the explorer's memory is too small");
    }
    return mem;
}

static void start_core(unsigned id)
{
    flow_params_t params;

    flow_params_default(&params);
    params.self.incarnation = id + 1;
    params.self.qpn         = id + 1;
    params.grant            = (uint16_t)window;
    params.init_window      = (uint16_t)window;
    params.rx_posted        = 64;
    params.rx_reserve       = 8;
    params.first_psn        = 0xfffe;
    cores[id] = flow_core_init(take(flow_core_size(&params)),
                               flow_core_size(&params), &params);
    for (unsigned pool = 0; pool < FLOW_POOL_LAST; ++pool) {
        flow_core_grow(cores[id], (flow_pool_t)pool,
                       take(flow_core_chunk_size(cores[id],
                                                 (flow_pool_t)pool)));
    }
}

/* Events and control packets come at once: their order changes nothing that
 * the order of deliveries does not. */
static void pull_once(unsigned id)
{
    flow_core_t *core = cores[id];
    flow_event_t event;
    flow_ctl_t ctl;

    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        if ((event.type == FLOW_EVENT_PEER_INTRODUCED) ||
            (event.type == FLOW_EVENT_PEER_WANTS_RMA)) {
            flow_peer_set_ah(core, event.peer, FLOW_AH_UNKNOWN,
                             FLOW_PEER_PINNED);
        } else if (event.type == FLOW_EVENT_TX_FAILED) {
            broken("a flow failed");
        } else if (event.type == FLOW_EVENT_TX_GONE) {
            world.tx[id] = NULL;
        }
    }
    while (flow_ctl_pending(core) && flow_ctl_next(core, world.now, &ctl)) {
        if (world.on_wire == 40) {
            broken("too many packets on the wire");
        }
        Packet &packet = world.wire[world.on_wire++];
        memset(&packet, 0, sizeof(packet));
        packet.from   = (uint8_t)id;
        packet.ctl    = 1;
        packet.len    = (uint8_t)ctl.len;
        packet.cookie = ctl.cookie;
        memcpy(packet.bytes, ctl.data, ctl.len);
    }
}

static void pull(unsigned id)
{
    while (flow_event_pending(cores[id]) || flow_ctl_pending(cores[id])) {
        pull_once(id);
    }
}

static void deliver(unsigned id, uint8_t number)
{
    if (number != world.got[id]) {
        broken("a message came out of order or twice");
    }
    ++world.got[id];
}

static void receive(const Packet &packet)
{
    unsigned id = packet.from ^ 1u;
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;
    void *handle;

    verdict = flow_rx_accept(cores[id], packet.bytes, packet.len,
                             (void*)(uintptr_t)(packet.op + 1),
                             flow_src(FLOW_AH_UNKNOWN, packet.from + 1u),
                             world.now, &out);
    if (verdict == FLOW_RX_NO_MEMORY) {
        broken("no memory");
    }
    if (verdict == FLOW_RX_HOLD) {
        return;
    }
    if (verdict == FLOW_RX_DELIVER) {
        deliver(id, packet.op);
    }
    if (out.more) {
        while ((handle = flow_rx_next(cores[id], out.token)) != NULL) {
            deliver(id, (uint8_t)((uintptr_t)handle - 1));
        }
    }
}

static void complete(const Packet &packet, flow_send_status_t status)
{
    unsigned id = packet.from;

    if (packet.ctl) {
        flow_ctl_done(cores[id], packet.cookie, status, world.now);
    } else if (status == FLOW_SEND_RNR) {
        world.kept[id][packet.op] = packet;
        flow_tx_rnr(cores[id], &world.ops[id][packet.op], world.now);
    } else {
        flow_tx_done(cores[id], world.ops[id][packet.op].tx,
                     world.ops[id][packet.op].psn);
    }
}

static Packet remove(unsigned which)
{
    Packet packet = world.wire[which];

    world.wire[which] = world.wire[--world.on_wire];
    memset(&world.wire[world.on_wire], 0, sizeof(Packet));
    return packet;
}

static void send(unsigned id)
{
    flow_tx_t *tx  = world.tx[id];
    Packet &packet = world.wire[world.on_wire++];
    flow_op_t &op  = world.ops[id][world.sent[id]];

    memset(&packet, 0, sizeof(packet));
    packet.from = (uint8_t)id;
    packet.op   = (uint8_t)world.sent[id]++;
    packet.len  = (uint8_t)flow_tx_header(cores[id], tx, 1, packet.bytes);
    op.tx       = tx;
    op.psn      = flow_tx_commit(tx);
}

/* All back-offs end. */
static void pass_time()
{
    flow_op_t *op;
    int failed;

    world.now += 1000000000;
    for (unsigned id = 0; id < NODES; ++id) {
        while ((op = flow_tx_repost_next(cores[id], world.now, &failed)) !=
               NULL) {
            world.wire[world.on_wire++] =
                    world.kept[id][op - world.ops[id]];
        }
        pull(id);
    }
}

/* For the trail: who sent it, and what it is. */
static std::string named(const Packet &packet)
{
    static const char *const names[] = {"?",     "hello", "answer", "limit",
                                        "who",   "want",  "reset",  "ping",
                                        "goodbye"};
    unsigned type = packet.bytes[0] & FLOW_WIRE_AM_MASK;

    return std::string("(") + std::to_string(packet.from) + " " +
           (packet.ctl ? names[(type <= 8) ? type : 0] : "data") + ")";
}

/* Step number n of those possible here; false: there are fewer. */
static bool step(unsigned n)
{
    unsigned total = world.on_wire;

    if (n < total) { /* a packet arrives and completes */
        Packet packet = remove(n);
        receive(packet);
        complete(packet, FLOW_SEND_OK);
        trail += " d" + std::to_string(n) + named(packet);
        return true;
    }
    n -= total;
    if (n < total * (world.refusals > 0)) { /* it meets no buffer */
        --world.refusals;
        complete(remove(n), FLOW_SEND_RNR);
        trail += " r" + std::to_string(n);
        return true;
    }
    n -= total * (world.refusals > 0);
    if (n < total * (world.repeats > 0)) { /* it arrives, and once more later */
        --world.repeats;
        if (!(world.wire[n].bytes[0] == (FLOW_WIRE_CTL | HELLO))) {
            receive(world.wire[n]);
        }
        trail += " t" + std::to_string(n) + named(world.wire[n]);
        return true;
    }
    n -= total * (world.repeats > 0);
    for (unsigned id = 0; id < NODES; ++id) {
        if ((world.tx[id] == NULL) || world.closed[id]) {
            continue;
        }
        if (world.sent[id] < messages) {
            if (!flow_tx_ready(cores[id], world.tx[id])) {
                continue;
            }
            if (n-- == 0) {
                send(id);
                trail += " s" + std::to_string(id);
                return true;
            }
        } else if (n-- == 0) {
            world.closed[id] = 1;
            flow_tx_close(cores[id], world.tx[id]);
            trail += " c" + std::to_string(id);
            return true;
        }
    }
    if ((flow_timer_next(cores[0]) != FLOW_TIME_NEVER) ||
        (flow_timer_next(cores[1]) != FLOW_TIME_NEVER)) {
        if (n-- == 0) {
            pass_time();
            trail += " w";
            return true;
        }
    }
    return false;
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *p = (const uint8_t*)data;

    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    for (; size > 0; --size) {
        hash = (hash ^ *p++) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Flows, peers, rings, wire: not counters, trace and time. */
static uint64_t fingerprint()
{
    uint64_t hash = 1, wire = 0;

    for (unsigned id = 0; id < NODES; ++id) {
        flow_core_t *core = cores[id];
        hash = mix(hash, core->tx_chunks[0], 4 * sizeof(flow_tx_t));
        hash = mix(hash, core->rx_chunks[0], 4 * sizeof(flow_rx_t));
        hash = mix(hash, core->peer_chunks[0], 4 * sizeof(flow_peer_t));
        hash = mix(hash, core->ring_chunks[0], 3 * sizeof(flow_ring_t));
        hash = mix(hash, core->owed, sizeof(core->owed));
        hash = mix(hash, &core->ctl_tx, sizeof(core->ctl_tx));
        hash = mix(hash, &core->ctl_rx, sizeof(core->ctl_rx));
        for (unsigned level = 0; level < FLOW_LEVELS; ++level) {
            const flow_batch_t *batch = &core->batch[level];
            bool idle = batch->due == FLOW_TIME_NEVER;
            hash = mix(hash, &idle, sizeof(idle));
            hash = mix(hash, &batch->tx_wait,
                       sizeof(*batch) - offsetof(flow_batch_t, tx_wait));
        }
        hash = mix(hash, world.ops[id], sizeof(world.ops[id]));
    }
    for (unsigned i = 0; i < world.on_wire; ++i) { /* a set */
        wire += mix(7, &world.wire[i], sizeof(Packet));
    }
    hash = mix(hash, &wire, sizeof(wire));
    hash = mix(hash, world.sent, sizeof(world.sent));
    hash = mix(hash, world.got, sizeof(world.got));
    hash = mix(hash, &world.refusals, sizeof(world.refusals));
    hash = mix(hash, &world.repeats, sizeof(world.repeats));
    return mix(hash, world.closed, sizeof(world.closed));
}

static void check_end()
{
    flow_counters_t counters;

    ++ends;
    for (unsigned id = 0; id < NODES; ++id) {
        flow_core_counters(cores[id], &counters);
        if ((world.got[id] != messages) || (world.tx[id] != NULL) ||
            counters.rings || counters.rx_flows || counters.peers) {
            printf("node %u: got %u, flow %s, rings %u, receiving %u, peers "
                   "%u\n", id, world.got[id],
                   world.tx[id] ? "left" : "gone", (unsigned)counters.rings,
                   (unsigned)counters.rx_flows, (unsigned)counters.peers);
            broken("nothing moves, and not everything is done");
        }
    }
}

static void explore()
{
    std::vector<uint8_t> saved(memory, memory + used);
    World here       = world;
    size_t length    = trail.size();
    const char *error;
    unsigned n;

    for (n = 0;; ++n) {
        if (!step(n)) {
            break;
        }
        ++steps;
        pull(0);
        pull(1);
        for (unsigned id = 0; id < NODES; ++id) {
            error = flow_core_check(cores[id]);
            if (error != NULL) {
                broken(error);
            }
        }
        if ((states < states_max) && seen.insert(fingerprint()).second) {
            ++states;
            explore();
        }
        memcpy(memory, saved.data(), used);
        world = here;
        trail.resize(length);
    }
    if (n == 0) {
        check_end();
    }
    memcpy(memory, saved.data(), used); /* step() may have asked for more */
    world = here;
}

int main(int argc, char **argv)
{
    flow_addr_t addr;

    if (argc < 6) {
        puts("usage: flow_model WINDOW MESSAGES REFUSALS REPEATS MAX_STATES\n"
             "  window 1..4, messages of each side 0..6");
        return 2;
    }
    window         = (unsigned)atoi(argv[1]);
    messages       = (unsigned)atoi(argv[2]);
    world.refusals = (unsigned)atoi(argv[3]);
    world.repeats  = (unsigned)atoi(argv[4]);
    states_max     = strtoull(argv[5], NULL, 0);
    if ((window < 1) || (window > 4) || (messages > MESSAGES_MAX) ||
        (posix_memalign((void**)&memory, FLOW_ALIGN, MEMORY) != 0)) {
        return 2;
    }
    world.now = 1;
    start_core(0);
    start_core(1);
    for (unsigned id = 0; id < NODES; ++id) {
        memset(&addr, 0, sizeof(addr));
        addr.incarnation = addr.qpn = (id ^ 1u) + 1;
        flow_tx_open(cores[id], &addr, NULL, &world.tx[id]);
        pull(id);
    }
    explore();
    printf("window %u, %u messages each way, %u refusals, %u repeats: %llu "
           "states, %llu steps, %llu ends%s\n", window, messages,
           world.refusals, world.repeats, (unsigned long long)states,
           (unsigned long long)steps, (unsigned long long)ends,
           (states >= states_max) ? " (stopped at the bound)" : "");
    return 0;
}
