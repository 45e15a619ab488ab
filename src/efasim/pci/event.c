/* SPDX-License-Identifier: BSD-3-Clause */
#include "event.h"
#include "objects.h"

#include "efasim/fabric/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An eventfd: any other descriptor could make a write wait, or end up
 * elsewhere. */
static int event_is_fd(int fd)
{
    char path[40], target[40];
    struct stat file;
    ssize_t length;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    length = readlink(path, target, sizeof(target) - 1);
    if (length > 0) {
        target[length] = '\0';
        return !strcmp(target, "anon_inode:[eventfd]");
    }
    /* without /proc: it has no type, as few others */
    return (fstat(fd, &file) == 0) && ((file.st_mode & S_IFMT) == 0);
}

int pci_event_attach(struct pci_func *func, unsigned first, unsigned num,
                     const int *fds)
{
    unsigned i;

    for (i = 0; (fds != NULL) && (i < num); ++i) {
        if (!event_is_fd(fds[i]) ||
            (fcntl(fds[i], F_SETFL, O_NONBLOCK) != 0)) {
            return -EINVAL;
        }
    }
    for (i = 0; i < num; ++i) {
        if (func->irq[first + i] >= 0) {
            close(func->irq[first + i]);
        }
        func->irq[first + i] = (fds == NULL) ? -1 : fds[i];
    }
    return 0;
}

void pci_event_clear(struct pci_func *func)
{
    (void)pci_event_attach(func, 0, PCI_VECTORS, NULL);
    memset(func->irq_waits, 0, sizeof(func->irq_waits));
}

/* An interrupt could not be given now: later. */
static void event_wait(struct pci_func *func, unsigned vector)
{
    func->irq_waits[vector] = 1;
    func->any_waits         = 1;
}

/* Whether a write would wait: another user of the descriptor may have made it
 * so. */
static int event_blocks(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

    return !(fcntl(fd, F_GETFL) & O_NONBLOCK) &&
           ((fcntl(fd, F_SETFL, O_NONBLOCK) != 0) ||
            (poll(&poll_fd, 1, 0) != 1));
}

void pci_event_raise(struct pci_func *func, unsigned vector)
{
    static const uint64_t one = 1;

    if (vector >= PCI_VECTORS) {
        return;
    }
    func->irq_waits[vector] = 0;
    if ((func->irq[vector] < 0) || event_blocks(func->irq[vector])) {
        event_wait(func, vector);
    } else if (write(func->irq[vector], &one, sizeof(one)) < 0) {
        event_wait(func, vector); /* its counter is full */
        if (errno == EINTR) {     /* it did wait, until the alarm */
            close(func->irq[vector]);
            func->irq[vector] = -1;
        }
    }
}

void pci_event_admin(struct pci_func *func)
{
    if (func->masked) {
        func->admin_waits = 1;
        func->any_waits   = 1;
    } else {
        func->admin_waits = 0;
        pci_event_raise(func, PCI_QUEUE_VECTOR(func->acq.caps));
    }
}

void pci_event_beat(struct pci_func *func)
{
    uint64_t now;
    unsigned i;

    if (!func->any_waits) {
        return;
    }
    now = fabric_clock();
    if (now < func->beat_next) {
        return;
    }

    func->beat_next = now + PCI_BEAT_NS;
    func->any_waits = 0;
    for (i = 0; i < PCI_VECTORS; ++i) {
        if (func->irq_waits[i]) {
            pci_event_raise(func, i);
        }
    }
    if (func->admin_waits) {
        pci_event_admin(func);
    }
}

void pci_event_completion(struct pci_func *func, struct sim_cq *cq)
{
    const struct pci_cq *entry = cq->user;
    struct pci_eq *eq;
    struct pci_eqe eqe = { 0 };
    struct pci_eqe *slot;

    if ((entry->eq < 0) || (func->eq[entry->eq].region == NULL)) {
        return;
    }

    eq     = &func->eq[entry->eq];
    slot   = &eq->entries[eq->count & (eq->depth - 1)];
    eqe.cq = cq->index;
    memcpy((uint8_t*)slot + sizeof(eqe.common),
           (uint8_t*)&eqe + sizeof(eqe.common),
           sizeof(eqe) - sizeof(eqe.common));
    atomic_store_explicit((_Atomic uint32_t*)&slot->common,
                          !(eq->count & eq->depth), memory_order_release);
    ++eq->count;
    if (eq->armed) {
        eq->armed = 0;
        pci_event_raise(func, eq->vector);
    } else {
        eq->pending = 1;
    }
}

