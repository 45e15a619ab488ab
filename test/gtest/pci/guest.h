/* SPDX-License-Identifier: BSD-3-Clause */
/* A guest: memory, an admin queue, and the commands of a driver that may be any. */
#ifndef PCI_GUEST_H_
#define PCI_GUEST_H_

#include "client.h"

#include <gtest/gtest.h>

namespace pci {

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

} /* namespace pci */

#endif
