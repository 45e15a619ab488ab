/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

namespace flow_test {

static flow_params_t params_of(uint32_t qpn, void (*tweak)(flow_params_t*))
{
    flow_params_t params;

    flow_params_default(&params);
    params.self.gid[0]      = 0xfe;
    params.self.gid[15]     = (uint8_t)qpn;
    params.self.qpn         = qpn;
    params.self.qkey        = 0x1000 + qpn;
    params.self.incarnation = 0xabc0000000000000ull + qpn;
    params.rx_posted        = 1024;
    params.seed             = 1;
    if (tweak != nullptr) {
        tweak(&params);
    }
    return params;
}

Node::Node(uint32_t qpn, void (*tweak)(flow_params_t*)) :
    Driver(params_of(qpn, tweak))
{
}

flow_tx_t *Node::open(const Node &peer)
{
    return Driver::open(peer.addr, this);
}

bool Node::send(flow_tx_t *tx, const std::string &text, unsigned am_id)
{
    Packet packet;
    unsigned len;

    flow_timer_set_now(core, now);
    if (!flow_tx_ready(core, tx)) {
        return false;
    }

    packet.bytes.resize(FLOW_LONG_HDR + text.size());
    len = flow_tx_header(core, tx, am_id, packet.bytes.data());
    EXPECT_EQ(flow_tx_header_len(tx), len);
    memcpy(packet.bytes.data() + len, text.data(), text.size());
    packet.bytes.resize(len + text.size());
    packet.dst      = flow_peer_addr(core, flow_tx_peer(core, tx)).qpn;
    packet.src      = flow_src(flow_test::ah_of(addr.qpn), addr.qpn);
    packet.ctl      = false;
    m_ops.emplace_back(new flow_op_t());
    packet.op       = m_ops.back().get();
    packet.cookie   = 0;
    if (ud()) {
        flow_resend_commit(core, tx, packet.op);
        m_kept[packet.op] = packet;
    } else {
        packet.op->tx  = tx;
        packet.op->psn = flow_tx_commit(tx);
    }
    out.push_back(packet);
    return true;
}

bool Node::on_control(const flow_ctl_t &ctl)
{
    Packet packet;

    packet.bytes.assign(ctl.data, ctl.data + ctl.len);
    packet.dst    = flow_peer_addr(core, ctl.peer).qpn;
    packet.src    = flow_src(flow_test::ah_of(addr.qpn), addr.qpn);
    packet.ctl    = true;
    packet.op     = nullptr;
    packet.cookie = ctl.cookie;
    out.push_back(packet);
    return true;
}

void Node::on_deliver(const Bytes &packet)
{
    unsigned len = flow_wire_hdr_len(packet.data());

    got.push_back(std::string(packet.begin() + len, packet.end()));
    got_am.push_back(flow_wire_am_id(packet.data()));
}

flow_rx_verdict_t Node::receive(const Packet &packet)
{
    return receive(packet.bytes, packet.src);
}

void Node::on_event(const flow_event_t &event)
{
    if (event.type == FLOW_EVENT_TX_OPEN) {
        EXPECT_EQ(this, event.cookie);
    }
    events.push_back(event);
    released += event.type == FLOW_EVENT_RX_RELEASE;
}

uint16_t Node::ah_of(const flow_addr_t &peer)
{
    return flow_test::ah_of(peer.qpn);
}

flow_rma_t Node::rma_of(const flow_event_t &event)
{
    (void)event;
    return rma_peers ? FLOW_RMA_READY : FLOW_RMA_NOT_YET;
}

void Node::on_broken(const char *what)
{
    ADD_FAILURE() << what;
}

void Node::complete(const Packet &packet, flow_send_status_t status)
{
    if (packet.ctl) {
        flow_ctl_done(core, packet.cookie, status, now);
    } else if (ud()) {
        flow_resend_sent(core, packet.op, status != FLOW_SEND_OK);
    } else if (status == FLOW_SEND_RNR) {
        m_kept[packet.op] = packet;
        flow_tx_rnr(core, packet.op, now);
    } else {
        if (status != FLOW_SEND_OK) {
            flow_tx_fail(core, packet.op->tx, status);
            ++failed_ops;
        }
        flow_tx_done(core, packet.op->tx, packet.op->psn);
    }
}

bool Node::on_repost(flow_op_t *op, bool failed)
{
    Packet packet = m_kept[op];

    if (ud()) {
        flow_resend_header(core, op, packet.bytes.data());
        out.push_back(packet);
        return true;
    }
    m_kept.erase(op);
    if (failed) {
        ++failed_ops;
        flow_tx_done(core, op->tx, op->psn);
    } else {
        out.push_back(packet);
    }
    return true;
}

void Node::on_release(flow_op_t *op, bool failed)
{
    EXPECT_EQ(1u, m_kept.erase(op));
    acked      += !failed;
    failed_ops += failed;
}

void Node::progress()
{
    grow();
    pull_releases();
    pull_events();
    pull_reposts();
    pull_control();
}

unsigned Node::count(flow_event_type_t type) const
{
    unsigned n = 0;

    for (const flow_event_t &event : events) {
        n += event.type == type;
    }
    return n;
}

/* Send everything a node has to a peer; true if something moved. */
static bool move(Node &from, Node &to)
{
    bool moved = false;

    from.progress();
    while (!from.out.empty()) {
        Packet packet = from.out.front();
        from.out.pop_front();
        if (packet.dst == to.addr.qpn) {
            to.receive(packet);
        }
        from.complete(packet);
        moved = true;
    }
    from.pull_releases();
    from.pull_events();
    return moved;
}

flow_src_t src_of(const Node &node)
{
    return flow_src(ah_of(node.addr.qpn), node.addr.qpn);
}

flow_ctl_msg_t message(unsigned type, const Node &from, const Node &to,
                       uint32_t ep)
{
    flow_ctl_msg_t msg;

    memset(&msg, 0, sizeof(msg));
    msg.type = (uint8_t)type;
    msg.ep   = ep;
    msg.src  = from.addr.incarnation;
    msg.dst  = to.addr.incarnation;
    return msg;
}

Bytes encode(const flow_ctl_msg_t &msg)
{
    Bytes bytes(FLOW_CTL_MAX, 0xee); /* whatever is left out shows */

    bytes.resize(flow_ctl_encode(&msg, bytes.data()));
    return bytes;
}

unsigned type_of(const Packet &packet)
{
    return packet.bytes[0] & FLOW_WIRE_AM_MASK;
}

flow_rx_t *rx_of(Node &node, const Node &from, const flow_tx_t *tx)
{
    return flow_rx_find(node.core,
                        flow_peer_find(node.core, from.addr.incarnation),
                        tx->ep);
}

std::vector<Packet> take(Node &node)
{
    node.pull_events();
    node.pull_control();
    std::vector<Packet> packets(node.out.begin(), node.out.end());
    node.out.clear();
    return packets;
}

Packet pop(Node &node)
{
    Packet packet = node.out.front();

    node.out.clear();
    return packet;
}

void pass_on(Node &from, Node &to)
{
    while (!from.out.empty()) {
        Packet packet = from.out.front();
        from.out.pop_front();
        to.receive(packet);
        from.complete(packet);
    }
}

void lose(Node &node)
{
    node.pull_control();
    while (!node.out.empty()) {
        Packet packet = node.out.front();
        node.out.pop_front();
        node.complete(packet);
    }
}

void ud(flow_params_t *params)
{
    flow_addr_t self = params->self;
    uint32_t posted  = params->rx_posted;

    flow_params_default_ud(params);
    params->self      = self;
    params->rx_posted = posted;
}

void move_all(Node &from, Node &to, flow_send_status_t status)
{
    from.progress();
    while (!from.out.empty()) {
        Packet packet = from.out.front();
        from.out.pop_front();
        if (status == FLOW_SEND_OK) {
            to.receive(packet);
        }
        from.complete(packet, status);
    }
}

void settle(Node &a, Node &b)
{
    bool moved = true;

    for (int round = 0; moved && (round < 1000); ++round) {
        moved  = move(a, b);
        moved |= move(b, a);
        EXPECT_STREQ(nullptr, a.check());
        EXPECT_STREQ(nullptr, b.check());
    }
    EXPECT_FALSE(moved) << "two cores never fall silent";
}

void settle(Node &a)
{
    for (int round = 0; move(a, a) && (round < 1000); ++round) {
        EXPECT_STREQ(nullptr, a.check());
    }
}

void windows(Node &from, Node &to, flow_tx_t *tx, int times)
{
    for (; times > 0; --times) {
        while (from.send(tx, "y")) {
        }
        std::vector<Packet> sent = take(from);
        for (const Packet &packet : sent) {
            to.receive(packet);
        }
        settle(to, from);
        for (const Packet &packet : sent) {
            from.complete(packet);
        }
    }
}

std::pair<flow_tx_t*, flow_tx_t*> connect(Node &a, Node &b)
{
    flow_tx_t *ab = a.open(b);
    flow_tx_t *ba = b.open(a);

    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, ab->state);
    EXPECT_EQ(FLOW_TX_OPEN, ba->state);
    return {ab, ba};
}

} /* namespace flow_test */
