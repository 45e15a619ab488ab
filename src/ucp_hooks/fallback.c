/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "fallback.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi.h"
#include "calls.h"
#include "message.h"
#include "near.h"
#include "provider.h"

static pthread_mutex_t fallback_lock = PTHREAD_MUTEX_INITIALIZER;
static ucx_use_t *uses;

ucx_use_t *ucx_use_begin(size_t size, uct_iface_h iface, uct_worker_h worker,
                         use_kind_t kind)
{
    ucx_use_t *use = calloc(1, size);

    if (use != NULL) {
        use->iface  = iface;
        use->worker = worker;
        use->kind   = kind;
        pthread_mutex_lock(&fallback_lock);
        use->next = uses;
        uses      = use;
        pthread_mutex_unlock(&fallback_lock);
    }
    return use;
}

void ucx_use_end(ucx_use_t *use)
{
    ucx_use_t **link = &uses;

    if (use != NULL) {
        pthread_mutex_lock(&fallback_lock);
        while (*link != use) {
            link = &(*link)->next;
        }
        *link = use->next;
        pthread_mutex_unlock(&fallback_lock);
        free(use);
    }
}

void ucx_use_add_ep(ucx_use_t *use)
{
    if (use != NULL) {
        __atomic_fetch_add(&use->eps, 1, __ATOMIC_RELAXED);
    }
}

/* The interfaces of a kind beside this one, on its worker, and their
 * endpoints. */
static unsigned uses_count(const ucx_use_t *beside, use_kind_t kind,
                           unsigned *eps)
{
    unsigned count = 0;
    ucx_use_t *use;

    *eps = 0;
    pthread_mutex_lock(&fallback_lock);
    for (use = uses; use != NULL; use = use->next) {
        if ((use->worker == beside->worker) && (use->kind == kind)) {
            *eps += __atomic_load_n(&use->eps, __ATOMIC_RELAXED);
            ++count;
        }
    }
    pthread_mutex_unlock(&fallback_lock);
    return count;
}

enum {
    OPENERS_MAX   = 64,  /* transports whose iface_open we intercept */
    ADDR_MAX      = 64,  /* longest device address that is compared, bytes */
    REASON_MAX    = 640, /* bytes */
    NAMES_MAX     = 64,
    CB_ID_NULL    = -1,  /* UCS_CALLBACKQ_ID_NULL */
    CONNECT_LOOKS = 1000, /* calls of progress, and seconds, in which UCX */
    CONNECT_TIME  = 2,    /* connects a lane of ours beside that of a socket; */
    CONNECT_LATE  = 10,   /* on a host without enough CPUs it takes longer */
    ADDR_MIN      = 2
};

/* A transport of another component, whose iface_open we intercept. */
typedef struct opener {
    const void            *component;
    char                  tl_name[UCT_TL_NAME_MAX];
    use_kind_t            kind;
    ucx_host_t            *host;
    ucx_iface_open_func_t open; /* the original one */
} opener_t;

/* From UCX 1.14 on it has @params; before, the register that they are in goes
 * by untouched. */
typedef ucs_status_t (*connect_t)(uct_ep_h ep,
                                  const uct_device_addr_t *dev_addr,
                                  const uct_ep_addr_t *ep_addr,
                                  const void *params);

/* An interface that such a transport opened, and the functions that we replaced
 * in it. */
typedef struct watched {
    ucx_use_t              use; /* first */
    const opener_t         *opener;
    char                   device[UCT_DEVICE_NAME_MAX];
    uint8_t                addr[ADDR_MAX];
    size_t                 addr_len; /* 0: too long to be compared */
    unsigned               far_eps;  /* to an address of another host */
    unsigned               near_eps; /* to an address of this host */
    uct_worker_cb_id_t     check_id;
    unsigned               looks; /* calls of progress until the check */
    time_t                 since; /* of the first of them */
    int                    had_efa; /* an interface of ours, then */
    uct_ep_create_func_t   ep_create; /* from here on the originals */
    uct_iface_close_func_t close;
    connect_t              connect;
    void                   *internal_ops, *internal_copy;
} watched_t;

static opener_t openers[OPENERS_MAX];
static unsigned opener_count;
static unsigned fallback_mds;
static int fallback_said; /* or it turned out that nothing is to be said */

void ucx_fallback_md_count(int change)
{
    __atomic_fetch_add(&fallback_mds, (unsigned)change, __ATOMIC_RELAXED);
}

