/* SPDX-License-Identifier: BSD-3-Clause */
/* Two nodes that speak UD. */
#ifndef RESEND_TEST_H_
#define RESEND_TEST_H_

#include "flow_test.h"

extern "C" {
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
}

namespace flow_test {

const flow_time_t MS = 1000000;

class Resend : public ::testing::Test {
protected:
    Node a{1, ud}, b{2, ud};
    flow_tx_t *ab = nullptr, *ba = nullptr;

    void connect_both()
    {
        auto flows = connect(a, b);
        ab         = flows.first;
        ba         = flows.second;
        pass(10 * MS); /* until no hello waits for its time-out */
        a.events.clear();
        b.events.clear();
        a.out.clear();
    }

    /* What a sent, gone from its queue: the test says what arrives. */
    std::deque<Packet> take_sent()
    {
        std::deque<Packet> sent = a.out;
        a.out.clear();
        for (const Packet &packet : sent) {
            a.complete(packet);
        }
        return sent;
    }

    /* The timer of a after that time, and what it makes due arrives. */
    void run_timer(flow_time_t time)
    {
        a.now += time;
        b.now  = a.now;
        settle(a, b);
    }

    /* Until what was overtaken is lost. */
    void wait_for_gap()
    {
        for (int i = 0; i < 3; ++i) {
            run_timer(a.core->params.gap_delay);
        }
    }

    /* Let time pass on both sides and move what comes due. */
    void pass(flow_time_t time)
    {
        for (flow_time_t end = a.now + time; a.now < end; a.now += MS) {
            b.now = a.now;
            settle(a, b);
        }
    }
};

} /* namespace flow_test */

#endif
