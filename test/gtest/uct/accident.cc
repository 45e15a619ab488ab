/* SPDX-License-Identifier: BSD-3-Clause */
#include "accident.h"

#include "efasim/efasim.h"
#include <flow/limits.h>

#include <cstdlib>
#include <stdexcept>

using namespace uct_test;

namespace accident {

void Accident::TearDown()
{
    device("inject", "");
    device("delay-us", "0");
    UctTest::TearDown();
}

void Accident::reopen(const Config &config, size_t headroom)
{
    UctTest::TearDown();
    open(config, headroom);
}

uint64_t Accident::flood(unsigned eps)
{
    uct_ep_h first = ep;
    uint64_t sent  = fill(0);
    std::vector<uct_ep_h> more;

    for (unsigned i = 1; i < eps; ++i) {
        more.push_back(ep = a->connect(*b));
        sent += fill(0);
    }
    for (uct_ep_h each : more) {
        uct_ep_destroy(each);
    }
    ep = first;
    return sent;
}

void Accident::window_bounds_what_is_sent()
{
    for (unsigned most : {1, 8, (int)FLOW_WINDOW_MAX}) {
        reopen({{"WINDOW", std::to_string(most)}});
        introduce();
        uint64_t sent = 0;
        for (double until = now() + 0.05; now() < until; a->progress()) {
            sent += fill(0);
        }
        /* the greeting may still count: limits come by half windows */
        EXPECT_LE(sent, most);
        EXPECT_GE(sent + 1, most);
        EXPECT_GE(sent, 1u);
    }
}

void Accident::tx_queue_bounds_what_is_sent()
{
    reopen({{"TX_QUEUE_LEN", "16"}});
    uint64_t sent = flood(4);
    EXPECT_GE(sent, 16u);
    EXPECT_LE(sent, 24u); /* half as many are kept for who gets through */
    reopen({{"TX_QUEUE_LEN", "512"}});
    EXPECT_GT(flood(4), 24u);
}

void Accident::rx_buffers_bound_what_is_kept()
{
    size_t kept[2];
    unsigned n = 0;

    for (const char *max : {"256", "1024"}) {
        reopen({{"RX_QUEUE_LEN", "128"}, {"RX_BUFFERS_MAX", max}}, 80);
        b->keep_descs = true;
        b->record     = false;
        for (uint64_t i = 0; i < 3000; ++i) {
            ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
        }
        ASSERT_TRUE(wait([&] { return b->count == 3000; }));
        kept[n] = b->kept.size();
        EXPECT_LT(kept[n], strtoul(max, nullptr, 10));
        ++n;
    }
    EXPECT_LT(kept[0], kept[1]);
}

void Accident::one_host_where_handles_are_one()
{
    const char *none = ucs_status_string(UCS_ERR_NO_RESOURCE);

    for (const char *max : {"1", "1024"}) {
        reopen({{"MAX_AH", max}});
        Bytes host = b->device_addr, iface = b->iface_addr;
        std::string said = "ep create: ";

        host[12] ^= 1; /* another GID */
        iface[9] ^= 1; /* and another incarnation there */
        try {
            uct_ep_destroy(a->connect(host, iface));
            said += none;
        } catch (const std::runtime_error &error) {
            said = (max[1] == 0) ? error.what() : "refused";
        }
        EXPECT_EQ(std::string("ep create: ") + none, said);
    }
}

} // namespace accident
