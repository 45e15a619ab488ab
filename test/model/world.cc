/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of the peers and the wire between them: a side sends its next
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
    Kept &kept = world.kept[packet.flow][packet.op];

    kept.len = packet.len;
    memcpy(kept.bytes, packet.bytes, sizeof(kept.bytes));
}

void complete(const Packet &packet, flow_send_status_t status)
{
    unsigned id   = packet.from;
    flow_op_t &op = world.ops[packet.flow][packet.op];

    if (!world.alive[id]) {
        return;
    }
    touched |= 1u << id;
    if (packet.ctl) {
        world.unsaid |= status == FLOW_SEND_ERROR;
        flow_ctl_done(cores[id], packet.cookie, status, world.now);
    } else if (ud()) {
        flow_resend_sent(cores[id], &op, status == FLOW_SEND_ERROR);
    } else if (status == FLOW_SEND_RNR) {
        keep(packet);
        flow_tx_rnr(cores[id], &op, world.now);
    } else {
        if (status == FLOW_SEND_OK) {
            world.okay[packet.flow] |= 1u << packet.op;
        } else {
            told(packet.flow);
            flow_tx_fail(cores[id], op.tx, status);
        }
        flow_tx_done(cores[id], op.tx, op.psn);
    }
}

static void put_on_wire(const Packet &packet)
{
    if (world.on_wire == WIRE_MAX) {
        broken("too many packets on the wire");
    }
    world.wire[world.on_wire++] = packet;
}

/* UD: the device is done with all that was put on the wire since; it refuses
 * one. */
static void complete_since(unsigned first)
{
    for (unsigned last = world.on_wire; ud() && (first < last); ++first) {
        Packet packet = world.wire[first];
        bool refused  = world.refuses[packet.from] != 0;
        if (refused) {
            world.refuses[packet.from] = 0;
            (void)take_off_wire(first--);
            --last;
        }
        complete(packet, refused ? FLOW_SEND_ERROR : FLOW_SEND_OK);
    }
}

Packet take_off_wire(unsigned which)
{
    Packet packet = world.wire[which];

    world.wire[which] = world.wire[--world.on_wire];
    return packet;
}

/* The flow of a user, by its record. */
static unsigned flow_of(const flow_tx_t *tx)
{
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        if (world.tx[flow] == tx) {
            return flow;
        }
    }
    broken("an event of a flow that is gone");
    return 0;
}

static void take_event(unsigned id, const flow_event_t &event)
{
    unsigned flow;

    if ((event.type == FLOW_EVENT_PEER_INTRODUCED) ||
        (event.type == FLOW_EVENT_PEER_WANTS_RMA)) {
        flow_peer_set_ah(cores[id], event.peer, FLOW_AH_UNKNOWN,
                         FLOW_RMA_READY);
    } else if (event.type == FLOW_EVENT_TX_FAILED) {
        flow = flow_of(event.tx);
        world.failed[flow] = 1;
        if (!may_fail_now(flow)) {
            broken("a flow failed");
        }
    } else if (event.type == FLOW_EVENT_TX_GONE) {
        world.tx[flow_of(event.tx)] = nullptr;
    } else if (event.type == FLOW_EVENT_RX_RELEASE) {
        flow = (unsigned)(((uintptr_t)event.handle - 1) / MESSAGES_MAX) * 2 +
               (id == 0);
        if ((world.errors == bounds.errors) && world.alive[from_of(flow)]) {
            broken("a held packet was thrown away");
        }
    }
}

/* An acknowledgement that tells no clock: that bears on time alone (drain.c). */
static void hide_clock(Packet *packet)
{
    flow_ctl_msg_t msg;

    if ((flow_ctl_decode(packet->bytes, packet->len, &msg) == FLOW_DROP_NONE) &&
        (msg.type == FLOW_CTL_ACK)) {
        msg.clock = msg.heard = 0;
        flow_ctl_encode(&msg, packet->bytes);
    }
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
        const flow_op_t *op = flow_resend_release_next(core, &failed);
        if (failed && (op->tx->state != FLOW_TX_FAILED) &&
            (op->tx->state != FLOW_TX_LINGER)) {
            broken("an operation failed");
        }
    }
    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        take_event(id, event);
    }
    unsigned first = world.on_wire;
    while (flow_ctl_pending(core) && flow_ctl_next(core, world.now, &ctl)) {
        Packet packet;
        memset(&packet, 0, sizeof(packet));
        if (ctl.len > sizeof(packet.bytes)) {
            broken("a control packet is longer than a hello");
        }
        packet.from   = (uint8_t)id;
        packet.to     = (uint8_t)(ctl.peer->incarnation - 1);
        packet.ctl    = 1;
        packet.len    = (uint8_t)ctl.len;
        packet.cookie = ctl.cookie;
        memcpy(packet.bytes, ctl.data, ctl.len);
        hide_clock(&packet);
        put_on_wire(packet);
    }
    complete_since(first);
}

