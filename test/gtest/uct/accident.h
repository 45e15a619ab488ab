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

    /* Sets a knob of the emulated device of this process from now on. */
    static void device(const char *knob, const char *value);

    /* Resident memory of this process in KiB; 0 with sanitizers, which keep
     * freed memory back. */
    static long resident();

    /* Posts numbered messages until one is refused; @return how many. */
    uint64_t fill(uint64_t first);

    /* Closes what is open, and opens all anew. */
    void reopen(const uct_test::Config &config, size_t headroom = 0);

    /* Messages that `eps` endpoints take while b makes no progress. */
    uint64_t flood(unsigned eps);

    /* One of the device's, of all processes of this host. */
    static uint64_t counter(const char *name);

    /* A host that there is not: ep_create's status. */
    ucs_status_t connect_elsewhere();

    /* Both know each other and nothing is under way. */
    void introduce();

    /* Progress of both for a while. */
    void progress_for(double seconds);

    /* What arrived at b: 0, 1, 2, ... without a gap. */
    void expect_in_order(uint64_t count);

    /* get_zcopy that waits for the introduction and for room. */
    ucs_status_t get(const uct_iov_t &iov, uct_test::Memory &remote,
                     uct_test::Completion *comp);

    static double now();
};

} // namespace accident

#endif
