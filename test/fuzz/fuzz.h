/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzzers share: a core with memory, and input taken byte by byte. */
#ifndef FUZZ_H_
#define FUZZ_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

extern "C" {
#include "flow/flow.h"
#include "flow/ctl_wire.h"
}

namespace fuzz {

typedef std::vector<uint8_t> Bytes;

/* The input, as long as it lasts; then zeros. */
class Input {
public:
    Input(const uint8_t *data, size_t size) : m_data(data), m_left(size) {}
    bool empty() const { return m_left == 0; }
    uint8_t byte()
    {
        uint8_t value = m_left ? *m_data : 0;
        if (m_left != 0) {
            ++m_data;
            --m_left;
        }
        return value;
    }
    Bytes bytes(size_t n)
    {
        Bytes result;
        while ((n-- > 0) && !empty()) {
            result.push_back(byte());
        }
        return result;
    }

private:
    const uint8_t *m_data;
    size_t         m_left;
};

struct Sent {
    Bytes      bytes;
    bool       ctl;
    uint64_t   cookie;
    flow_op_t *op;
};

class Core {
public:
    explicit Core(unsigned id);
    ~Core();
    void grow();
    void receive(const Bytes &bytes, flow_src_t src);
    void events();
    void control();
    void timers();
    bool send(flow_tx_t *tx, uint8_t byte);
    void complete(const Sent &sent, flow_send_status_t status);
    flow_tx_t *open(const Core &peer);
    /* Trap when an invariant is broken or more came than was sent. */
    void check();

    flow_core_t           *core;
    flow_addr_t            addr;
    flow_time_t            now = 1;
    std::vector<Sent>      out;
    std::vector<flow_tx_t*> flows;
    std::vector<uint8_t>   got;

private:
    void drain(uint32_t token);

    void                              *m_mem, *m_hash = nullptr;
    std::vector<std::pair<size_t, void*>> m_chunks;
    std::map<void*, std::unique_ptr<Bytes>> m_held;
    std::vector<std::unique_ptr<flow_op_t>> m_ops;
    std::map<flow_op_t*, Sent>         m_kept;
};

} /* namespace fuzz */

#endif
