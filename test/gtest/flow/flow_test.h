/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of the core's tests: a Node, one core with the bookkeeping of
 * a transport. Packets that it sends lie in out; a test moves them by hand, in
 * any order, once, twice or never.
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

#include "driver/driver.h"

extern "C" {
#include "flow/ctl_wire.h"
#include "flow/due_priv.h"
#include "flow/end_priv.h"
#include "flow/peer_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/tx_life_priv.h"
}

namespace flow_test {

struct Packet {
    Bytes      bytes;
    flow_src_t src;       /* as the receiver's device reports it              */
    uint32_t   dst;       /* QPN                                              */
    bool       ctl;
    uint64_t   cookie;    /* of flow_ctl_done                                 */
    flow_op_t *op;        /* data                                             */
};

class Node : public Driver {
public:
    explicit Node(uint32_t qpn, void (*tweak)(flow_params_t*) = nullptr);

    flow_tx_t *open(const Node &peer);
    /* Send one message of am id with a text; false: blocked. */
    bool send(flow_tx_t *tx, const std::string &text, unsigned am_id = 5);
    using Driver::receive;
    flow_rx_verdict_t receive(const Packet &packet);
    /* The packet out[i] completed. */
    void complete(const Packet &packet,
                  flow_send_status_t status = FLOW_SEND_OK);
    /* All of a transport's progress but receiving. */
    void progress();
    unsigned count(flow_event_type_t type) const;

    std::deque<Packet>       out;       /* sent, not moved yet                */
    std::vector<std::string> got;       /* delivered, in order                */
    std::vector<unsigned>    got_am;
    std::vector<flow_event_t> events;
    bool                     rma_peers  = true;
    bool                     auto_ah    = true;
    unsigned                 released   = 0; /* held packets given back       */
    unsigned                 failed_ops = 0;
    unsigned                 acked      = 0; /* UD: released without error    */

protected:
    void on_deliver(const Bytes &packet) override;
    void on_event(const flow_event_t &event) override;
    uint16_t ah_of(const flow_addr_t &peer) override;
    flow_rma_t rma_of(const flow_event_t &event) override;
    bool answers_introductions() override { return auto_ah; }
    bool on_control(const flow_ctl_t &ctl) override;
    bool on_repost(flow_op_t *op, bool failed) override;
    void on_release(flow_op_t *op, bool failed) override;
    void on_broken(const char *what) override;

private:
    std::map<flow_op_t*, Packet>            m_kept; /* waiting for a repost;
                                                       UD: not released       */
    std::vector<std::unique_ptr<flow_op_t>> m_ops;
};

/* AH number that a Node uses for a QPN. */
static inline uint16_t ah_of(uint32_t qpn)
{
    return (uint16_t)(qpn & 0xff);
}

/* By what a device reports packets of a node. */
flow_src_t src_of(const Node &node);
/* A control packet about a flow, and its bytes. */
flow_ctl_msg_t message(unsigned type, const Node &from, const Node &to,
                       uint32_t ep);
Bytes encode(const flow_ctl_msg_t &msg);
/* Type of a control packet. */
unsigned type_of(const Packet &packet);
/* The record that a node has of a flow from another. */
flow_rx_t *rx_of(Node &node, const Node &from, const flow_tx_t *tx);

/* Take all packets of a node off the wire: nothing completes. */
std::vector<Packet> take(Node &node);
/* The first packet that is out; whatever else is out is forgotten. */
Packet pop(Node &node);
/* They complete and arrive nowhere. */
void lose(Node &node);
/* All that is out arrives and completes, in the order of its sending. */
void pass_on(Node &from, Node &to);
/* Every packet that is out at `from` comes to `to`, if its status is OK, and
 * completes so. */
void move_all(Node &from, Node &to,
              flow_send_status_t status = FLOW_SEND_OK);
/* A tweak that makes a node speak UD. */
void ud(flow_params_t *params);
/* Move every packet of both nodes until nothing is left; all complete. */
void settle(Node &a, Node &b);
/* The same for one node that talks to itself. */
void settle(Node &a);
/* All that the window lets go, so many times; the limits for it come before the
 * completions. */
void windows(Node &from, Node &to, flow_tx_t *tx, int times);
/* Open a flow both ways and settle; the flows. */
std::pair<flow_tx_t*, flow_tx_t*> connect(Node &a, Node &b);

} /* namespace flow_test */

#endif
