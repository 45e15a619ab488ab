/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <cstdio>

extern "C" void flow_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "flow assertion failed: %s at %s:%d\n", expr, file, line);
    abort();
}

namespace fuzz {

/* Mapping is slow. Never destroyed: what it holds is no leak. */
static auto &spare = *new std::map<size_t, std::vector<void*>>();

static void *alloc(size_t size)
{
    void *mem = nullptr;

    if (!spare[size].empty()) {
        mem = spare[size].back();
        spare[size].pop_back();
        return mem;
    }

    if (posix_memalign(&mem, FLOW_ALIGN, size) != 0) {
        abort();
    }
    return mem;
}

Core::Core(unsigned id)
{
    flow_params_t params;

    flow_params_default(&params);
    params.self.qpn         = id;
    params.self.qkey        = id;
    params.self.gid[15]     = (uint8_t)id;
    params.self.incarnation = id; /* short, so that a fuzzer may guess it */
    params.rx_posted        = 128;
    params.rx_reserve       = 16;
    addr                    = params.self;
    m_mem = alloc(flow_core_size(&params));
    core  = flow_core_init(m_mem, flow_core_size(&params), &params);
    grow();
}

Core::~Core()
{
    for (auto &chunk : m_chunks) {
        spare[chunk.first].push_back(chunk.second);
    }
    free(m_hash);
    free(m_mem);
}

void Core::grow()
{
    unsigned needed;

    while ((needed = flow_core_grow_needed(core)) != 0) {
        for (int pool = 0; pool < FLOW_POOL_LAST; ++pool) {
            if (needed & (1u << pool)) {
                size_t size = flow_core_chunk_size(core, (flow_pool_t)pool);
                void *mem   = alloc(size);
                void *old = flow_core_grow(core, (flow_pool_t)pool, mem);
                if (pool == FLOW_POOL_HASH) {
                    free(old);
                    m_hash = mem;
                } else {
                    m_chunks.push_back({size, mem});
                }
            }
        }
    }
}

void Core::drain(uint32_t token)
{
    void *handle;

    while ((handle = flow_rx_next(core, token)) != nullptr) {
        if (!m_held.count(handle)) {
            abort();
        }
        got.push_back(m_held[handle]->back());
        m_held.erase(handle);
    }
}

void Core::receive(const Bytes &bytes, flow_src_t src)
{
    std::unique_ptr<Bytes> buffer(new Bytes(bytes));
    std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
    void *handle = buffer.get();
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;

    std::copy(bytes.begin(), bytes.end(), exact.get());
    while ((verdict = flow_rx_accept(core, exact.get(), bytes.size(), handle,
                                     src, now, &out)) == FLOW_RX_NO_MEMORY) {
        grow();
    }
    if (verdict == FLOW_RX_HOLD) {
        m_held[handle] = std::move(buffer);
        return;
    }
    if (verdict == FLOW_RX_DELIVER) {
        if (out.offset > bytes.size()) {
            abort();
        }
        got.push_back(bytes.back());
    }
    if (out.more) {
        drain(out.token);
    }
}

void Core::events()
{
    flow_event_t event;

    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        switch (event.type) {
        case FLOW_EVENT_PEER_INTRODUCED:
        case FLOW_EVENT_PEER_WANTS_RMA:
            flow_peer_set_ah(core, event.peer, FLOW_AH_UNKNOWN,
                             FLOW_PEER_PINNED);
            break;
        case FLOW_EVENT_TX_FAILED:
            flow_tx_close(core, event.tx);
            /* fall through */
        case FLOW_EVENT_TX_GONE:
            for (flow_tx_t *&tx : flows) {
                tx = (tx == event.tx) ? nullptr : tx;
            }
            break;
        case FLOW_EVENT_RX_RELEASE:
            if (m_held.erase(event.handle) != 1) {
                abort();
            }
            break;
        default:
            break;
        }
    }
}

void Core::control()
{
    flow_ctl_t ctl;

    while (flow_ctl_pending(core) && flow_ctl_next(core, now, &ctl)) {
        out.push_back({Bytes(ctl.data, ctl.data + ctl.len), true, ctl.cookie,
                       nullptr});
    }
}

void Core::timers()
{
    flow_op_t *op;
    int failed;

    while ((op = flow_tx_repost_next(core, now, &failed)) != nullptr) {
        Sent sent = m_kept[op];
        m_kept.erase(op);
        if (failed) {
            flow_tx_done(core, op->tx, op->psn);
        } else {
            out.push_back(sent);
        }
    }
}

bool Core::send(flow_tx_t *tx, uint8_t byte)
{
    uint8_t hdr[FLOW_LONG_HDR];
    unsigned len;

    if (!flow_tx_ready(core, tx)) {
        return false;
    }
    len = flow_tx_header(core, tx, byte % FLOW_AM_ID_MAX, hdr);
    m_ops.emplace_back(new flow_op_t());
    flow_op_t *op = m_ops.back().get();
    op->tx        = tx;
    op->psn       = flow_tx_commit(tx);
    out.push_back({Bytes(hdr, hdr + len), false, 0, op});
    out.back().bytes.push_back(byte);
    return true;
}

void Core::complete(const Sent &sent, flow_send_status_t status)
{
    if (sent.ctl) {
        flow_ctl_done(core, sent.cookie, status, now);
    } else if (status == FLOW_SEND_RNR) {
        m_kept[sent.op] = sent;
        flow_tx_rnr(core, sent.op, now);
    } else {
        if (status != FLOW_SEND_OK) {
            flow_tx_fail(core, sent.op->tx, status == FLOW_SEND_DEAD);
        }
        flow_tx_done(core, sent.op->tx, sent.op->psn);
    }
}

flow_tx_t *Core::open(const Core &peer)
{
    flow_tx_t *tx = nullptr;

    grow();
    if (flow_tx_open(core, &peer.addr, this, &tx) == FLOW_OK) {
        flows.push_back(tx);
    }
    return tx;
}

void Core::check()
{
    const char *error = flow_core_check(core);

    if (error != nullptr) {
        fprintf(stderr, "invariant broken: %s\n", error);
        abort();
    }
}

} /* namespace fuzz */
