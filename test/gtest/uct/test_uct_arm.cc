/* SPDX-License-Identifier: BSD-3-Clause */
/* The timer behind an interface's event descriptor: set while something waits
 * for a time, and left alone where nothing does. */
#include "uct_entity.h"

#include <flow/limits.h>

#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

using namespace uct_test;

namespace {

std::string name_of(int fd)
{
    char name[64] = "";
    std::string link = "/proc/self/fd/" + std::to_string(fd);

    return (readlink(link.c_str(), name, sizeof(name) - 1) > 0) ? name : "";
}

} // namespace

class UctArm : public UctTest {
protected:
    /* Nothing is under way, and a's descriptor was armed. */
    void open_armed(const Config &config = {})
    {
        open(config);
        introduce();
        ASSERT_EQ(UCS_OK, uct_iface_event_fd_get(a->iface(), &fd));
        ASSERT_EQ(UCS_OK, arm());
        find_timer();
        ASSERT_LE(0, timer);
    }

    ucs_status_t arm()
    {
        ucs_status_t status;

        while ((status = uct_iface_event_arm(a->iface(), UCT_EVENT_RECV)) ==
               UCS_ERR_BUSY) {
            a->progress();
        }
        return status;
    }

    Pending message()
    {
        return Pending([this] {
            return uct_ep_am_short(ep, AM_ID, 2, nullptr, 0);
        });
    }

    void queue(Pending &request)
    {
        fill();
        while (uct_ep_pending_add(ep, &request.uct, 0) == UCS_ERR_BUSY) {
            fill();
        }
    }

    /* The timer among what the descriptor, an epoll, watches. */
    void find_timer()
    {
        std::ifstream in("/proc/self/fdinfo/" + std::to_string(fd));
        std::string word;

        while (in >> word) {
            int watched;
            if ((word == "tfd:") && (in >> watched) &&
                (name_of(watched) == "anon_inode:[timerfd]")) {
                timer = watched;
            }
        }
    }

    void set(time_t seconds, long ns) const
    {
        struct itimerspec spec = {};

        spec.it_value = {seconds, ns};
        ASSERT_EQ(0, timerfd_settime(timer, 0, &spec, nullptr));
    }

    /* Seconds, and one more, until it runs out, 1 if it did; 0: it is not set. */
    time_t left() const
    {
        struct itimerspec spec;

        EXPECT_EQ(0, timerfd_gettime(timer, &spec));
        return ((spec.it_value.tv_sec == 0) && (spec.it_value.tv_nsec == 0)) ?
                       ran_out() :
                       spec.it_value.tv_sec + 1;
    }

    bool runs_out_within(long ns) const
    {
        struct itimerspec spec;

        EXPECT_EQ(0, timerfd_gettime(timer, &spec));
        return (left() != 0) && (spec.it_value.tv_sec == 0) &&
               (spec.it_value.tv_nsec <= ns);
    }

    static int open_null()
    {
        return ::open("/dev/null", O_RDWR | O_CLOEXEC);
    }

    bool ran_out(int milliseconds = 0) const
    {
        struct pollfd pfd = {timer, POLLIN, 0};

        return poll(&pfd, 1, milliseconds) == 1;
    }

    int fd = -1, timer = -1;
};

/* A thread that polls and arms by turns, as NIXL's does, holds UCP's lock of the
 * worker meanwhile: a timer that nobody needs is left alone. */
TEST_F(UctArm, again__takes_away_a_timer_that_ran_out)
{
    SRD_ONLY("it has a time for nearly anything");
    open_armed();
    EXPECT_EQ(0, left());
    Pending request = message();
    queue(request);
    progress_for(0.05, {a});
    ASSERT_EQ(UCS_OK, arm());
    EXPECT_LT(0, left()) << "a request waits, and its peer may have gone";

    set(0, 1);
    EXPECT_TRUE(ran_out(60000));
    ASSERT_TRUE(wait([&] { return request.done; }));
    EXPECT_TRUE(flush(ep));
    progress_for(0.05);
    ASSERT_EQ(UCS_OK, arm());
    EXPECT_FALSE(ran_out());
    EXPECT_EQ(0, left());
    set(1000, 0);
    ASSERT_EQ(UCS_OK, arm());
    EXPECT_LT(900, left()) << "nobody needs it any more";
}

/* It sleeps without arming anew, as a program of UCP's may, and what it waits
 * for may never come. */
TEST_F(UctArm, request_after_arming__has_its_time)
{
    SRD_ONLY("it has a time for nearly anything");
    open_armed();
    Pending request = message();
    fill();
    progress_for(0.05, {a}); /* all of it is over */
    ASSERT_EQ(UCS_OK, arm());
    ASSERT_EQ(0, left());
    queue(request);
    EXPECT_LT(0, left());
    EXPECT_TRUE(wait([&] { return request.done; }));
}

