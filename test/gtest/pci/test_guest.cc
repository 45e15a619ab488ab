/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands, interrupts and doorbells of a guest that means harm. */
#include "client.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace pci;

namespace {

enum { MASK = 0x4c, ILLEGAL = 5 };

class Hostile : public Beside {};

TEST_F(Hostile, registrations_of_millions_of_pages_stop_nobody)
{
    Guest guest(server.path(0), 96ull << 30);
    Bytes fields = guest.endless_list((96ull << 30) / 4096, Guest::BASE);
    unsigned served = 0;

    ASSERT_EQ(guest.command(Guest::ALLOC_PD, Bytes(60)), 0);
    for (unsigned i = 0; i < 60; ++i) {
        guest.write_command(Guest::REG_MR, 2 | 4, fields);
    }
    guest.send(Client::head(WRITE, 16 + 20)); /* the doorbell */
    Bytes body(20);
    put<uint64_t>(body, 0, 0x2c);
    put<uint32_t>(body, 12, 4);
    put<uint32_t>(body, 16, 61);
    guest.send(body);
    for (unsigned answers = 0; answers < 3;) {
        ASSERT_TRUE(other.is_served());
        ++served;
        answers += !guest.answer(0).empty();
    }
    EXPECT_GT(served, 10u) << "once or twice between two answers";
}

/* More than the memory, and pages that are not there */
TEST_F(Hostile, registration_of_nothing_is_refused)
{
    Guest guest(server.path(0));
    const struct {
        uint64_t pages, at;
        int want;
    } cases[] = {
        { 2048, Guest::BASE, ILLEGAL }, { 1024, Guest::BASE, 0 },
        { 4, Guest::BASE + Guest::SIZE, ILLEGAL },
    };

    ASSERT_EQ(guest.command(Guest::ALLOC_PD, Bytes(60)), 0);
    for (auto &one : cases) {
        EXPECT_EQ(guest.command(Guest::REG_MR,
                                guest.endless_list(one.pages, one.at), nullptr,
                                2 | 4), one.want);
    }
}

TEST_F(Hostile, command_that_is_reset_while_it_is_done_ends_nobody)
{
    Guest guest(server.path(0), 96ull << 30);
    unsigned i;

    for (i = 0; i < 10; ++i) {
        ASSERT_EQ(guest.command(Guest::ALLOC_PD, Bytes(60)), 0);
        guest.write_command(Guest::REG_MR, 2 | 4,
                            guest.endless_list((96ull << 30) / 4096,
                                               Guest::BASE));
        guest.ring();
        if (i % 2) {
            EXPECT_EQ(guest.unmap(Guest::BASE, 96ull << 30).error, 0);
            EXPECT_EQ(guest.map(Guest::BASE, 96ull << 30,
                                guest.memory_fd).error, 0);
        }
        guest.write(BAR0, 0x54, 1);
        guest.write(BAR0, 0x54, 0);
        memset(guest.memory + Guest::ACQ, 0, Guest::DEPTH * 64);
        guest.set_up();
    }
}

TEST_F(Hostile, interrupts_to_other_descriptors_are_refused)
{
    Client client(server.path(0));
    Bytes body(20);
    int pipes[2];

    ASSERT_EQ(pipe(pipes), 0);
    int event = eventfd(0, EFD_CLOEXEC);
    put<uint32_t>(body, 4, (1 << 2) | (1 << 5));
    put<uint32_t>(body, 8, MSIX);
    put<uint32_t>(body, 16, 1);
    EXPECT_EQ(client.ask(SET_IRQS, body, { pipes[1] }).error, EINVAL);
    unsigned before = server.fds();
    EXPECT_EQ(client.ask(SET_IRQS, body, { pipes[1] }).error, EINVAL);
    EXPECT_EQ(client.ask(SET_IRQS, body, { event, event }).error, EINVAL);
    put<uint32_t>(body, 12, 65);
    EXPECT_EQ(client.ask(SET_IRQS, body, { event }).error, EINVAL);
    put<uint32_t>(body, 12, 0xffffffff);
    EXPECT_EQ(client.ask(SET_IRQS, body, { event }).error, EINVAL);
    EXPECT_TRUE(server.comes_to_fds(before));
    put<uint32_t>(body, 12, 64);
    EXPECT_EQ(client.ask(SET_IRQS, body, { event }).error, 0);
    EXPECT_TRUE(server.comes_to_fds(before + 1));
    close(pipes[0]);
    close(pipes[1]);
    close(event);
}

TEST_F(Hostile, full_eventfd_stops_nobody)
{
    Guest guest(server.path(0));
    uint64_t full = ~0ull - 1, count;

    ASSERT_EQ(write(guest.irq, &full, sizeof(full)), (ssize_t)sizeof(full));
    ASSERT_EQ(fcntl(guest.irq, F_SETFL, 0), 0); /* a write to it waits */
    EXPECT_EQ(guest.command(Guest::ALLOC_PD, Bytes(60)), 0);
    EXPECT_TRUE(other.is_served());
    ASSERT_EQ(read(guest.irq, &count, sizeof(count)), (ssize_t)sizeof(count));
    EXPECT_TRUE(guest.interrupted(20)); /* the one that had no room */
}

TEST_F(Hostile, interrupt_that_was_masked_comes_later)
{
    Guest guest(server.path(0));

    guest.write(BAR0, MASK, 1);
    EXPECT_EQ(guest.command(Guest::ALLOC_PD, Bytes(60)), 0);
    EXPECT_FALSE(guest.interrupted(0.3));
    guest.write(BAR0, MASK, 0);
    EXPECT_TRUE(guest.interrupted(20));
}

TEST_F(Hostile, wild_doorbells_fill_no_log)
{
    Guest guest(server.path(0));
    const std::string left_out = "more lines within a second";
    double start = now(), seconds;
    std::string log;
    unsigned wild = 0;

    guest.make_qp();
    do {
        guest.to_rts();
        guest.write(BAR4, guest.send_db, 0xffffffff);
        log     = server.log();
        seconds = now() - start;
    } while (((++wild < 200) || (log.find(left_out) == std::string::npos)) &&
             (seconds < 60));
    EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 11 * (seconds + 2));
    EXPECT_NE(log.find("wider than 16 bits"), std::string::npos);
    EXPECT_NE(log.find(left_out), std::string::npos);
}

TEST_F(Hostile, wild_admin_queues_end_nobody)
{
    Guest guest(server.path(0));

    for (uint32_t caps : { 0u, 3u, 0xffffu, 4096u | 64 << 16, 0x8000u }) {
        for (uint32_t base : { 0u, 7u, 0xffffffc0u,
                               uint32_t(Guest::BASE + Guest::SIZE - 64) }) {
            guest.write(BAR0, 0x54, 1);
            guest.write(BAR0, 0x54, 0);
            guest.write(BAR0, 0x10, base);
            guest.write(BAR0, 0x18, caps);
            guest.write(BAR0, 0x20, base);
            guest.write(BAR0, 0x28, caps);
            guest.write(BAR0, 0x2c, 0xffff);
            guest.write(BAR0, 0x2c, 1);
            EXPECT_TRUE(guest.is_served());
        }
    }
}

} /* namespace */
