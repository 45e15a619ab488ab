/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_vfs.h"
#include "efa_ep.h"
#include "efa_numbers.h"

#include <pthread.h>
#include <stdio.h>

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

static void efa_vfs_read_number(void *object, struct ucs_string_buffer *text,
                                void *arg, uint64_t number)
{
    const efa_iface_t *iface = object;
    uint64_t           values[EFA_NUMBER_LAST];

    (void)arg;
    efa_vfs_lock();
    if (efa_vfs_is_open(object)) {
        efa_numbers_read(iface, values);
        ucx_vfs_print(iface->super.host, text, "%llu\n",
                      (unsigned long long)values[number]);
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
    char              path[64];
    unsigned          i;

    efa_vfs_lock();
    host = efa_vfs_is_open(tl_iface) ? ((efa_iface_t*)tl_iface)->super.host :
                                       NULL;
    efa_vfs_unlock();
    if (host == NULL) {
        return;
    }
    for (i = 0; i < EFA_NUMBER_LAST; ++i) {
        snprintf(path, sizeof(path), "srd/%s", efa_numbers_class.names[i]);
        (void)ucx_vfs_add_file(host, tl_iface, path, efa_vfs_read_number, NULL,
                               i);
    }
    (void)ucx_vfs_add_file(host, tl_iface, "srd/endpoints",
                           efa_vfs_read_endpoints, NULL, 0);
}
