/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

#include <cstdio>
#include <cstdlib>

extern "C" void flow_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "flow assertion failed: %s at %s:%d\n", expr, file, line);
    abort();
}

namespace flow_test {

static void *alloc(size_t size)
{
    void *mem = nullptr;

    if (posix_memalign(&mem, FLOW_ALIGN, size) != 0) {
        abort();
    }
    memset(mem, 0xa5, size); /* the core must not lean on zeros */
    return mem;
}

Node::Node(uint32_t qpn, void (*tweak)(flow_params_t*))
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
    addr     = params.self;
    core_mem = alloc(flow_core_size(&params));
    core     = flow_core_init(core_mem, flow_core_size(&params), &params);
    EXPECT_NE(nullptr, core);
    memset(&last, 0, sizeof(last));
    grow();
}

Node::~Node()
{
    for (void *chunk : chunks) {
        free(chunk);
    }
    free(hash_mem);
    free(core_mem);
}

void Node::grow()
{
    unsigned needed;

    while ((needed = flow_core_grow_needed(core)) != 0) {
        for (int pool = 0; pool < FLOW_POOL_LAST; ++pool) {
            if (!(needed & (1u << pool))) {
                continue;
            }
            size_t size = flow_core_chunk_size(core, (flow_pool_t)pool);
            void *mem   = alloc(size);
            void *old   = flow_core_grow(core, (flow_pool_t)pool, mem);
            memory     += size;
            if (pool == FLOW_POOL_HASH) {
                free(old);
                hash_mem = mem;
            } else {
                chunks.push_back(mem);
            }
        }
    }
}

flow_tx_t *Node::open(const Node &peer, void *cookie)
{
    flow_tx_t *tx = nullptr;
    flow_status_t status;

    grow();
    status = flow_tx_open(core, &peer.addr, cookie ? cookie : this, &tx);
    return (status == FLOW_OK) ? tx : nullptr;
}

bool Node::send(flow_tx_t *tx, const std::string &text, unsigned am_id)
{
    Packet packet;
    unsigned len;

    if (!flow_tx_ready(core, tx)) {
        return false;
    }

    packet.bytes.resize(FLOW_LONG_HDR + text.size());
    len = flow_tx_header(core, tx, am_id, packet.bytes.data());
    EXPECT_EQ(flow_tx_header_len(tx), len);
    memcpy(packet.bytes.data() + len, text.data(), text.size());
    packet.bytes.resize(len + text.size());
    packet.dst      = flow_peer_addr(core, flow_tx_peer(core, tx)).qpn;
    packet.src      = flow_src(ah_of(addr.qpn), addr.qpn);
    packet.ctl      = false;
    ops.emplace_back(new flow_op_t());
    packet.op       = ops.back().get();
    packet.cookie   = 0;
    if (ud()) {
        flow_tx_commit_op(core, tx, packet.op);
        kept[packet.op] = packet;
    } else {
        packet.op->tx  = tx;
        packet.op->psn = flow_tx_commit(tx);
    }
    out.push_back(packet);
    return true;
}

void Node::pull_ctl()
{
    flow_ctl_t ctl;
    Packet packet;

    while (flow_ctl_next(core, now, &ctl)) {
        packet.bytes.assign(ctl.data, ctl.data + ctl.len);
        packet.dst    = flow_peer_addr(core, ctl.peer).qpn;
        packet.src    = flow_src(ah_of(addr.qpn), addr.qpn);
        packet.ctl    = true;
        packet.op     = nullptr;
        packet.cookie = ctl.cookie;
        out.push_back(packet);
    }
}

void Node::deliver(const Bytes &bytes)
{
    unsigned len = flow_wire_hdr_len(bytes.data());

    got.push_back(std::string(bytes.begin() + len, bytes.end()));
    got_am.push_back(flow_wire_am_id(bytes.data()));
}

void Node::drain(uint32_t token)
{
    void *handle;

    while ((handle = flow_rx_next(core, token)) != nullptr) {
        ASSERT_EQ(1u, held.count(handle));
        Bytes bytes = held[handle]->bytes;
        held.erase(handle);
        deliver(bytes);
    }
}

flow_rx_verdict_t Node::receive(const Packet &packet)
{
    return receive(packet.bytes, packet.src);
}

