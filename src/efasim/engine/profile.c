/* SPDX-License-Identifier: BSD-3-Clause */
#include "profile.h"
#include "efa_io.h"
#include "objects.h"

#include <string.h>

/* CQ_WITH_SGID and CQ_WITH_EXT_MEM the kernel's driver gives to all. */
#define CAPS_FIRST  (SIM_CAP_RNR_RETRY | SIM_CAP_CQ_NOTIFICATIONS | \
                     SIM_CAP_CQ_WITH_SGID | SIM_CAP_CQ_WITH_EXT_MEM)
#define CAPS_SECOND (CAPS_FIRST | SIM_CAP_RDMA_READ)
#define CAPS_THIRD  (CAPS_SECOND | SIM_CAP_RDMA_WRITE | \
                     SIM_CAP_UNSOLICITED_WRITE | SIM_CAP_DATA_POLLING_128)
#define CAPS_FOURTH (CAPS_THIRD | SIM_CAP_REQ_ID_64 | SIM_CAP_COMP_CNTR)

static const struct sim_profile profiles[SIM_PROFILES] = {
    { "efa0", 0xefa0, CAPS_FIRST,  IO_TX_INLINE_SMALL, 2, SIM_MAX_SQ_WR, 100 },
    { "efa1", 0xefa1, CAPS_SECOND, IO_TX_INLINE_SMALL, 1, SIM_MAX_SQ_WR, 100 },
    { "efa2", 0xefa2, CAPS_THIRD,  IO_TX_INLINE_SMALL, 1, SIM_MAX_SQ_WR, 100 },
    { "efa3", 0xefa3, CAPS_FOURTH, IO_TX_INLINE_LARGE, 1, SIM_MAX_SQ_WR, 100 },
    { "efa4", 0xefa4, CAPS_FOURTH, IO_TX_INLINE_LARGE, 1, 2048, 800 },
};

const struct sim_profile *sim_profile_get(unsigned number)
{
    if ((number < 1) || (number > SIM_PROFILES)) {
        number = SIM_PROFILE_DEFAULT;
    }

    return &profiles[number - 1];
}

unsigned sim_profile_find(const char *name)
{
    unsigned i;

    for (i = 0; i < SIM_PROFILES; ++i) {
        if (!strcmp(name, profiles[i].name)) {
            return i + 1;
        }
    }

    return 0;
}

uint32_t sim_profile_caps(const struct sim_dev *dev)
{
    uint32_t caps = dev->profile->caps;

    if (dev->knobs.no_rdma_read) {
        caps &= ~(uint32_t)(SIM_CAP_RDMA_READ | SIM_CAP_RDMA_WRITE |
                            SIM_CAP_UNSOLICITED_WRITE);
    }
    return caps;
}

unsigned sim_profile_gbps(const struct sim_dev *dev)
{
    return dev->knobs.port_gbps ? dev->knobs.port_gbps : dev->profile->gbps;
}

unsigned sim_profile_sub_cqs(const struct sim_dev *dev)
{
    return dev->knobs.sub_cqs ? dev->knobs.sub_cqs : dev->profile->sub_cqs;
}