/* ---- what is said ---- */

/* Nonzero if the worker has an interface of ours. */
static int watched_has_efa(const watched_t *watched)
{
    unsigned eps;

    return uses_count(&watched->use, USE_EFA, &eps) > 0;
}

static void fallback_reason(const watched_t *watched, char *text, size_t max)
{
    int has_md = __atomic_load_n(&fallback_mds, __ATOMIC_RELAXED) > 0;
    int other  = ucx_collision_find(watched->opener->host).name != NULL;
    int out    = tls_first_of_ours(watched->opener->host) == NULL;
    const char *net = ucx_setting("NET_DEVICES");
    char names[NAMES_MAX];

    if (watched->had_efa || watched_has_efa(watched)) {
        tls_names_of_ours(watched->opener->host, " or ", names, sizeof(names));
        snprintf(text, max, "the peer offers no %s of this kind: start it "
                 "with the same module and the same UCX_TLS", names);
        return;
    }
    if (!has_md && !other) {
        ucx_message_absence(text, max);
        if ((text[0] == '\0') && out) {
            ucx_provider.try_left_out(watched->opener->host);
            ucx_message_absence(text, max);
        }
        if (text[0] != '\0') {
            return;
        }
    }
    if (out) {
        snprintf(text, max, "UCX_TLS=%.64s leaves it out: UCX_TLS=srd,sm,self "
                 "takes it", ucx_setting("TLS"));
    } else if (other) {
        snprintf(text, max, "another component of this UCX has an srd, which "
                 "does not serve; to use this module's: unset UCX_EFA_CLAIM");
    } else if ((net != NULL) && strcmp(net, "all")) {
        snprintf(text, max, "UCX_NET_DEVICES=%.64s leaves it out: unset it, "
                 "or add the EFA (ucx_info -d shows its name), which takes it",
                 net);
    } else {
        snprintf(text, max, "it could not be opened, for a reason that "
                 "UCX_LOG_LEVEL=debug shows");
    }
}

/* @where: "to another host", or to what shared memory does not reach either */
static void fallback_say(const watched_t *watched, const char *where)
{
    ucx_host_t *host = watched->opener->host;
    char reason[REASON_MAX];

    if (__atomic_exchange_n(&fallback_said, 1, __ATOMIC_RELAXED) ||
        !ucx_provider.device_is_present() || !ucx_message_is_first()) {
        return; /* no EFA here, or the user has been told already */
    }
    fallback_reason(watched, reason, sizeof(reason));
    host_warn(host, "UCX takes %s on %s %s although this one has an EFA: %s; "
              "'srd_info --check' tells more, UCX_EFA_WARN_FALLBACK=n silences "
              "this", watched->opener->tl_name, watched->device, where, reason);
}

static void watched_check_cancel(watched_t *watched)
{
    if (watched->check_id != CB_ID_NULL) {
        watched->opener->host->worker_progress_unregister(watched->use.worker,
                                                          &watched->check_id);
        watched->check_id = CB_ID_NULL;
    }
}

/* Nonzero if there are more endpoints to other hosts than endpoints of ours:
 * then this transport does not just serve beside those. */
static int watched_is_alone(const watched_t *watched)
{
    unsigned memory, efa, near = watched->near_eps;

    (void)uses_count(&watched->use, USE_EFA, &efa);
    if (uses_count(&watched->use, USE_MEMORY, &memory) == 0) {
        near = 0;
    }
    return watched->far_eps + ((near > memory) ? near - memory : 0) > efa;
}

static void watched_compare(watched_t *watched)
{
    if (watched_is_alone(watched)) {
        fallback_say(watched, (watched->far_eps > 0) ? "to another host" :
                     "to another IPC namespace of this host");
    }
}

static time_t watched_age(const watched_t *watched)
{
    return ucx_host_seconds() - watched->since;
}

/* Called from progress, when UCX has made all lanes of the new endpoints; those
 * of a connection by socket address only some time later. */
static unsigned watched_check(void *arg)
{
    watched_t *watched = arg;

    if (watched_is_alone(watched) && (watched->looks > 0)) {
        if (watched->looks == CONNECT_LOOKS) {
            watched->since   = ucx_host_seconds();
            watched->had_efa = watched_has_efa(watched);
        }
        watched->looks -= (watched->looks > 1);
        if ((watched->looks > 1) || (watched_age(watched) <= CONNECT_LATE)) {
            return 0;
        }
    }
    watched->looks = 0;
    watched_check_cancel(watched);
    watched_compare(watched);
    return 0;
}

