#define _GNU_SOURCE
#include "fallback.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "provider.h"

enum {
    OPENERS_MAX   = 64, /* transports that we stand in front of */
    ADDR_MAX      = 64, /* longest device address that is compared, bytes */
    CB_ID_NULL    = -1, /* UCS_CALLBACKQ_ID_NULL */
    TCP_ADDR_HEAD = 2   /* bytes: flags and family, before the IP address */
};

/* A transport of another component. */
typedef struct opener {
    const void            *component;
    char                  tl_name[UCT_TL_NAME_MAX];
    ucx_host_t            *host;
    ucx_iface_open_func_t open; /* its own */
} opener_t;

/* An interface that such a transport opened. */
typedef struct watched {
    struct watched               *next;
    uct_iface_h                  iface;
    uct_worker_h                 worker;
    const opener_t               *opener;
    char                         device[UCT_DEVICE_NAME_MAX];
    uint8_t                      addr[ADDR_MAX];
    size_t                       addr_len; /* 0: too long to be compared */
    unsigned                     remote_eps;
    uct_worker_cb_id_t           check_id;
    uct_ep_create_func_t         ep_create; /* its own */
    uct_iface_close_func_t       close;     /* its own */
} watched_t;

struct ucx_worker_use {
    struct ucx_worker_use *next;
    uct_worker_h          worker;
    unsigned              ifaces, eps;
};

static pthread_mutex_t fallback_lock = PTHREAD_MUTEX_INITIALIZER;
static opener_t openers[OPENERS_MAX];
static unsigned opener_count;
static watched_t *watched_ifaces;
static ucx_worker_use_t *worker_uses;
static int fallback_said; /* or there is nothing to be said, ever */

/* ---- our own interfaces and endpoints ---- */

static ucx_worker_use_t *worker_use_find_locked(uct_worker_h worker)
{
    ucx_worker_use_t *use = worker_uses;

    while ((use != NULL) && (use->worker != worker)) {
        use = use->next;
    }
    return use;
}

ucx_worker_use_t *ucx_fallback_iface_opened(uct_worker_h worker)
{
    ucx_worker_use_t *use;

    pthread_mutex_lock(&fallback_lock);
    use = worker_use_find_locked(worker);
    if ((use == NULL) && ((use = calloc(1, sizeof(*use))) != NULL)) {
        use->worker = worker;
        use->next   = worker_uses;
        worker_uses = use;
    }
    if (use != NULL) {
        ++use->ifaces;
    }
    pthread_mutex_unlock(&fallback_lock);
    return use;
}

void ucx_fallback_iface_closed(ucx_worker_use_t *use)
{
    ucx_worker_use_t **link = &worker_uses;

    if (use == NULL) {
        return;
    }
    pthread_mutex_lock(&fallback_lock);
    if (--use->ifaces == 0) {
        while (*link != use) {
            link = &(*link)->next;
        }
        *link = use->next;
        free(use);
    }
    pthread_mutex_unlock(&fallback_lock);
}

void ucx_fallback_ep_created(ucx_worker_use_t *use)
{
    if (use != NULL) {
        __atomic_fetch_add(&use->eps, 1, __ATOMIC_RELAXED);
    }
}

/* Endpoints of ours on @worker; -1: not even an interface. */
static long worker_eps(uct_worker_h worker)
{
    const ucx_worker_use_t *use;
    long eps;

    pthread_mutex_lock(&fallback_lock);
    use = worker_use_find_locked(worker);
    eps = (use == NULL) ? -1 : (long)use->eps;
    pthread_mutex_unlock(&fallback_lock);
    return eps;
}

/* ---- what is said ---- */

static const char *fallback_reason(long eps, unsigned usable)
{
    if (usable == 0) {
        return "that cannot be used, for a reason that UCX_LOG_LEVEL=debug "
               "shows";
    }
    if (eps >= 0) {
        return "the peer offers no srd of this kind: start it with the same "
               "module, too";
    }
    if ((getenv("UCX_TLS") != NULL) || (getenv("UCX_NET_DEVICES") != NULL)) {
        return "UCX_TLS or UCX_NET_DEVICES leaves it out: UCX_TLS=srd,sm,self "
               "takes it";
    }
    return "it could not be opened, for a reason that UCX_LOG_LEVEL=debug "
           "shows";
}

