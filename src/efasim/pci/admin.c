/* SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"
#include "event.h"
#include "objects.h"

#include "efasim/fabric/clock.h"

#include <errno.h>
#include <string.h>

#define ADMIN_ROW(_op, _number, _handler) [_number] = _handler,

static int (*const admin_handlers[PCI_OPS])(struct pci_func *func,
                                            const struct pci_admin_cmd *cmd,
                                            struct pci_admin_resp *resp) = {
    PCI_OP_LIST(ADMIN_ROW)
};

static uint8_t admin_status(int err)
{
    switch (err) {
    case 0:
        return PCI_ST_OK;
    case -ENOMEM:
        return PCI_ST_NO_RESOURCE;
    case -EOPNOTSUPP:
        return PCI_ST_UNSUPPORTED;
    case -EBUSY:
        return PCI_ST_BUSY;
    default:
        return PCI_ST_ILLEGAL;
    }
}

uint8_t pci_admin_run(struct pci_func *func, const struct pci_admin_cmd *cmd,
                      struct pci_admin_resp *resp)
{
    int ret;

    if ((cmd->head.op >= PCI_OPS) || (admin_handlers[cmd->head.op] == NULL)) {
        return PCI_ST_UNSUPPORTED;
    }
    if (func->sim == NULL) {
        return PCI_ST_NO_RESOURCE;
    }
    ret = admin_handlers[cmd->head.op](func, cmd, resp);
    return (ret == -EAGAIN) ? PCI_ST_AGAIN : admin_status(ret);
}

/* CRC16, polynomial 0x8005, bits reflected, begun with and inverted by ones. */
static uint16_t admin_crc(const struct pci_admin_resp *resp)
{
    const uint8_t *bytes = (const uint8_t*)resp;
    uint16_t crc         = 0xffff;
    unsigned i, bit;

    for (i = 0; i < sizeof(*resp); ++i) {
        crc ^= bytes[i];
        for (bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ ((crc & 1) ? 0xa001 : 0);
        }
    }
    return crc ^ 0xffff;
}

/* Take the command at the head of the queue, once: the guest may change it
 * while it is done. -1: it is not where it says. */
static int admin_take(struct pci_func *func)
{
    struct pci_queue *aq = &func->aq;
    uint32_t depth       = PCI_QUEUE_DEPTH(aq->caps);
    uint64_t at          = aq->base +
                           (aq->count & (depth - 1)) * sizeof(func->cmd);

    if (pci_guest_read(&func->guest, at, &func->cmd, sizeof(func->cmd)) != 0) {
        return -1;
    }
    func->has_cmd = 1;
    return 0;
}

static int admin_answer(struct pci_func *func, struct pci_admin_resp *resp)
{
    struct pci_queue *acq = &func->acq;
    uint32_t back         = PCI_QUEUE_DEPTH(acq->caps);
    uint64_t at           = acq->base +
                            (acq->count & (back - 1)) * sizeof(*resp);
    uint32_t first;

    resp->id       = func->cmd.head.id;
    resp->flags    = !(acq->count & back);
    resp->checksum = admin_crc(resp);
    memcpy(&first, resp, sizeof(first)); /* has the phase bit */
    if (pci_guest_write(&func->guest, at + sizeof(first),
                        (uint8_t*)resp + sizeof(first),
                        sizeof(*resp) - sizeof(first)) != 0) {
        return -1;
    }
    atomic_thread_fence(memory_order_release);
    ++acq->count;
    return pci_guest_write(&func->guest, at, &first, sizeof(first));
}

/* One command, or a part of a long one; -1: its queue or the answers' is not
 * where it says. */
static int admin_step(struct pci_func *func)
{
    struct pci_queue *aq       = &func->aq;
    uint32_t depth             = PCI_QUEUE_DEPTH(aq->caps);
    struct pci_admin_resp resp = { 0 };

    if (!func->has_cmd && (admin_take(func) != 0)) {
        return -1;
    }

    resp.status = ((func->cmd.head.flags & PCI_ADMIN_PHASE) ==
                   !(aq->count & depth)) ?
                  pci_admin_run(func, &func->cmd, &resp) : PCI_ST_MALFORMED;
    if (resp.status == PCI_ST_AGAIN) {
        return 0;
    }
    func->has_cmd = 0;
    ++aq->count;
    return admin_answer(func, &resp);
}

static int admin_is_set_up(const struct pci_queue *queue)
{
    uint32_t depth = PCI_QUEUE_DEPTH(queue->caps);

    return (depth > 0) && (depth <= PCI_ADMIN_MAX) && !(depth & (depth - 1)) &&
           ((queue->base & 7) == 0);
}

static int admin_may_work(const struct pci_func *func)
{
    return admin_is_set_up(&func->aq) && admin_is_set_up(&func->acq) &&
           ((uint16_t)(func->aq_announced - func->aq.count) <=
            PCI_QUEUE_DEPTH(func->aq.caps));
}

void pci_admin_ring(struct pci_func *func, uint32_t producer)
{
    if (func->status & PCI_STS_FATAL) {
        return;
    }

    func->aq_announced = (uint16_t)producer;
    if (!admin_may_work(func)) {
        pci_event_fatal(func);
    }
}

int pci_admin_is_busy(const struct pci_func *func)
{
    return !(func->status & PCI_STS_FATAL) &&
           (func->aq_announced != (uint16_t)func->aq.count);
}

unsigned pci_admin_progress(struct pci_func *func)
{
    uint64_t end;
    uint32_t answers = func->acq.count;
    unsigned done    = 0;

    if (!pci_admin_is_busy(func)) {
        return 0;
    }

    end = fabric_clock() + PCI_ADMIN_NS;
    do {
        if (!admin_may_work(func) || (admin_step(func) != 0)) {
            pci_event_fatal(func);
            return done;
        }
        ++done;
    } while (pci_admin_is_busy(func) && (fabric_clock() < end));
    if (func->acq.count != answers) {
        pci_event_admin(func);
    }
    return done;
}