void pci_event_arm(struct pci_func *func, uint32_t number)
{
    struct pci_eq *eq = (number < PCI_EQS) ? &func->eq[number] : NULL;

    if ((eq == NULL) || (eq->region == NULL)) {
        return;
    }

    eq->armed = !eq->pending;
    if (eq->pending) { /* the driver may have seen it already */
        eq->pending = 0;
        pci_event_raise(func, eq->vector);
    }
}

void pci_event_async(struct pci_func *func, unsigned group)
{
    struct pci_queue *aenq = &func->aenq;
    uint32_t depth         = PCI_QUEUE_DEPTH(aenq->caps);
    struct pci_aenq_entry entry = { 0 };
    uint64_t at;

    if (!(func->aenq_groups & (1u << group)) || (depth == 0) ||
        (depth > PCI_ADMIN_MAX) || (depth & (depth - 1)) ||
        (aenq->count - func->aenq_read >= depth)) {
        return;
    }

    entry.group = group;
    entry.flags = !(aenq->count & depth);
    at          = aenq->base + (aenq->count & (depth - 1)) * sizeof(entry);
    /* the word with the phase bit last */
    if ((pci_guest_write(&func->guest, at, &entry, 4) != 0) ||
        (pci_guest_write(&func->guest, at + 8, (uint8_t*)&entry + 8,
                         sizeof(entry) - 8) != 0) ||
        (pci_guest_write(&func->guest, at + 4, (uint8_t*)&entry + 4, 4) !=
         0)) {
        return;
    }
    ++aenq->count;
    pci_event_raise(func, PCI_QUEUE_VECTOR(aenq->caps));
}

void pci_event_keep_alive(struct pci_func *func)
{
    uint64_t now;

    if ((func->aenq_groups & (1u << PCI_AENQ_KEEP_ALIVE)) == 0) {
        return;
    }

    now = fabric_clock();
    if (now >= func->alive_next) {
        func->alive_next = now + PCI_KEEP_ALIVE_NS;
        pci_event_async(func, PCI_AENQ_KEEP_ALIVE);
    }
}

void pci_event_fatal(struct pci_func *func)
{
    func->status |= PCI_STS_FATAL;
    pci_event_async(func, PCI_AENQ_FATAL);
}

PCI_HANDLER(pci_event_queue_create)
{
    const struct pci_cmd_create_eq *req = &cmd->create_eq;
    uint64_t base = io_addr(req->base_lo, req->base_hi);
    struct pci_eq *eq;
    unsigned i;

    for (i = 0; (i < PCI_EQS) && (func->eq[i].region != NULL); ++i) {
    }
    if (i == PCI_EQS) {
        return -ENOMEM;
    }
    if ((req->depth == 0) || (req->depth > PCI_EQ_DEPTH) ||
        (req->depth & (req->depth - 1)) || (req->vector >= PCI_VECTORS) ||
        ((req->caps & 0x1f) != sizeof(struct pci_eqe) / 4) ||
        (base & (sizeof(struct pci_eqe) - 1))) {
        return -EINVAL;
    }

    eq          = &func->eq[i];
    eq->entries = (struct pci_eqe*)
            pci_guest_hold(&func->guest, base,
                           req->depth * sizeof(*eq->entries), &eq->region);
    if (eq->entries == NULL) {
        return -EINVAL;
    }

    eq->depth   = req->depth;
    eq->count   = 0;
    eq->vector  = req->vector;
    eq->armed   = 0;
    eq->pending = 0;
    resp->number.number = i;
    return 0;
}

PCI_HANDLER(pci_event_queue_destroy)
{
    uint16_t number = cmd->number.number;
    unsigned i;

    if ((number >= PCI_EQS) || (func->eq[number].region == NULL)) {
        return -EINVAL;
    }
    for (i = 0; i < SIM_MAX_CQ; ++i) {
        if ((func->cq[i].cq != NULL) && (func->cq[i].eq == number)) {
            return -EBUSY;
        }
    }

    pci_guest_release(func->eq[number].region);
    memset(&func->eq[number], 0, sizeof(func->eq[number]));
    return 0;
}