static bool may_pull(unsigned id)
{
    return flow_event_pending(cores[id]) || flow_ctl_pending(cores[id]) ||
           flow_resend_release_pending(cores[id]);
}

static void deliver(unsigned flow, unsigned number)
{
    if (number != world.got[flow]) {
        broken("a message came out of order or twice");
    }
    ++world.got[flow];
}

void deliver_held(unsigned flow, uint32_t token)
{
    void *handle;

    while ((handle = flow_rx_next(cores[to_of(flow)], token)) != nullptr) {
        unsigned op = (unsigned)((uintptr_t)handle - handle_of(flow, 0));
        if (op >= MESSAGES_MAX) {
            broken("a message of another flow");
        }
        deliver(flow, op);
    }
}

/* The flow that is meant by a packet, or by the endpoint of a hello. */
static unsigned flow_in(const Packet &packet)
{
    flow_ctl_msg_t msg;
    unsigned flow = (packet.to == 0);

    if (!packet.ctl) {
        return packet.flow;
    }
    if ((flow_ctl_decode(packet.bytes, packet.len, &msg) == FLOW_DROP_NONE)) {
        for (; flow < FLOWS; flow += 2) {
            if ((from_of(flow) == packet.from) && (world.index[flow] != 0) &&
                (world.index[flow] == (msg.ep & (FLOW_INDEX_MAX - 1)))) {
                return flow;
            }
        }
    }
    broken("a packet of no flow brings messages");
    return 0;
}

void receive(const Packet &packet, bool held)
{
    unsigned id = who_gets(packet);
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;

    touched |= 1u << id;
    note_rivals(packet);
    verdict  = (held ? flow_rx_accept_held : flow_rx_accept)(
            cores[id], packet.bytes, packet.len,
            (void*)handle_of(packet.flow, packet.op), /* its host is known */
            flow_src((uint16_t)packet.from, qpn_of(packet.from)), &out);
    if (verdict == FLOW_RX_NO_MEMORY) {
        broken("no memory");
    }
    if ((id != packet.to) && (verdict != FLOW_RX_DROP)) {
        broken("a packet for a dead peer was taken by its successor");
    }
    if (verdict == FLOW_RX_HOLD) {
        if (held && out.more) {
            world.drain[flow_in(packet)] = out.token;
        }
        return;
    }
    if (verdict == FLOW_RX_DELIVER) {
        if (held) {
            broken("the thread that acknowledges was to deliver");
        }
        deliver(packet.flow, packet.op);
    }
    if (out.more) {
        deliver_held(flow_in(packet), out.token);
    }
}

