/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a machine gives the function, and that the function gives it. */
#include "client.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace pci;

namespace {

enum { STATUS = 0x58, CONTROL = 0x54, FATAL = 0x20 };

class Memory : public Beside {};

static bool is_broken(Guest &guest)
{
    for (unsigned i = 0; (i < 100) && !(guest.read(BAR0, STATUS) & FATAL);
         ++i) {
        usleep(10000);
    }
    return guest.read(BAR0, STATUS) & FATAL;
}

/* Whether a command breaks the device. */
static bool breaks(Guest &guest)
{
    guest.write(BAR0, 0x2c, 2);
    return is_broken(guest);
}

TEST_F(Memory, descriptors_of_no_memory_are_refused)
{
    Client client(server.path(0));
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    int zero   = open("/dev/zero", O_RDWR);
    int folder = open("/dev/shm", O_RDONLY | O_DIRECTORY);
    int proc   = open("/proc/self/status", O_RDONLY);
    int exe    = open("/proc/self/exe", O_RDONLY);
    struct statfs system;

    for (int fd : { pipes[0], zero, folder, proc }) {
        EXPECT_EQ(client.map(0x10000, 4096, fd, 0, 1).error, EINVAL);
    }
    ASSERT_EQ(fstatfs(exe, &system), 0);
    if (system.f_type != 0x01021994) { /* tmpfs */
        EXPECT_EQ(client.map(0x10000, 4096, exe, 0, 1).error, EINVAL);
    }
    for (int fd : { pipes[0], pipes[1], zero, folder, proc, exe }) {
        close(fd);
    }
}

TEST_F(Memory, ranges_that_are_none_are_refused)
{
    Client client(server.path(0));
    int fd = memory_file(0x10000);
    const struct {
        uint64_t iova, size, offset;
        uint32_t flags;
        int want;
    } cases[] = {
        { 0x10000, 0x20000, 0, 3, EINVAL }, /* too long */
        { 0x10000, 0x10000, 4096, 3, EINVAL },
        { 0x10000, 4096, ~0xfffull, 3, EINVAL },
        { ~0xfffull, 0x2000, 0, 3, EINVAL },
        { 0x10000, 0, 0, 3, EINVAL },
        { 0x10001, 4096, 0, 3, EINVAL },
        { 0x10000, ~0xfffull, 0, 3, EINVAL },
        { 0x10000, 4096, 0, 0xffff, EINVAL },
        { 0x10000, 0x2000, 0, 3, 0 },
        { 0x11000, 0x2000, 0, 3, EINVAL }, /* overlaps */
    };

    for (auto &one : cases) {
        EXPECT_EQ(client.map(one.iova, one.size, fd, one.offset,
                             one.flags).error, one.want) << one.size;
    }
    EXPECT_EQ(client.unmap(0x10000, 0x2000).error, 0);

    EXPECT_EQ(client.map(0x10000, 0x10000, fd).error, 0); /* parts of one */
    for (auto &part : { cases[4], cases[6] }) {
        EXPECT_EQ(client.unmap(part.iova, part.size).error, EINVAL);
    }
    for (uint64_t at : { 0x10000, 0x18000 }) {
        EXPECT_EQ(client.unmap(at, 0x1000).error, EINVAL);
    }
    EXPECT_EQ(client.unmap(0x1f000, 0x100000).error, EINVAL);
    EXPECT_EQ(client.map(0x10000, 0x1000, fd).error, EINVAL); /* still there */
    EXPECT_EQ(client.unmap(0, 0x100000).error, 0);
    EXPECT_EQ(client.map(0x10000, 0x1000, fd).error, 0);
    close(fd);
}

TEST_F(Memory, number_of_maps_is_what_is_advertised)
{
    Client client(server.path(0));
    int fd      = memory_file(4096);
    Reply reply = client.ask(VERSION, Bytes(4));
    std::string text(reply.body.begin() + 4, reply.body.end());
    size_t at     = text.find("\"max_dma_maps\":");
    ASSERT_NE(at, std::string::npos) << text;
    unsigned most = atoi(text.c_str() + at + 15);

    EXPECT_EQ(most, 256u);
    for (unsigned i = 0; i < most; ++i) {
        ASSERT_EQ(client.map(0x2000ull * (i + 1), 4096, fd).error, 0) << i;
    }
    EXPECT_EQ(client.map(0x2000ull * (most + 1), 4096, fd).error, ENOSPC);
    EXPECT_EQ(client.unmap(0x2000, 4096).error, 0);
    EXPECT_EQ(client.map(0x2000ull * (most + 1), 4096, fd).error, 0);
    close(fd);
}

/* Those, too, that are unmapped, and that a queue keeps */
TEST_F(Memory, bytes_of_all_maps_are_bounded)
{
    Guest guest(server.path(0));
    int fd = memory_file(2ull << 40);
    const uint64_t rest = (1ull << 39) - Guest::SIZE;
    Bytes queue(60), number;

    EXPECT_EQ(guest.map(1ull << 40, 2ull << 40, fd).error, ENOSPC);
    ASSERT_EQ(guest.map(1ull << 40, 1ull << 39, fd).error, 0);
    EXPECT_EQ(guest.map(1ull << 42, rest, fd).error, 0);
    EXPECT_EQ(guest.map(1ull << 43, 4096, fd).error, ENOSPC);
    EXPECT_EQ(guest.unmap(1ull << 42, rest).error, 0);
    ASSERT_EQ(guest.command(Guest::ALLOC_UAR, Bytes(60)), 0);
    put<uint8_t>(queue, 1, 8);
    put<uint16_t>(queue, 2, 64);
    put<uint32_t>(queue, 12, 1 << 8); /* at 2^40 */
    put<uint16_t>(queue, 20, 1);
    ASSERT_EQ(guest.command(Guest::CREATE_CQ, queue, &number), 0);
    EXPECT_EQ(guest.unmap(1ull << 40, 1ull << 39).error, 0);
    EXPECT_EQ(guest.map(1ull << 40, 1ull << 39, fd).error, ENOSPC);
    EXPECT_EQ(guest.command(Guest::DESTROY_CQ, Bytes(60)), 0);
    EXPECT_EQ(guest.map(1ull << 40, 1ull << 39, fd).error, 0);
    close(fd);
}

TEST_F(Memory, truncated_file_breaks_that_device_alone)
{
    Guest guest(server.path(0));

    EXPECT_EQ(guest.command(Guest::ALLOC_PD, Bytes(60)), 0);
    ASSERT_EQ(ftruncate(guest.memory_fd, 0), 0);
    EXPECT_TRUE(breaks(guest)); /* a command that is gone */
    EXPECT_NE(server.log().find("memory is gone"), std::string::npos);
}

TEST_F(Memory, truncated_completion_queue_ends_nobody)
{
    Guest guest(server.path(0));

    guest.make_qp();
    guest.to_rts();
    ASSERT_EQ(ftruncate(guest.memory_fd, 0), 0);
    guest.write(BAR4, guest.send_db, 1); /* is malformed: it completes there */
    EXPECT_TRUE(is_broken(guest));
}

/* Huge pages of 2 MB, or -1: the machine has none. */
static int huge_file(uint64_t size)
{
    int fd   = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
    void *at = ((fd < 0) || (ftruncate(fd, size) != 0)) ? MAP_FAILED :
               mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED) {
        close(fd);
        return -1;
    }
    munmap(at, size); /* the file keeps them */
    return fd;
}

