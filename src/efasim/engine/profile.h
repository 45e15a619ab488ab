/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The generations of the device. A host has one; it is chosen when the host
 * comes up (`efasim run --device`) and stands in the directory.
 *
 * The abilities of each generation follow from libefa, libfabric and the
 * kernel's driver; the vendor publishes no table, so the assignment of the
 * newer capabilities to a generation is ours.
 */
#ifndef EFASIM_ENGINE_PROFILE_H
#define EFASIM_ENGINE_PROFILE_H

#include <stdint.h>

enum sim_cap { /* as the kernel's query_device reports them */
    SIM_CAP_RDMA_READ         = 1 << 0,
    SIM_CAP_RNR_RETRY         = 1 << 1,
    SIM_CAP_CQ_NOTIFICATIONS  = 1 << 2,
    SIM_CAP_CQ_WITH_SGID      = 1 << 3,
    SIM_CAP_DATA_POLLING_128  = 1 << 4,
    SIM_CAP_RDMA_WRITE        = 1 << 5,
    SIM_CAP_UNSOLICITED_WRITE = 1 << 6,
    SIM_CAP_CQ_WITH_EXT_MEM   = 1 << 7,
    SIM_CAP_COMP_CNTR         = 1 << 8,
    SIM_CAP_REQ_ID_64         = 1 << 9,
};

struct sim_profile {
    const char *name;          /* "efa1" */
    uint16_t    pci_device;    /* 0xefa1 */
    uint32_t    caps;          /* SIM_CAP_ */
    uint16_t    inline_bytes;  /* with 128 B work requests, if it has them */
    uint16_t    sub_cqs;       /* rings that one CQ is made of */
    uint16_t    sq_wr;         /* requests of a send queue, at most */
    uint16_t    gbps;          /* speed of the port */
};

enum {
    SIM_PROFILES        = 5,
    SIM_PROFILE_DEFAULT = 2,   /* efa1 */
};

/* Number 1 ... SIM_PROFILES; any other gives the default. */
const struct sim_profile *sim_profile_get(unsigned number);

/* The number of a profile; 0: no profile has this name. */
unsigned sim_profile_find(const char *name);

struct sim_dev;

/* The device's capabilities, less what a knob takes away. */
uint32_t sim_profile_caps(const struct sim_dev *dev);

/* The speed that is told of the port, in Gb/s. */
unsigned sim_profile_gbps(const struct sim_dev *dev);

/* Rings that a completion queue is made of. */
unsigned sim_profile_sub_cqs(const struct sim_dev *dev);

#endif
