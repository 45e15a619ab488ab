/* SPDX-License-Identifier: BSD-3-Clause */
/* A started efapci, a client of vfio-user that sends what it likes, and a guest: its
 * memory, an admin queue, and the commands of a driver that may be any. The protocol
 * is written down here once more: the program's own headers are not used. */
#ifndef PCI_CLIENT_H_
#define PCI_CLIENT_H_

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pci {

using Bytes = std::vector<uint8_t>;

enum Command : uint16_t {
    VERSION     = 1,
    DMA_MAP     = 2,
    DMA_UNMAP   = 3,
    INFO        = 4,
    REGION_INFO = 5,
    IRQ_INFO    = 7,
    SET_IRQS    = 8,
    READ        = 9,
    WRITE       = 10,
    RESET       = 13,
};

enum { BAR0 = 0, BAR2 = 2, BAR4 = 4, CONFIG = 7, MSIX = 2 };

/* Puts and gets of little-endian fields. */
template<typename T> void put(Bytes &bytes, size_t at, T value)
{
    if (bytes.size() < at + sizeof(value)) {
        bytes.resize(at + sizeof(value));
    }
    memcpy(&bytes[at], &value, sizeof(value));
}

template<typename T> T get(const Bytes &bytes, size_t at)
{
    T value = 0;
    if (bytes.size() >= at + sizeof(value)) {
        memcpy(&value, &bytes[at], sizeof(value));
    }
    return value;
}

/* Seconds of the monotonic clock. */
double now();

class Server {
public:
    /* Its output goes into its log, or to the descriptor `out`. */
    explicit Server(unsigned functions = 2,
                    const std::vector<std::string> &options = {},
                    int out = -1);
    ~Server();
    Server(const Server&) = delete;
    Server &operator=(const Server&) = delete;

    std::string path(unsigned function) const;
    bool is_alive();
    void stop(bool stopped);     /* it stands still, or goes on */
    unsigned fds() const;        /* descriptors that it has open */
    /* Whether it comes to have no more than that: it closes some later. */
    bool comes_to_fds(unsigned most) const;
    std::string log() const;     /* its standard error */
    /* Run efapci to its end: the exit status. */
    static int run(const std::vector<std::string> &args, std::string *out);

private:
    std::string m_dir;
    pid_t       m_pid;
};

struct Reply {
    enum { CLOSED = -1, SILENT = -2 };
    int              error; /* errno that was answered, or one of these */
    Bytes            body;
    std::vector<int> fds;   /* the caller's */
};

class Client {
public:
    explicit Client(const std::string &path);
    ~Client();
    Client(const Client&) = delete;
    Client &operator=(const Client&) = delete;

    static Bytes head(uint16_t command, uint32_t size, uint32_t flags = 0);
    /* All of it, or with `can_wait` false as much as goes: bytes that went. */
    size_t send(const Bytes &bytes, const std::vector<int> &fds = {},
                bool can_wait = true);
    /* The next, or SILENT when none comes within so long. */
    Reply receive(double seconds = 20);
    Reply ask(uint16_t command, const Bytes &body,
              const std::vector<int> &fds = {});

    static Bytes map_of(uint64_t iova, uint64_t size, uint64_t offset = 0,
                        uint32_t flags = 3);
    Reply map(uint64_t iova, uint64_t size, int fd, uint64_t offset = 0,
              uint32_t flags = 3);
    Reply unmap(uint64_t iova, uint64_t size);
    Reply access(uint16_t command, uint32_t region, uint64_t offset,
                 uint32_t count, uint32_t value = 0);
    void write(uint32_t region, uint64_t offset, uint32_t value);
    uint32_t read(uint32_t region, uint64_t offset);
    bool is_served(); /* whether it is answered as ever */

private:
    int m_fd;
};

class Guest : public Client {
public:
    enum : uint64_t { BASE = 0x100000, SIZE = 4 << 20 };
    enum { /* offsets in the memory */
        AQ   = 0,
        ACQ  = 0x40000,
        FREE = 0x80000,
    };
    enum { DEPTH = 64 };
    enum Op : uint8_t {
        CREATE_QP = 1, MODIFY_QP = 2, REG_MR = 7, CREATE_CQ = 9,
        DESTROY_CQ = 10,
        ALLOC_PD = 14, ALLOC_UAR = 16,
    };

    /* `size` bytes of memory at BASE, of this file or a new one; a vector for
     * the admin's interrupt. */
    explicit Guest(const std::string &path, uint64_t size = SIZE,
                   int file = -1);
    ~Guest();

    void set_up(); /* the admin queue, as after a reset */
    /* Write a command into the queue, and ring for all that were written. */
    void write_command(uint8_t op, uint8_t flags, const Bytes &fields);
    void ring();
    /* The answer to the next command: its 64 bytes; empty: none came. */
    Bytes answer(double seconds = 10);
    /* One command: its status, and the answer's fields. */
    int command(uint8_t op, const Bytes &fields, Bytes *result = nullptr,
                uint8_t flags = 0);
    /* A registration of this many pages, whose list is a ring of chunks that
     * all name the memory's page `page`. */
    Bytes endless_list(uint64_t pages, uint64_t page);
    /* A queue pair that can send. */
    void make_qp();
    void to_rts();
    bool interrupted(double seconds);

    uint8_t *memory;
    int      memory_fd, irq;
    uint32_t handle, send_db, llq;

private:
    uint64_t m_size;
    uint32_t m_written, m_answered;
};

/* A machine that means harm has function 0; one on function 1 is served as ever
 * at the end. */
class Beside : public testing::Test {
protected:
    Server server;
    Guest other{ server.path(1) };

    void TearDown() override
    {
        EXPECT_TRUE(server.is_alive());
        EXPECT_TRUE(other.is_served());
        EXPECT_EQ(other.command(Guest::ALLOC_PD, Bytes(60)), 0);
    }
};

/* A file of memory. */
int memory_file(uint64_t size);

} /* namespace pci */

#endif
