/* SPDX-License-Identifier: BSD-3-Clause */
#include "guest.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace pci {

enum { /* registers of BAR 0 */
    AQ_BASE = 0x10, AQ_CAPS = 0x18, ACQ_BASE = 0x20, ACQ_CAPS = 0x28,
    AQ_PROD = 0x2c,
};

Guest::Guest(const std::string &path, uint64_t size, int file)
    : Client(path), memory(nullptr),
      memory_fd((file < 0) ? memory_file(size) : file),
      irq(eventfd(0, EFD_CLOEXEC)), handle(0), send_db(0), llq(0),
      m_size(size), m_written(0), m_answered(0)
{
    Bytes version(4), irqs(20);

    memory = (uint8_t*)mmap(nullptr, m_size, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, memory_fd, 0);
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(ask(VERSION, version).error, 0);
    EXPECT_EQ(map(BASE, m_size, memory_fd).error, 0);
    put<uint32_t>(irqs, 0, 20);
    put<uint32_t>(irqs, 4, (1 << 2) | (1 << 5)); /* eventfd, trigger */
    put<uint32_t>(irqs, 8, MSIX);
    put<uint32_t>(irqs, 16, 1);
    EXPECT_EQ(ask(SET_IRQS, irqs, { irq }).error, 0);
    set_up();
}

Guest::~Guest()
{
    munmap(memory, m_size);
    close(memory_fd);
    close(irq);
}

void Guest::set_up()
{
    write(BAR0, AQ_BASE, BASE + AQ);
    write(BAR0, AQ_BASE + 4, 0);
    write(BAR0, AQ_CAPS, DEPTH | 64 << 16);
    write(BAR0, ACQ_BASE, BASE + ACQ);
    write(BAR0, ACQ_BASE + 4, 0);
    write(BAR0, ACQ_CAPS, DEPTH | 64 << 16);
    m_written = m_answered = 0;
}

void Guest::write_command(uint8_t op, uint8_t flags, const Bytes &fields)
{
    uint8_t *at = memory + AQ + (m_written % DEPTH) * 64;

    memset(at, 0, 64);
    at[0] = m_written & 0xff;
    at[2] = op;
    at[3] = flags | !(m_written & DEPTH);
    memcpy(at + 4, fields.data(), fields.size());
    ++m_written;
}

void Guest::ring()
{
    write(BAR0, AQ_PROD, m_written);
}

Bytes Guest::answer(double seconds)
{
    const volatile uint8_t *at = memory + ACQ + (m_answered % DEPTH) * 64;
    uint8_t phase              = !(m_answered & DEPTH);
    double end                 = now() + seconds;

    while ((at[3] & 1) != phase) {
        if (now() > end) {
            return {};
        }
        usleep(100);
    }
    ++m_answered;
    return Bytes(at, at + 64);
}

int Guest::command(uint8_t op, const Bytes &fields, Bytes *result,
                   uint8_t flags)
{
    write_command(op, flags, fields);
    ring();
    Bytes bytes = answer();
    if (bytes.empty()) {
        return -1;
    }
    if (result != nullptr) {
        result->assign(bytes.begin() + 8, bytes.end());
    }
    return bytes[2];
}

Bytes Guest::endless_list(uint64_t pages, uint64_t page)
{
    Bytes fields(60);
    uint64_t *list  = (uint64_t*)(memory + FREE);
    uint64_t *chunk = (uint64_t*)(memory + FREE + 4096);
    uint32_t *next  = (uint32_t*)((uint8_t*)chunk + 4080);
    uint32_t where  = BASE + FREE + 4096;
    unsigned i;

    for (i = 0; i < 512; ++i) {
        list[i] = page;
    }
    for (i = 0; i < 510; ++i) {
        chunk[i] = BASE + FREE;
    }
    next[0] = 4092;
    next[1] = where;
    next[2] = 0;
    put<uint32_t>(fields, 4, 4092);
    put<uint32_t>(fields, 8, where);
    put<uint64_t>(fields, 36, pages * 4096);
    put<uint8_t>(fields, 44, 12);
    put<uint8_t>(fields, 45, 1);
    return fields;
}

void Guest::make_qp()
{
    Bytes fields(60), result;

    EXPECT_EQ(command(ALLOC_PD, Bytes(60)), 0);
    EXPECT_EQ(command(ALLOC_UAR, Bytes(60)), 0);
    put<uint8_t>(fields, 1, 8);
    put<uint16_t>(fields, 2, 64);
    put<uint32_t>(fields, 8, BASE + FREE);
    put<uint16_t>(fields, 20, 1);
    EXPECT_EQ(command(CREATE_CQ, fields), 0);
    fields.assign(60, 0);
    put<uint8_t>(fields, 2, 2);
    put<uint32_t>(fields, 36, 16 * 64);
    put<uint32_t>(fields, 40, 16);
    EXPECT_EQ(command(CREATE_QP, fields, &result), 0);
    handle  = get<uint32_t>(result, 0);
    send_db = get<uint32_t>(result, 12);
    llq     = get<uint32_t>(result, 20);
}

void Guest::to_rts()
{
    for (uint32_t state = 0; state <= 3; ++state) {
        Bytes fields(60);
        put<uint32_t>(fields, 0, 1);
        put<uint32_t>(fields, 4, handle);
        put<uint32_t>(fields, 8, state);
        EXPECT_EQ(command(MODIFY_QP, fields), 0);
    }
}

bool Guest::interrupted(double seconds)
{
    struct pollfd wait = { irq, POLLIN, 0 };
    uint64_t count     = 0;

    return (poll(&wait, 1, int(seconds * 1000)) == 1) &&
           (::read(irq, &count, sizeof(count)) == sizeof(count));
}

} /* namespace pci */