static void fallback_say(const watched_t *watched, long eps)
{
    ucx_host_t *host               = watched->opener->host;
    char (*names)[UCT_MD_NAME_MAX] = NULL;
    unsigned count                 = 0;

    if (__atomic_exchange_n(&fallback_said, 1, __ATOMIC_RELAXED)) {
        return;
    }
    if (ucx_company_rival(host) != NULL) {
        return; /* another srd serves, or failed to */
    }
    if (ucx_provider.query_mds(host, &names, &count) != UCS_OK) {
        count = 0;
    }
    free(names);
    if ((count == 0) && ((ucx_provider.device_is_present == NULL) ||
                         !ucx_provider.device_is_present())) {
        return; /* nothing better than that other transport here */
    }
    host_warn(host, "UCX takes %s on %s to another host although this one has "
              "an EFA: %s; 'srd_info --check' tells more, "
              "UCX_EFA_WARN_FALLBACK=n silences this",
              watched->opener->tl_name, watched->device,
              fallback_reason(eps, count));
}

static void watched_check_cancel(watched_t *watched)
{
    if (watched->check_id != CB_ID_NULL) {
        watched->opener->host->worker_progress_unregister(watched->worker,
                                                          &watched->check_id);
        watched->check_id = CB_ID_NULL;
    }
}

/* From progress: all lanes of the new endpoints are there now. */
static unsigned watched_check(void *arg)
{
    watched_t *watched = arg;
    long eps           = worker_eps(watched->worker);

    watched_check_cancel(watched);
    if ((long)watched->remote_eps > eps) {
        fallback_say(watched, eps);
    }
    return 0;
}

static void watched_remote(watched_t *watched)
{
    long eps = worker_eps(watched->worker);

    ++watched->remote_eps;
    if (eps < 0) {
        fallback_say(watched, eps);
    } else if (((long)watched->remote_eps > eps) &&
               (watched->check_id == CB_ID_NULL)) {
        watched->opener->host->worker_progress_register(watched->worker,
                                                        watched_check, watched,
                                                        0, &watched->check_id);
    }
}

/* ---- is a peer on this host? ---- */

/* Nonzero if an IP address of this host is the end of @addr. */
static int addr_is_local_ip(const uint8_t *addr, size_t length)
{
    struct ifaddrs *list, *it;
    int local = 0;

    if (getifaddrs(&list) != 0) {
        return 1; /* no warning without knowing */
    }
    for (it = list; (it != NULL) && !local; it = it->ifa_next) {
        const void *ip = NULL;
        size_t size    = 0;

        if ((it->ifa_addr != NULL) && (it->ifa_addr->sa_family == AF_INET)) {
            size = sizeof(struct in_addr);
            ip   = &((struct sockaddr_in*)it->ifa_addr)->sin_addr;
        } else if ((it->ifa_addr != NULL) &&
                   (it->ifa_addr->sa_family == AF_INET6)) {
            size = sizeof(struct in6_addr);
            ip   = &((struct sockaddr_in6*)it->ifa_addr)->sin6_addr;
        }
        local = (ip != NULL) && (size + TCP_ADDR_HEAD == length) &&
                !memcmp(addr + TCP_ADDR_HEAD, ip, size);
    }
    freeifaddrs(list);
    return local;
}

/* @addr has the length of our own only if its head is the same. */
static int watched_peer_is_here(const watched_t *watched, const void *addr)
{
    int is_tcp = !strcmp(watched->opener->tl_name, "tcp");

    if (is_tcp && memcmp(watched->addr, addr, TCP_ADDR_HEAD)) {
        return 0;
    }
    return !memcmp(watched->addr, addr, watched->addr_len) ||
           (is_tcp && addr_is_local_ip(addr, watched->addr_len));
}

/* ---- in front of the transport ---- */

static watched_t *watched_find(uct_iface_h iface)
{
    watched_t *it;

    pthread_mutex_lock(&fallback_lock);
    for (it = watched_ifaces; (it != NULL) && (it->iface != iface);
         it = it->next) {
    }
    pthread_mutex_unlock(&fallback_lock);
    return it;
}

static ucs_status_t watched_ep_create(const uct_ep_params_t *params,
                                      uct_ep_h *ep_p)
{
    watched_t *watched = watched_find(params->iface);

    if (watched == NULL) {
        return UCS_ERR_INVALID_PARAM; /* a copy of a closed one's operations */
    }
    if (!fallback_said && (watched->addr_len > 0) &&
        (params->field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR) &&
        !watched_peer_is_here(watched, params->dev_addr)) {
        watched_remote(watched);
    }
    return watched->ep_create(params, ep_p);
}

