/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c and dir.c, for their own tests. */
#include "engine_rig_struct.h"

#include <stdlib.h>
#include <string.h>

struct rig_ring {
    struct ring   *ring;
    struct ring_tx tx;
    struct ring_rx rx;
};

struct rig_ring *rig_ring_open(void)
{
    struct rig_ring *ring = calloc(1, sizeof(*ring));

    ring->ring = aligned_alloc(64, sizeof(*ring->ring));
    memset(ring->ring, 0, sizeof(*ring->ring));
    ring_tx_open(&ring->tx, ring->ring);
    ring_rx_open(&ring->rx, ring->ring);
    return ring;
}

void rig_ring_close(struct rig_ring *ring)
{
    free(ring->ring);
    free(ring);
}

int rig_ring_write(struct rig_ring *ring, uint32_t token, const void *data,
                   uint32_t length)
{
    struct ring_pkt *pkt = ring_reserve(&ring->tx, length);

    if (pkt == NULL) {
        return 0;
    }
    pkt->type   = RING_PKT_SEND;
    pkt->token  = token;
    pkt->length = length;
    if (length > 0) {
        memcpy(pkt + 1, data, length);
    }
    ring_commit(&ring->tx, pkt);
    return 1;
}

int rig_ring_read(struct rig_ring *ring, uint32_t *token, void *data,
                  uint32_t *length)
{
    int broken;
    struct ring_pkt *pkt = ring_peek(&ring->rx, &broken);

    if (pkt == NULL) {
        return broken ? -1 : 0;
    }
    *token  = pkt->token;
    *length = pkt->length;
    memcpy(data, pkt + 1, pkt->length);
    ring_consume(&ring->rx);
    ring_publish(&ring->rx);
    return 1;
}

int rig_ring_answer(struct rig_ring *ring, uint32_t token, uint32_t status)
{
    int ret = ring_answer(&ring->rx, token, status);

    ring_publish(&ring->rx);
    return ret;
}

int rig_ring_answer_take(struct rig_ring *ring, uint32_t *token,
                         uint32_t *status)
{
    struct ring_ack ack;
    int ret = ring_answer_take(&ring->tx, &ack);

    if (ret) {
        *token  = ack.token;
        *status = ack.status;
    }
    return ret;
}

void rig_ring_damage(struct rig_ring *ring, uint32_t size, uint32_t length)
{
    struct ring_pkt *pkt = (struct ring_pkt*)ring->ring->data;

    pkt->size   = size;
    pkt->length = length;
}

void rig_ring_start_at(struct rig_ring *ring, uint32_t position)
{
    atomic_store(&ring->ring->head, position);
    atomic_store(&ring->ring->tail, position);
    atomic_store(&ring->ring->ack_head, position);
    atomic_store(&ring->ring->ack_tail, position);
    ring_tx_open(&ring->tx, ring->ring);
    ring_rx_open(&ring->rx, ring->ring);
}

/* Claim and release one MR entry many times; the number of times that the
 * key was the same as the time before. */
int rig_dir_mr_cycle(struct rig *rig, unsigned node, unsigned times)
{
    unsigned nic = dir_nic_of(node, 0);
    unsigned i, last = 0, same = 0;
    int index;

    for (i = 0; i < times; ++i) {
        index = dir_mr_claim(rig->dir, nic, dir_owner(0, 1));
        if (rig->dir->mr[nic][index].gen == last) {
            ++same;
        }
        last = rig->dir->mr[nic][index].gen;
        dir_mr_release(rig->dir, nic, index);
    }
    return same;
}

int rig_dir_purge_leaves(struct rig *rig, unsigned proc)
{
    unsigned nic   = rig->proc[proc].nic;
    uint32_t owner = rig->proc[proc].dev->owner;
    int left       = 0;
    unsigned i;

    dir_purge(rig->dir, nic, owner);
    for (i = 0; i < SIM_MAX_QP; ++i) {
        left += atomic_load(&rig->dir->nic[nic].qp[i].owner) == owner;
    }
    for (i = 0; i < DIR_COUNTERS; ++i) { /* or the next one would have it */
        left += atomic_load(&rig->proc[proc].dev->own->counter[i]) != 0;
    }
    for (i = 0; i < SIM_MAX_MR; ++i) {
        left += atomic_load(&rig->dir->mr[nic][i].owner) == owner;
    }
    return left;
}
