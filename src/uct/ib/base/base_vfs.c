/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_vfs.h"
#include "base_counters.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t base_vfs_mutex = PTHREAD_MUTEX_INITIALIZER;
static base_iface_t   *base_vfs_open_ifaces;

void base_vfs_lock(void)
{
    pthread_mutex_lock(&base_vfs_mutex);
}

void base_vfs_unlock(void)
{
    pthread_mutex_unlock(&base_vfs_mutex);
}

void base_vfs_open(base_iface_t *iface)
{
    base_vfs_lock();
    iface->vfs_next      = base_vfs_open_ifaces;
    base_vfs_open_ifaces = iface;
    base_vfs_unlock();
}

void base_vfs_each(void (*func)(base_iface_t *iface))
{
    base_iface_t *iface;

    for (iface = base_vfs_open_ifaces; iface != NULL; iface = iface->vfs_next) {
        func(iface);
    }
}

void base_vfs_close(base_iface_t *iface)
{
    base_iface_t **link = &base_vfs_open_ifaces;

    base_vfs_lock();
    while (*link != iface) {
        link = &(*link)->vfs_next;
    }
    *link = iface->vfs_next;
    base_vfs_unlock();
}

static int base_vfs_is_open(const void *object)
{
    const base_iface_t *iface = base_vfs_open_ifaces;

    while ((iface != NULL) && (iface != object)) {
        iface = iface->vfs_next;
    }
    return iface != NULL;
}

static void base_vfs_read_number(void *object, struct ucs_string_buffer *text,
                                 void *arg, uint64_t number)
{
    const base_iface_t *iface = object;
    uint64_t            values[BASE_COUNTER_LAST];

    (void)arg;
    base_vfs_lock();
    if (base_vfs_is_open(object)) {
        base_counters_read(iface, values);
        ucx_vfs_print(iface->super.host, text, "%llu\n",
                      (unsigned long long)values[number]);
    }
    base_vfs_unlock();
}

static const char *base_vfs_state(const base_ep_t *ep)
{
    if (ep->state == BASE_EP_FAILED) {
        return "failed";
    }
    return flow_tx_is_unanswered(ep->tx) ? "hello" : "open";
}

/* psn is the number of the next message, limit the one that may not go, both of
 * 16 bits; sending counts messages that are not complete. */
static void
base_vfs_read_endpoints(void *object, struct ucs_string_buffer *text, void *arg,
                        uint64_t number)
{
    const base_iface_t *iface = object;
    const base_ep_t    *ep;

    (void)arg;
    (void)number;
    base_vfs_lock();
    for (ep = base_vfs_is_open(object) ? iface->alive : NULL; ep != NULL;
         ep = ep->list_next) {
        ucx_vfs_print(iface->super.host, text,
                      "qpn=%u state=%s psn=%u limit=%u sending=%d rma=%u "
                      "pending=%d\n",
                      ep->dest.remote_qpn, base_vfs_state(ep),
                      flow_tx_psn(ep->tx), flow_tx_last_limit(ep->tx),
                      (int)flow_tx_outstanding(ep->tx), ep->rma_ops,
                      ep->requests != NULL);
    }
    base_vfs_unlock();
}

void base_vfs_refresh(uct_iface_h tl_iface)
{
    const base_iface_t *iface = (const base_iface_t*)tl_iface;
    const ucx_host_t   *host  = NULL;
    const char         *name  = NULL;
    char                path[64];
    unsigned            i;

    base_vfs_lock();
    if (base_vfs_is_open(iface)) {
        host = iface->super.host;
        name = iface->transport->name;
    }
    base_vfs_unlock();
    if (host == NULL) {
        return;
    }
    for (i = 0; i < BASE_COUNTER_LAST; ++i) {
        snprintf(path, sizeof(path), "%s/%s", name,
                 base_counter_names[i]);
        (void)ucx_vfs_add_file(host, tl_iface, path, base_vfs_read_number, NULL,
                               i);
    }
    snprintf(path, sizeof(path), "%s/endpoints", name);
    (void)ucx_vfs_add_file(host, tl_iface, path, base_vfs_read_endpoints, NULL,
                           0);
}