static void watched_close(uct_iface_h iface)
{
    watched_t *watched = watched_find(iface), **link = &watched_ifaces;
    uct_iface_close_func_t close;

    if (watched == NULL) {
        return;
    }
    watched_check_cancel(watched);
    pthread_mutex_lock(&fallback_lock);
    while (*link != watched) {
        link = &(*link)->next;
    }
    *link = watched->next;
    pthread_mutex_unlock(&fallback_lock);

    close                  = watched->close;
    iface->ops.ep_create   = watched->ep_create;
    iface->ops.iface_close = close;
    free(watched);
    close(iface);
}

static void watched_addr_get(watched_t *watched)
{
    uct_iface_h iface = watched->iface;
    uct_iface_attr_t attr;

    memset(&attr, 0, sizeof(attr));
    if ((iface->ops.iface_query(iface, &attr) == UCS_OK) &&
        (attr.device_addr_len >= TCP_ADDR_HEAD) &&
        (attr.device_addr_len <= ADDR_MAX) &&
        (iface->ops.iface_get_device_address(iface, (void*)watched->addr) ==
         UCS_OK)) {
        watched->addr_len = attr.device_addr_len;
    }
}

static void watched_attach(const opener_t *opener, uct_worker_h worker,
                           const char *device, uct_iface_h iface)
{
    watched_t *watched = calloc(1, sizeof(*watched));

    if (watched == NULL) {
        return; /* a warning less */
    }
    watched->iface     = iface;
    watched->worker    = worker;
    watched->opener    = opener;
    watched->check_id  = CB_ID_NULL;
    watched->ep_create = iface->ops.ep_create;
    watched->close     = iface->ops.iface_close;
    strncpy(watched->device, device, sizeof(watched->device) - 1);
    watched_addr_get(watched);

    iface->ops.ep_create   = watched_ep_create;
    iface->ops.iface_close = watched_close;
    pthread_mutex_lock(&fallback_lock);
    watched->next  = watched_ifaces;
    watched_ifaces = watched;
    pthread_mutex_unlock(&fallback_lock);
}

static const opener_t *opener_find(const void *component, const char *tl_name)
{
    const opener_t *found = NULL;
    unsigned i;

    pthread_mutex_lock(&fallback_lock);
    for (i = 0; (i < opener_count) && (found == NULL); ++i) {
        if ((openers[i].component == component) &&
            !strncmp(openers[i].tl_name, tl_name, UCT_TL_NAME_MAX)) {
            found = &openers[i];
        }
    }
    pthread_mutex_unlock(&fallback_lock);
    return found;
}

/* In the place of the transport's iface_open. UCX finds a transport by the name
 * in @params, so that says whose place it is. */
static ucs_status_t opener_open(uct_md_h md, uct_worker_h worker,
                                const uct_iface_params_t *params,
                                const uct_iface_config_t *config,
                                uct_iface_h *iface_p)
{
    const opener_t *opener;
    ucs_status_t status;

    if (!(params->open_mode & UCT_IFACE_OPEN_MODE_DEVICE)) {
        return UCS_ERR_UNSUPPORTED; /* socket addresses: gone since 1.8 */
    }
    opener = opener_find(((ucx_md_t*)md)->component,
                         params->mode.device.tl_name);
    if (opener == NULL) {
        return UCS_ERR_NO_DEVICE; /* only set where there is one */
    }
    status = opener->open(md, worker, params, config, iface_p);
    if ((status == UCS_OK) && (opener->host->calls->global.warn_fallback) &&
        !fallback_said) {
        watched_attach(opener, worker, params->mode.device.dev_name, *iface_p);
    }
    return status;
}

void ucx_fallback_attach(ucx_host_t *host, const ucx_neighbour_t *neighbour)
{
    ucx_iface_open_func_t ours = opener_open, theirs;
    opener_t *opener;

    if (strncmp(neighbour->component_name, "tcp", UCT_COMPONENT_NAME_MAX) &&
        strncmp(neighbour->component_name, "ib", UCT_COMPONENT_NAME_MAX)) {
        return;
    }
    pthread_mutex_lock(&fallback_lock);
    memcpy(&theirs, neighbour->iface_open, sizeof(theirs));
    if ((theirs != ours) && (opener_count < OPENERS_MAX)) {
        opener            = &openers[opener_count++];
        opener->component = neighbour->component;
        opener->host      = host;
        opener->open      = theirs;
        strncpy(opener->tl_name, neighbour->tl_name, UCT_TL_NAME_MAX - 1);
        memcpy(neighbour->iface_open, &ours, sizeof(ours));
    }
    pthread_mutex_unlock(&fallback_lock);
}
