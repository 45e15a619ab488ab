/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_pci.h"

#include "efasim/pci/admin.h"
#include "efasim/pci/bars.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    GUEST_BYTES = 1 << 18,
    GUEST_BASE  = 0x100000, /* guest address */
    GUEST_AQ    = 0x100,    /* offsets in it: queues of 32 entries */
    GUEST_ACQ   = 0x1000,
    GUEST_AENQ  = 0x2000,
    GUEST_MMIO  = 0x3000,
    GUEST_FREE  = 0x4000,   /* from here on: rings, lists, buffers */
};

static struct pci_world guest_world;
static struct pci_func *guest_func[2];
static int guest_fd[2];
static uint8_t *guest_memory[2];
static uint32_t guest_count[2]; /* commands ever */

static void guest_setup(unsigned n)
{
    struct pci_func *func = guest_func[n];

    pci_bars_write(func, PCI_REG_MMIO_RESP_LO, GUEST_BASE + GUEST_MMIO);
    pci_bars_write(func, PCI_REG_AQ_BASE_LO, GUEST_BASE + GUEST_AQ);
    pci_bars_write(func, PCI_REG_AQ_CAPS, 32 | 64 << 16);
    pci_bars_write(func, PCI_REG_ACQ_BASE_LO, GUEST_BASE + GUEST_ACQ);
    pci_bars_write(func, PCI_REG_ACQ_CAPS, 32 | 64 << 16);
    pci_bars_write(func, PCI_REG_AENQ_BASE_LO, GUEST_BASE + GUEST_AENQ);
    pci_bars_write(func, PCI_REG_AENQ_CAPS, 16 | 64 << 16);
    guest_count[n] = 0;
}

static void guest_make(unsigned n)
{
    struct sim_knobs knobs;

    sim_knobs_init(&knobs);
    knobs.device    = n + 3; /* efa2, efa3 */
    guest_fd[n]     = memfd_create("fuzz", MFD_CLOEXEC);
    guest_func[n]   = calloc(1, sizeof(*guest_func[n]));
    guest_memory[n] = (ftruncate(guest_fd[n], GUEST_BYTES) == 0) ?
                      mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE,
                           MAP_SHARED, guest_fd[n], 0) : MAP_FAILED;
    if ((guest_func[n] == NULL) || (guest_memory[n] == MAP_FAILED) ||
        (pci_func_open(guest_func[n], &guest_world, n, &knobs, NULL) != 0)) {
        abort();
    }
}

/* The functions are made once, and reset for each input: that is faster. */
void fuzz_pci_open(void)
{
    unsigned n;

    if ((guest_world.dir == NULL) && (pci_world_open(&guest_world) != 0)) {
        abort();
    }
    for (n = 0; n < 2; ++n) {
        if (guest_func[n] == NULL) {
            guest_make(n);
        }
        memset(guest_memory[n], 0, GUEST_BYTES);
        if (pci_guest_map(&guest_func[n]->guest, GUEST_BASE, GUEST_BYTES,
                          guest_fd[n], 0, 1) != 0) {
            abort();
        }
        guest_setup(n);
    }
    for (n = 0; n < 2; ++n) {
        /* a UAR, a PD, a completion queue and a queue pair to begin with */
        fuzz_pci_command(n, PCI_OP_ALLOC_UAR, (const uint8_t[60]){ 0 });
        fuzz_pci_command(n, PCI_OP_ALLOC_PD, (const uint8_t[60]){ 0 });
        fuzz_pci_command(n, 0x80 | PCI_OP_CREATE_CQ,
                         (const uint8_t[60]){ 0 });
        fuzz_pci_command(n, 0x80 | PCI_OP_CREATE_QP,
                         (const uint8_t[60]){ 0 });
    }
}

/* All that an input made must be freed here. */
void fuzz_pci_close(void)
{
    unsigned n;

    for (n = 0; n < 2; ++n) {
        pci_func_reset(guest_func[n]);
        pci_guest_clear(&guest_func[n]->guest);
        memset(guest_func[n]->llq, 0, 1 << 16);
    }
}

static void guest_progress(void)
{
    unsigned round;

    for (round = 0; round < 4; ++round) {
        pci_func_progress(guest_func[0]);
        pci_func_progress(guest_func[1]);
    }
}

void fuzz_pci_register(unsigned func, uint32_t offset, uint32_t value)
{
    pci_bars_write(guest_func[func], offset, value);
    (void)pci_bars_read(guest_func[func], offset);
    guest_progress();
    if (offset == PCI_REG_DEV_CTL) {
        guest_setup(func);
    }
}

void fuzz_pci_doorbell(unsigned func, unsigned uar, unsigned word,
                       uint32_t value)
{
    pci_bars_doorbell(guest_func[func], uar * PCI_PAGE + word * 4, value);
    guest_progress();
}

