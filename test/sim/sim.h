/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many cores over a seeded network in virtual time.
 *
 * Everything random comes from one generator, everything happens at a time and
 * in an order that the seed fixes: the same seed gives the same run. A run has
 * a fault phase and a heal phase; in the end every message must have arrived
 * once, in order, intact, or its flow must have failed for a named reason, and
 * nothing may be left in any core.
 */
#ifndef SIM_H_
#define SIM_H_

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/driver.h"
#include "plan.h"

namespace sim {

using flow_test::Bytes;

/* splitmix64: small, seeded, the same everywhere. */
class Random {
public:
    explicit Random(uint64_t seed) : m_state(seed) {}
    uint64_t next();
    uint64_t below(uint64_t n) { return n ? next() % n : 0; }
    bool     chance(double p) { return next() < p * 18446744073709551615.0; }

private:
    uint64_t m_state;
};

/* Never changed once it is sent: the wire and a sender may share it. */
struct Packet {
    Bytes      bytes;
    unsigned   from_slot, to_slot;
    uint32_t   from_qpn, to_qpn, to_qkey;
    uint64_t   from_life, to_life; /* incarnations, for the device model      */
    bool       ctl   = false;
    bool       noise = false;      /* nobody waits for its completion         */
    uint64_t   cookie = 0;         /* control: flow_ctl_done; data: operation */
};
typedef std::shared_ptr<const Packet> PacketRef;

class Node;

/* The oracle's knowledge of one flow. */
struct Flow {
    uint64_t to_life = 0; /* the incarnation it is meant for                  */
    unsigned sent = 0, got = 0;
    bool     failed = false;
    bool     closed = false; /* by its user, whom nobody can tell any more    */
    bool     broken = false; /* its receiver's endpoint to the sender failed  */
};

class Sim {
public:
    Sim(const Plan &plan, uint64_t seed, bool verbose);
    ~Sim();
    /* Run it; an empty string or what went wrong. */
    std::string run();
    uint64_t hash() const { return m_hash; }

    void at(Time when, std::function<void()> what);
    /* Node slot polls then, unless it was told another time since. */
    void poll_at(Time when, unsigned slot);
    /* The network takes a packet; the sender's device will complete it. */
    void transmit(const PacketRef &packet);
    void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
    void mix(uint64_t word);
    bool faults() const { return now < plan.faults_end; }
    Node *node(unsigned slot) { return m_nodes[slot].get(); }
    uint64_t new_incarnation();

    /* The oracle. Its records stay where they are. */
    Flow *flow_open(uint64_t incarnation, uint32_t ep, uint64_t to_life);
    Flow *flow_find(uint64_t incarnation, uint32_t ep);
    void  flow_failed(Flow *flow);
    /* Messages of it that were not consumed may have gone with its pair. */
    void  flow_closed(Flow *flow);
    void  flows_broken(uint64_t from_life, uint64_t to_life);
    void  flow_sent(Flow *flow);
    void  flow_got(Flow *flow);

    const Plan plan;
    Random     random;
    Time       now = 1000;
    bool       verbose;
    uint64_t   packets = 0, delivered = 0, rnr = 0, lost = 0, opened = 0;
    Time       hot_done = 0; /* when the last of plan.hot arrived             */

private:
    typedef std::pair<uint64_t, uint32_t> Name; /* incarnation, endpoint      */
    struct NameHash {
        size_t operator()(const Name &name) const
        {
            return name.first ^ (name.second * 0x9e3779b97f4a7c15ull);
        }
    };
    enum Kind { CALL, POLL, ARRIVE, COMPLETE };
    struct Event {
        Time               when;
        uint64_t           order;
        PacketRef          packet;
        Kind               kind;
        unsigned           slot;
        flow_send_status_t status;
        bool operator<(const Event &other) const
        {
            return (when != other.when) ? when > other.when :
                                          order > other.order;
        }
    };
    void push(Time when, Kind kind, const PacketRef &packet, unsigned slot = 0,
              flow_send_status_t status = FLOW_SEND_OK);
    void handle(const Event &event);
    Time path_delay(const Packet &packet);
    void put_on_path(const PacketRef &packet);
    void disturb(const PacketRef &packet);
    bool swallowed(const Packet &packet);
    void arrive(const PacketRef &packet);
    void complete(const PacketRef &packet, flow_send_status_t status,
                  Time delay);
    bool opens(unsigned from, unsigned to) const;
    unsigned messages(unsigned from, unsigned to) const;
    bool absent(unsigned slot) const;
    void open_all();
    void open_again();
    void plan_faults();
    void kill(unsigned slot);
    void bear(unsigned slot, uint32_t qpn, uint32_t qkey);
    bool done();
    void watch();
    void finish();
    std::string state();

    std::priority_queue<Event>                    m_events;
    std::unordered_map<uint64_t, std::function<void()>> m_calls;
    uint64_t                                      m_order = 0;
    std::vector<std::unique_ptr<Node>>            m_nodes;
    std::vector<std::unique_ptr<Node>>            m_graveyard;
    std::map<std::pair<unsigned, unsigned>, Time> m_clogged;
    std::vector<PacketRef>                        m_past; /* to be replayed   */
    Time m_split_from = 0, m_split_until = 0;
    Time m_down_from  = 0, m_down_until  = 0;
    std::unordered_map<Name, Flow, NameHash>      m_flows;
    uint64_t                                      m_undelivered = 0;
    std::string                                   m_error;
    uint64_t                                      m_hash    = 0;
    bool                                          m_closing = false;
};

/* The bytes of message seq of a flow. */
Bytes message_make(uint64_t incarnation, uint32_t ep, uint32_t seq);

} /* namespace sim */

#endif
