/* SPDX-License-Identifier: BSD-3-Clause */
#include "srd_gpu.h"

srd_gpu_item_t *srd_gpu_item_get(srd_gpu_iface_t *iface)
{
    srd_gpu_item_t *item = iface->items;

    if (item != NULL) {
        iface->items = item->next;
    }
    return item;
}

void srd_gpu_item_put(srd_gpu_iface_t *iface, srd_gpu_item_t *item)
{
    item->next   = iface->items;
    iface->items = item;
}

void srd_gpu_queue_put(srd_gpu_queue_t *queue, srd_gpu_item_t *item)
{
    item->next = NULL;
    if (queue->first == NULL) {
        queue->first = item;
    } else {
        queue->last->next = item;
    }
    queue->last = item;
}

srd_gpu_item_t *srd_gpu_queue_take(srd_gpu_queue_t *queue)
{
    srd_gpu_item_t *item = queue->first;

    if (item != NULL) {
        queue->first = item->next;
    }
    return item;
}

void srd_gpu_queue_drop(srd_gpu_iface_t *iface, srd_gpu_queue_t *queue)
{
    srd_gpu_item_t *item;

    while ((item = srd_gpu_queue_take(queue)) != NULL) {
        ++iface->dropped;
        srd_gpu_item_put(iface, item);
    }
}

void srd_gpu_order_wait(srd_gpu_peer_t *peer)
{
    if (!peer->waits) {
        peer->waits          = 1;
        peer->next           = peer->iface->waiting;
        peer->iface->waiting = peer;
    }
}

/* It is free when nothing refers to it; a kernel may still: descriptors with
 * the old id are of no use. */
void srd_gpu_peer_unused(srd_gpu_peer_t *peer)
{
    if ((peer->ep == NULL) && (peer->groups == 0) && !peer->waits) {
        peer->id += 1ul << 32;
        peer->next              = peer->iface->free_peers;
        peer->iface->free_peers = peer;
    }
}

void srd_gpu_order_end(srd_gpu_peer_t *peer)
{
    peer->ep = NULL;
    srd_gpu_queue_drop(peer->iface, &peer->parked);
    srd_gpu_queue_drop(peer->iface, &peer->ready);
    srd_gpu_peer_unused(peer);
}

/* Groups end from the oldest on, and let the increments behind them go; those
 * of a peer that failed, or is gone, go nowhere. */
static void srd_gpu_order_advance(srd_gpu_peer_t *peer, unsigned channel)
{
    srd_gpu_queue_t *lane = &peer->lanes[channel];
    srd_gpu_item_t  *item, *add;

    while (((item = lane->first) != NULL) && (item->group.comp.count == 0)) {
        srd_gpu_queue_take(lane);
        if ((peer->ep == NULL) || (item->group.comp.status != UCS_OK)) {
            srd_gpu_queue_drop(peer->iface, &item->group.adds);
        }
        while ((add = srd_gpu_queue_take(&item->group.adds)) != NULL) {
            srd_gpu_queue_put(&peer->ready, add);
            srd_gpu_order_wait(peer);
        }
        srd_gpu_item_put(peer->iface, item);
        --peer->groups;
    }
    srd_gpu_peer_unused(peer);
}

/* No write of a group is under way. */
static void srd_gpu_order_done(uct_completion_t *comp)
{
    srd_gpu_group_t *group = (srd_gpu_group_t*)((char*)comp -
                                       offsetof(srd_gpu_group_t, comp));

    srd_gpu_order_advance(group->peer, group->channel);
}

srd_gpu_group_t *srd_gpu_order_write(srd_gpu_peer_t *peer, unsigned channel)
{
    srd_gpu_queue_t *lane = &peer->lanes[channel];
    srd_gpu_item_t  *item = lane->last;

    if ((lane->first == NULL) || (item->group.adds.first != NULL)) {
        item = srd_gpu_item_get(peer->iface);
        if (item == NULL) {
            return NULL;
        }
        memset(&item->group, 0, sizeof(item->group));
        item->group.comp.func   = srd_gpu_order_done;
        item->group.comp.status = UCS_OK;
        item->group.peer        = peer;
        item->group.channel     = channel;
        srd_gpu_queue_put(lane, item);
        ++peer->groups;
    }
    ++item->group.comp.count;
    return &item->group;
}

int srd_gpu_order_add(srd_gpu_peer_t *peer, unsigned channel,
                      const srd_gpu_desc_t *desc)
{
    srd_gpu_queue_t *lane = &peer->lanes[channel], *adds = &peer->ready;
    srd_gpu_item_t  *add;

    if (lane->first != NULL) {
        adds = &lane->last->group.adds;
        if ((adds->first != NULL) && (adds->last->desc.raddr == desc->raddr) &&
            (adds->last->desc.rkey == desc->rkey)) {
            adds->last->desc.add += desc->add;
            return 1;
        }
    }
    add = srd_gpu_item_get(peer->iface);
    if (add == NULL) {
        return 0;
    }
    add->desc = *desc;
    srd_gpu_queue_put(adds, add);
    if (adds == &peer->ready) {
        srd_gpu_order_wait(peer);
    }
    return 1;
}