void fuzz_pci_poke(unsigned func, int llq, unsigned at, const uint8_t *bytes,
                   size_t length)
{
    uint8_t *to = llq ? guest_func[func]->llq :
                        guest_memory[func] + GUEST_FREE;

    if (length > 0) {
        memcpy(to + at, bytes, length);
    }
    guest_progress();
}

void fuzz_pci_unmap(unsigned func, unsigned page)
{
    struct pci_guest *guest = &guest_func[func]->guest;

    if (guest->num > 0) {
        pci_guest_unmap(guest, GUEST_BASE, GUEST_BYTES);
        guest_progress();
    } else {
        pci_guest_map(guest, GUEST_BASE + (uint64_t)(page % 2) * 4096,
                      GUEST_BYTES - 4096, guest_fd[func], 0, page % 3);
    }
}

/* Make the command's fields such that the first checks pass. */
static void guest_sound(struct pci_admin_cmd *cmd)
{
    switch (cmd->head.op) {
    case PCI_OP_CREATE_QP:
        cmd->create_qp.pd       = 0;
        cmd->create_qp.type     = 1 + (cmd->create_qp.type != 1);
        cmd->create_qp.flags   &= 4;
        cmd->create_qp.rq_base  = GUEST_BASE + GUEST_FREE + 0x1000;
        cmd->create_qp.send_cq %= 4;
        cmd->create_qp.recv_cq %= 4;
        cmd->create_qp.sq_bytes = 16 * 64;
        cmd->create_qp.sq_depth = 1 + cmd->create_qp.sq_depth % 16;
        cmd->create_qp.rq_bytes = 16 * 16;
        cmd->create_qp.uar      = 0;
        break;
    case PCI_OP_MODIFY_QP:
        cmd->modify_qp.handle %= 4;
        cmd->modify_qp.state  %= 8;
        cmd->modify_qp.mask   &= ~(uint32_t)PCI_QPM_CUR_STATE;
        break;
    case PCI_OP_REG_MR:
        cmd->reg_mr.pd      = 0;
        cmd->reg_mr.length %= 3 * 4096;
        cmd->reg_mr.flags   = 12;
        cmd->reg_mr.access &= 7;
        if (cmd->head.flags & PCI_ADMIN_DATA) {
            cmd->reg_mr.list.addr_lo = GUEST_BASE + GUEST_FREE;
            cmd->reg_mr.list.addr_hi = 0;
        } else {
            cmd->reg_mr.page[0] = GUEST_BASE + 0x8000;
            cmd->reg_mr.page[1] = GUEST_BASE + GUEST_BYTES - 4096;
        }
        break;
    case PCI_OP_CREATE_CQ:
        cmd->create_cq.caps1   &= 0x20;
        cmd->create_cq.caps2    = 8;
        cmd->create_cq.depth    = 16;
        cmd->create_cq.eq      %= 4;
        cmd->create_cq.base_lo  = GUEST_BASE + GUEST_FREE + 0x2000;
        cmd->create_cq.base_hi  = 0;
        cmd->create_cq.subs     = 1;
        cmd->create_cq.uar      = 0;
        break;
    case PCI_OP_CREATE_EQ:
        cmd->create_eq.depth   = 16;
        cmd->create_eq.vector %= PCI_VECTORS;
        cmd->create_eq.caps    = 4;
        cmd->create_eq.base_lo = GUEST_BASE + GUEST_FREE + 0x3000;
        cmd->create_eq.base_hi = 0;
        break;
    case PCI_OP_CREATE_AH:
        cmd->create_ah.pd = 0;
        dir_gid(guest_world.dir, dir_nic_of(cmd->create_ah.gid[0] % 2, 0),
                cmd->create_ah.gid);
        break;
    default:
        cmd->handle.handle %= 8;
        break;
    }
}

void fuzz_pci_command(unsigned func, uint8_t op, const uint8_t *bytes)
{
    struct pci_admin_cmd cmd = { .head = { .op = op & 0x1f } };
    uint32_t at              = guest_count[func] % 32;

    memcpy(cmd.bytes, bytes, sizeof(cmd.bytes));
    cmd.head.flags = (op >> 5) & (PCI_ADMIN_DATA | PCI_ADMIN_INDIRECT);
    if (op & 0x80) {
        guest_sound(&cmd);
    }
    cmd.head.id     = (uint16_t)guest_count[func];
    cmd.head.flags |= !(guest_count[func] & 32);
    memcpy(guest_memory[func] + GUEST_AQ + at * sizeof(cmd), &cmd,
           sizeof(cmd));
    ++guest_count[func];
    pci_bars_write(guest_func[func], PCI_REG_AQ_PROD, guest_count[func]);
    guest_progress();
}
