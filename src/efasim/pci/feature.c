/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of the device about itself: features and statistics. */
#include "objects.h"

#include <errno.h>
#include <string.h>

#define FEATURE_BIT(_feature) (1u << (_feature))

#define FEATURE_ALL \
    (FEATURE_BIT(PCI_FEATURE_DEVICE) | FEATURE_BIT(PCI_FEATURE_AENQ) | \
     FEATURE_BIT(PCI_FEATURE_NETWORK) | FEATURE_BIT(PCI_FEATURE_QUEUE) | \
     FEATURE_BIT(PCI_FEATURE_HINTS) | FEATURE_BIT(PCI_FEATURE_HOST) | \
     FEATURE_BIT(PCI_FEATURE_EVENT) | FEATURE_BIT(PCI_FEATURE_QUEUE_2))

enum {
    FEATURE_DB_BAR = 4,
};

static uint32_t feature_caps(const struct pci_func *func)
{
    static const struct { uint32_t cap, bit; } caps[] = {
        { SIM_CAP_RDMA_READ,         1 << 0 },
        { SIM_CAP_RNR_RETRY,         1 << 1 },
        { SIM_CAP_DATA_POLLING_128,  1 << 2 },
        { SIM_CAP_RDMA_WRITE,        1 << 3 },
        { SIM_CAP_UNSOLICITED_WRITE, 1 << 4 },
        { SIM_CAP_COMP_CNTR,         1 << 5 },
        { SIM_CAP_REQ_ID_64,         1 << 10 },
    };
    uint32_t bits = 0;
    unsigned i;

    for (i = 0; i < sizeof(caps) / sizeof(caps[0]); ++i) {
        bits |= (sim_profile_caps(func->sim) & caps[i].cap) ? caps[i].bit : 0;
    }
    return bits;
}

static void feature_device(const struct pci_func *func,
                           struct pci_admin_resp *resp)
{
    uint8_t gid[16];
    uint64_t guid;

    dir_gid(func->world->dir, func->sim->nic, gid);
    memcpy(&guid, gid + 8, sizeof(guid));
    resp->device = (struct pci_feature_device){
        .features       = FEATURE_ALL,
        .page_sizes     = 0xfffff000,
        .api_version    = PCI_VERSION,
        .device_version = func->sim->profile->pci_device,
        .db_bar         = FEATURE_DB_BAR,
        .phys_bits      = 48,
        .virt_bits      = 64,
        .caps           = feature_caps(func),
        .max_rdma       = (sim_profile_caps(func->sim) & SIM_CAP_RDMA_READ) ?
                          func->knobs.max_rdma : 0,
        .guid           = guid,
        .gbps           = sim_profile_gbps(func->sim),
    };
}

static void feature_queue(const struct pci_func *func,
                          struct pci_admin_resp *resp)
{
    resp->queue = (struct pci_feature_queue){
        .max_qp       = SIM_MAX_QP,
        .max_sq       = func->sim->profile->sq_wr,
        .inline_bytes = IO_TX_INLINE_SMALL,
        .max_rq       = SIM_MAX_RQ_WR,
        .max_cq       = SIM_MAX_CQ,
        .max_cqe      = func->knobs.max_cqe,
        .sub_cqs      = sim_profile_sub_cqs(func->sim),
        .send_sge     = SIM_MAX_SQ_SGE,
        .recv_sge     = SIM_MAX_RQ_SGE,
        .max_mr       = SIM_MAX_MR,
        .max_mr_pages = SIM_MAX_MR_SIZE / PCI_PAGE,
        .max_pd       = SIM_MAX_PD,
        .max_ah       = func->knobs.max_ah,
        .max_llq      = PCI_LLQ_BYTES,
        .rdma_sge     = SIM_MAX_RDMA_SGE,
        .tx_batch     = SIM_MAX_TX_BATCH,
    };
}

