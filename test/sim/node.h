/* SPDX-License-Identifier: BSD-3-Clause */
/* One process: a core, a small transport around it, and an application. */
#ifndef SIM_NODE_H_
#define SIM_NODE_H_

#include "sim.h"

#include <unordered_set>

extern "C" {
#include "flow/reserve.h"
}

namespace sim {

struct Endpoint;

/* A send in flight; completes exactly once (P4). */
struct Op {
    flow_op_t op; /* first: the core hands it back                            */
    Endpoint *ep;
    PacketRef packet;
    uint64_t  id;
    bool      reserved = false; /* its slot is of the reserve                 */
};

struct Endpoint {
    flow_tx_t  *tx;
    Flow       *flow;
    flow_addr_t peer;
    unsigned    peer_slot;
    uint32_t    number;
    unsigned    to_send, sent = 0;
    bool        closed = false, finished = false, gone = false;
    bool        runnable = false; /* on the list of those that may send       */
    bool        wants_rma = false;
    unsigned    outstanding = 0;
    uint64_t    asked = 0; /* flow_reserve_moves */
};

class Node : public flow_test::Driver {
public:
    Node(Sim &sim, unsigned slot, uint32_t qpn, uint32_t qkey);
    ~Node();

    void open(unsigned peer_slot, unsigned messages);
    /* The device received a packet / finished one of ours. */
    bool device_receive(const Packet &packet);
    void device_complete(const PacketRef &packet, flow_send_status_t status);
    void wake(Time delay);
    void poll_if_due(Time when);
    /* Everything the application wanted is sent. */
    bool done() const
    {
        return (m_unfinished == 0) && !awaits_rma() &&
               (!sim.plan.flat || (m_opened >= sim.plan.reopens));
    }
    void close_all();
    /* Nothing must be left: "" or what is. */
    std::string leftovers();
    std::string state();

    Sim      &sim;
    unsigned  slot;
    bool      alive        = true;
    Time      asleep_until = 0;

protected:
    void on_deliver(const Bytes &packet) override;
    bool on_hold() override;
    void on_unhold(bool copied) override;
    void on_event(const flow_event_t &event) override;
    uint16_t ah_of(const flow_addr_t &peer) override;
    flow_rma_t rma_of(const flow_event_t &event) override;
    bool on_control(const flow_ctl_t &ctl) override;
    bool on_repost(flow_op_t *op, bool failed) override;
    void on_release(flow_op_t *op, bool failed) override;
    void on_broken(const char *what) override;

private:
    struct Received {
        Bytes      bytes;
        flow_src_t src;
    };
    struct Done {
        PacketRef          packet;
        flow_send_status_t status;
    };
    /* node.cc: the transport */
    void poll();
    void poll_receives();
    void poll_quietly();
    void take_later();
    void poll_sends();
    void poll_send(const Done &done);
    void finish_op(Op *op, bool ok);
    void post(const PacketRef &packet);
    void sleep();
    void probe();
    void sent_failed(Endpoint *ep, flow_end_t why);
    std::shared_ptr<Packet> packet_to(const flow_addr_t &peer) const;
    bool living(const Endpoint &ep) const;

    /* user.cc: the application */
    enum Turn { GOES_ON, PAUSES, WAITS, STOPS };
    Turn run_endpoint(Endpoint *ep);
    bool may_send() const;
    void run_application();
    void run_churn();
    void run_chaos();
    bool take_slot(Endpoint *ep, bool *reserved);
    void give_slot(const Op *op, bool ok);
    void want_rma(Endpoint *ep);
    bool awaits_rma() const;
    void make_runnable(Endpoint *ep);
    void send_one(Endpoint *ep, bool reserved);
    void finished(Endpoint *ep);
    void close(Endpoint *ep);
    void reopen(const Endpoint &ep);
    void gone(Endpoint *ep);
    Endpoint *any_endpoint();

    std::deque<Received>                       m_received;
    std::deque<Received>                       m_stash; /* polled too early   */
    std::vector<uint32_t>                      m_later; /* flows with messages
                                                           that were taken    */
    std::deque<Done>                           m_done;
    std::unordered_map<uint32_t, std::unique_ptr<Endpoint>> m_endpoints;
    std::vector<uint32_t>                      m_numbers; /* of those         */
    std::vector<Endpoint*>                     m_runnable;
    std::unordered_set<uint64_t>               m_dead;    /* incarnations     */
    std::unordered_set<uint32_t>               m_ahs;     /* QPNs             */
    std::unordered_set<uint32_t>               m_rma_peers;
    std::unordered_map<uint64_t, Op*>          m_ops;
    uint64_t                                   m_op_last = 0;
    unsigned m_posted, m_posted_min, m_buffers;
    unsigned m_in_flight = 0, m_opened = 0, m_unfinished = 0;
    unsigned m_slots = 0; /* taken, but for those of the reserve              */
    flow_reserve_t                   m_reserve;
    std::map<unsigned, flow_share_t> m_shares; /* by slot of the peer         */
    Time     m_probed       = 0;
    size_t   m_memory_early = 0; /* after the first tenth of all reopens      */
    bool     m_closing   = false;
    Time     m_next_poll = UINT64_MAX;
};

} /* namespace sim */

#endif
