#include "engine.h"

#include <errno.h>

#define MR_INDEX_BITS  18
#define MR_INDEX_MASK  ((1u << MR_INDEX_BITS) - 1)

_Static_assert(SIM_MAX_MR == 1 << MR_INDEX_BITS, "key layout");

int sim_mr_register(struct sim_dev *dev, struct sim_pd *pd, uint64_t addr,
                    uint64_t length, uint64_t iova, uint32_t access,
                    uint32_t *key_p, uint32_t *index_p)
{
    uint32_t allowed = SIM_ACCESS_LOCAL_WRITE | SIM_ACCESS_OPTIONAL;
    struct dir_mr *mr;
    int index;

    if (!dev->knobs.no_rdma_read) {
        allowed |= SIM_ACCESS_REMOTE_READ;
    }
    if (access & ~allowed) {
        return -EOPNOTSUPP;
    }
    if ((length == 0) || (length > SIM_MAX_MR_SIZE) ||
        (addr + length < addr) || (iova + length < iova)) {
        return -EINVAL;
    }

    index = dir_mr_claim(dev->dir, dev->node, dev->owner);
    if (index < 0) {
        return -ENOMEM;
    }

    mr         = &dev->dir->mr[dev->node][index];
    mr->iova   = iova;
    mr->addr   = addr;
    mr->length = length;
    mr->access = access;
    mr->pd     = pd->index;
    *index_p   = index;
    *key_p     = (uint32_t)index | ((uint32_t)mr->gen << MR_INDEX_BITS);
    atomic_store(&mr->key, *key_p);
    ++pd->refs;
    return 0;
}

int sim_mr_deregister(struct sim_dev *dev, uint32_t index)
{
    struct dir_mr *mr;

    if (index >= SIM_MAX_MR) {
        return -EINVAL;
    }

    mr = &dev->dir->mr[dev->node][index];
    if (atomic_load(&mr->owner) != dev->owner) {
        return -EINVAL;
    }

    if (dev->pd[mr->pd] != NULL) {
        --dev->pd[mr->pd]->refs;
    }
    dir_mr_release(dev->dir, dev->node, index);
    return 0;
}

/* The owner of a remote entry may change it under us: the key is read before
 * and after, and a change makes it invalid. */
static int mr_translate(struct dir_mr *mr, uint32_t owner, uint32_t pd,
                        uint32_t key, uint64_t iova, uint64_t length,
                        uint32_t access, uint64_t *addr)
{
    uint64_t offset = iova - mr->iova;
    int valid;

    if ((key == 0) || (atomic_load(&mr->key) != key)) {
        return -1;
    }

    valid = (atomic_load(&mr->owner) == owner) && (mr->pd == pd) &&
            ((mr->access & access) == access) && (offset <= mr->length) &&
            (length <= mr->length - offset);
    *addr = mr->addr + offset;
    return (valid && (atomic_load(&mr->key) == key)) ? 0 : -1;
}

int sim_mr_local(struct sim_dev *dev, const struct sim_pd *pd, uint32_t key,
                 uint64_t iova, uint64_t length, uint32_t access,
                 uint64_t *addr)
{
    return mr_translate(&dev->dir->mr[dev->node][key & MR_INDEX_MASK],
                        dev->owner, pd->index, key, iova, length, access,
                        addr);
}

int sim_mr_remote(struct sim_dev *dev, uint32_t node, uint32_t owner,
                  uint32_t pd, uint32_t key, uint64_t iova, uint64_t length,
                  uint64_t *addr)
{
    return mr_translate(&dev->dir->mr[node][key & MR_INDEX_MASK], owner, pd,
                        key, iova, length, SIM_ACCESS_REMOTE_READ, addr);
}