class HugeMemory : public Memory {
protected:
    void SetUp() override
    {
        file = huge_file(Guest::SIZE);
        if (file < 0) {
            GTEST_SKIP() << "no huge pages are free";
        }
    }

    int file = -1;
};

TEST_F(HugeMemory, has_queues_and_registrations)
{
    Guest guest(server.path(0), Guest::SIZE, file);
    Bytes fields(60);

    guest.make_qp();
    guest.to_rts();
    for (uint8_t shift : { 12, 21 }) { /* as small pages, and as huge ones */
        put<uint64_t>(fields, 4, 2 << 20);
        put<uint64_t>(fields, 36, 1 << shift);
        put<uint8_t>(fields, 44, shift);
        put<uint8_t>(fields, 45, 1);
        EXPECT_EQ(guest.command(Guest::REG_MR, fields), 0) << shift;
    }
    guest.write(BAR4, guest.send_db, 1); /* is malformed: it completes there */
    for (unsigned i = 0; (i < 500) && (guest.memory[Guest::FREE + 3] == 0);
         ++i) {
        usleep(10000);
    }
    EXPECT_EQ(guest.memory[Guest::FREE + 2], 2); /* status of the completion */
}

TEST_F(HugeMemory, parts_of_pages_are_mapped)
{
    Client client(server.path(0));

    for (uint64_t at : { 0x0ull, 0x1000ull, 0x1ff000ull, 0x201000ull }) {
        EXPECT_EQ(client.map(0x1000000 + 2 * at, 0x2000, file, at).error, 0);
    }
    EXPECT_EQ(client.map(0x10000000, 0x2000, file, Guest::SIZE - 0x1000).error,
              EINVAL);
    for (uint64_t at : { 0x0ull, 0x1000ull, 0x1ff000ull, 0x201000ull }) {
        EXPECT_EQ(client.unmap(0x1000000 + 2 * at, 0x2000).error, 0);
    }
    close(file);
}

