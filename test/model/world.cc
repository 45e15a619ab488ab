/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of two peers and the wire between them: a side sends its next
 * message, or learns that it may not yet, or closes; a packet arrives (SRD: and
 * its completion comes); a packet is refused (SRD) or lost (UD); a packet
 * arrives and stays on the wire, to arrive once more; back-offs and time-outs
 * end; a receiver takes a flow for silent and recalls what it has. On UD a
 * completion says nothing and comes at once. Time-outs there end when nothing is
 * on the wire; one that ends too early costs a repeat, for it makes one.
 *
 * A packet that can do nothing (effect.cc) does not count: on UD it is taken
 * off the wire. To lose it would only leave fewer faults for the others. One of
 * several packets that can do the same is enough to try.
 */
#include "model.h"

extern "C" {
#include "flow/grant_priv.h"
#include "flow/hand_priv.h"
#include "flow/hash_priv.h"
}

namespace model {

Bounds       bounds;
World        world;
flow_core_t *cores[NODES];
unsigned     touched;
bool         was_nothing;
std::string  trail;

static bool dead_letter(const Packet &packet)
{
    return packet.effect == 0;
}

static void keep(const Packet &packet)
{
    Kept &kept = world.kept[packet.from][packet.op];

    kept.len = packet.len;
    memcpy(kept.bytes, packet.bytes, sizeof(kept.bytes));
}

void complete(const Packet &packet, flow_send_status_t status)
{
    unsigned id = packet.from;

    touched |= 1u << id;
    if (packet.ctl) {
        flow_ctl_done(cores[id], packet.cookie, status, world.now);
    } else if (ud()) {
        flow_resend_sent(cores[id], &world.ops[id][packet.op], 0);
    } else if (status == FLOW_SEND_RNR) {
        keep(packet);
        flow_tx_rnr(cores[id], &world.ops[id][packet.op], world.now);
    } else {
        if (status == FLOW_SEND_OK) {
            world.okay[id] |= 1u << packet.op;
        } else {
            world.erred[id] = 1;
            flow_tx_fail(cores[id], world.ops[id][packet.op].tx, status);
        }
        flow_tx_done(cores[id], world.ops[id][packet.op].tx,
                     world.ops[id][packet.op].psn);
    }
}

static void put_on_wire(const Packet &packet)
{
    if (world.on_wire == WIRE_MAX) {
        broken("too many packets on the wire");
    }
    world.wire[world.on_wire++] = packet;
}

/* UD: the device is done with all that was put on the wire since. */
static void complete_since(unsigned first)
{
    for (unsigned last = world.on_wire; ud() && (first < last); ++first) {
        complete(world.wire[first], FLOW_SEND_OK);
    }
}

Packet take_off_wire(unsigned which)
{
    Packet packet = world.wire[which];

    world.wire[which] = world.wire[--world.on_wire];
    return packet;
}

/* Events and control packets come at once: their order changes nothing that
 * the order of deliveries does not. */
static void pull_once(unsigned id)
{
    flow_core_t *core = cores[id];
    flow_event_t event;
    flow_ctl_t ctl;
    int failed;

    while (flow_resend_release_pending(core)) {
        flow_resend_release_next(core, &failed);
        if (failed) {
            broken("an operation failed");
        }
    }
    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        if ((event.type == FLOW_EVENT_PEER_INTRODUCED) ||
            (event.type == FLOW_EVENT_PEER_WANTS_RMA)) {
            flow_peer_set_ah(core, event.peer, FLOW_AH_UNKNOWN,
                             FLOW_RMA_READY);
        } else if (event.type == FLOW_EVENT_TX_FAILED) {
            world.failed[id] = 1;
            if (bounds.errors == 0) {
                broken("a flow failed");
            }
        } else if (event.type == FLOW_EVENT_TX_GONE) {
            world.tx[id] = nullptr;
        } else if ((event.type == FLOW_EVENT_RX_RELEASE) &&
                   (bounds.errors == 0)) {
            broken("a held packet was thrown away");
        }
    }
    unsigned first = world.on_wire;
    while (flow_ctl_pending(core) && flow_ctl_next(core, world.now, &ctl)) {
        Packet packet;
        memset(&packet, 0, sizeof(packet));
        if (ctl.len > sizeof(packet.bytes)) {
            broken("a control packet is longer than a hello");
        }
        packet.from   = (uint8_t)id;
        packet.ctl    = 1;
        packet.len    = (uint8_t)ctl.len;
        packet.cookie = ctl.cookie;
        memcpy(packet.bytes, ctl.data, ctl.len);
        put_on_wire(packet);
    }
    complete_since(first);
}

