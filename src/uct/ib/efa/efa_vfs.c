/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_vfs.h"
#include "efa_ep.h"

#include <pthread.h>

typedef enum efa_vfs_number {
    EFA_VFS_SENT,
    EFA_VFS_RMA,
    EFA_VFS_RECEIVED,
    EFA_VFS_EARLY,
    EFA_VFS_STALLS,
    EFA_VFS_NOT_READY,
    EFA_VFS_GRANTED,
    EFA_VFS_POSTED,
    EFA_VFS_POSTED_LEAST,
    EFA_VFS_BUFFERS,
    EFA_VFS_KEPT,
    EFA_VFS_IN_FLIGHT,
    EFA_VFS_PEERS,
    EFA_VFS_FLOWS_IN,
    EFA_VFS_HANDLES
} efa_vfs_number_t;

static const struct {
    const char      *path;
    efa_vfs_number_t number;
} efa_vfs_files[] = {
    {"srd/messages_sent", EFA_VFS_SENT},
    {"srd/rma_posted", EFA_VFS_RMA},
    {"srd/messages_received", EFA_VFS_RECEIVED},
    {"srd/messages_early", EFA_VFS_EARLY},         /* held for order */
    {"srd/window_stalls", EFA_VFS_STALLS},         /* sends that met a limit */
    {"srd/receiver_not_ready", EFA_VFS_NOT_READY}, /* sends posted again */
    {"srd/granted", EFA_VFS_GRANTED},     /* to all peers, not consumed yet */
    {"srd/receives_posted", EFA_VFS_POSTED},
    {"srd/receives_posted_least", EFA_VFS_POSTED_LEAST}, /* ever */
    {"srd/receive_buffers", EFA_VFS_BUFFERS},
    {"srd/receive_buffers_kept", EFA_VFS_KEPT},    /* by UCP */
    {"srd/requests_in_flight", EFA_VFS_IN_FLIGHT}, /* or to be sent again */
    {"srd/peers", EFA_VFS_PEERS},
    {"srd/flows_in", EFA_VFS_FLOWS_IN}, /* endpoints of peers to us */
    {"srd/address_handles", EFA_VFS_HANDLES},
};

static pthread_mutex_t efa_vfs_mutex = PTHREAD_MUTEX_INITIALIZER;
static efa_iface_t    *efa_vfs_open_ifaces;

void efa_vfs_lock(void)
{
    pthread_mutex_lock(&efa_vfs_mutex);
}

void efa_vfs_unlock(void)
{
    pthread_mutex_unlock(&efa_vfs_mutex);
}

void efa_vfs_open(efa_iface_t *iface)
{
    efa_vfs_lock();
    iface->vfs_next     = efa_vfs_open_ifaces;
    efa_vfs_open_ifaces = iface;
    efa_vfs_unlock();
}

void efa_vfs_close(efa_iface_t *iface)
{
    efa_iface_t **link = &efa_vfs_open_ifaces;

    efa_vfs_lock();
    while (*link != iface) {
        link = &(*link)->vfs_next;
    }
    *link = iface->vfs_next;
    efa_vfs_unlock();
}

static int efa_vfs_is_open(const void *object)
{
    const efa_iface_t *iface = efa_vfs_open_ifaces;

    while ((iface != NULL) && (iface != object)) {
        iface = iface->vfs_next;
    }
    return iface != NULL;
}

static uint64_t
efa_vfs_value(const efa_iface_t *iface, efa_vfs_number_t number)
{
    const efa_rxq_t *rxq = &iface->rxq;
    flow_counters_t  counters;

    flow_core_counters(iface->core, &counters);
    switch (number) {
    case EFA_VFS_SENT:
        return iface->ops_posted - iface->rma_posted;
    case EFA_VFS_RMA:
        return iface->rma_posted;
    case EFA_VFS_RECEIVED:
        return iface->received;
    case EFA_VFS_EARLY:
        return counters.held;
    case EFA_VFS_STALLS:
        return counters.stalls;
    case EFA_VFS_NOT_READY:
        return counters.rnr;
    case EFA_VFS_GRANTED:
        return counters.owed;
    case EFA_VFS_POSTED:
        return rxq->posted;
    case EFA_VFS_POSTED_LEAST:
        return rxq->least;
    case EFA_VFS_BUFFERS:
        return rxq->total;
    case EFA_VFS_KEPT:
        return rxq->total - rxq->free_count - rxq->posted - rxq->held;
    case EFA_VFS_IN_FLIGHT:
        return iface->ops_posted - iface->ops_done + iface->ctl_ops;
    case EFA_VFS_PEERS:
        return counters.peers;
    case EFA_VFS_FLOWS_IN:
        return counters.rx_flows;
    case EFA_VFS_HANDLES:
        return iface->ahs.count;
    }
    return 0;
}

static void efa_vfs_read_number(void *object, struct ucs_string_buffer *text,
                                void *arg, uint64_t number)
{
    const efa_iface_t *iface = object;

    (void)arg;
    efa_vfs_lock();
    if (efa_vfs_is_open(object)) {
        ucx_vfs_print(iface->super.host, text, "%llu\n",
                      (unsigned long long)efa_vfs_value(iface, number));
    }
    efa_vfs_unlock();
}

static const char *efa_vfs_state(const efa_ep_t *ep)
{
    if (ep->state == EFA_EP_FAILED) {
        return "failed";
    }
    return (ep->tx->state == FLOW_TX_HELLO) ? "hello" : "open";
}

/* psn is the number of the next message, limit the one that may not go, both of
 * 16 bits; sending counts messages that are not complete. */
static void efa_vfs_read_endpoints(void *object, struct ucs_string_buffer *text,
                                   void *arg, uint64_t number)
{
    const efa_iface_t *iface = object;
    const efa_ep_t    *ep;

    (void)arg;
    (void)number;
    efa_vfs_lock();
    for (ep = efa_vfs_is_open(object) ? iface->alive : NULL; ep != NULL;
         ep = ep->list_next) {
        ucx_vfs_print(iface->super.host, text,
                      "qpn=%u state=%s psn=%u limit=%u sending=%d rma=%u "
                      "pending=%d\n",
                      ep->dest.remote_qpn, efa_vfs_state(ep),
                      flow_tx_psn(ep->tx), ep->tx->limit,
                      __builtin_popcountll(ep->tx->busy), ep->rma_ops,
                      ep->requests != NULL);
    }
    efa_vfs_unlock();
}

void efa_vfs_refresh(uct_iface_h tl_iface)
{
    const ucx_host_t *host;
    unsigned          i;

    efa_vfs_lock();
    host = efa_vfs_is_open(tl_iface) ? ((efa_iface_t*)tl_iface)->super.host :
                                       NULL;
    efa_vfs_unlock();
    if (host == NULL) {
        return;
    }
    for (i = 0; i < sizeof(efa_vfs_files) / sizeof(efa_vfs_files[0]); ++i) {
        (void)ucx_vfs_add_file(host, tl_iface, efa_vfs_files[i].path,
                               efa_vfs_read_number, NULL,
                               efa_vfs_files[i].number);
    }
    (void)ucx_vfs_add_file(host, tl_iface, "srd/endpoints",
                           efa_vfs_read_endpoints, NULL, 0);
}