TEST_F(HugeMemory, truncated_file_breaks_that_device_alone)
{
    Guest guest(server.path(0), Guest::SIZE, file);

    EXPECT_EQ(guest.command(Guest::ALLOC_PD, Bytes(60)), 0);
    ASSERT_EQ(ftruncate(file, 0), 0);
    EXPECT_TRUE(breaks(guest));
}

/* BAR 2's file, which the machine maps. */
static int bar2(Client &client)
{
    Bytes body(32);
    put<uint32_t>(body, 8, BAR2);
    Reply reply = client.ask(REGION_INFO, body);
    EXPECT_EQ(reply.error, 0);
    EXPECT_EQ(reply.fds.size(), 1u);
    return reply.fds.empty() ? -1 : reply.fds[0];
}

/* The file cannot be cut, messages write it, too, and a reset leaves zeros. */
TEST_F(Memory, send_queues)
{
    Guest guest(server.path(0));
    int fd       = bar2(guest);
    int must     = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    char *queues = (char*)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                               MAP_SHARED, fd, 0);

    ASSERT_NE(queues, MAP_FAILED);
    EXPECT_EQ(fcntl(fd, F_GET_SEALS) & must, must);
    EXPECT_NE(ftruncate(fd, 0), 0);
    EXPECT_NE(ftruncate(fd, 1ll << 40), 0);
    guest.write(BAR2, 0x50000, 0x7465);
    EXPECT_STREQ(queues + 0x50000, "et");
    EXPECT_EQ(guest.read(BAR2, 0x50000), 0x7465u);
    guest.write(BAR0, CONTROL, 1);
    EXPECT_STREQ(queues + 0x50000, "");
    strcpy(queues + 0x50000, "secret");
    EXPECT_EQ(guest.ask(RESET, {}).error, 0);
    EXPECT_STREQ(queues + 0x50000, "");
    munmap(queues, 1 << 20);
    close(fd);
}

TEST_F(Memory, next_machine_has_other_send_queues)
{
    struct stat first, second;
    int kept, fd;
    char got = 1;

    {
        Client client(server.path(0));
        kept = bar2(client);
    }
    usleep(100000);
    ASSERT_EQ(pwrite(kept, "x", 1, 0), 1); /* the one before goes on */
    Client client(server.path(0));
    fd = bar2(client);
    ASSERT_EQ(fstat(kept, &first), 0);
    ASSERT_EQ(fstat(fd, &second), 0);
    EXPECT_NE(first.st_ino, second.st_ino);
    EXPECT_EQ(pread(fd, &got, 1, 0), 1);
    EXPECT_EQ(got, 0);
    close(kept);
    close(fd);
}

} /* namespace */
