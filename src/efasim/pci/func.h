/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One PCI function: a device of the engine, and the queues and objects that the
 * kernel's driver has made on it. All input comes from a guest and is not
 * trusted.
 *
 * BAR 0: registers, interrupt table. BAR 2: send queues, in memory that the
 * guest maps. BAR 4: doorbells, one page per UAR (a process of the guest), with
 * the doorbells of the queues of that UAR only.
 */
#ifndef EFASIM_PCI_FUNC_H
#define EFASIM_PCI_FUNC_H

#include "efa_regs.h"
#include "guest.h"
#include "mr.h"
#include "world.h"

#include "efasim/engine/engine.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PCI_UARS       = 1024,
    PCI_EQS        = 64,
    PCI_EQ_DEPTH   = 1024,        /* entries of an event queue, at most */
    PCI_VECTORS    = PCI_EQS + 1, /* interrupts; the first is the admin's */
    PCI_ADMIN_MAX  = 4096,        /* depth of admin queue and AENQ, at most */
    PCI_PAGE       = 4096,

    PCI_BAR0_BYTES = 0x4000,
    PCI_BAR0_TABLE = 0x2000,      /* offset of the MSI-X table */
    PCI_BAR0_PBA   = 0x3000,      /* offset of its pending bits */
    PCI_LLQ_BYTES  = SIM_MAX_SQ_WR * IO_TX_WQE_SMALL, /* per send queue */
    PCI_BAR2_BYTES = SIM_MAX_QP * PCI_LLQ_BYTES,
    PCI_BAR4_BYTES = PCI_UARS * PCI_PAGE,

    /* offsets in a UAR's page of doorbells, 4 bytes for each queue */
    PCI_DB_SQ      = 0,
    PCI_DB_RQ      = PCI_DB_SQ + 4 * SIM_MAX_QP,
    PCI_DB_CQ      = PCI_DB_RQ + 4 * SIM_MAX_QP,
    PCI_DB_END     = PCI_DB_CQ + 4 * SIM_MAX_CQ,
};

_Static_assert(PCI_DB_END <= PCI_PAGE, "doorbells of a UAR");

/* The engine addresses a byte of a registration by the registration's number,
 * from bit PCI_MR_SHIFT on, and the offset below. */
#define PCI_MR_SHIFT  40
#define PCI_MR_OFFSET ((1ull << PCI_MR_SHIFT) - 1)

_Static_assert((SIM_MAX_MR_SIZE >> PCI_MR_SHIFT) == 0, "offset in an MR");

/* Set in an address of the engine's: the rest is the guest's. */
#define PCI_ADDR_GUEST (1ull << 63)

struct pci_queue { /* AQ, ACQ or AENQ, in guest memory */
    uint64_t base;
    uint32_t caps;     /* value of its register */
    uint32_t count;    /* entries read or written since its setup */
};

struct pci_eq {
    struct pci_region *region;  /* NULL: the number is free */
    struct pci_eqe    *entries;
    uint32_t           depth, count;
    uint16_t           vector;
    uint8_t            armed, pending;
};

struct pci_cq {
    struct sim_cq     *cq;      /* NULL: the number is free */
    struct pci_region *region;
    _Atomic uint32_t   db;
    uint16_t           uar;
    int16_t            eq;      /* -1: no events */
};

struct pci_qp {
    struct sim_qp     *qp;      /* NULL: the handle is free */
    struct pci_region *rq;
    _Atomic uint32_t   sq_db, rq_db;
    uint16_t           uar;
};

struct pci_func {
    struct pci_world        *world;
    unsigned                 index;
    uint32_t                 owner;
    struct sim_knobs         knobs;
    const struct sim_plan   *plan;      /* NULL: none */
    struct sim_dev          *sim;       /* NULL: out of memory */
    struct pci_guest         guest;
    int                      llq_fd;
    uint8_t                 *llq;       /* BAR 2 */
    int                      irq[PCI_VECTORS]; /* eventfds, or -1 */
    uint8_t                  irq_waits[PCI_VECTORS]; /* has to be raised */
    uint8_t                  any_waits; /* some irq_waits, or admin_waits */
    uint64_t                 beat_next; /* ns: the next try to raise them */
    uint64_t                 log_second; /* ns: begin of a second of log */
    uint32_t                 log_lines;  /* lines in that second */
    uint8_t                  is_lost;   /* guest memory is gone, and logged */

    uint64_t                 mmio_resp;
    uint32_t                 status;    /* PCI_STS_ */
    uint32_t                 masked;    /* the admin's interrupt is off */
    struct pci_queue         aq, acq, aenq;
    uint16_t                 aq_announced; /* producer's count */
    uint8_t                  has_cmd;   /* `cmd` is being executed */
    uint8_t                  admin_waits; /* answers came while masked */
    struct pci_admin_cmd     cmd;
    struct pci_mr_reader    *reader;    /* page list of `cmd`, or NULL */
    uint32_t                 aenq_read; /* consumer's count */
    uint32_t                 aenq_groups;
    uint64_t                 alive_next; /* ns: the next keep-alive */

    struct pci_eq            eq[PCI_EQS];
    struct pci_cq            cq[SIM_MAX_CQ];
    struct pci_qp            qp[SIM_MAX_QP];
    uint16_t                 qp_next;   /* the handle to try first */
    uint8_t                  uar[PCI_UARS];
    struct pci_mr          **mr;        /* [SIM_MAX_MR], by engine's index */
    uint32_t                 mr_runs;   /* runs of all registrations */
};

/* Open function `index` of the world with these knobs. 0 or -errno. */
int pci_func_open(struct pci_func *func, struct pci_world *world,
                  unsigned index, const struct sim_knobs *knobs,
                  const struct sim_plan *plan);
void pci_func_close(struct pci_func *func);

/* Return to the state after power-on, without objects and queues. The guest's
 * memory stays mapped. */
void pci_func_reset(struct pci_func *func);

/* Give the next machine other memory for BAR 2: the last one may have kept
 * its own mapped. 0 or -errno. */
int pci_func_renew(struct pci_func *func);

/* Let the device work. Returns the number of steps done. */
unsigned pci_func_progress(struct pci_func *func);

/* Whether the device has work left, without a new doorbell or packet. */
int pci_func_is_busy(const struct pci_func *func);

/* The registration that contains this address of the engine, or NULL. */
static inline struct pci_mr *pci_func_mr(const struct pci_func *func,
                                         uint64_t addr)
{
    uint64_t number = addr >> PCI_MR_SHIFT;

    return (number < SIM_MAX_MR) ? func->mr[number] : NULL;
}

#endif
