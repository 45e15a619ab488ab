/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile guest: its accesses to registers and doorbells, what it writes into
 * its memory (admin commands, receive descriptors, page lists) and into the send
 * queues. The functions (two, which reach each other) must stay within the
 * guest's memory, which ASan watches at its ends, and go on.
 *
 * Input: steps of an opcode and what it takes. A quarter of the commands is sent
 * as it is; of the others the fields are those of objects that exist, so that
 * input gets further than the first check.
 */
#include "fuzz.h"

extern "C" {
#include "fuzz_pci.h"
}

using fuzz::Input;

namespace {

constexpr unsigned FUNCS = 2;

class Guest {
public:
    Guest() { fuzz_pci_open(); }
    ~Guest() { fuzz_pci_close(); }

    void step(Input &in)
    {
        unsigned func = in.byte() % FUNCS;

        switch (in.byte() % 8) {
        case 0:
            fuzz_pci_register(func, in.byte() * 4, word(in));
            break;
        case 1:
            fuzz_pci_doorbell(func, in.byte() % 4, in.byte() * 8 + in.byte() % 8,
                              small(in));
            break;
        case 2:
            poke(func, in, 0);
            break;
        case 3:
            poke(func, in, 1);
            break;
        case 4:
            fuzz_pci_unmap(func, in.byte());
            break;
        default:
            command(func, in);
            break;
        }
    }

private:
    static uint32_t word(Input &in)
    {
        uint32_t value = 0;
        for (unsigned i = 0; i < 4; ++i) {
            value |= uint32_t(in.byte()) << (8 * i);
        }
        return value;
    }

    static uint32_t small(Input &in)
    {
        uint32_t value = word(in);
        return (value & 0x80000000u) ? value : value % 64;
    }

    static void poke(unsigned func, Input &in, int llq)
    {
        unsigned at       = in.byte() * 64;
        fuzz::Bytes bytes = in.bytes(64);
        fuzz_pci_poke(func, llq, at, bytes.data(), bytes.size());
    }

    static void command(unsigned func, Input &in)
    {
        uint8_t op        = in.byte();
        fuzz::Bytes bytes = in.bytes(60);
        bytes.resize(60);
        fuzz_pci_command(func, op, bytes.data());
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input in(data, size);
    Guest guest;

    while (!in.empty()) {
        guest.step(in);
    }
    return 0;
}
