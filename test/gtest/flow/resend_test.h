/* SPDX-License-Identifier: BSD-3-Clause */
/* Two nodes that speak UD. */
#ifndef RESEND_TEST_H_
#define RESEND_TEST_H_

#include "flow_test.h"

extern "C" {
#include "flow/path_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/tx_priv.h"
}

namespace flow_test {

const flow_time_t MS = 1000000;
/* For so long what is overtaken may be late where nothing is known: 50 us, and
 * a round trip of none. */
const flow_time_t GAP = 52000;

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
        path(a, ab).window = path(b, ba).window = FLOW_WINDOW_MAX << 16;
        a.events.clear();
        b.events.clear();
        a.out.clear();
    }

    static flow_path_t &path(Node &node, const flow_tx_t *tx)
    {
        return *flow_core_path(node.core, flow_tx_index(tx));
    }

    /* Packets that a sent, gone from its queue: the test says which arrive. */
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
            run_timer(GAP);
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
