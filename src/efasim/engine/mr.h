/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_MR_H
#define EFASIM_ENGINE_MR_H

#include "objects.h"

/* Access flags of a registration, the kernel's numbers */
enum {
    SIM_ACCESS_LOCAL_WRITE  = 1 << 0,
    SIM_ACCESS_REMOTE_WRITE = 1 << 1,
    SIM_ACCESS_REMOTE_READ  = 1 << 2,
    SIM_ACCESS_OPTIONAL     = 0x3ff00000,
};

/*
 * Registrations. `iova` is the address in work requests, `addr` that in memory.
 * -EINVAL: length 0, too long or wrapping; -EOPNOTSUPP: access flags the device
 * does not have; -ENOMEM: none free, or too many pages. On success key and
 * index are set.
 */
struct sim_mr_attr {
    uint64_t addr, length, iova;
    uint32_t access;     /* SIM_ACCESS_ */
    uint32_t page_shift; /* of its pages of 2^page_shift bytes */
    uint32_t key, index; /* out */
};

/* The access flags that the device has, SIM_ACCESS_. */
uint32_t sim_mr_access(const struct sim_dev *dev);

/* The error for which sim_mr_register() would refuse the request itself. */
int sim_mr_check(const struct sim_dev *dev, const struct sim_mr_attr *attr);
int sim_mr_register(struct sim_dev *dev, struct sim_pd *pd,
                    struct sim_mr_attr *attr);
int sim_mr_deregister(struct sim_dev *dev, uint32_t index);

/* By its key; *addr gets the addr of its registration. */
int sim_mr_deregister_key(struct sim_dev *dev, uint32_t key, uint64_t *addr);

static inline struct sim_mr_range sim_mr_range(const struct io_buf *buf,
                                               uint32_t access)
{
    return (struct sim_mr_range){
        .key    = buf->lkey,
        .access = access,
        .iova   = io_addr(buf->addr_lo, buf->addr_hi),
        .length = buf->length,
    };
}

/*
 * Translate a local key. Returns 0 and *addr, or -1: the key is not valid for
 * this PD, range or access.
 */
int sim_mr_local(struct sim_dev *dev, const struct sim_pd *pd,
                 const struct sim_mr_range *range, uint64_t *addr);

/* The same for a remote key, as the responder's device judges it. */
int sim_mr_remote(struct sim_dev *dev, uint32_t nic, uint32_t owner,
                  uint32_t pd, const struct sim_mr_range *range,
                  uint64_t *addr);

#endif