/* The interface is closed while its check is to come: that is made now, if
 * there was time for a lane of ours. */
static void watched_check_last(watched_t *watched)
{
    if ((watched->check_id != CB_ID_NULL) && (watched->looks == 1) &&
        (watched_age(watched) > CONNECT_TIME)) {
        watched_compare(watched);
    }
}

/* One more endpoint, to another host or to this one. Where ours or shared
 * memory may serve, too, it is compared with their endpoints later, when UCX
 * has made them: after at most @looks calls of progress, if that is not 0. */
static void watched_add_peer(watched_t *watched, int is_far, unsigned looks)
{
    *(is_far ? &watched->far_eps : &watched->near_eps) += 1;
    watched->looks = (looks > 0) ? looks : watched->looks;
    if (is_far && !watched_has_efa(watched)) {
        watched_compare(watched);
    } else if (watched->check_id == CB_ID_NULL) {
        watched->opener->host->worker_progress_register(
                watched->use.worker, watched_check, watched, 0,
                &watched->check_id);
    }
}

/* Is the peer on this host? */
static void watched_look_at(watched_t *watched, const void *dev_addr,
                            unsigned looks)
{
    int is_here;

    if (!fallback_said && (watched->addr_len > 0) && (dev_addr != NULL)) {
        is_here = !strcmp(watched->opener->tl_name, "tcp") ?
                  near_tcp(dev_addr) :
                  near_ib(watched->addr, watched->addr_len, dev_addr);
        watched_add_peer(watched, !is_here, looks);
    }
}

/* ---- what replaces functions of the transport ---- */

static watched_t *watched_find(uct_iface_h iface)
{
    ucx_use_t *use;

    pthread_mutex_lock(&fallback_lock);
    for (use = uses; (use != NULL) && (use->iface != iface);
         use = use->next) {
    }
    pthread_mutex_unlock(&fallback_lock);
    return (watched_t*)use;
}

static ucs_status_t watched_ep_create(const uct_ep_params_t *params,
                                      uct_ep_h *ep_p)
{
    watched_t *watched = watched_find(params->iface);
    ucs_status_t status;

    if (watched == NULL) {
        return UCS_ERR_INVALID_PARAM; /* a copy of a closed one's operations */
    }
    if (watched->opener->kind != USE_NETWORK) {
        status = watched->ep_create(params, ep_p);
        if (status == UCS_OK) {
            ucx_use_add_ep(&watched->use);
        }
        return status;
    }
    if (params->field_mask & UCT_EP_PARAM_FIELD_DEV_ADDR) {
        watched_look_at(watched, params->dev_addr, 0);
    }
    return watched->ep_create(params, ep_p);
}

/* Endpoints that are made without an address get it when they connect: after a
 * connection by socket address. */
static ucs_status_t watched_connect(uct_ep_h ep,
                                    const uct_device_addr_t *dev_addr,
                                    const uct_ep_addr_t *ep_addr,
                                    const void *params)
{
    watched_t *watched = watched_find(ep->iface);

    if (watched == NULL) {
        return UCS_ERR_INVALID_PARAM;
    }
    watched_look_at(watched, dev_addr, CONNECT_LOOKS);
    return watched->connect(ep, dev_addr, ep_addr, params);
}

/* Where an interface has its private operations: behind its public ones. */
static void **watched_internal(uct_iface_h iface)
{
    return (void**)(iface + 1);
}

/* Only tcp's functions: those of the ib component are in a larger table. */
static void watched_connect_attach(watched_t *watched)
{
    const ucx_abi_t *abi = watched->opener->host->calls->abi;
    connect_t ours       = watched_connect;
    uct_iface_h iface    = watched->use.iface;
    void **ops           = watched_internal(iface);
    void *place          = &iface->ops.ep_connect_to_ep;

    if (strcmp(watched->opener->tl_name, "tcp")) {
        return;
    }
    if (abi->connect_to_ep_v2 != 0) {
        watched->internal_copy = malloc(abi->internal_ops_size);
        if (watched->internal_copy == NULL) {
            return; /* a warning less */
        }
        watched->internal_ops = *ops;
        memcpy(watched->internal_copy, *ops, abi->internal_ops_size);
        place = (char*)watched->internal_copy + abi->connect_to_ep_v2;
        *ops  = watched->internal_copy;
    }
    memcpy(&watched->connect, place, sizeof(ours));
    memcpy(place, &ours, sizeof(ours));
}

