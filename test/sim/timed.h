/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates in virtual time: hosts with real cores, a program that sends, a
 * processor that takes its time, and a network, which flow_rate and flow_link
 * each have their own of.
 */
#ifndef SIM_TIMED_H_
#define SIM_TIMED_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "driver/driver.h"

namespace timed {

typedef uint64_t Time; /* ns                                                  */
using flow_test::Bytes;

static const Time US = 1000, MS = 1000 * US;

/* The transport's defaults (base_flow.c, variables.def), and a processor. */
enum {
    RX_QUEUE_LEN   = 256,
    RX_BUFFERS_MAX = 4096,
    RX_RESERVE     = 64,
    BATCH          = 16,   /* completions that one look takes                 */
    RNR_MIN        = 50000,
    RNR_MAX        = 100000000,
    POLL_DELAY     = 200,  /* from an arrival to the program's next look      */
    PACKET_COST    = 100   /* of the processor, for each packet either way    */
};

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

/* splitmix64 */
class Random {
public:
    explicit Random(uint64_t seed) : m_state(seed) {}
    uint64_t next();
    bool     chance(double p) { return next() < p * 18446744073709551615.0; }

private:
    uint64_t m_state;
};

class World;

class Host : public flow_test::Driver {
public:
    /* ample: receive buffers; 0: as the transport sizes the queue. */
    Host(World &world, unsigned number, flow_profile_t profile,
         unsigned ample);

    /* Send so many messages more to that host; opens an endpoint at once. */
    void add(unsigned to, uint64_t messages);
    /* The program computes: it does not poll before then. */
    void sleep_until(Time when) { m_asleep = when; }
    bool device_receive(const PacketRef &packet);
    void device_complete(const PacketRef &packet, flow_send_status_t status);
    uint64_t got_from(unsigned host) const;

    uint64_t got = 0;          /* messages                                    */
    uint64_t posts = 0;        /* packets of messages, repeats included       */
    uint64_t refused = 0;      /* sends that ended with receiver-not-ready    */
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
    void on_release(flow_op_t *op, bool failed) override;
    void on_broken(const char *what) override;

private:
    struct Done {
        PacketRef          packet;
        flow_send_status_t status;
    };
    void wake(Time delay);
    void resize(bool scarce);
    void post(const Bytes &bytes, unsigned to, Op *op, uint64_t cookie);
    void send_all(Endpoint *ep);
    void poll(Time when);
    void poll_receives();
    void look_for_end();
    void poll_sends();

    World   &m_world;
    unsigned m_number, m_ample, m_base, m_posted;
    Time     m_busy = 0, m_asleep = 0, m_next = UINT64_MAX;
    Time     m_offset = 0; /* UD: of its clock                                */
    bool     m_more = false;
    std::deque<PacketRef>                                    m_received;
    std::deque<Done>                                         m_done;
    std::unordered_map<unsigned, std::unique_ptr<Endpoint>>  m_endpoints;
    std::unordered_map<unsigned, uint64_t>                   m_got;
    std::deque<Endpoint*>                                    m_ready;
    std::vector<std::unique_ptr<Op>>                         m_ops;
    std::vector<Op*>                                         m_free;
};

/* All hosts, and what happens when. */
class World {
public:
    World(unsigned hosts, flow_profile_t profile, unsigned ample,
          uint64_t seed);
    virtual ~World() {}

    void at(Time when, std::function<void()> what);
    /* Until nothing is left to do but timers, or until then. */
    void run(Time until);
    /* Until hosts got so many messages in all; the time it took. */
    Time run_until_got(uint64_t messages, Time limit);
    /* The network takes a packet then; its sender will be told. */
    virtual void transmit(const PacketRef &packet, Time when) = 0;
    Host &host(unsigned number) { return *m_hosts[number]; }

    Random   random;
    Time     now     = 1000;
    uint64_t got     = 0; /* messages, by all                                 */

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
    void next();

    std::priority_queue<Event>         m_events;
    std::vector<std::unique_ptr<Host>> m_hosts;
    uint64_t                           m_order = 0;
};

} /* namespace timed */

#endif
