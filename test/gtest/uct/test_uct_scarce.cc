/* SPDX-License-Identifier: BSD-3-Clause */
/* More endpoints want to post than the interface has operations. */
#include "uct_entity.h"

#include <algorithm>
#include <cstdlib>
#include <list>
#include <memory>

using namespace uct_test;

class UctScarce : public UctTest {
protected:
    static ucs_status_t send_to(uct_ep_h to)
    {
        return uct_ep_am_short(to, AM_ID, 0, nullptr, 0);
    }

    /* Endpoints to b, and all operations are out. */
    void start(unsigned count)
    {
        open({{"TX_QUEUE_LEN", "16"}});
        connect_many(eps, count);
        for (uct_ep_h each : eps) {
            while (send_to(each) == UCS_OK) {
            }
        }
    }

    /* A request for one message. */
    Pending *add(uct_ep_h to)
    {
        requests.emplace_back([to] { return send_to(to); });
        EXPECT_EQ(UCS_OK, uct_ep_pending_add(to, &requests.back().uct, 0));
        return &requests.back();
    }

    void TearDown() override
    {
        device_clock(0);
        device("delay-us", "0");
        if (ep != nullptr) {
            eps.push_back(ep);
        }
        for (uct_ep_h each : eps) {
            uct_ep_pending_purge(each, [](uct_pending_req_t *, void *) {},
                                 nullptr);
        }
        UctTest::TearDown();
        hosts.clear();
    }

    std::vector<uct_ep_h> eps;
    std::list<Pending> requests;
    std::vector<std::unique_ptr<Entity>> hosts; /* beside b */
};

/* However many wait for an operation: else each round of progress would try all of
 * them for the few that came back. */
TEST_F(UctScarce, of_those_that_wait_few_are_tried)
{
    constexpr unsigned ENDPOINTS = 100, EACH = 10;
    unsigned calls = 0;

    start(ENDPOINTS);
    for (unsigned i = 0; i < ENDPOINTS * EACH; ++i) {
        add(eps[i % ENDPOINTS]);
    }
    ASSERT_TRUE(wait([&] {
        return std::all_of(requests.begin(), requests.end(),
                           [](const Pending &r) { return r.done; });
    }));
    for (const Pending &request : requests) {
        calls += request.calls;
    }
    EXPECT_LE(calls, 2 * ENDPOINTS * EACH);
}

/* Those that were passed by in one round are the first of the next; else the same
 * ones would be served each time where as many wait as a few rounds have. */
TEST_F(UctScarce, all_that_wait_are_served_alike)
{
    constexpr unsigned ENDPOINTS = 27, EACH = 100;
    std::vector<unsigned> served(ENDPOINTS);
    unsigned sum = 0;

    start(ENDPOINTS);
    for (unsigned i = 0; i < ENDPOINTS * EACH; ++i) {
        requests.emplace_back([&, to = i % ENDPOINTS] {
            ucs_status_t status = send_to(eps[to]);

            served[to] += status == UCS_OK;
            sum        += status == UCS_OK;
            return status;
        });
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(eps[i % ENDPOINTS],
                                             &requests.back().uct, 0));
    }
    ASSERT_TRUE(wait([&] { return sum >= ENDPOINTS * EACH / 2; }));
    EXPECT_GT(*std::min_element(served.begin(), served.end()), EACH / 3);
}

/* A request that needs no operation waits for none. */
TEST_F(UctScarce, a_flush_of_nothing_is_done)
{
    uct_ep_h idle;
    Pending flushed([&] { return uct_ep_flush(idle, 0, nullptr); });

    start(40);
    device_clock(1); /* nothing ends from now on */
    device("delay-us", "1000000");
    for (int i = 0; i < 100; ++i) {
        progress();
        for (uct_ep_h each : eps) {
            (void)send_to(each);
        }
    }
    for (uct_ep_h each : eps) {
        if (send_to(each) == UCS_ERR_NO_RESOURCE) {
            add(each);
        }
    }
    idle = a->connect(*b);
    if (uct_ep_pending_add(idle, &flushed.uct, 0) == UCS_OK) {
        EXPECT_TRUE(wait([&] { return flushed.done; }));
    }
    eps.push_back(idle);
}

/* Hosts that did well hold the reserve and fall silent, and all endpoints wait: the
 * half that was kept back opens with time. The suite gives each a device. */
TEST_F(UctScarce, who_answers_is_served_beside_hosts_that_fell_silent)
{
    constexpr unsigned HOSTS = 3, EACH = 4;

    try {
        for (unsigned i = 1; i <= HOSTS; ++i) {
            setenv("TEST_DEVICE", std::to_string(i).c_str(), 1);
            hosts.push_back(std::make_unique<Entity>());
        }
    } catch (const std::runtime_error &) {
    }
    unsetenv("TEST_DEVICE");
    if (hosts.size() < HOSTS) {
        GTEST_SKIP() << "one device";
    }
    open({{"TX_QUEUE_LEN", "16"}});
    introduce();
    for (unsigned i = 0; i < HOSTS * EACH; ++i) {
        eps.push_back(a->connect(*hosts[i % HOSTS]));
    }
    auto flood = [&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
            for (uct_ep_h each : eps) {
                for (int k = 0; (k < 20) && (send_to(each) == UCS_OK); ++k) {
                }
            }
            progress();
            for (auto &host : hosts) {
                host->progress();
            }
        }
    };
    flood(300);
    device_clock(1);
    device("delay-us", "1000000");
    flood(60);
    device("delay-us", "0");
    if (send_to(ep) == UCS_OK) {
        GTEST_SKIP() << "they hold not all";
    }
    for (uct_ep_h each : eps) {
        if (send_to(each) == UCS_ERR_NO_RESOURCE) {
            add(each);
        }
    }
    Pending *living = add(ep);
    EXPECT_TRUE(wait([&] { return living->done; }));
}
