/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the fuzzers: a core that traps, and input taken byte by
 * byte. */
#ifndef FUZZ_H_
#define FUZZ_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "driver/driver.h"

extern "C" {
#include "flow/ctl_wire.h"
}

namespace fuzz {

using flow_test::Bytes;

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

/* A packet that was handed to the device. */
struct Sent {
    Bytes      bytes;
    bool       ctl;
    uint64_t   cookie;
    flow_op_t *op;
};

class Core : public flow_test::Driver {
public:
    Core(unsigned id, flow_profile_t profile);
    /* Everything a progress does but polling: what is to be sent is in out. */
    void progress();
    bool send(flow_tx_t *tx, uint8_t byte);
    void complete(const Sent &sent, flow_send_status_t status);
    flow_tx_t *open(const Core &peer);
    void close(flow_tx_t *tx);
    /* Trap when an invariant is broken. */
    void check();

    std::vector<Sent>       out;
    std::vector<flow_tx_t*> flows;   /* nullptr: closed                       */
    std::vector<uint8_t>    got;     /* last byte of each message             */

protected:
    void on_deliver(const Bytes &packet) override;
    void on_event(const flow_event_t &event) override;
    bool on_control(const flow_ctl_t &ctl) override;
    bool on_repost(flow_op_t *op, bool failed) override;
    void on_release(flow_op_t *op, bool failed) override;
    void on_broken(const char *what) override;

private:
    void forget(flow_tx_t *tx);

    std::vector<std::unique_ptr<flow_op_t>> m_ops;
    std::map<flow_op_t*, Sent>              m_kept; /* to be sent again       */
};

} /* namespace fuzz */

#endif
