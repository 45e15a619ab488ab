/* SPDX-License-Identifier: BSD-3-Clause */
#include "bars.h"
#include "admin.h"
#include "event.h"

#include <linux/pci_regs.h>
#include <string.h>

enum {
    BARS_MSIX_CAP = 0x40, /* in configuration space */
    BARS_PCI_VENDOR = 0x1d0f,
};

static void bars_put16(uint8_t *config, unsigned at, uint16_t value)
{
    config[at]     = (uint8_t)value;
    config[at + 1] = value >> 8;
}

static void bars_put32(uint8_t *config, unsigned at, uint32_t value)
{
    bars_put16(config, at, (uint16_t)value);
    bars_put16(config, at + 2, value >> 16);
}

void pci_bars_config_init(const struct pci_func *func,
                          uint8_t config[PCI_CONFIG_BYTES])
{
    uint16_t device = sim_profile_get(func->knobs.device)->pci_device;
    uint32_t bar64  = PCI_BASE_ADDRESS_MEM_TYPE_64 |
                      PCI_BASE_ADDRESS_MEM_PREFETCH;

    memset(config, 0, PCI_CONFIG_BYTES);
    bars_put16(config, PCI_VENDOR_ID, BARS_PCI_VENDOR);
    bars_put16(config, PCI_DEVICE_ID, device);
    bars_put16(config, PCI_STATUS, PCI_STATUS_CAP_LIST);
    bars_put16(config, PCI_CLASS_DEVICE, 0x0200); /* Ethernet controller */
    bars_put32(config, PCI_BASE_ADDRESS_2, bar64);
    bars_put32(config, PCI_BASE_ADDRESS_4, PCI_BASE_ADDRESS_MEM_TYPE_64);
    bars_put16(config, PCI_SUBSYSTEM_VENDOR_ID, BARS_PCI_VENDOR);
    bars_put16(config, PCI_SUBSYSTEM_ID, device);
    config[PCI_CAPABILITY_LIST] = BARS_MSIX_CAP;
    config[BARS_MSIX_CAP]       = PCI_CAP_ID_MSIX;
    bars_put16(config, BARS_MSIX_CAP + PCI_MSIX_FLAGS, PCI_VECTORS - 1);
    bars_put32(config, BARS_MSIX_CAP + 4, PCI_BAR0_TABLE); /* in BAR 0 */
    bars_put32(config, BARS_MSIX_CAP + 8, PCI_BAR0_PBA);
}

/* Whether a byte can be written: command, cache line, BARs, interrupt line,
 * control of MSI-X. The machine keeps its own copy of BARs and MSI-X. */
static int bars_config_is_writable(uint64_t at)
{
    return ((at >= PCI_COMMAND) && (at < PCI_STATUS)) ||
           (at == PCI_CACHE_LINE_SIZE) || (at == PCI_LATENCY_TIMER) ||
           (at == PCI_INTERRUPT_LINE) ||
           (at == BARS_MSIX_CAP + PCI_MSIX_FLAGS + 1);
}

void pci_bars_config_write(uint8_t config[PCI_CONFIG_BYTES], uint64_t offset,
                           const uint8_t *src, uint32_t length)
{
    uint32_t i;

    for (i = 0; i < length; ++i) {
        if ((offset + i < PCI_CONFIG_BYTES) &&
            bars_config_is_writable(offset + i)) {
            config[offset + i] = src[i];
        }
    }
}

uint32_t pci_bars_read(const struct pci_func *func, uint64_t offset)
{
    switch (offset) {
    case PCI_REG_VERSION:
        return PCI_VERSION;
    case PCI_REG_CONTROLLER:
        return PCI_CONTROLLER_VERSION;
    case PCI_REG_CAPS:
        return PCI_CAPS;
    case PCI_REG_DEV_STS:
        return func->status;
    default:
        return 0;
    }
}

/* The driver reads registers so: the value is put into its memory, as reads
 * over the bus take long. */
static void bars_mmio_read(struct pci_func *func, uint32_t value)
{
    struct pci_mmio_resp resp = { .id  = (uint16_t)value,
                                  .reg = value >> 16 };

    resp.value = pci_bars_read(func, resp.reg);
    /* the id last */
    if (pci_guest_write(&func->guest, func->mmio_resp + 4, &resp.value, 4) ==
        0) {
        (void)pci_guest_write(&func->guest, func->mmio_resp, &resp, 4);
    }
}