static bool may_pull(unsigned id)
{
    return flow_event_pending(cores[id]) || flow_ctl_pending(cores[id]) ||
           flow_resend_release_pending(cores[id]);
}

static void deliver(unsigned id, uint8_t number)
{
    if (number != world.got[id]) {
        broken("a message came out of order or twice");
    }
    ++world.got[id];
}

void deliver_held(unsigned id, uint32_t token)
{
    void *handle;

    while ((handle = flow_rx_next(cores[id], token)) != nullptr) {
        deliver(id, (uint8_t)((uintptr_t)handle - 1));
    }
}

void receive(const Packet &packet, bool held)
{
    unsigned id = packet.from ^ 1u;
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;

    touched |= 1u << id;
    verdict  = (held ? flow_rx_accept_held : flow_rx_accept)(
            cores[id], packet.bytes, packet.len,
            (void*)(uintptr_t)(packet.op + 1),
            flow_src(FLOW_AH_UNKNOWN, packet.from + 1u), &out);
    if (verdict == FLOW_RX_NO_MEMORY) {
        broken("no memory");
    }
    if (verdict == FLOW_RX_HOLD) {
        if (held && out.more) {
            world.drain[id] = out.token;
        }
        return;
    }
    if (verdict == FLOW_RX_DELIVER) {
        if (held) {
            broken("the thread that acknowledges was to deliver");
        }
        deliver(id, packet.op);
    }
    if (out.more) {
        deliver_held(id, out.token);
    }
}

static void send(unsigned id)
{
    flow_tx_t *tx = world.tx[id];
    flow_op_t &op = world.ops[id][world.sent[id]];
    Packet packet;

    memset(&packet, 0, sizeof(packet));
    packet.from = (uint8_t)id;
    packet.op   = (uint8_t)world.sent[id]++;
    packet.len  = (uint8_t)flow_tx_header(cores[id], tx, 1, packet.bytes);
    if (ud()) {
        flow_resend_commit(cores[id], tx, &op);
        keep(packet);
    } else {
        op.tx  = tx;
        op.psn = flow_tx_commit(tx);
    }
    put_on_wire(packet);
    complete_since(world.on_wire - 1);
}

/* Sends again the packets that are due; was there any? */
static bool repost(unsigned id)
{
    unsigned first = world.on_wire;
    flow_op_t *op;
    int failed;

    while ((op = flow_tx_repost_next(cores[id], world.now, &failed)) !=
           nullptr) {
        Packet packet;
        if (!ud() && failed) {
            flow_tx_done(cores[id], op->tx, op->psn);
            continue;
        }
        memset(&packet, 0, sizeof(packet));
        packet.from = (uint8_t)id;
        packet.op   = (uint8_t)(op - world.ops[id]);
        packet.len  = world.kept[id][packet.op].len;
        memcpy(packet.bytes, world.kept[id][packet.op].bytes, FLOW_LONG_HDR);
        if (ud()) {
            flow_resend_header(cores[id], op, packet.bytes);
        }
        put_on_wire(packet);
    }
    complete_since(first);
    return world.on_wire != first;
}

/* The hand of a core has come to a round in which it recalls, or stops. */
static bool hand_rests(const flow_core_t *core)
{
    return (core->tick_due == FLOW_TIME_NEVER) ||
           ((core->ticks == 0) && (core->round % FLOW_RECALL_ROUNDS == 0));
}

/* The ticks of the hand between two such rounds are one step: they change what
 * no packet shows. */
static void pass_time(flow_time_t delay)
{
    flow_time_t now = world.now + delay;

    touched = (1u << NODES) - 1;
    for (unsigned id = 0; id < NODES; ++id) {
        world.now = now;
        flow_timer_run(cores[id], now);
    }
    for (unsigned id = 0; id < NODES; ++id) {
        while (!hand_rests(cores[id])) {
            world.now += cores[id]->params.rnr_min;
            flow_timer_run(cores[id], world.now);
        }
    }
}

