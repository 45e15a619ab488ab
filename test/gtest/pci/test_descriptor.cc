/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that make a server wait who looks at them, or closes them. */
#include "client.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace pci;

namespace {

class Descriptor : public Beside {
protected:
    void TearDown() override
    {
        for (unsigned i = 0; i < 20; ++i) {
            EXPECT_TRUE(other.is_served());
            usleep(10000);
        }
        Beside::TearDown();
    }
};

/* Fill what writes without waiting. */
static void fill(int fd)
{
    char bytes[1024] = {};
    int flags        = fcntl(fd, F_GETFL);

    ASSERT_EQ(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
    while (write(fd, bytes, sizeof(bytes)) > 0) {
    }
    ASSERT_EQ(fcntl(fd, F_SETFL, flags), 0);
}

/* A TCP connection, whose bytes nobody takes: close() waits for that. */
static int lingering(int listener)
{
    struct sockaddr_in addr = {};
    struct linger linger    = { 1, 30 };
    socklen_t length        = sizeof(addr);
    int fd                  = socket(AF_INET, SOCK_STREAM, 0);

    EXPECT_EQ(getsockname(listener, (struct sockaddr*)&addr, &length), 0);
    EXPECT_EQ(connect(fd, (struct sockaddr*)&addr, length), 0);
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)),
              0);
    fill(fd);
    return fd;
}

static int listening()
{
    struct sockaddr_in addr = {};
    int small               = 4096;
    int fd                  = socket(AF_INET, SOCK_STREAM, 0);

    addr.sin_family      = AF_INET;
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    EXPECT_EQ(bind(fd, (struct sockaddr*)&addr, sizeof(addr)), 0);
    EXPECT_EQ(listen(fd, 100), 0);
    return fd;
}

TEST_F(Descriptor, sockets_that_linger_stop_nobody)
{
    Client bad(server.path(0));
    int listener = listening();
    std::vector<int> sockets;
    Bytes bytes = Client::head(INFO, 16);

    for (unsigned i = 0; i < 40; ++i) {
        sockets.push_back(lingering(listener));
    }
    server.stop(true);
    bad.send(bytes, sockets); /* 16 are taken, and refused; the rest is, too */
    for (int fd : sockets) {
        close(fd); /* the server's is the last */
    }
    server.stop(false);
    EXPECT_TRUE(other.is_served());
    close(listener);
}

/* A file whose file system, this program, answers no more once it is open. */
struct Deaf {
    Deaf()
    {
        char name[]  = "/tmp/gtest_efapci.XXXXXX";
        int file     = mkstemp(name);
        char data[64];

        close(file);
        device = open("/dev/fuse", O_RDWR);
        snprintf(data, sizeof(data), "fd=%d,rootmode=100644,user_id=0,group_id=0",
                 device);
        if ((device >= 0) &&
            (mount("deaf", name, "fuse", MS_NOSUID | MS_NODEV, data) == 0)) {
            std::thread server([this] { serve(); });
            fd = open(name, O_RDWR);
            server.join();
            umount2(name, MNT_DETACH);
        }
        unlink(name);
    }

    ~Deaf()
    {
        close(device); /* whoever waits has his answer */
        close(fd);
    }

    /* Until the file is open */
    void serve()
    {
        Bytes request(0x21000), answer;
        ssize_t length;
        uint32_t op = 0;

        while ((op != FUSE_OPEN) &&
               ((length = read(device, request.data(), request.size())) > 0)) {
            op = get<uint32_t>(request, 4);
            answer.assign(sizeof(struct fuse_out_header), 0);
            if (op == FUSE_INIT) {
                struct fuse_init_out out = {};
                out.major     = FUSE_KERNEL_VERSION;
                out.minor     = 31;
                out.max_write = 4096;
                put(answer, answer.size(), out);
            } else if (op == FUSE_OPEN) {
                struct fuse_open_out out = {};
                put(answer, answer.size(), out);
            } else {
                put<int32_t>(answer, 4, -ENOSYS);
            }
            put<uint32_t>(answer, 0, answer.size());
            put<uint64_t>(answer, 8, get<uint64_t>(request, 8));
            EXPECT_EQ(write(device, answer.data(), answer.size()),
                      (ssize_t)answer.size()) << op;
        }
    }

    int device = -1, fd = -1;
};

TEST_F(Descriptor, file_system_that_answers_no_more_stops_nobody)
{
    Client bad(server.path(0));
    Deaf deaf;

    if (deaf.fd < 0) {
        GTEST_SKIP() << "no file system of ours: root and /dev/fuse are needed";
    }
    EXPECT_EQ(bad.map(0x10000, 4096, deaf.fd).error, EINVAL);
    EXPECT_EQ(bad.ask(INFO, Bytes(16), { deaf.fd }).error, EINVAL);
    EXPECT_TRUE(other.is_served());
    unsigned before = server.fds(); /* who has many to be closed waits */
    for (unsigned i = 0; i < 100; ++i) {
        bad.send(Client::head(INFO, 16), std::vector<int>(16, deaf.fd), false);
    }
    EXPECT_LT(server.fds(), before + 100);
}

/* A pipe that is full stands for a log that nobody reads. */
TEST(Log, that_is_full_stops_nobody)
{
    int ends[2];

    ASSERT_EQ(pipe(ends), 0);
    fill(ends[1]);
    Server server(2, {}, ends[1]);
    Guest guest(server.path(0));
    Guest other(server.path(1));
    double took[2] = {};

    guest.make_qp();
    for (unsigned i = 0; i < 400; ++i) { /* the wild ones among others */
        bool wild    = i % 2;
        double start = now();
        guest.to_rts();
        guest.write(BAR4, guest.send_db, wild ? 0xffffffff : 0);
        ASSERT_TRUE(other.is_served());
        took[wild] += now() - start;
    }
    EXPECT_LT(took[1], 5 * took[0]) << "it waits for who reads the log";
    close(ends[0]);
    close(ends[1]);
}

} /* namespace */
