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
#include <set>
#include <string>
#include <vector>

extern "C" {
#include "flow/flow.h"
}

namespace sim {

typedef std::vector<uint8_t> Bytes;
typedef uint64_t             Time; /* ns                                      */

static const Time US = 1000, MS = 1000 * US, SEC = 1000 * MS;

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

/* What a plan may vary. Times in ns, probabilities 0 .. 1. */
struct Plan {
    std::string name;
    flow_profile_t profile = FLOW_SRD;
    unsigned nodes       = 4;
    unsigned messages    = 300;    /* of each endpoint                        */
    unsigned buffers     = 512;    /* receive buffers of each node            */
    unsigned reserve     = 64;
    unsigned sq_depth    = 128;    /* send slots of each node                 */
    Time     delay       = 5 * US; /* of every packet                         */
    Time     jitter      = 5 * US; /* up to this much more                    */
    double   late        = 0.0;    /* chance of being very late               */
    Time     late_by     = MS;
    double   loss        = 0.0;    /* UD                                      */
    double   dup         = 0.0;    /* UD                                      */
    double   corrupt     = 0.0;    /* UD: as loss; a CRC drops it             */
    double   noise       = 0.0;    /* garbage injected per packet             */
    double   clog        = 0.0;    /* chance that a pair clogs, per packet    */
    Time     clog_for    = 2 * MS;
    Time     hello_late  = 0;      /* extra for control packets, at random    */
    Time     faults_end  = 20 * MS;
    Time     deadline    = 20 * SEC; /* virtual: all must be done             */
    bool     all_to_all  = true;
    bool     incast      = false;  /* all send to node 0                      */
    bool     both_ways   = true;
    unsigned endpoints   = 1;      /* per pair and direction                  */
    bool     churn       = false;  /* close and reopen all the time           */
    unsigned sleepers    = 0;      /* nodes that do not poll in the faults    */
    Time     poll_every  = 0;      /* slow receivers: gap between polls       */
    unsigned kills       = 0;      /* nodes that die in the fault phase       */
    bool     rebirth     = false;  /* ... and come back with the same QPN     */
    bool     same_qkey   = false;  /* ... and, against all odds, QKEY         */
    Time     linkdown    = 0;      /* one pair cut for this long              */
    bool     no_rnr      = false;  /* the plan must never see one             */
    flow_psn_t first_psn = 0;
};

struct Packet {
    Bytes      bytes;
    unsigned   from_slot, to_slot;
    uint32_t   from_qpn, to_qpn, to_qkey;
    uint64_t   from_life, to_life; /* incarnations, for the device model      */
    bool       ctl;
    uint64_t   cookie;             /* control                                 */
    struct Op *op;                 /* data                                    */
    uint64_t   op_id;
};

class Node;

class Sim {
public:
    Sim(const Plan &plan, uint64_t seed, bool verbose);
    ~Sim();
    /* Run it; an empty string or what went wrong. */
    std::string run();
    uint64_t hash() const { return m_hash; }

    void at(Time when, std::function<void()> what);
    /* The network takes a packet; the sender's device will complete it. */
    void transmit(const Packet &packet);
    void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
    void mix(uint64_t word);
    bool faults() const { return now < plan.faults_end; }
    Node *node(unsigned slot) { return m_nodes[slot].get(); }
    uint64_t new_incarnation();

    /* The oracle: messages of (incarnation, endpoint number). */
    struct Flow {
        unsigned sent = 0, got = 0;
        bool     failed = false;
    };
    std::map<std::pair<uint64_t, uint32_t>, Flow> oracle;

    const Plan plan;
    Random     random;
    Time       now = 1000;
    bool       verbose;
    uint64_t   packets = 0, delivered = 0, rnr = 0;

private:
    struct Event {
        Time                  when;
        uint64_t              order;
        std::function<void()> what;
        bool operator<(const Event &other) const
        {
            return (when != other.when) ? when > other.when :
                                          order > other.order;
        }
    };
    void arrive(Packet packet);
    void open_all();
    void kill(unsigned slot);
    void watch();
    void finish();

    std::priority_queue<Event>                   m_events;
    uint64_t                                     m_order = 0;
    std::vector<std::unique_ptr<Node>>           m_nodes;
    std::vector<std::unique_ptr<Node>>           m_graveyard;
    std::map<std::pair<unsigned, unsigned>, Time> m_clogged;
    std::string                                  m_error;
    uint64_t                                     m_hash = 0;
    bool                                         m_closing = false;
    Time                                         m_done_at = 0;
};

/* Fill bytes of message seq of a flow; check it. */
Bytes message_make(uint64_t incarnation, uint32_t ep, uint32_t seq);

/* All plans by name, for nodes and messages in bulk. */
std::vector<Plan> plans();

} /* namespace sim */

#endif
