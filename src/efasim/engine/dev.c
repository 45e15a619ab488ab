/* SPDX-License-Identifier: BSD-3-Clause */
#include "dev.h"
#include "cntr.h"
#include "cq.h"
#include "fault.h"
#include "op.h"
#include "pages.h"
#include "pd.h"
#include "qp.h"
#include "steps.h"

#include <stdlib.h>
#include <string.h>

struct sim_dev *sim_dev_open(struct dir *dir, uint32_t slot, uint32_t nic,
                             const struct sim_env_ops *ops, void *env,
                             const struct sim_knobs *knobs)
{
    struct sim_dev *dev = sim_pages_alloc(sizeof(*dev));

    if (dev == NULL) {
        return NULL;
    }

    dev->ah = sim_pages_alloc(knobs->max_ah * sizeof(*dev->ah));
    if (dev->ah == NULL) {
        sim_pages_free(dev, sizeof(*dev));
        return NULL;
    }

    dev->dir       = dir;
    dev->ops       = ops;
    dev->env       = env;
    dev->knobs     = *knobs;
    dev->slot      = slot;
    dev->own       = &dir->slot[slot];
    dev->nic       = nic;
    dev->owner     = atomic_load(&dir->slot[slot].owner);
    dev->profile   = sim_profile_get(
            atomic_load(&dir->host[dir_nic_host(nic)].profile));
    dev->now       = ops->now(env);
    sim_control_seed(dev);
    dev->chance = dev->rng;
    list_init(&dev->qps);
    list_init(&dev->peers);
    list_init(&dev->held);
    list_init(&dev->copying);
    list_init(&dev->op_free);
    atomic_store(&dir->nic[nic].up, 1);
    return dev;
}

static void dev_close_objects(struct sim_dev *dev)
{
    unsigned i;

    for (i = 0; i < SIM_MAX_QP; ++i) {
        if (dev->qp[i] != NULL) {
            sim_qp_destroy(dev->qp[i]);
        }
    }
    for (i = 0; i < SIM_MAX_CQ; ++i) {
        if (dev->cq[i] != NULL) {
            dev->cq[i]->refs = 0;
            sim_cq_destroy(dev->cq[i]);
        }
    }
    for (i = 0; i < SIM_MAX_CNTR; ++i) {
        if (dev->cntr[i] != NULL) {
            sim_cntr_destroy(dev->cntr[i]);
        }
    }
    for (i = 0; i < SIM_MAX_PD; ++i) {
        if (dev->pd[i] != NULL) {
            dev->pd[i]->refs = 0;
            sim_pd_destroy(dev, dev->pd[i]);
        }
    }
}

void sim_dev_close(struct sim_dev *dev)
{
    struct sim_peer *peer;
    unsigned i;

    dev_close_objects(dev);
    for (i = 0; i < SIM_SLOTS; ++i) {
        peer = dev->peer[i];
        if (peer == NULL) {
            continue;
        }
        sim_peer_tx_close(dev, peer);
        if (peer->rx.ring != NULL) {
            dev->ops->ring_unmap(dev->env, peer->rx.ring);
        }
        sim_pages_free(peer, sizeof(*peer));
    }

    sim_op_cleanup(dev);
    free(dev->plan_done);
    sim_pages_free(dev->ah, dev->knobs.max_ah * sizeof(*dev->ah));
    sim_pages_free(dev, sizeof(*dev));
}

static int dev_has_timers(const struct sim_dev *dev)
{
    return (dev->outstanding != 0) || (dev->plan != NULL) ||
           (dev->knobs.receive_us != 0) || (dev->late_num != 0) ||
           (dev->again_num != 0);
}

/* Take new requests. Reads the clock, unless the caller has. */
static unsigned dev_fetch(struct sim_dev *dev, int has_time)
{
    struct sim_list *link;
    struct sim_qp *qp;
    unsigned done = 0;

    for (link = dev->qps.next; link != &dev->qps; link = link->next) {
        qp = list_entry(link, struct sim_qp, link);
        if ((qp->sq.db == NULL) ||
            (atomic_load_explicit(qp->sq.db, memory_order_acquire) ==
             qp->sq.cc)) {
            continue;
        }
        if (!has_time) {
            dev->now = dev->ops->now(dev->env);
            has_time = 1;
        }
        done += sim_tx_fetch(qp);
        if (dev->guest && (done >= SIM_GUEST_FETCH)) {
            list_del(&dev->qps); /* the next call begins behind it */
            list_add_head(link, &dev->qps);
            break;
        }
    }

    return done;
}

unsigned sim_dev_progress(struct sim_dev *dev)
{
    int has_time  = dev_has_timers(dev);
    unsigned done = 0;

    ++dev->quiet;
    if (has_time) {
        dev->now = dev->ops->now(dev->env);
    }

    if (dev->plan != NULL) {
        sim_fault_run(dev);
    }
    done += dev_fetch(dev, has_time);
    done += sim_poll_run(dev);
    if (!list_is_empty(&dev->copying)) {
        done += sim_rdma_step(dev);
    }
    if (dev_has_timers(dev)) {
        done += sim_timer_run(dev);
    }
    if (dev->late_num != 0) {
        done += sim_late_run(dev);
    }
    if (dev->again_num != 0) {
        done += sim_again_run(dev);
    }

    return done;
}

int sim_dev_is_busy(struct sim_dev *dev)
{
    struct sim_list *link;
    struct sim_qp *qp;

    if ((dev->outstanding != 0) || (dev->late_num != 0) ||
        (dev->again_num != 0) ||
        sim_fault_pending(dev) ||
        sim_poll_has_packets(dev)) {
        return 1;
    }

    for (link = dev->qps.next; link != &dev->qps; link = link->next) {
        qp = list_entry(link, struct sim_qp, link);
        if ((qp->sq.db != NULL) && (qp->state == SIM_QPS_RTS) &&
            (atomic_load(qp->sq.db) != qp->sq.cc)) {
            return 1;
        }
    }

    return 0;
}