static void watched_close(uct_iface_h iface)
{
    watched_t *watched = watched_find(iface);

    if (watched == NULL) {
        return;
    }
    watched_check_last(watched);
    watched_check_cancel(watched);
    iface->ops.ep_create   = watched->ep_create;
    iface->ops.iface_close = watched->close;
    if (watched->internal_copy != NULL) {
        *watched_internal(iface) = watched->internal_ops;
        free(watched->internal_copy);
    } else if (watched->connect != NULL) {
        memcpy(&iface->ops.ep_connect_to_ep, &watched->connect,
               sizeof(watched->connect));
    }
    ucx_use_end(&watched->use);
    iface->ops.iface_close(iface);
}

static void watched_addr_get(watched_t *watched)
{
    uct_iface_h iface = watched->use.iface;
    uct_iface_attr_t attr;

    memset(&attr, 0, sizeof(attr));
    if ((iface->ops.iface_query(iface, &attr) == UCS_OK) &&
        (attr.device_addr_len >= ADDR_MIN) &&
        (attr.device_addr_len <= ADDR_MAX) &&
        (iface->ops.iface_get_device_address(iface, (void*)watched->addr) ==
         UCS_OK)) {
        watched->addr_len = attr.device_addr_len;
    }
}

static void watched_attach(const opener_t *opener, uct_worker_h worker,
                           const char *device, uct_iface_h iface)
{
    watched_t *watched = (watched_t*)ucx_use_begin(sizeof(*watched), iface,
                                                   worker, opener->kind);

    if (watched == NULL) {
        return; /* a warning less */
    }
    watched->opener    = opener;
    watched->check_id  = CB_ID_NULL;
    watched->ep_create = iface->ops.ep_create;
    watched->close     = iface->ops.iface_close;
    strncpy(watched->device, device, sizeof(watched->device) - 1);
    if (opener->kind == USE_NETWORK) {
        watched_addr_get(watched);
        watched_connect_attach(watched);
    }
    iface->ops.ep_create   = watched_ep_create;
    iface->ops.iface_close = watched_close;
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

static use_kind_t opener_kind(const ucx_list_entry_t *entry)
{
    static const struct {
        const char *component, *transport; /* NULL: any */
        use_kind_t kind;
    } known[] = {
        {NULL, "posix", USE_MEMORY}, {NULL, "sysv", USE_MEMORY},
        {NULL, "xpmem", USE_MEMORY}, {"tcp", NULL, USE_NETWORK},
        {"ib", NULL, USE_NETWORK},
    };
    unsigned i;

    for (i = 0; i < ucx_provider.carrier_count; ++i) {
        if (!strncmp(entry->tl_name, ucx_provider.transports[i]->name,
                     UCT_TL_NAME_MAX)) {
            return USE_EFA;
        }
    }
    for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
        if (((known[i].component == NULL) ||
             !strncmp(entry->component_name, known[i].component,
                      UCT_COMPONENT_NAME_MAX)) &&
            ((known[i].transport == NULL) ||
             !strncmp(entry->tl_name, known[i].transport,
                      UCT_TL_NAME_MAX))) {
            return known[i].kind;
        }
    }
    return USE_KINDS;
}

void ucx_fallback_attach(ucx_host_t *host, const ucx_list_entry_t *entry)
{
    ucx_iface_open_func_t ours = opener_open, theirs;
    use_kind_t kind                = opener_kind(entry);
    opener_t *opener;

    if (kind == USE_KINDS) {
        return;
    }
    pthread_mutex_lock(&fallback_lock);
    memcpy(&theirs, entry->iface_open, sizeof(theirs));
    if ((theirs != NULL) && (theirs != ours) && (opener_count < OPENERS_MAX)) {
        opener            = &openers[opener_count++];
        opener->component = entry->component;
        opener->kind      = kind;
        opener->host      = host;
        opener->open      = theirs;
        strncpy(opener->tl_name, entry->tl_name, UCT_TL_NAME_MAX - 1);
        memcpy(entry->iface_open, &ours, sizeof(ours));
    }
    pthread_mutex_unlock(&fallback_lock);
}