flow_rx_verdict_t Node::receive(const Bytes &bytes, flow_src_t src)
{
    std::unique_ptr<Held> buffer(new Held{bytes});
    void *handle = buffer.get();
    flow_rx_verdict_t verdict;
    /* an exact heap copy: a read beyond it is seen by the sanitizer */
    std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);

    std::copy(bytes.begin(), bytes.end(), copy.get());
    for (int i = 0; i < 2; ++i) {
        verdict = (hold_all ? flow_rx_accept_held : flow_rx_accept)(
                core, copy.get(), bytes.size(), handle, src, now, &last);
        if (verdict != FLOW_RX_NO_MEMORY) {
            break;
        }
        grow();
    }
    if (verdict == FLOW_RX_DELIVER) {
        EXPECT_EQ(flow_wire_hdr_len(bytes.data()), last.offset);
        EXPECT_EQ(flow_wire_am_id(bytes.data()), last.am_id);
        deliver(bytes);
    } else if (verdict == FLOW_RX_HOLD) {
        held[handle] = std::move(buffer);
    }
    if ((verdict != FLOW_RX_HOLD) && !hold_all && last.more) {
        drain(last.token);
    }
    EXPECT_NE(FLOW_RX_NO_MEMORY, verdict);
    return verdict;
}

void Node::handle_events()
{
    flow_event_t event;

    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        events.push_back(event);
        switch (event.type) {
        case FLOW_EVENT_PEER_INTRODUCED:
        case FLOW_EVENT_PEER_WANTS_RMA:
            if (auto_ah) {
                flow_peer_set_ah(core, event.peer,
                                 ah_of(flow_peer_addr(core, event.peer).qpn),
                                 pin_peers ? FLOW_PEER_PINNED :
                                             FLOW_PEER_UNPINNED);
            }
            break;
        case FLOW_EVENT_RX_RELEASE:
            EXPECT_EQ(1u, held.erase(event.handle));
            ++released;
            break;
        default:
            break;
        }
    }
}

void Node::complete(const Packet &packet, flow_send_status_t status)
{
    if (packet.ctl) {
        flow_ctl_done(core, packet.cookie, status, now);
    } else if (ud()) {
        flow_tx_sent(core, packet.op, status != FLOW_SEND_OK);
    } else if (status == FLOW_SEND_RNR) {
        kept[packet.op] = packet;
        flow_tx_rnr(core, packet.op, now);
    } else {
        if (status != FLOW_SEND_OK) {
            flow_tx_fail(core, packet.op->tx, status == FLOW_SEND_DEAD);
            ++failed_ops;
        }
        flow_tx_done(core, packet.op->tx, packet.op->psn);
    }
}

void Node::repost()
{
    flow_op_t *op;
    int fail;

    while ((op = flow_tx_repost_next(core, now, &fail)) != nullptr) {
        Packet packet = kept[op];
        if (ud()) {
            flow_tx_header_again(core, op, packet.bytes.data());
            out.push_back(packet);
            continue;
        }
        kept.erase(op);
        if (fail) {
            ++failed_ops;
            flow_tx_done(core, op->tx, op->psn);
        } else {
            out.push_back(packet);
        }
    }
}

void Node::release()
{
    flow_op_t *op;
    int fail;

    while (flow_tx_release_pending(core) &&
           ((op = flow_tx_release_next(core, &fail)) != nullptr)) {
        EXPECT_EQ(1u, kept.erase(op));
        acked      += !fail;
        failed_ops += fail;
    }
}

void Node::progress()
{
    grow();
    release();
    handle_events();
    repost();
    pull_ctl();
}

bool Node::ud() const
{
    return core->params.profile == FLOW_UD;
}

flow_counters_t Node::counters() const
{
    flow_counters_t counters;

    flow_core_counters(core, &counters);
    return counters;
}

unsigned Node::count(flow_event_type_t type) const
{
    unsigned n = 0;

    for (const flow_event_t &event : events) {
        n += event.type == type;
    }
    return n;
}

const char *Node::check()
{
    const char *error = flow_core_check(core);

    return error ? error : "";
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
    from.release();
    from.handle_events();
    return moved;
}

void ud(flow_params_t *params)
{
    flow_addr_t self = params->self;
    uint32_t posted  = params->rx_posted;

    flow_params_default_ud(params);
    params->self      = self;
    params->rx_posted = posted;
}

void settle(Node &a, Node &b)
{
    bool moved = true;

    for (int round = 0; moved && (round < 1000); ++round) {
        moved  = move(a, b);
        moved |= move(b, a);
        EXPECT_STREQ("", a.check());
        EXPECT_STREQ("", b.check());
    }
    EXPECT_FALSE(moved) << "two cores never fall silent";
}

void settle(Node &a)
{
    for (int round = 0; move(a, a) && (round < 1000); ++round) {
        EXPECT_STREQ("", a.check());
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
