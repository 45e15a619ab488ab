/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ACCIDENT_H_
#define ACCIDENT_H_

/* Fixture of the accident tests: two interfaces of the emulated device in one
 * process, and a hand on the device. */
#include "test/gtest/uct/uct_entity.h"

namespace accident {

class Accident : public uct_test::UctTest {
protected:
    void TearDown() override;

    /* Closes what is open, and opens all anew. */
    void reopen(const uct_test::Config &config, size_t headroom = 0);

    /* Messages that `eps` endpoints take while b makes no progress. */
    uint64_t flood(unsigned eps);

    /* Variables that both transports have, by what they do. */
    void window_bounds_what_is_sent();
    void tx_queue_bounds_what_is_sent();
    void rx_buffers_bound_what_is_kept();
    void one_host_where_handles_are_one();
};

} // namespace accident

#endif
