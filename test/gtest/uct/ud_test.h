/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_TEST_H_
#define UD_TEST_H_

/* Fixture of the tests that are about ud alone. */
#include "uct_entity.h"

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

    /* "down": nothing arrives; "storm": much is lost, doubled, late; "": all is
     * well. For packets that this process sends. */
    static void network(const std::string &state)
    {
        bool storm = state == "storm";

        device("loss", (state == "down") ? "1" : storm ? "0.3" : "0");
        device("duplicate", storm ? "0.3" : "0");
        device("reorder", storm ? "0.5" : "0");
        device("delay-us", "0");
    }
};

} // namespace uct_test

#endif