/* Nothing is on the wire that can do anything: all back-offs end. */
static bool step_late(unsigned *n)
{
    bool empty = true;

    for (unsigned i = 0; ud() && (i < world.on_wire); ++i) {
        empty = empty && dead_letter(world.wire[i]);
    }
    if (!empty || ((*n)-- != 0)) {
        return false;
    }
    if (ud()) {
        world.on_wire = 0;
    }
    trail += " w";
    pass_time(1000000000);
    return true;
}

/* UD: the first of them ends too early. */
static bool step_early(unsigned *n)
{
    if (!ud() || (world.repeats == 0) || ((*n)-- != 0)) {
        return false;
    }
    --world.repeats;
    trail += " v";
    pass_time(EARLY * cores[0]->params.rnr_min);
    return true;
}

static bool step_time(unsigned *n)
{
    return ((flow_timer_next(cores[0]) != FLOW_TIME_NEVER) ||
            (flow_timer_next(cores[1]) != FLOW_TIME_NEVER)) &&
           (world.drain[0] == 0) && (world.drain[1] == 0) && (step_late(n) || step_early(n));
}

/* For the trail: who sent it, and what it is. */
std::string named(const Packet &packet)
{
    static const char *const names[FLOW_CTL_TYPE_LAST] = {
        "?", "hello", "answer", "limit", "who", "want", "reset", "ping",
        "goodbye", "ack", "parted"};
    unsigned type = packet.bytes[0] & FLOW_WIRE_AM_MASK;

    return std::string("(") + std::to_string(packet.from) + " " +
           (packet.ctl ? names[(type < FLOW_CTL_TYPE_LAST) ? type : 0] :
                         ("data " + std::to_string(packet.op)).c_str()) + ")";
}

/* It arrives and completes. */
static bool step_arrive(unsigned *n)
{
    for (unsigned i = 0; i < world.on_wire; ++i) {
        if (world.wire[i].twin || ((*n)-- != 0)) {
            continue;
        }
        Packet packet = take_off_wire(i);
        was_nothing   = dead_letter(packet);
        trail += " d" + std::to_string(i) + named(packet);
        receive(packet);
        if (!ud()) {
            complete(packet, FLOW_SEND_OK);
        }
        return true;
    }
    return false;
}

/* It meets no buffer, or none ever sees it. */
static bool step_lose(unsigned *n)
{
    for (unsigned i = 0; (i < world.on_wire) && (world.losses > 0); ++i) {
        if (world.wire[i].twin || dead_letter(world.wire[i]) ||
            ((*n)-- != 0)) {
            continue;
        }
        Packet packet = take_off_wire(i);
        --world.losses;
        trail += " r" + std::to_string(i) + named(packet);
        if (!ud()) {
            complete(packet, FLOW_SEND_RNR);
        }
        return true;
    }
    return false;
}

/* It arrives, and will once more. */
static bool step_repeat(unsigned *n)
{
    for (unsigned i = 0; (i < world.on_wire) && (world.repeats > 0); ++i) {
        const Packet packet = world.wire[i];
        if (packet.twin || dead_letter(packet) || ((*n)-- != 0)) {
            continue;
        }
        --world.repeats;
        trail += " t" + std::to_string(i) + named(packet);
        if (ud() || (packet.bytes[0] != (FLOW_WIRE_CTL | FLOW_CTL_HELLO))) {
            receive(packet); /* SRD: no hello comes behind a goodbye */
        }
        return true;
    }
    return false;
}

/* The next message, or the end, of one side. */
static bool step_user(unsigned id, unsigned *n)
{
    flow_tx_t *tx = world.tx[id];

    if ((tx == nullptr) || world.closed[id] ||
        ((world.sent[id] < bounds.messages[id]) && !world.failed[id] &&
         (tx->wait & FLOW_WAIT_STOP)) || /* blocked until an event comes */
        ((*n)-- != 0)) {
        return false;
    }
    touched |= 1u << id;
    if ((world.sent[id] == bounds.messages[id]) || world.failed[id]) {
        trail            += " c" + std::to_string(id);
        world.closed[id]  = 1;
        flow_tx_close(cores[id], tx);
    } else if (flow_tx_ready(cores[id], tx)) {
        trail += " s" + std::to_string(id);
        send(id);
    } else {
        trail += " b" + std::to_string(id);
    }
    return true;
}

