/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

extern "C" void flow_assert_failed(const char *expr, const char *file, int line)
{
    if (flow_test::asserts_expected != 0) {
        --flow_test::asserts_expected;
        return;
    }
    fprintf(stderr, "flow assertion failed: %s at %s:%d\n", expr, file, line);
    abort();
}

namespace flow_test {

unsigned asserts_expected = 0;
const char *record_into  = nullptr;

/* Memory goes round: mapping is slow for a fuzzer that makes cores all the
 * time. Never destroyed: what it holds is no leak. */
static auto &spare = *new std::map<size_t, std::vector<void*>>();

static void *take(size_t size)
{
    std::vector<void*> &list = spare[size];
    void *mem                = nullptr;

    if (!list.empty()) {
        mem = list.back();
        list.pop_back();
        return mem; /* with what another core left there */
    }
    if (posix_memalign(&mem, FLOW_ALIGN, size) != 0) {
        abort();
    }
    memset(mem, 0xa5, size); /* the core must not lean on zeros */
    return mem;
}

static void give(void *mem, size_t size)
{
    if (mem != nullptr) {
        spare[size].push_back(mem);
    }
}

Driver::Driver(const flow_params_t &params) :
    addr(params.self), m_core_size(flow_core_size(&params))
{
    m_core_mem = take(m_core_size);
    core       = flow_core_init(m_core_mem, m_core_size, &params);
    if (core == nullptr) {
        fprintf(stderr, "the core refuses its parameters\n");
        abort();
    }
    memory = m_core_size;
    memset(&last, 0, sizeof(last));
    grow();
    record(params);
}

#ifdef DRIVER_RECORDS
static void record_stopped(void *arg, const char *why)
{
    (void)arg;
    fprintf(stderr, "a recording stopped: %s\n", why);
    abort();
}

/* The smallest ring, so that it turns. */
void Driver::record(const flow_params_t &params)
{
    record_names_t names = {};
    record_where_t where = {};
    char path[512];

    if (record_into == nullptr) {
        return;
    }
    snprintf(where.dir, sizeof(where.dir), "%s", record_into);
    where.size = RECORD_SIZE_MIN;
    snprintf(names.transport, sizeof(names.transport), "%s",
             (params.profile == FLOW_UD) ? "ud" : "srd");
    names.qpn = params.self.qpn;
    snprintf(names.release, sizeof(names.release), "simulated");
    record_file_names(&names);
    m_record = record_file_open(&where, core, &names, path, sizeof(path),
                                record_stopped, nullptr);
    if (m_record == nullptr) {
        perror(path);
        abort();
    }
}
#else
void Driver::record(const flow_params_t &params)
{
    (void)params;
}
#endif

Driver::~Driver()
{
#ifdef DRIVER_RECORDS
    if (m_record != nullptr) {
        record_file_close(m_record);
    }
#endif
    for (auto &chunk : m_chunks) {
        give(chunk.second, chunk.first);
    }
    give(m_hash_mem, m_hash_size);
    give(m_core_mem, m_core_size);
}

void Driver::grow()
{
    unsigned needed;

    while ((needed = flow_pool_grow_needed(core)) != 0) {
        for (int pool = 0; pool < FLOW_POOL_LAST; ++pool) {
            if (!(needed & (1u << pool))) {
                continue;
            }
            size_t size = flow_pool_chunk_size(core, (flow_pool_t)pool);
            void *mem   = take(size);
            void *old   = flow_pool_grow(core, (flow_pool_t)pool, mem);
            memory     += size;
            if (pool != FLOW_POOL_HASH) {
                m_chunks.push_back({size, mem});
                continue;
            }
            if (old != m_hash_mem) {
                on_broken("another table came back than was given");
            }
            give(old, m_hash_size);
            memory     -= m_hash_size;
            m_hash_mem  = mem;
            m_hash_size = size;
        }
    }
}

flow_tx_t *Driver::open(const flow_addr_t &peer, void *cookie)
{
    flow_tx_t *tx = nullptr;

    grow();
    status = flow_tx_open(core, &peer, cookie, &tx);
    return (status == FLOW_OK) ? tx : nullptr;
}

Bytes Driver::unhold(void *handle)
{
    auto held = m_held.find(handle);
    Bytes bytes;

    if (held == m_held.end()) {
        on_broken("a buffer came back that the core does not hold");
        return bytes;
    }
    bytes.swap(held->second.bytes);
    bool copied = held->second.copied;
    m_held.erase(held);
    on_unhold(copied);
    return bytes;
}

void Driver::drain(uint32_t token)
{
    void *handle;

    while ((handle = flow_rx_next(core, token)) != nullptr) {
        Bytes bytes = unhold(handle);
        if (!bytes.empty()) {
            on_deliver(bytes);
        }
    }
}

flow_rx_verdict_t Driver::receive(const Bytes &bytes, flow_src_t src)
{
    std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
    void *handle = (void*)++m_handle;
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;

    if (!bytes.empty()) {
        memcpy(exact.get(), bytes.data(), bytes.size());
    }
    memset(&out, 0, sizeof(out));
    flow_timer_set_now(core, now);
    auto accept = [&] {
        return hold_all ? flow_rx_accept_held(core, exact.get(), bytes.size(),
                                              handle, src, &out) :
                          flow_rx_accept(core, exact.get(), bytes.size(),
                                         handle, src, &out);
    };
    while ((verdict = accept()) == FLOW_RX_NO_MEMORY) {
        if (flow_pool_grow_needed(core) == 0) {
            on_broken("no memory, and no pool to be grown");
            break;
        }
        grow();
    }
    last = out;
    if (verdict == FLOW_RX_HOLD) {
        m_held[handle] = {bytes, false};
        m_held[handle].copied = on_hold();
        return verdict;
    }
    if (verdict == FLOW_RX_DELIVER) {
        if ((out.offset != flow_wire_hdr_len(bytes.data())) ||
            (out.am_id != flow_wire_am_id(bytes.data())) ||
            (out.offset > bytes.size())) {
            on_broken("a delivered packet is described wrongly");
        }
        on_deliver(bytes);
    }
    if (out.more && !hold_all) {
        drain(out.token);
    }
    return verdict;
}

void Driver::pull_events()
{
    flow_event_t event;

    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        switch (event.type) {
        case FLOW_EVENT_PEER_INTRODUCED:
        case FLOW_EVENT_PEER_WANTS_RMA:
            if (answers_introductions()) {
                flow_peer_set_ah(core, event.peer,
                                 ah_of(flow_peer_addr(core, event.peer)),
                                 rma_of(event));
            }
            break;
        case FLOW_EVENT_RX_RELEASE:
            unhold(event.handle);
            break;
        default:
            break;
        }
        on_event(event);
    }
}

void Driver::pull_control()
{
    flow_ctl_t ctl;

    while (flow_ctl_next(core, now, &ctl) && on_control(ctl)) {
    }
}

void Driver::pull_reposts()
{
    flow_op_t *op;
    int failed;

    while (((op = flow_tx_repost_next(core, now, &failed)) != nullptr) &&
           on_repost(op, failed != 0)) {
    }
}

void Driver::pull_releases()
{
    flow_op_t *op;
    int failed;

    while (flow_resend_release_pending(core) &&
           ((op = flow_resend_release_next(core, &failed)) != nullptr)) {
        on_release(op, failed != 0);
    }
}

flow_counters_t Driver::counters() const
{
    flow_counters_t counters;

    flow_core_counters(core, &counters);
    return counters;
}

} /* namespace flow_test */
