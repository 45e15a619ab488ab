/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr.h"
#include "steps.h"

#include <errno.h>

#define MR_INDEX_BITS  18
#define MR_INDEX_MASK  ((1u << MR_INDEX_BITS) - 1)

_Static_assert(SIM_MAX_MR == 1 << MR_INDEX_BITS, "key layout");

static uint64_t mr_pages(const struct sim_mr_attr *attr)
{
    uint64_t page = 1ull << attr->page_shift;

    return ((attr->iova & (page - 1)) + attr->length + page - 1) >>
           attr->page_shift;
}

uint32_t sim_mr_access(const struct sim_dev *dev)
{
    uint32_t caps = sim_profile_caps(dev);

    return SIM_ACCESS_LOCAL_WRITE | SIM_ACCESS_OPTIONAL |
           ((caps & SIM_CAP_RDMA_READ) ? SIM_ACCESS_REMOTE_READ : 0) |
           ((caps & SIM_CAP_RDMA_WRITE) ? SIM_ACCESS_REMOTE_WRITE : 0);
}

int sim_mr_check(const struct sim_dev *dev, const struct sim_mr_attr *attr)
{
    if (attr->access & ~sim_mr_access(dev)) {
        return -EOPNOTSUPP;
    }
    if ((attr->length == 0) || (attr->length > SIM_MAX_MR_SIZE) ||
        !sim_accepts(&dev->knobs, SIM_ACCEPT_REGISTRATION, attr->length) ||
        (attr->addr + attr->length < attr->addr) ||
        (attr->iova + attr->length < attr->iova)) {
        return -EINVAL;
    }
    return ((attr->access & SIM_ACCESS_REMOTE_WRITE) &&
            (mr_pages(attr) > dev->knobs.mr_pages)) ? -ENOMEM : 0;
}

int sim_mr_register(struct sim_dev *dev, struct sim_pd *pd,
                    struct sim_mr_attr *attr)
{
    struct dir_mr *mr;
    int index, ret;

    ret = sim_mr_check(dev, attr);
    if (ret != 0) {
        return ret;
    }

    index = dir_mr_claim(dev->dir, dev->nic, dev->owner,
                         (uint32_t)mr_pages(attr), dev->knobs.device_pages);
    if (index < 0) {
        return -ENOMEM;
    }

    mr          = &dev->dir->mr[dev->nic][index];
    mr->iova    = attr->iova;
    mr->addr    = attr->addr;
    mr->length  = attr->length;
    mr->access  = attr->access;
    mr->pd      = pd->index;
    attr->index = index;
    attr->key   = (uint32_t)index | ((uint32_t)mr->gen << MR_INDEX_BITS);
    atomic_store(&mr->key, attr->key);
    ++pd->refs;
    return 0;
}

int sim_mr_deregister(struct sim_dev *dev, uint32_t index)
{
    struct dir_mr *mr;

    if (index >= SIM_MAX_MR) {
        return -EINVAL;
    }

    mr = &dev->dir->mr[dev->nic][index];
    if (atomic_load(&mr->owner) != dev->owner) {
        return -EINVAL;
    }

    sim_late_flush(dev);
    if (dev->pd[mr->pd] != NULL) {
        --dev->pd[mr->pd]->refs;
    }
    dir_mr_release(dev->dir, dev->nic, index);
    return 0;
}

int sim_mr_deregister_key(struct sim_dev *dev, uint32_t key, uint64_t *addr)
{
    const struct dir_mr *mr = &dev->dir->mr[dev->nic][key & MR_INDEX_MASK];

    if ((key == 0) || (atomic_load(&mr->key) != key)) {
        return -EINVAL;
    }

    *addr = mr->addr;
    return sim_mr_deregister(dev, key & MR_INDEX_MASK);
}

/* The owner of a remote entry may change it under us: the key is read before
 * and after, and a change makes it invalid. */
static int mr_translate(struct dir_mr *mr, uint32_t owner, uint32_t pd,
                        const struct sim_mr_range *range, uint64_t *addr)
{
    uint64_t offset = range->iova - mr->iova;
    int valid;

    if ((range->key == 0) || (atomic_load(&mr->key) != range->key)) {
        return -1;
    }

    valid = (atomic_load(&mr->owner) == owner) && (mr->pd == pd) &&
            ((mr->access & range->access) == range->access) &&
            (offset <= mr->length) && (range->length <= mr->length - offset);
    *addr = mr->addr + offset;
    return (valid && (atomic_load(&mr->key) == range->key)) ? 0 : -1;
}

int sim_mr_local(struct sim_dev *dev, const struct sim_pd *pd,
                 const struct sim_mr_range *range, uint64_t *addr)
{
    return mr_translate(&dev->dir->mr[dev->nic][range->key & MR_INDEX_MASK],
                        dev->owner, pd->index, range, addr);
}

int sim_mr_remote(struct sim_dev *dev, uint32_t nic, uint32_t owner,
                  uint32_t pd, const struct sim_mr_range *range,
                  uint64_t *addr)
{
    return mr_translate(&dev->dir->mr[nic][range->key & MR_INDEX_MASK],
                        owner, pd, range, addr);
}
