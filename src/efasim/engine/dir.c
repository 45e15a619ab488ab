/* SPDX-License-Identifier: BSD-3-Clause */
#include "dir.h"

#include <string.h>

const char *const dir_counter_names[DIR_COUNTERS] = {
    DIR_PORT_LIST(DIR_NAME)
    DIR_OWN_LIST(DIR_NAME)
};

const char *const dir_driver_counter_names[DIR_DRIVER_COUNTERS] = {
    DIR_DRIVER_LIST(DIR_NAME)
};

_Static_assert((DIR_LAYOUT == 18) && (DIR_COUNTERS == 27),
               "a counter more or less: raise DIR_LAYOUT; its place in "
               "cli/stat.c; pci/feature.c where the device has it");
_Static_assert(SIM_NICS == 256, "ring_pkt.src_nic: any number is a NIC's");

uint64_t dir_counter(const struct dir *dir, unsigned nic,
                     enum dir_counter counter)
{
    uint64_t sum = atomic_load(&dir->nic[nic].counter[counter]);
    unsigned i;

    for (i = 0; i < SIM_SLOTS; ++i) {
        if (dir->slot[i].nic == nic) { /* a free one has counted nothing */
            sum += atomic_load(&dir->slot[i].counter[counter]);
        }
    }

    return sum;
}

uint64_t dir_pair(const struct dir *dir, unsigned from, unsigned to)
{
    uint64_t sum = atomic_load(&dir->nic[from].pair_bytes[to]);
    unsigned i;

    if (!atomic_load(&dir->nic[from].up) || !atomic_load(&dir->nic[to].up)) {
        return 0;
    }
    for (i = 0; i < SIM_SLOTS; ++i) {
        if (dir->slot[i].nic == to) {
            sum += atomic_load(&dir->slot[i].bytes_from[from]);
        }
    }

    return sum;
}

/* Add an attachment's counts to its NIC's. (Each NIC's lie on pages of their
 * own, which are not touched for a 0.) */
static void dir_slot_account(struct dir *dir, struct dir_slot *slot,
                             unsigned nic)
{
    uint64_t bytes;
    unsigned i;

    for (i = 0; i < DIR_COUNTERS; ++i) {
        dir_count(dir, nic, i, atomic_exchange(&slot->counter[i], 0));
    }
    for (i = 0; i < SIM_NICS; ++i) {
        bytes = atomic_load(&slot->bytes_from[i]);
        if (bytes != 0) {
            bytes = atomic_exchange(&slot->bytes_from[i], 0);
            atomic_fetch_add(&dir->nic[i].pair_bytes[nic], bytes);
        }
    }
}

void dir_gid(const struct dir *dir, unsigned nic, uint8_t gid[16])
{
    memset(gid, 0, 16);
    gid[0]  = 0xfe;
    gid[1]  = 0x80;
    gid[8]  = 0x0e;
    gid[9]  = 0xfa;
    gid[10] = (uint8_t)(dir->id >> 24);
    gid[11] = (uint8_t)(dir->id >> 16);
    gid[12] = (uint8_t)(dir->id >> 8);
    gid[13] = (uint8_t)dir->id;
    gid[14] = (uint8_t)((nic + 1) >> 8);
    gid[15] = (uint8_t)(nic + 1);
}

int dir_gid_nic(const struct dir *dir, const uint8_t gid[16])
{
    uint8_t own[16];
    int nic = ((int)gid[14] << 8 | (int)gid[15]) - 1;

    if ((nic < 0) || (nic >= SIM_NICS)) {
        return -1;
    }

    dir_gid(dir, nic, own);
    return memcmp(own, gid, sizeof(own)) ? -1 : nic;
}

int dir_qp_claim(struct dir *dir, unsigned nic, uint32_t owner,
                 unsigned first)
{
    struct dir_qp *qp = dir->nic[nic].qp;
    uint32_t free_owner;
    int i, qpn;

    /* 0 comes last: programs take it for "none" */
    for (i = 0; i < SIM_MAX_QP; ++i) {
        qpn        = (first + i) % SIM_MAX_QP;
        free_owner = 0;
        if (atomic_compare_exchange_strong(&qp[qpn].owner, &free_owner,
                                           owner)) {
            atomic_fetch_add(&qp[qpn].gen, 1);
            memset((void*)&dir->nic[nic].qp_count[qpn], 0,
                   sizeof(struct dir_qp_count));
            return qpn;
        }
    }

    return -1;
}

void dir_qp_release(struct dir *dir, unsigned nic, unsigned qpn)
{
    struct dir_qp *qp = &dir->nic[nic].qp[qpn];

    atomic_store(&qp->state, 0);
    atomic_store(&qp->owner, 0);
}

int dir_mr_claim(struct dir *dir, unsigned nic, uint32_t owner, uint32_t pages,
                 uint64_t most)
{
    struct dir_nic *n = &dir->nic[nic];
    uint32_t hint      = atomic_load(&n->mr_hint) % SIM_MAX_MR;
    uint32_t free_owner, high, i, index;
    struct dir_mr *mr;

    if (atomic_fetch_add(&n->mr_pages, pages) + pages > most) {
        atomic_fetch_sub(&n->mr_pages, pages);
        return -1;
    }
    for (i = 0; i < SIM_MAX_MR; ++i) {
        index      = (hint + i) % SIM_MAX_MR;
        mr         = &dir->mr[nic][index];
        free_owner = 0;
        if ((atomic_load_explicit(&mr->owner, memory_order_relaxed) == 0) &&
            atomic_compare_exchange_strong(&mr->owner, &free_owner, owner)) {
            mr->gen   = (mr->gen % 63) + 1; /* 1 ... 63, so no key is 0 */
            mr->pages = pages;
            atomic_store(&n->mr_hint, index + 1);
            high = atomic_load(&n->mr_high);
            while ((high < index + 1) &&
                   !atomic_compare_exchange_weak(&n->mr_high, &high,
                                                 index + 1)) {
            }
            return (int)index;
        }
    }

    atomic_fetch_sub(&n->mr_pages, pages);
    return -1;
}

void dir_mr_release(struct dir *dir, unsigned nic, unsigned index)
{
    struct dir_nic *n = &dir->nic[nic];
    struct dir_mr *mr  = &dir->mr[nic][index];
    uint32_t hint      = atomic_load(&n->mr_hint);

    atomic_store(&mr->key, 0);
    atomic_fetch_sub(&n->mr_pages, mr->pages);
    atomic_store(&mr->owner, 0);
    while ((index < hint) &&
           !atomic_compare_exchange_weak(&n->mr_hint, &hint, index)) {
    }
}

void dir_purge(struct dir *dir, unsigned nic, uint32_t owner)
{
    struct dir_nic *n = &dir->nic[nic];
    uint32_t high      = atomic_load(&n->mr_high);
    unsigned i;

    dir_slot_account(dir, &dir->slot[dir_owner_slot(owner) % SIM_SLOTS], nic);
    for (i = 0; i < SIM_MAX_QP; ++i) {
        if (atomic_load(&n->qp[i].owner) == owner) {
            dir_qp_release(dir, nic, i);
        }
    }

    for (i = 0; (i < high) && (i < SIM_MAX_MR); ++i) {
        if (atomic_load(&dir->mr[nic][i].owner) == owner) {
            dir_mr_release(dir, nic, i);
        }
    }
}
