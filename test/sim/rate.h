/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates in virtual time: hosts with real cores, a receive queue as the
 * transport sizes it, a processor that takes its time, and a network of a fixed
 * delay. No faults: what is measured is what the rules of grant.c cost.
 */
#ifndef SIM_RATE_H_
#define SIM_RATE_H_

#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "driver/driver.h"

namespace rate {

typedef uint64_t Time;
using flow_test::Bytes;

static const Time US = 1000, MS = 1000 * US;

/* The transport's defaults (base_flow.c, srd_config.c), and a network. */
enum {
    RX_QUEUE_LEN   = 256,
    RX_BUFFERS_MAX = 4096,
    RX_RESERVE     = 64,
    RX_BATCH       = 16,
    RNR_MIN        = 50000,
    RNR_MAX        = 100000000,
    RNR_RETRY      = 3,     /* tries of the device before it says so ...      */
    RNR_INTERVAL   = 100000, /* ... at this distance (efasim's)               */
    ONE_WAY        = 10000, /* ns                                             */
    JITTER         = 500,   /* of it, at random: packets overtake             */
    POLL_DELAY     = 200,   /* from an arrival to the program's next look     */
    PACKET_COST    = 100    /* of the processor, for each packet either way   */
};

class Host;
class World;

struct Packet {
    Bytes    bytes;
    unsigned from, to;
    bool     ctl;
    uint64_t cookie; /* control: flow_ctl_done; data: struct Op               */
};
typedef std::shared_ptr<const Packet> PacketRef;

struct Endpoint {
    flow_tx_t *tx;
    unsigned   to;
    uint64_t   left    = 0; /* messages to send                               */
    bool       waiting = false;
};

struct Op {
    flow_op_t op; /* first: the core hands it back                            */
    PacketRef packet;
};

class Host : public flow_test::Driver {
public:
    Host(World &world, unsigned number, unsigned ample);

    /* Send so many messages more to that host; opens an endpoint at once. */
    void add(unsigned to, uint64_t messages);
    /* The program computes: it does not poll before then. */
    void sleep_until(Time when) { m_asleep = when; }
    bool device_receive(const PacketRef &packet);
    void device_complete(const PacketRef &packet, flow_send_status_t status);
    void poll(Time when);
    uint64_t got_from(unsigned host) const;

    uint64_t got = 0;          /* messages                                    */
    uint64_t refused = 0;      /* sends that ended with receiver-not-ready    */
    uint64_t answers = 0;      /* packets that met no buffer, each try        */
    unsigned buffers;          /* of the receive queue                        */
    bool     echo = false;     /* answer each message by one                  */

protected:
    void on_deliver(const Bytes &packet) override;
    void on_unhold(bool copied) override;
    bool on_hold() override;
    void on_event(const flow_event_t &event) override;
    uint16_t ah_of(const flow_addr_t &peer) override;
    bool on_control(const flow_ctl_t &ctl) override;
    bool on_repost(flow_op_t *op, bool failed) override;
    void on_broken(const char *what) override;

private:
    struct Done {
        PacketRef          packet;
        flow_send_status_t status;
    };
    void wake(Time delay);
    void resize(bool scarce);
    void post(const PacketRef &packet);
    void send_all(Endpoint *ep);
    void poll_receives();
    void poll_sends();

    World   &m_world;
    unsigned m_number, m_ample, m_base, m_posted;
    Time     m_busy = 0, m_asleep = 0, m_next = UINT64_MAX;
    std::deque<PacketRef>                                    m_received;
    std::deque<Done>                                         m_done;
    std::unordered_map<unsigned, std::unique_ptr<Endpoint>>  m_endpoints;
    std::unordered_map<unsigned, uint64_t>                   m_got;
    std::deque<Endpoint*>                                    m_ready;
    std::vector<std::unique_ptr<Op>>                         m_ops;
    std::vector<Op*>                                         m_free;
};

/* ample: receive buffers of each host; 0: as the transport sizes the queue. */
class World {
public:
    World(unsigned hosts, unsigned ample, uint64_t seed);

    /* Until nothing is left to do but timers, or until then. */
    void run(Time until);
    /* Until hosts got so many messages in all; the time it took. */
    Time run_until_got(uint64_t messages, Time limit);
    void transmit(const PacketRef &packet, Time delay);
    void poll_at(Time when, unsigned host);
    uint64_t random();
    Host &host(unsigned number) { return *m_hosts[number]; }
    uint64_t rnr() const;
    unsigned rnr_retry = RNR_RETRY;

    Time     now     = 1000;
    uint64_t packets = 0; /* posted, control packets and repeats included     */
    uint64_t got     = 0; /* messages, by all                                 */
    uint64_t control = 0; /* control packets but of host 1 and to it          */

private:
    enum Kind { POLL, ARRIVE, COMPLETE, REFUSED };
    struct Event {
        Time      when;
        uint64_t  order;
        Kind      kind;
        unsigned  host;
        PacketRef packet;
        unsigned  tries; /* left to the device                                */
        bool operator<(const Event &other) const
        {
            return (when != other.when) ? when > other.when :
                                          order > other.order;
        }
    };
    void push(Time delay, Kind kind, unsigned host, const PacketRef &packet,
              unsigned tries = 0);
    void arrive(const Event &event);
    void handle(const Event &event);

    std::priority_queue<Event>         m_events;
    std::vector<std::unique_ptr<Host>> m_hosts;
    uint64_t                           m_order = 0, m_random;
};

} /* namespace rate */

#endif