/* A receiver takes a flow for silent, rightly or not. */
static bool step_recall(unsigned id, unsigned *n)
{
    flow_core_t *core = cores[id];

    for (uint32_t index = 1;
         (world.recalls > 0) && (index < core->rx_free.head); ++index) {
        flow_rx_t *rx = flow_core_rx(core, index);
        if (!flow_hand_may_recall(rx) || ((*n)-- != 0)) {
            continue;
        }
        --world.recalls;
        trail   += " l" + std::to_string(id);
        touched |= 1u << id;
        flow_grant_recall(core, rx);
        return true;
    }
    return false;
}

/* Look at the effects of the packets now. */
static void look_at_wire()
{
    for (unsigned i = 0; i < world.on_wire;) {
        Packet &packet = world.wire[i];
        packet.effect  = effect_of(packet);
        if (dead_letter(packet) && !bounds.prove) {
            take_off_wire(i);
        } else {
            ++i;
        }
    }
}

/* Events that happen by themselves: resends, events of the core, control
 * packets, eager users. */
static void settle()
{
    bool busy = true;

    while (busy) {
        busy = false;
        for (unsigned id = 0; id < NODES; ++id) {
            unsigned first = 0;
            if (!(touched & (1u << id))) {
                continue;
            }
            while (repost(id) || may_pull(id)) {
                pull_once(id);
            }
            busy |= bounds.eager && step_user(id, &first);
        }
    }
    look_at_wire();
}

bool world_step(unsigned n)
{
    bool done;

    touched     = 0;
    was_nothing = false;
    done        = step_arrive(&n) || step_lose(&n) || step_repeat(&n) ||
                  step_error(&n) || step_ping(&n) || step_hold(&n);
    for (unsigned id = 0; !done && !bounds.eager && (id < NODES); ++id) {
        done = step_user(id, &n);
    }
    for (unsigned id = 0; !done && (id < NODES); ++id) {
        done = step_recall(id, &n);
    }
    done = done || step_time(&n);
    if (done) {
        settle();
    }
    return done;
}

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
    OBJECTS = 256 /* bytes at either end of a chunk                           */
};

/* The heads of its indices: where the other side and its flow are, as peer 1 to
 * 3. */
static void heads_may_change(unsigned id)
{
    flow_core_t *core = cores[id];
    flow_peer_t other;

    memset(&other, 0, sizeof(other));
    other.qpn = (id ^ 1u) + 1;
    memory_may_change(flow_hash_incarnation(core, other.qpn), 1);
    memory_may_change(flow_hash_addr(core, &other), 1);
    for (uint32_t peer = 1; peer <= 3; ++peer) {
        memory_may_change(flow_hash_rx(core, peer, FLOW_INDEX_MAX + 1), 1);
    }
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
    params.self.qpn         = id + 1;
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
    cores[id]->ring_free.tail  = RINGS; /* so that they go round */
    cores[id]->ring_free.count = RINGS;
    flow_core_ring(cores[id], RINGS)->next = 0;
    may_change(cores[id]);
}

void world_start()
{
    flow_addr_t addr;

    memset(&world, 0, sizeof(world));
    world.now     = 1;
    world.losses  = bounds.losses;
    world.repeats = bounds.repeats;
    world.recalls = bounds.recalls;
    world.errors  = bounds.errors;
    world.pings   = bounds.pings;
    world.held    = bounds.held;
    if (cores[0] == nullptr) {
        start_core(0);
        start_core(1);
        memory_started();
    }
    memory_reset();
    touched = (1u << NODES) - 1;
    trail.clear();
    for (unsigned id = 0; id < NODES; ++id) {
        if (bounds.messages[id] == 0) {
            continue;
        }
        memset(&addr, 0, sizeof(addr));
        addr.incarnation = addr.qpn = (id ^ 1u) + 1;
        if (flow_tx_open(cores[id], &addr, nullptr, &world.tx[id]) !=
            FLOW_OK) {
            broken("no flow");
        }
    }
    settle();
}

} /* namespace model */
