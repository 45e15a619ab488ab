/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_test.h"

#include <algorithm>
#include <deque>
#include <random>

namespace {

struct RingTest : public ::testing::Test {
    RingTest() : ring(rig_ring_open()), data(RIG_MAX_MSG)
    {
    }

    ~RingTest()
    {
        rig_ring_close(ring);
    }

    struct rig_ring     *ring;
    std::vector<uint8_t> data;
    uint32_t             token = 0, length = 0;
};

} // namespace

using engine_ring = RingTest;

TEST_F(engine_ring, empty)
{
    EXPECT_EQ(0, rig_ring_read(ring, &token, data.data(), &length));
    EXPECT_EQ(0, rig_ring_answer_take(ring, &token, &length));
}

TEST_F(engine_ring, fills_and_drains)
{
    unsigned put = 0, got = 0;

    while (rig_ring_write(ring, put, data.data(), RIG_MAX_MSG)) {
        ++put;
    }
    EXPECT_GE(put, 28u); /* 256 KiB */
    EXPECT_LE(put, 29u);
    while (rig_ring_read(ring, &token, data.data(), &length) == 1) {
        EXPECT_EQ(got, token);
        ++got;
    }
    EXPECT_EQ(put, got);
}

/* Every byte, at every alignment, over many wraps; the positions begin near
 * the end of their 32 bits. */
TEST_F(engine_ring, order_and_contents_over_wraps)
{
    std::deque<std::vector<uint8_t>> sent;
    std::mt19937 random(7);
    uint32_t next = 0, expected = 0;

    rig_ring_start_at(ring, (uint32_t)-(1 << 18));
    while (expected < 20000) {
        std::vector<uint8_t> bytes(random() % (RIG_MAX_MSG + 1));

        for (auto &byte : bytes) {
            byte = random();
        }
        if (rig_ring_write(ring, next, bytes.data(), bytes.size())) {
            sent.push_back(bytes);
            ++next;
            if (random() % 3) {
                continue;
            }
        }
        ASSERT_EQ(1, rig_ring_read(ring, &token, data.data(), &length));
        ASSERT_EQ(expected++, token);
        ASSERT_EQ(sent.front().size(), length);
        ASSERT_TRUE(std::equal(sent.front().begin(), sent.front().end(),
                               data.begin()));
        sent.pop_front();
    }
}

TEST_F(engine_ring, answers)
{
    uint32_t status;

    for (unsigned i = 0; i < 4096; ++i) {
        ASSERT_EQ(0, rig_ring_answer(ring, i, i % 16));
    }
    EXPECT_EQ(-1, rig_ring_answer(ring, 0, 0)); /* never overwrites */
    for (unsigned i = 0; i < 4096; ++i) {
        ASSERT_EQ(1, rig_ring_answer_take(ring, &token, &status));
        ASSERT_EQ(i, token);
        ASSERT_EQ(i % 16, status);
    }
    EXPECT_EQ(0, rig_ring_answer_take(ring, &token, &status));
}

/* Bad writes of the other side: refused, nothing read out of bounds. */
TEST_F(engine_ring, damage_is_seen)
{
    const struct {
        uint32_t size, length;
    } bad[] = {
        { 0, 0 },          { 8, 0 },        { 17, 0 },       { 1u << 31, 0 },
        { 48, 0xffffffe0 }, { 64, 4096 },    { 1u << 18, 16 }, { 48, 8929 },
        { 0xfffffff0, 16 }, { 32, 1 },
    };

    for (auto &entry : bad) {
        struct rig_ring *fresh = rig_ring_open();

        ASSERT_EQ(1, rig_ring_write(fresh, 1, data.data(), 16));
        rig_ring_damage(fresh, entry.size, entry.length);
        EXPECT_EQ(-1, rig_ring_read(fresh, &token, data.data(), &length))
                << entry.size << " " << entry.length;
        rig_ring_close(fresh);
    }
}
