/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints and interfaces that come and go leave nothing behind. */
#include "accident.h"

#include <cstdlib>
#include <dirent.h>

using namespace uct_test;

namespace accident {

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
            ASSERT_EQ(UCS_INPROGRESS, get(local.iov(0, 64), remote, &read));
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
    ASSERT_TRUE(wait([&] { return (b->count == count); }, 60));
    ASSERT_TRUE(wait([&] { return read.done == 1; }, 60)) << "all reads";
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
