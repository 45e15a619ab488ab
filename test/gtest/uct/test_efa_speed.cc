/* SPDX-License-Identifier: BSD-3-Clause */
/* The speed of a port, of which the driver may know a newer code than we do. */
#include <gtest/gtest.h>

extern "C" double efa_speed_of_codes(unsigned speed, unsigned width);

namespace {

double gbits(unsigned speed, unsigned width)
{
    return efa_speed_of_codes(speed, width) * 1e-9;
}

/* As the driver tells 25 to 1600 Gbit/s. */
TEST(Speed, codes_of_today)
{
    EXPECT_DOUBLE_EQ(25, gbits(32, 1));
    EXPECT_DOUBLE_EQ(100, gbits(32, 2));
    EXPECT_DOUBLE_EQ(200, gbits(64, 2));
    EXPECT_DOUBLE_EQ(400, gbits(64, 4));
    EXPECT_DOUBLE_EQ(800, gbits(128, 4));
    EXPECT_DOUBLE_EQ(1600, gbits(256, 4));
    EXPECT_DOUBLE_EQ(100, gbits(64, 16));
    EXPECT_DOUBLE_EQ(300, gbits(32, 8));
}

TEST(Speed, unknown_codes_are_not_slow)
{
    for (unsigned speed : {512u, 1024u, 3u, 0x80000000u}) {
        EXPECT_DOUBLE_EQ(1600, gbits(speed, 4)) << speed;
    }
    EXPECT_DOUBLE_EQ(800, gbits(256, 32)) << "lanes that nobody knows";
    EXPECT_DOUBLE_EQ(100, gbits(0, 0)) << "a driver that says nothing";
}

} // namespace