static void bars_control(struct pci_func *func, uint32_t value)
{
    if (value & PCI_CTL_RESET) {
        pci_func_reset(func);
        func->status |= PCI_STS_RESETTING;
    } else {
        func->status &= ~PCI_STS_RESETTING;
    }
}

static void bars_low(uint64_t *addr, uint32_t value)
{
    *addr = (*addr & ~0xffffffffull) | value;
}

static void bars_high(uint64_t *addr, uint32_t value)
{
    *addr = (*addr & 0xffffffffull) | ((uint64_t)value << 32);
}

/* The registers of the queues, and others that are none. A queue begins anew
 * when its size is written. */
static void bars_queue_write(struct pci_func *func, uint64_t offset,
                             uint32_t value)
{
    static const struct { uint8_t low, high, caps; } regs[] = {
        { PCI_REG_AQ_BASE_LO, PCI_REG_AQ_BASE_HI, PCI_REG_AQ_CAPS },
        { PCI_REG_ACQ_BASE_LO, PCI_REG_ACQ_BASE_HI, PCI_REG_ACQ_CAPS },
        { PCI_REG_AENQ_BASE_LO, PCI_REG_AENQ_BASE_HI, PCI_REG_AENQ_CAPS },
    };
    struct pci_queue *const queue[] = { &func->aq, &func->acq, &func->aenq };
    unsigned i;

    for (i = 0; i < sizeof(regs) / sizeof(regs[0]); ++i) {
        if (offset == regs[i].low) {
            bars_low(&queue[i]->base, value);
        } else if (offset == regs[i].high) {
            bars_high(&queue[i]->base, value);
        } else if (offset == regs[i].caps) {
            queue[i]->caps  = value;
            queue[i]->count = 0;
        }
    }
}

void pci_bars_write(struct pci_func *func, uint64_t offset, uint32_t value)
{
    switch (offset) {
    case PCI_REG_AQ_PROD:
        pci_admin_ring(func, value);
        break;
    case PCI_REG_AENQ_CONS:
        func->aenq_read = value;
        break;
    case PCI_REG_INTR_MASK:
        func->masked = value & 1;
        break;
    case PCI_REG_DEV_CTL:
        bars_control(func, value);
        break;
    case PCI_REG_MMIO_READ:
        bars_mmio_read(func, value);
        break;
    case PCI_REG_MMIO_RESP_LO:
        bars_low(&func->mmio_resp, value);
        break;
    case PCI_REG_MMIO_RESP_HI:
        bars_high(&func->mmio_resp, value);
        break;
    case PCI_REG_EQ_DB:
        if (value & PCI_EQ_DB_ARM) {
            pci_event_arm(func, value & 0xffff);
        }
        break;
    default:
        bars_queue_write(func, offset, value);
        break;
    }
}

static void bars_doorbell_qp(struct pci_qp *qp, unsigned uar,
                             _Atomic uint32_t *db, uint32_t value)
{
    if ((qp->qp != NULL) && (qp->uar == uar)) {
        atomic_store(db, value);
    }
}

void pci_bars_doorbell(struct pci_func *func, uint64_t offset, uint32_t value)
{
    unsigned uar = offset / PCI_PAGE, at = offset % PCI_PAGE, i;
    struct pci_cq *cq;

    if ((uar >= PCI_UARS) || (at % 4 != 0) || (at >= PCI_DB_END)) {
        return;
    }

    if (at < PCI_DB_RQ) {
        i = (at - PCI_DB_SQ) / 4;
        bars_doorbell_qp(&func->qp[i], uar, &func->qp[i].sq_db, value);
    } else if (at < PCI_DB_CQ) {
        i = (at - PCI_DB_RQ) / 4;
        bars_doorbell_qp(&func->qp[i], uar, &func->qp[i].rq_db, value);
    } else {
        cq = &func->cq[(at - PCI_DB_CQ) / 4];
        if ((cq->cq != NULL) && (cq->uar == uar)) {
            sim_cq_doorbell(cq->cq, value);
        }
    }
}