/* Time alone may give it one (the reserve), which no event tells. */
TEST_F(UctArm, no_operation_is_free__looks_soon)
{
    SRD_ONLY("it has a time for nearly anything");
    open_armed({{"TX_QUEUE_LEN", "16"}});
    Pending request = message();
    device("delay-us", "300000");
    queue(request);
    a->progress();
    ASSERT_EQ(UCS_OK, arm());
    EXPECT_TRUE(runs_out_within(20000000));

    ASSERT_TRUE(ran_out(60000));
    unsigned before = request.calls;
    a->progress();
    EXPECT_LT(before, request.calls);
    device("delay-us", "0");
    EXPECT_TRUE(wait([&] { return request.done; }));
}

/* More senders than buffers: the receiver looks at them at times of its own, for
 * a while after they fell silent. It wakes once for each. */
TEST_F(UctArm, more_peers_than_buffers__one_wake_a_tick)
{
    const unsigned ticks = 2 * FLOW_QUIET_ROUNDS * FLOW_HAND_TICKS;
    std::vector<uct_ep_h> eps;

    SRD_ONLY("it has a time for nearly anything");
    open_armed({{"RX_QUEUE_LEN", "128"}, {"RX_BUFFERS_MAX", "256"}});
    for (unsigned i = 0; i < 8; ++i) {
        eps.push_back(b->connect(*a));
    }
    for (unsigned i = 0; i < 2 * FLOW_WINDOW_MAX * eps.size(); ++i) {
        ASSERT_TRUE(wait([&] {
            return uct_ep_am_short(eps[i % eps.size()], AM_ID, i, nullptr,
                                   0) == UCS_OK;
        }));
    }
    ASSERT_TRUE(wait([&] {
        return a->received.size() >= 2 * FLOW_WINDOW_MAX * eps.size();
    }));

    struct pollfd pfd = {fd, POLLIN, 0};
    unsigned wakes    = 0;
    ASSERT_EQ(UCS_OK, arm());
    EXPECT_LT(0, left()) << "the tick does not run";
    while ((left() != 0) && (wakes < 20 * ticks)) {
        ASSERT_LE(0, poll(&pfd, 1, 60000));
        ++wakes;
        a->progress();
        ASSERT_EQ(UCS_OK, arm());
    }
    EXPECT_LE(wakes, ticks);
}

/* Nothing that they post comes back, so they must not wait for that. */
TEST_F(UctArm, requests_that_post_nothing__are_all_served)
{
    const unsigned count = 2000;
    std::vector<Pending> requests;
    double start;

    SRD_ONLY("its window is too short");
    open_armed();
    requests.reserve(count);
    requests.push_back(message());
    queue(requests[0]);
    while (requests.size() < count) {
        requests.emplace_back([] { return UCS_OK; });
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &requests.back().uct, 0));
    }
    progress_for(0.05, {a});
    ASSERT_FALSE(requests[0].done);
    for (start = ran(); !requests[0].done && (ran() - start < 60);) {
        progress();
    }
    ASSERT_FALSE(requests.back().done) << "more than a round";

    for (start = ran(); (uct_iface_event_arm(a->iface(), UCT_EVENT_RECV) ==
                         UCS_ERR_BUSY) && (ran() - start < 60);) {
        a->progress();
    }
    EXPECT_TRUE(requests.back().done) << "it sleeps over them";
}

/* The program goes on without it, and must not spin. */
TEST_F(UctArm, broken_device__lets_its_program_sleep)
{
    open_armed();
    ASSERT_EQ(UCS_OK, uct_ep_am_short(b->connect(*a), AM_ID, 1, nullptr, 0));
    struct pollfd pfd = {fd, POLLIN, 0};
    for (double start = ran(); (poll(&pfd, 1, 0) == 0) &&
                               (ran() - start < 60);) {
        b->progress();
    }
    device("inject", "send:1:1000"); /* flushed; an event was not taken */
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    device("inject", "");
    unsigned wakes = 0;
    for (double start = now(); (now() - start < 0.2) && (wakes < 100);) {
        ASSERT_EQ(UCS_OK, arm());
        wakes += (poll(&pfd, 1, 100) == 1);
        a->progress();
    }
    EXPECT_LT(wakes, 10u) << "times of ud's core apart";
}

/* Arming fails, as epoll_ctl may (ENOSPC), before any endpoint is there: the end
 * of the interface is nothing that was delivered. UCP asserts so. */
TEST_F(UctArm, fails__progress_counts_nothing)
{
    Entity entity;
    int event_fd, null_fd = open_null();

    ASSERT_EQ(UCS_OK, uct_iface_event_fd_get(entity.iface(), &event_fd));
    ASSERT_EQ(event_fd, dup2(null_fd, event_fd)); /* no epoll any more */
    EXPECT_EQ(UCS_ERR_BUSY, uct_iface_event_arm(entity.iface(),
                                                UCT_EVENT_RECV));
    EXPECT_EQ(0u, uct_iface_progress(entity.iface()));
    EXPECT_EQ(UCS_OK, uct_iface_event_arm(entity.iface(), UCT_EVENT_RECV));
    close(null_fd);
}