PCI_HANDLER(pci_feature_get)
{
    uint64_t eqs = func->knobs.comp_vectors;

    switch (cmd->feature.feature) {
    case PCI_FEATURE_DEVICE:
        feature_device(func, resp);
        return 0;
    case PCI_FEATURE_AENQ:
        resp->word[0] = PCI_AENQ_GROUPS;
        resp->word[1] = func->aenq_groups;
        return 0;
    case PCI_FEATURE_NETWORK:
        dir_gid(func->world->dir, func->sim->nic, resp->network.gid);
        resp->network.mtu = SIM_MAX_MSG;
        return 0;
    case PCI_FEATURE_QUEUE:
        feature_queue(func, resp);
        return 0;
    case PCI_FEATURE_QUEUE_2:
        resp->queue_2.inline_bytes = func->sim->profile->inline_bytes;
        if (sim_profile_caps(func->sim) & SIM_CAP_COMP_CNTR) {
            resp->queue_2.cntr_events    = SIM_CNTR_KNOWN;
            resp->queue_2.max_cntr       = SIM_MAX_CNTR;
            resp->queue_2.max_cntr_value = SIM_MAX_CNTR_VALUE;
        }
        return 0;
    case PCI_FEATURE_EVENT:
        resp->event = (struct pci_feature_event){
            .max_eq    = (eqs < PCI_EQS) ? eqs : PCI_EQS,
            .max_depth = PCI_EQ_DEPTH,
            .events    = 1,
        };
        return 0;
    case PCI_FEATURE_HINTS: /* zeros: the driver's own */
        return 0;
    default:
        return -EOPNOTSUPP;
    }
}

/* The host's name and versions are of no use here; that they can be read is
 * seen. */
static int feature_host(const struct pci_func *func,
                        const struct pci_buffer *data)
{
    uint8_t first[64];

    return (data->length < sizeof(first)) ? -EINVAL :
           pci_guest_read(&func->guest,
                          io_addr(data->addr_lo, data->addr_hi), first,
                          sizeof(first));
}

PCI_HANDLER(pci_feature_set)
{
    struct pci_buffer data = cmd->feature.data;

    switch (cmd->feature.feature) {
    case PCI_FEATURE_AENQ:
        if (cmd->feature.aenq_enabled & ~(uint32_t)PCI_AENQ_GROUPS) {
            return -EINVAL;
        }
        func->aenq_groups = cmd->feature.aenq_enabled;
        return 0;
    case PCI_FEATURE_HOST:
        return feature_host(func, &data);
    default:
        return -EOPNOTSUPP;
    }
}

PCI_HANDLER(pci_feature_stats)
{
    static const int8_t counters[PCI_STATS_TYPES][PCI_STATS_MAX] = {
        { DIR_TX_BYTES, DIR_TX_PKTS, DIR_RX_BYTES, DIR_RX_PKTS, DIR_RX_DROPS,
          -1 },
        { DIR_SEND_BYTES, DIR_SEND_WRS, DIR_RECV_BYTES, DIR_RECV_WRS, -1, -1 },
        { DIR_RDMA_READ_WRS, DIR_RDMA_READ_BYTES, DIR_RDMA_READ_WR_ERR,
          DIR_RDMA_READ_RESP_BYTES, -1, -1 },
        { DIR_RDMA_WRITE_WRS, DIR_RDMA_WRITE_BYTES, DIR_RDMA_WRITE_WR_ERR,
          DIR_RDMA_WRITE_RECV_BYTES, -1, -1 },
        { DIR_RETRANS_BYTES, DIR_RETRANS_PKTS, DIR_RETRANS_TIMEOUTS,
          DIR_UNRESPONSIVE, DIR_IMPAIRED, -1 },
    };
    unsigned type = cmd->stats.type, i;
    int counter;

    if ((type >= PCI_STATS_TYPES) || (cmd->stats.scope != 0)) {
        return -EINVAL;
    }

    for (i = 0; i < PCI_STATS_MAX; ++i) {
        counter        = counters[type][i];
        resp->stats[i] = (counter < 0) ? 0 :
                         dir_counter(func->world->dir, func->sim->nic,
                                     counter);
    }
    return 0;
}
