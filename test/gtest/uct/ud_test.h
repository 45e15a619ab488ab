/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_TEST_H_
#define UD_TEST_H_

/* Fixture of the tests that are about ud alone. */
#include "uct_entity.h"

#include <dlfcn.h>

namespace uct_test {

class UdTest : public UctTest {
protected:
    void SetUp() override
    {
        if (!is_ud()) {
            GTEST_SKIP() << "of ud alone: UCT_TRANSPORT=ud";
        }
    }

    void TearDown() override
    {
        network("");
        UctTest::TearDown();
    }

    /* Sets a knob of the emulated device of this process. */
    static void device(const char *knob, const char *value)
    {
        using Control = int (*)(const char *, const char *);
        Control control = reinterpret_cast<Control>(
                dlsym(RTLD_DEFAULT, "efasim_control"));

        ASSERT_NE(nullptr, control) << "run under 'efasim run'";
        ASSERT_EQ(0, control(knob, value)) << knob << "=" << value;
    }

    /* "down": nothing arrives; "storm": much is lost, doubled, late; "": all is
     * well. Of what this process sends. */
    static void network(const std::string &state)
    {
        bool storm = state == "storm";

        device("loss", (state == "down") ? "1" : storm ? "0.3" : "0");
        device("duplicate", storm ? "0.3" : "0");
        device("reorder", storm ? "0.5" : "0");
        device("delay-us", "0");
    }

    static double now()
    {
        using namespace std::chrono;
        return duration<double>(steady_clock::now().time_since_epoch()).count();
    }

    /* Of some entities, for a while. */
    static void progress_for(double seconds, std::vector<Entity *> those)
    {
        for (double end = now() + seconds; now() < end;) {
            for (Entity *each : those) {
                each->progress();
            }
        }
    }

    /* Until `done`, with progress of a alone; false after 10 s. */
    bool wait_a(const std::function<bool()> &done)
    {
        for (double end = now() + 10; !done();) {
            if (now() > end) {
                return false;
            }
            a->progress();
        }
        return true;
    }

    /* Both know each other and nothing is under way. */
    void introduce()
    {
        size_t before = b->count;

        ASSERT_EQ(UCS_OK, send_short(ep, before, {}));
        ASSERT_TRUE(wait([&] { return b->count > before; }));
        ASSERT_TRUE(flush(ep));
        progress_for(0.02, {a, b});
    }

    static uint64_t number_of(const Bytes &message)
    {
        uint64_t number;

        memcpy(&number, message.data(), sizeof(number));
        return number;
    }

    /* Messages came to b with the numbers 0, 1, ... `count` - 1. */
    void expect_in_order(uint64_t count)
    {
        ASSERT_EQ(count, b->received.size());
        for (uint64_t i = 0; i < count; ++i) {
            ASSERT_EQ(i, number_of(b->received[i]));
        }
    }
};

} // namespace uct_test

#endif
