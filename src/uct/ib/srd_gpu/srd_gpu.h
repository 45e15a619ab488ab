/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_GPU_H_
#define SRD_GPU_H_

#include "srd_gpu_ring.h"

#include <pthread.h>
#include <stdatomic.h>

#include <uct/ib/base/base_types.h>
#include <uct/ib/efa/efa_device_mem.h>
#include <ucp_hooks/provider.h>

/*
 * Operations that kernels of a GPU begin: they write descriptors into rings
 * (srd_gpu_d2p.h), and a proxy here posts them. SRD orders nothing and has no
 * atomics, so an increment is an active message that goes when all writes
 * before it, of its endpoint and channel, are complete, that is in the peer's
 * memory; the peer's CPU adds. The flow core numbers it, so it is done once.
 */

#define SRD_GPU_CHANNELS_MAX 32

typedef struct srd_gpu_item  srd_gpu_item_t;
typedef struct srd_gpu_peer  srd_gpu_peer_t;
typedef struct srd_gpu_iface srd_gpu_iface_t;

typedef struct srd_gpu_queue {
    srd_gpu_item_t *first, *last;
} srd_gpu_queue_t;

/* Writes between two increments, as long as some are under way or wait for
 * such, and the increments behind them. */
typedef struct srd_gpu_group {
    uct_completion_t comp; /* counts writes under way */
    srd_gpu_peer_t  *peer;
    unsigned         channel;
    srd_gpu_queue_t  adds; /* of increments; with the first it is closed */
} srd_gpu_group_t;

/* A descriptor that was taken, or a group; there is a limited number. */
struct srd_gpu_item {
    srd_gpu_item_t *next;
    union {
        srd_gpu_group_t group;
        struct {
            srd_gpu_desc_t desc; /* an increment, or one that waits */
            unsigned       channel;
        };
    };
};

/* An endpoint that kernels know. */
struct srd_gpu_peer {
    base_ep_t        *ep; /* NULL: destroyed */
    srd_gpu_iface_t  *iface;
    srd_gpu_d2p_any_ep_t *device_ep;
    uint64_t          id; /* in descriptors */
    unsigned          groups; /* of all lanes */
    srd_gpu_queue_t   parked; /* descriptors that cannot be posted yet */
    srd_gpu_queue_t   ready;  /* increments whose writes are complete */
    int               waits;  /* it is in iface->waiting */
    srd_gpu_peer_t   *next;   /* there, or of the free ones */
    srd_gpu_queue_t   lanes[]; /* of groups, one lane a channel, oldest first;
                                  only the last one can be open */
};

/* A callback that UCP handed in, or may be owed (srd_gpu_thread.h). */
typedef struct srd_gpu_call {
    struct srd_gpu_call *next;
    srd_gpu_iface_t     *iface;
    base_ep_t           *ep;    /* whose end is its end; NULL: none's */
    uct_completion_t     comp;  /* ours; func is NULL: see the next two */
    uct_completion_t    *user;  /* UCP's; it is told when ours is */
    uct_pending_req_t   *req;   /* UCP's: called until it is done */
    ucs_status_t         status; /* neither: ep failed so */
    int                  is_due;
} srd_gpu_call_t;

typedef struct srd_gpu_thread {
    atomic_int          runs;
    pthread_t           id;
    pthread_mutex_t     mutex; /* recursive */
    atomic_int          stops;
    atomic_uint         wishes; /* of others, to have the lock */
    uint64_t            naps;  /* that it took */
    flow_time_t         idle;  /* ns that it polls in vain before it sleeps */
    srd_gpu_call_t     *calls;
    atomic_uint         due;   /* of them */
    uct_error_handler_t on_error; /* UCP's, or NULL */
    void               *on_error_arg;
} srd_gpu_thread_t;

/* The message of an increment: UCP has handlers of its own for lower ones. */
#define SRD_GPU_AM_ADD (UCT_AM_ID_MAX - 1)

typedef struct srd_gpu_wire {
    uint64_t raddr; /* the short message's header */
    uint64_t add;
    uint32_t rkey;
} __attribute__((packed)) srd_gpu_wire_t;

#define SRD_GPU_ADDS 32 /* that wait to be applied, at most */

struct srd_gpu_iface {
    base_iface_t         super;
    srd_gpu_thread_t     thread;
    unsigned             channels, log_depth;

    int                  has_list; /* writes wait for their doorbell */
    unsigned             in_place; /* so many do in the device's queue: */
    efa_direct_sq_t      list;     /* where the next one goes */
    srd_gpu_d2p_iface_t *d2p;   /* NULL: no kernel knows us yet */
    srd_gpu_ring_t       rings[SRD_GPU_CHANNELS_MAX];
    srd_gpu_item_t      *items; /* free ones */
    void                *item_block;

