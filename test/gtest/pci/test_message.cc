/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are none, and machines that stop in the middle of one. */
#include "client.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

using namespace pci;

namespace {

class Message : public testing::Test {
protected:
    Server server;
    Client other{ server.path(1) };

    void TearDown() override
    {
        EXPECT_TRUE(server.is_alive());
        EXPECT_TRUE(other.is_served());
        Client next(server.path(0)); /* after the one before has left */
        EXPECT_TRUE(next.is_served());
    }
};

TEST_F(Message, of_no_possible_size_closes)
{
    for (auto &bytes : { Client::head(VERSION, 8),
                         Client::head(WRITE, 0xffffffffu) }) {
        Client bad(server.path(0));
        bad.send(bytes);
        EXPECT_EQ(bad.receive().error, Reply::CLOSED);
    }
}

/* Unknown ones, ones that are too short, and an answer */
TEST_F(Message, that_is_no_command_is_refused)
{
    Client bad(server.path(0));

    for (uint16_t command : { 0, 6, 11, 12, 14, 1000, 65535 }) {
        EXPECT_EQ(bad.ask(command, Bytes(64)).error, EOPNOTSUPP) << command;
    }
    for (uint16_t command : { VERSION, DMA_MAP, DMA_UNMAP, REGION_INFO,
                              IRQ_INFO, SET_IRQS, READ, WRITE }) {
        EXPECT_EQ(bad.ask(command, Bytes(3)).error, EINVAL) << command;
    }
    bad.send(Client::head(INFO, 16, 1));
    EXPECT_EQ(bad.receive().error, EINVAL);
    EXPECT_TRUE(bad.is_served());
}

/* In the head, or behind it */
TEST_F(Message, that_stops_in_the_middle_stops_nobody)
{
    Client slow(server.path(0));
    Bytes bytes = Client::head(REGION_INFO, 16 + 32);

    bytes.resize(16 + 32);
    for (unsigned sent : { 7, 16 + 20 }) {
        slow.send(Bytes(bytes.begin(), bytes.begin() + sent));
        usleep(100000);
        EXPECT_TRUE(other.is_served());
        slow.send(Bytes(bytes.begin() + sent, bytes.end()));
        EXPECT_EQ(slow.receive().error, 0);
    }
}

TEST_F(Message, who_reads_nothing_stops_nobody)
{
    Client deaf(server.path(0));
    Bytes bytes = Client::head(INFO, 16);
    unsigned idle = 0, asked = 0, i;

    for (i = 0; (i < 100000) && (idle < 20); ++i) {
        if (deaf.send(bytes, {}, false) == bytes.size()) {
            idle = 0;
            ++asked;
        } else {
            ++idle; /* the way there is full, as nobody takes more */
            usleep(10000);
        }
    }
    EXPECT_EQ(idle, 20u);
    EXPECT_TRUE(other.is_served());
    for (unsigned n = 0; n < asked; ++n) {
        ASSERT_EQ(deaf.receive().error, 0) << n;
    }
}

TEST_F(Message, who_leaves_before_the_answer_ends_nobody)
{
    for (unsigned i = 0; i < 20; ++i) {
        Client gone(server.path(0));
        Bytes bytes;
        for (unsigned n = 0; n < 50; ++n) {
            Bytes one = Client::head(INFO, 16);
            bytes.insert(bytes.end(), one.begin(), one.end());
        }
        gone.send(bytes);
    }
}

TEST_F(Message, fds_of_refused_messages_are_closed)
{
    Client bad(server.path(0));
    int file = memory_file(4096);
    std::vector<int> two(2, file), many(20, file), most(200, file);
    Bytes map = Client::map_of(0x10000, 4096);

    EXPECT_EQ(bad.ask(INFO, Bytes(16), { file }).error, EINVAL);
    unsigned before = server.fds();
    for (unsigned i = 0; i < 50; ++i) {
        EXPECT_EQ(bad.ask(INFO, Bytes(16), { file }).error, EINVAL);
        EXPECT_EQ(bad.ask(REGION_INFO, Bytes(2), two).error, EINVAL);
        EXPECT_EQ(bad.ask(999, Bytes(2), { file }).error, EINVAL);
    }
    EXPECT_EQ(bad.ask(DMA_MAP, map, two).error, EINVAL); /* too many */
    EXPECT_EQ(bad.ask(DMA_MAP, map, many).error, EINVAL);
    EXPECT_EQ(bad.ask(SET_IRQS, map, most).error, EINVAL);
    EXPECT_TRUE(server.comes_to_fds(before));
    EXPECT_EQ(bad.ask(DMA_MAP, map, { file }).error, 0);
    close(file);
}

TEST_F(Message, access_beyond_a_region_is_refused)
{
    struct { uint32_t region; uint64_t offset; uint32_t count; } bad[] = {
        { CONFIG, 254, 4 },      { CONFIG, ~0ull, 4 },   { CONFIG, 0, 4097 },
        { BAR0, 0x4000, 4 },     { BAR0, ~0ull - 1, 4 }, { BAR4, 1 << 22, 4 },
        { 1, 0, 4 },             { 8, 0, 4 },            { ~0u, 0, 4 },
        { BAR0, 0, 0 },          { BAR0, 0, ~0u },       { BAR2, ~0ull, 8 },
    };
    Client client(server.path(0));

    for (const auto &one : bad) {
        EXPECT_EQ(client.access(READ, one.region, one.offset, one.count).error,
                  EINVAL) << one.region << " " << one.offset;
        EXPECT_EQ(client.access(WRITE, one.region, one.offset, one.count).error,
                  EINVAL) << one.region << " " << one.offset;
    }
    /* more bytes than came */
    EXPECT_EQ(client.access(WRITE, CONFIG, 0, 64).error, EINVAL);
    EXPECT_TRUE(client.is_served());
}

/* A file, and a socket of another user */
TEST(Path, that_is_not_ours_stays)
{
    struct sockaddr_un addr = {};
    char name[]             = "/tmp/gtest_efapci.XXXXXX";
    std::string out, text;
    struct stat file;

    close(mkstemp(name));
    std::ofstream(name) << "precious";
    EXPECT_EQ(Server::run({ std::string("efa1:") + name }, &out), 1);
    EXPECT_NE(out.find("no socket"), std::string::npos) << out;
    std::ifstream(name) >> text;
    EXPECT_EQ(text, "precious");
    unlink(name);

    if (geteuid() != 0) {
        GTEST_SKIP() << "needs root to make one";
    }
    int fd          = socket(AF_UNIX, SOCK_STREAM, 0);
    addr.sun_family = AF_UNIX;
    strcpy(addr.sun_path, name);
    ASSERT_EQ(bind(fd, (struct sockaddr*)&addr, sizeof(addr)), 0);
    ASSERT_EQ(chown(name, 4242, 4242), 0);
    EXPECT_EQ(Server::run({ std::string("efa1:") + name }, &out), 1);
    EXPECT_NE(out.find("no socket of this user"), std::string::npos) << out;
    EXPECT_EQ(stat(name, &file), 0);
    unlink(name);
    close(fd);
}

} /* namespace */
