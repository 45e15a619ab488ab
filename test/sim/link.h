/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD on links that fill: hosts with real cores, a fast link out of each host, a
 * slow port with a bounded buffer into each (what does not fit is lost), a
 * delay, and packets that are lost by chance. Beside it an ideal selective
 * repeat over the same network, which knows at once what was lost.
 */
#ifndef SIM_LINK_H_
#define SIM_LINK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "driver/driver.h"

namespace link_sim {

typedef uint64_t Time;
using flow_test::Bytes;

static const Time US = 1000, MS = 1000 * US;

enum {
    POLL_DELAY  = 200, /* ns from an arrival to the program's next look       */
    PACKET_COST = 100, /* of the processor, for each packet either way        */
    BATCH       = 16,  /* completions that one look takes                     */
    HEADERS     = 60   /* bytes of a packet on the wire beside its own        */
};

struct Plan {
    unsigned senders = 1;
    double   gbits   = 10;     /* of a port; 0: infinitely fast               */
    double   nic     = 100;    /* Gb/s out of a host                          */
    uint64_t buffer  = 200000; /* bytes of a port                             */
    Time     rtt     = 20 * US; /* without queues                             */
    Time     jitter  = 0;      /* up to this much more each way               */
    double   loss    = 0;      /* each packet, either way                     */
    unsigned size    = 8900;   /* bytes of a message                          */
    Time     stagger = 0;      /* between the starts of two senders           */
    Time     poll    = POLL_DELAY; /* of the receiver: between two looks      */
    Time     look    = POLL_DELAY; /* the same of the senders                 */
    unsigned both    = 0;      /* 1: the receiver sends to all of them, too   */
    Time     warm    = 20 * MS; /* before it counts                           */
    Time     counted = 100 * MS;
    uint64_t seed    = 1;
};

struct Result {
    double   used;    /* of the port: messages that arrived, once each        */
    double   posts;   /* packets of messages sent for each that arrived       */
    double   jain;    /* fairness of the senders                              */
    double   rate;    /* messages a second                                    */
    uint64_t repeats;
    double   queue;   /* mean bytes at the port                               */
    double   back;    /* messages a second that the senders get               */
};

struct Packet {
    Bytes    bytes;
    unsigned from, to, wire; /* wire: bytes that it takes there               */
    bool     data;
};
typedef std::shared_ptr<const Packet> PacketRef;

class Random {
public:
    explicit Random(uint64_t seed) : m_state(seed) {}
    uint64_t next();
    bool     chance(double p) { return next() < p * 18446744073709551615.0; }

private:
    uint64_t m_state;
};

/* The network that carries packets between hosts, and their time. */
class Network {
public:
    Network(const Plan &plan, unsigned hosts);
    /* Into the network at `when`; true: it will arrive. */
    bool send(const PacketRef &packet, Time when,
              std::function<void(const PacketRef&)> arrive);
    void at(Time when, std::function<void()> what);
    void run(Time until);

    const Plan plan;
    Random     random;
    Time       now = 1000;
    double     queue_sum = 0; /* bytes met at port 0, for each packet         */
    uint64_t   queue_count = 0;

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
    std::priority_queue<Event> m_events;
    uint64_t                   m_order = 0;
    std::vector<Time>          m_out, m_port; /* busy until                   */
};

/* The results of the real core, and of the ideal. */
Result run_core(const Plan &plan);
Result run_ideal(const Plan &plan);

} /* namespace link_sim */

#endif
