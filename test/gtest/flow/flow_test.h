/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the core share: a Node (one core with the memory and the
 * bookkeeping a transport would have) and a Wire whose packets a test moves by
 * hand, in any order, once, twice or never.
 */
#ifndef FLOW_TEST_H_
#define FLOW_TEST_H_

#include <gtest/gtest.h>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "flow/flow.h"
#include "flow/internal.h"
#include "flow/ctl_wire.h"
}

namespace flow_test {

typedef std::vector<uint8_t> Bytes;

struct Packet {
    Bytes      bytes;
    flow_src_t src;       /* as the receiver's device reports it              */
    uint32_t   dst;       /* QPN                                              */
    bool       ctl;
    uint64_t   cookie;    /* of flow_ctl_done                                 */
    flow_op_t *op;        /* data                                             */
};

class Node {
public:
    explicit Node(uint32_t qpn, void (*tweak)(flow_params_t*) = nullptr);
    ~Node();

    /* Whatever the pools ask for. */
    void grow();
    flow_tx_t *open(const Node &peer, void *cookie = nullptr);
    /* Send one message of am id with a text; false: blocked. */
    bool send(flow_tx_t *tx, const std::string &text, unsigned am_id = 5);
    /* Pull control packets into out. */
    void pull_ctl();
    /* One received packet. Delivered texts are appended to got. */
    flow_rx_verdict_t receive(const Packet &packet);
    flow_rx_verdict_t receive(const Bytes &bytes, flow_src_t src);
    /* Handle events as a transport would; they are also kept in events. */
    void handle_events();
    /* The packet out[i] completed. */
    void complete(const Packet &packet,
                  flow_send_status_t status = FLOW_SEND_OK);
    void repost();
    /* UD: operations that are over. */
    void release();
    bool ud() const;
    /* All of a transport's progress but receiving. */
    void progress();
    flow_counters_t counters() const;
    unsigned count(flow_event_type_t type) const;
    const char *check();
    /* Deliver what is in order now. */
    void drain(uint32_t token);

    flow_core_t             *core;
    flow_addr_t              addr;
    flow_time_t              now = 1000;
    std::deque<Packet>       out;       /* sent, not moved yet                */
    std::vector<std::string> got;       /* delivered, in order                */
    std::vector<unsigned>    got_am;
    std::vector<flow_event_t> events;
    flow_rx_out_t            last;      /* of the last receive                */
    bool                     pin_peers  = true;
    bool                     auto_ah    = true;
    unsigned                 released   = 0; /* held packets given back       */
    unsigned                 failed_ops = 0;
    unsigned                 acked      = 0; /* UD: released without error    */
    bool                     hold_all   = false; /* receive as the thread that
                                                    acknowledges (UD)         */
    size_t                   memory     = 0;

private:
    struct Held {
        Bytes bytes;
    };
    void deliver(const Bytes &bytes);

    void                    *core_mem;
    void                    *hash_mem = nullptr;
    std::vector<void*>       chunks;
    std::map<void*, std::unique_ptr<Held>> held;
    std::map<flow_op_t*, Packet>           kept; /* waiting for a repost; UD:
                                                    not released              */
    std::vector<std::unique_ptr<flow_op_t>> ops;
};

/* AH number that a Node uses for a QPN. */
static inline uint16_t ah_of(uint32_t qpn)
{
    return (uint16_t)(qpn & 0xff);
}

/* A tweak that makes a node speak UD. */
void ud(flow_params_t *params);
/* Move every packet of both nodes until nothing is left; all complete. */
void settle(Node &a, Node &b);
/* The same for one node that talks to itself. */
void settle(Node &a);
/* Open a flow both ways and settle; the flows. */
std::pair<flow_tx_t*, flow_tx_t*> connect(Node &a, Node &b);

} /* namespace flow_test */

#endif
