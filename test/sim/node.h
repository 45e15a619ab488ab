/* SPDX-License-Identifier: BSD-3-Clause */
/* One process: a core, a small transport around it, and an application. */
#ifndef SIM_NODE_H_
#define SIM_NODE_H_

#include "sim.h"

namespace sim {

struct Endpoint;

/* A send in flight; completes exactly once (P4). */
struct Op {
    flow_op_t op; /* first: the core hands it back                            */
    Endpoint *ep;
    Packet    packet;
    uint64_t  id;
};

struct Endpoint {
    Node       *node;
    flow_tx_t  *tx;
    flow_addr_t peer;
    unsigned    peer_slot;
    uint32_t    number;
    unsigned    to_send, sent = 0;
    bool        closed = false, failed = false, gone = false;
    unsigned    outstanding = 0;
};

class Node {
public:
    Node(Sim &sim, unsigned slot, uint32_t qpn, uint32_t qkey);
    ~Node();

    void open(unsigned peer_slot, unsigned messages);
    /* The device received a packet / finished one of ours. */
    bool device_receive(const Packet &packet);
    void device_complete(const Packet &packet, flow_send_status_t status);
    void wake(Time delay);
    /* Everything the application wanted is sent and completed. */
    bool done() const;
    void close_all();
    /* Nothing must be left: "" or what is. */
    std::string leftovers();
    std::string state();

    Sim        &sim;
    unsigned    slot;
    flow_addr_t addr;
    flow_core_t *core;
    bool        alive = true;
    Time        asleep_until = 0;
    unsigned    posted, min_posted;
    size_t      memory = 0;
    flow_counters_t counters() const;

private:
    struct Buffer {
        Bytes      bytes;
        flow_src_t src;
        bool       copied = false; /* its device buffer is posted again      */
    };
    void poll();
    void poll_receives();
    void poll_sends();
    void run_timers();
    void run_events();
    void run_control();
    void run_application();
    void grow();
    bool send_one(Endpoint &ep);
    void post(Op *op);
    void deliver(const Bytes &bytes);
    void drain(uint32_t token);
    void unhold(std::map<void*, std::unique_ptr<Buffer>>::iterator held);
    void finish_op(Op *op, bool ok);
    void close(Endpoint &ep);
    void reopen(const Endpoint &ep);

    struct Done {
        Packet             packet;
        flow_send_status_t status;
    };
    std::deque<std::unique_ptr<Buffer>>        m_received;
    std::deque<Done>                           m_done;
    std::map<void*, std::unique_ptr<Buffer>>   m_held;
    std::vector<std::unique_ptr<Endpoint>>     m_endpoints;
    std::set<uint64_t>                         m_dead; /* incarnations        */
    std::set<uint32_t>                         m_ahs;  /* QPNs with a handle  */
    std::map<uint64_t, Op*>                    m_ops;
    uint64_t                                   m_op_last = 0;
    unsigned                                   m_in_flight = 0, m_opened = 0;
    Time                                       m_next_poll = UINT64_MAX;
    void *m_core_mem, *m_hash_mem = nullptr;
    std::vector<void*>                         m_chunks;
};

} /* namespace sim */

#endif
