/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts that are not there, and endpoints and interfaces that come and go. */
#include "accident.h"

#include <cstdlib>
#include <dirent.h>

using namespace uct_test;

namespace accident {

/* ---- one bad peer must not stop a good one ---- */

/* 96 ranks on hosts that take and answer nothing, each with as many messages
 * as it takes, beside a pair that is well. The device's time is virtual and goes
 * on with each round of progress, so the CPU's speed is no part of the rate. */
class Absent : public Accident {
protected:
    static constexpr int HOSTS = 96, MESSAGES = 20000;

    void open_absent()
    {
        for (int i = 0; i < HOSTS; ++i) {
            Bytes device_addr = b->device_addr, iface_addr = b->iface_addr;

            device_addr[device_addr.size() - 2] ^= 0x5a; /* of the GID */
            device_addr[device_addr.size() - 1] = static_cast<uint8_t>(i);
            iface_addr[8] = static_cast<uint8_t>(i);     /* its incarnation */
            iface_addr[9] ^= 0x5a;
            m_absent.push_back(a->connect(device_addr, iface_addr));
        }
    }

    void send_absent()
    {
        for (uct_ep_h absent : m_absent) {
            while (uct_ep_am_short(absent, AM_ID, 0, nullptr, 0) == UCS_OK) {
            }
        }
    }

    /* Microseconds of the device that the pair needs; all others try, too. */
    unsigned long long pair()
    {
        unsigned long long start = m_time;
        size_t end               = b->count + MESSAGES;
        int sent                 = 0;

        b->record = false;
        while ((b->count < end) && (m_time < start + 10000000)) {
            while ((sent < MESSAGES) &&
                   (uct_ep_am_short(ep, AM_ID, 1, nullptr, 0) == UCS_OK)) {
                ++sent;
            }
            if (m_time % 1000 == 0) {
                send_absent();
            }
            m_time += 10;
            device_clock(m_time * 1000);
            progress();
        }
        EXPECT_LE(end, b->count) << "the pair stands still";
        return m_time - start;
    }

    void TearDown() override
    {
        device_clock(0);
        Accident::TearDown();
    }

    std::vector<uct_ep_h> m_absent;
    unsigned long long m_time = 10; /* of the device, us */
};

TEST_F(Absent, hosts_beside_a_pair)
{
    unsigned long long alone, beside = ~0ull;

    open();
    introduce();
    device("delay-us", "100");
    alone = pair();
    open_absent();
    send_absent();
    for (int i = 0; (i < 5) && !HasFailure() && (beside * 9 > alone * 10);
         ++i) { /* what is stuck shows in real time */
        beside = std::min(beside, pair());
    }
    printf("%d messages: %.1f ms alone, %.1f beside %d absent hosts\n",
           MESSAGES, alone / 1e3, beside / 1e3, HOSTS);
    EXPECT_LE(beside * 9, alone * 10);
    EXPECT_TRUE(a->failures.empty()) << "too late: they timed out";
    for (uct_ep_h absent : m_absent) {
        uct_ep_destroy(absent);
    }
}

/* ---- those that come and go leave nothing behind ---- */

class Churn : public Accident {
protected:
    /* A count from the environment, so that a suite's profile can choose. */
    static unsigned long rounds(const char *name, unsigned long dflt)
    {
        const char *value = getenv(name);

        return (value != nullptr) ? strtoul(value, nullptr, 10) : dflt;
    }

    static unsigned descriptors()
    {
        DIR *dir       = opendir("/proc/self/fd");
        unsigned count = 0;

        while ((dir != nullptr) && (readdir(dir) != nullptr)) {
            ++count;
        }
        if (dir != nullptr) {
            closedir(dir);
        }
        return count;
    }
};

/* Promise P5: memory is flat under connection churn. Each endpoint sends a
 * message, every third waits for the answer, every fifth reads. */
TEST_F(Churn, endpoints)
{
    const unsigned long count = rounds("CHURN_ENDPOINTS", 20000);
    const unsigned long warm  = count / 10;
    long before               = 0;
    Completion read;

    open();
    read.uct.count = (count + 4) / 5;
    b->record = false;
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    for (unsigned long i = 0; i < count; ++i) {
        uct_ep_h kept = ep;
        ep            = a->connect(*b);
        ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
        if (i % 5 == 0) {
            ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
                return get_zcopy(local.iov(0, 64), remote, &read.uct);
            }));
        }
        if (i % 3 == 0) {
            ASSERT_TRUE(flush(ep));
        }
        uct_ep_destroy(ep);
        ep = kept;
        progress();
        if (i == warm) {
            before = resident();
        }
    }
    ASSERT_TRUE(wait([&] { return (b->count == count); }));
    ASSERT_TRUE(wait([&] { return read.done == 1; })) << "all reads";
    long grown = resident() - before;
    printf("%lu endpoints: %+ld KiB after the first %lu\n", count, grown,
           warm);
    /* Where the device gets no CPU for a moment many linger at a time; 114 B
     * of each kept would be more. */
    EXPECT_LT(grown, 2048);
    EXPECT_TRUE(a->failures.empty());
}

/* Neither descriptors nor completion queues are lost over many opens; the
 * emulated device has room for a few dozen queues only. */
TEST_F(Churn, opens)
{
    const unsigned long count = rounds("CHURN_OPENS", 300);
    unsigned before           = 0;

    for (unsigned long i = 0; i < count; ++i) {
        open();
        ASSERT_EQ(UCS_OK, send_short(ep, 0, {})) << "open " << i;
        ASSERT_TRUE(wait([&] { return b->count == 1; })) << "open " << i;
        UctTest::TearDown();
        if (i == 2) {
            before = descriptors();
        }
    }
    printf("%lu opens: %u descriptors, then %u\n", 2 * count, before,
           descriptors());
    EXPECT_EQ(before, descriptors());
}

} // namespace accident