static void send(unsigned flow)
{
    unsigned id   = from_of(flow);
    flow_tx_t *tx = world.tx[flow];
    flow_op_t &op = world.ops[flow][world.sent[flow]];
    Packet packet;

    memset(&packet, 0, sizeof(packet));
    packet.from = (uint8_t)id;
    packet.to   = (uint8_t)to_of(flow);
    packet.flow = (uint8_t)flow;
    packet.op   = (uint8_t)world.sent[flow]++;
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
        unsigned which = (unsigned)(op - world.ops[0]);
        Packet packet;
        memset(&packet, 0, sizeof(packet));
        packet.flow = (uint8_t)(which / MESSAGES_MAX);
        packet.op   = (uint8_t)(which % MESSAGES_MAX);
        if (!ud() && failed) {
            told(packet.flow);
            flow_tx_done(cores[id], op->tx, op->psn);
            continue;
        }
        packet.from = (uint8_t)id;
        packet.to   = (uint8_t)to_of(packet.flow);
        packet.len  = world.kept[packet.flow][packet.op].len;
        memcpy(packet.bytes, world.kept[packet.flow][packet.op].bytes,
               FLOW_LONG_HDR);
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
void pass_time(flow_time_t delay)
{
    flow_time_t now = world.now + delay;

    for (unsigned id = 0; id < bounds.nodes; ++id) {
        if (world.alive[id]) {
            touched  |= 1u << id;
            world.now = now;
            flow_timer_run(cores[id], now);
        }
    }
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        while (world.alive[id] && !hand_rests(cores[id])) {
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
    bool waits = false;

    for (unsigned id = 0; id < bounds.nodes; ++id) {
        waits |= world.alive[id] &&
                 (flow_timer_next(cores[id]) != FLOW_TIME_NEVER);
    }
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        waits &= world.drain[flow] == 0;
    }
    return waits && (step_late(n) || step_early(n));
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
                         ("data " + std::to_string(packet.op)).c_str()) +
           ((packet.flow > 1) ? " of its second" : "") +
           ((bounds.nodes > 2) ? " to " + std::to_string(packet.to) : "") + ")";
}

/* It arrives and completes; a dead peer's device says that its queue pair is
 * gone. */
static bool step_arrive(unsigned *n)
{
    for (unsigned i = 0; i < world.on_wire; ++i) {
        if (world.wire[i].twin || ((*n)-- != 0)) {
            continue;
        }
        Packet packet = take_off_wire(i);
        was_nothing   = dead_letter(packet);
        trail += " d" + std::to_string(i) + named(packet);
        if (who_gets(packet) != NODES) {
            receive(packet);
        }
        if (!ud()) {
            complete(packet, (who_gets(packet) != NODES) ? FLOW_SEND_OK :
                                                           FLOW_SEND_DEAD);
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

/* The begin, the next message, or the end, of one flow. */
static bool step_user(unsigned flow, unsigned *n)
{
    unsigned id    = from_of(flow);
    flow_tx_t *tx  = world.tx[flow];
    unsigned count = bounds.messages[flow];
    bool sends     = (world.sent[flow] < count) && !world.failed[flow];
    bool begins    = (world.index[flow] == 0) && (count != 0) &&
                     world.alive[to_of(flow)];

    if (!world.alive[id] || (!begins && (tx == nullptr)) ||
        world.closed[flow] ||
        (!begins && sends &&
         (tx->wait & FLOW_WAIT_STOP)) || /* blocked until an event comes */
        ((*n)-- != 0)) {
        return false;
    }
    touched |= 1u << id;
    if (begins) {
        trail += " o" + std::to_string(flow);
        open_flow(flow);
    } else if (!sends) {
        trail              += " c" + std::to_string(flow);
        world.closed[flow]  = 1;
        flow_tx_close(cores[id], tx);
    } else if (flow_tx_ready(cores[id], tx)) {
        trail += " s" + std::to_string(flow);
        send(flow);
    } else {
        trail += " b" + std::to_string(flow);
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

static bool step_users(unsigned nodes, unsigned *n)
{
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        if ((nodes & (1u << from_of(flow))) && step_user(flow, n)) {
            return true;
        }
    }
    return false;
}

/* Events that happen by themselves: resends, events of the core, control
 * packets, eager users. */
void settle()
{
    bool busy = true;

    while (busy) {
        busy = false;
        for (unsigned id = 0; id < bounds.nodes; ++id) {
            unsigned first = 0;
            if (!(touched & (1u << id)) || !world.alive[id]) {
                continue;
            }
            while (repost(id) || may_pull(id)) {
                pull_once(id);
            }
            busy |= bounds.eager && step_users(1u << id, &first);
        }
    }
    check_credits();
    look_at_wire();
}

bool world_step(unsigned n)
{
    bool done;

    touched     = 0;
    was_nothing = false;
    done        = step_arrive(&n) || step_lose(&n) || step_repeat(&n) ||
                  step_error(&n) || step_ping(&n) || step_hold(&n) ||
                  step_give_up(&n) || step_kill(&n);
    done        = done || (!bounds.eager && step_users(~0u, &n));
    for (unsigned id = 0; !done && (id < bounds.nodes); ++id) {
        done = step_recall(id, &n);
    }
    done = done || step_time(&n);
    if (done) {
        settle();
    }
    return done;
}

} /* namespace model */