    srd_gpu_peer_t     **peers; /* by the lower half of ep_id */
    unsigned             peer_count, peer_room;
    srd_gpu_peer_t      *free_peers;
    srd_gpu_peer_t      *waiting; /* with something parked or ready */
    srd_gpu_d2p_any_ep_t *free_eps;
    struct srd_gpu_block *blocks; /* memory that the GPU reaches */

    uint64_t             dropped; /* descriptors of no use */
    int                  is_counted; /* a peer's increment has come */
    efa_device_mem_cache_t counted; /* where peers increment */
    srd_gpu_wire_t       adds[SRD_GPU_ADDS];
    unsigned             add_count;
    uint64_t            *add_values; /* for CUDA's copies; NULL: no such yet */
    uint64_t             refused; /* increments by peers, likewise */
};

extern const ucx_transport_t srd_gpu_transport;

/* Items (srd_gpu_order.c). NULL: they are all in use. */
srd_gpu_item_t *srd_gpu_item_get(srd_gpu_iface_t *iface);
void srd_gpu_item_put(srd_gpu_iface_t *iface, srd_gpu_item_t *item);
void srd_gpu_queue_put(srd_gpu_queue_t *queue, srd_gpu_item_t *item);
srd_gpu_item_t *srd_gpu_queue_take(srd_gpu_queue_t *queue);
void srd_gpu_queue_drop(srd_gpu_iface_t *iface, srd_gpu_queue_t *queue);

/* The group that a write joins now; its completion is to be counted up for each
 * work request, and done once more when they are posted. NULL: no item is
 * left. */
srd_gpu_group_t *srd_gpu_order_write(srd_gpu_peer_t *peer, unsigned channel);

/* An increment goes, or waits for what is before it. 0: no item is left. */
int srd_gpu_order_add(srd_gpu_peer_t *peer, unsigned channel,
                      const srd_gpu_desc_t *desc);

/* The peer has something to be sent when it can. */
void srd_gpu_order_wait(srd_gpu_peer_t *peer);

/* Its endpoint is destroyed. It is free for another one when nothing refers to
 * it, which the second call looks for. */
void srd_gpu_order_end(srd_gpu_peer_t *peer);
void srd_gpu_peer_unused(srd_gpu_peer_t *peer);

/* Memory that CPU and GPU read and write (srd_gpu_memory.c), zeroed; NULL,
 * after a line. */
void *srd_gpu_memory_get(srd_gpu_iface_t *iface, size_t size);

/* All, or (`kept`, of iface->blocks) what came later. */
void srd_gpu_memory_free(srd_gpu_iface_t *iface,
                         const struct srd_gpu_block *kept);

/* Endpoints (srd_gpu_peer.c): ep_get_device_ep of provider.h, and ep_create and
 * ep_destroy of UCT, without a thread; the one with a descriptor's id, or
 * NULL. */
ucs_status_t srd_gpu_ep_get_device_ep(uct_ep_h tl_ep, void **device_ep_p);
ucs_status_t
srd_gpu_ep_create(const uct_ep_params_t *params, uct_ep_h *ep_p);
void srd_gpu_ep_destroy(uct_ep_h tl_ep);
void srd_gpu_peer_free_all(srd_gpu_iface_t *iface);

static inline srd_gpu_peer_t *
srd_gpu_peer_find(const srd_gpu_iface_t *iface, uint64_t ep_id)
{
    srd_gpu_peer_t *peer;

    if ((uint32_t)ep_id >= iface->peer_count) {
        return NULL;
    }
    peer = iface->peers[(uint32_t)ep_id];
    return ((peer->ep != NULL) && (peer->id == ep_id)) ? peer : NULL;
}

/* iface_progress of UCT, without a thread: takes what kernels have written, and
 * posts what can be (srd_gpu_proxy.c). */
unsigned srd_gpu_progress(uct_iface_h tl_iface);

/* A peer's increment arrived: the handler of active messages
 * (srd_gpu_count.c). The second applies those that did. */
ucs_status_t srd_gpu_count(void *arg, void *data, size_t length,
                           unsigned flags);
void srd_gpu_count_all(srd_gpu_iface_t *iface);

/* Gets what counters in a GPU's memory take: before kernels run, for whose end
 * CUDA's driver may wait. */
void srd_gpu_count_prepare(srd_gpu_iface_t *iface);

#endif
