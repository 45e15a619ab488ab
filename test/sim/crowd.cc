/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_crowd COUNT: one core with that many flows to one peer, and as many from
 * it. Each is opened, and half are closed in any order, inside a function of
 * its own, so that callgrind can count it:
 *   valgrind --tool=callgrind --toggle-collect='crowd_*' flow_crowd 1000
 * Prints how often each was called.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "driver/driver.h"

extern "C" {
#include "flow/ctl_wire.h"
}

using flow_test::Bytes;

class Crowd : public flow_test::Driver {
public:
    explicit Crowd(const flow_params_t &params) : Driver(params) {}
    /* A transport's progress when an endpoint was made or closed. */
    void progress()
    {
        pull_events();
        pull_control();
        pull_events();
    }

protected:
    void on_deliver(const Bytes &) override {}
    bool on_control(const flow_ctl_t &ctl) override
    {
        flow_ctl_done(core, ctl.cookie, FLOW_SEND_OK, now);
        return true;
    }
    bool on_repost(flow_op_t *, bool) override { return true; }
    void on_broken(const char *what) override
    {
        puts(what);
        exit(1);
    }
};

static Crowd      *crowd;
static flow_addr_t peer;

extern "C" __attribute__((noinline)) flow_tx_t *crowd_open()
{
    flow_tx_t *tx = nullptr;

    if (flow_tx_open(crowd->core, &peer, crowd, &tx) != FLOW_OK) {
        exit(1);
    }
    flow_peer_set_ah(crowd->core, flow_tx_peer(crowd->core, tx), 7,
                     FLOW_RMA_READY);
    crowd->progress();
    return tx;
}

extern "C" __attribute__((noinline)) void crowd_close(flow_tx_t *tx)
{
    flow_tx_close(crowd->core, tx);
    crowd->progress();
}

static uint8_t  packet[FLOW_CTL_MAX];
static unsigned packet_len;

extern "C" __attribute__((noinline)) void crowd_receive()
{
    flow_rx_out_t out;

    if (flow_rx_accept(crowd->core, packet, packet_len, &out,
                       flow_src(7, peer.qpn), &out) != FLOW_RX_CONTROL) {
        printf("refused: %s\n", flow_drop_name(out.reason));
        exit(1);
    }
    crowd->progress();
}

/* The peer's endpoint ep says hello, or goodbye (direction 0 of reset). */
static void say(unsigned type, uint32_t ep)
{
    flow_ctl_msg_t msg;

    memset(&msg, 0, sizeof(msg));
    msg.type    = (uint8_t)type;
    msg.ep      = ep;
    msg.src     = peer.incarnation;
    msg.dst     = crowd->addr.incarnation;
    msg.version = FLOW_VERSION;
    msg.window  = 16;
    msg.addr    = peer;
    packet_len  = flow_ctl_encode(&msg, packet);
    crowd_receive();
}

int main(int argc, char **argv)
{
    unsigned count = (argc > 1) ? (unsigned)atoi(argv[1]) : 1000;
    std::vector<flow_tx_t*> flows;
    flow_params_t params;
    uint64_t random = 1;

    flow_params_default(&params);
    params.self.incarnation = 1;
    params.rx_posted        = 100 * count + 100;
    params.max_linger       = count;
    peer.incarnation        = 2;
    peer.qpn                = 2;
    crowd = new Crowd(params);
    std::vector<uint32_t> eps;
    for (unsigned i = 0; i < count; ++i) {
        crowd->grow();
        flows.push_back(crowd_open());
        crowd->grow();
        eps.push_back(i + 1);
        say(FLOW_CTL_HELLO, i + 1);
    }
    for (unsigned i = 0; i < count / 2; ++i) {
        random     = random * 6364136223846793005ull + 1;
        size_t one = (random >> 33) % flows.size();
        crowd_close(flows[one]);
        say(FLOW_CTL_RESET, eps[one]);
        flows[one] = flows.back();
        eps[one]   = eps.back();
        flows.pop_back();
        eps.pop_back();
    }
    if (crowd->check() != nullptr) {
        puts(crowd->check());
        return 1;
    }
    flow_counters_t counters = crowd->counters();
    if ((counters.tx_flows != count - count / 2) ||
        (counters.rx_flows != count - count / 2)) {
        puts("not all went");
        return 1;
    }
    printf("crowd_open %u\ncrowd_close %u\ncrowd_receive %u\n", count,
           count / 2, count + count / 2);
    delete crowd;
    return 0;
}
