/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX gives up a whole worker when one of its interfaces cannot be opened, also
 * where other transports would do. Obstacles to ours, little locked memory
 * first of all, are therefore found before, and the device is not offered: then
 * UCX goes on without it, and says so (ucp_hooks/fallback.h).
 *
 * UCX opens all interfaces that it was offered: each trial therefore covers the
 * earlier offers, too (efa_promise.h). SRD comes first. UD is offered where it
 * leaves room for SRD on every device, since it serves only users that ask for
 * it. (Rejected: keeping a trial's registrations until its interface opens,
 * since a program that opens none has 8 MB less for each device.)
 */
#include "efa_trial.h"
#include "efa_chunk.h"
#include "efa_promise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define EFA_TRIAL_DEPTH 64
#define EFA_TRIAL_QKEY  1

/* More was registered at a time than the limit allows: it does not hold for
 * this process (CAP_IPC_LOCK). */
static int efa_trial_is_unlimited;

/* The limit on locked memory, or RLIM_INFINITY. */
static rlim_t efa_trial_limit(void)
{
    struct rlimit limit;

    if (__atomic_load_n(&efa_trial_is_unlimited, __ATOMIC_RELAXED) ||
        (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)) {
        return RLIM_INFINITY;
    }
    return limit.rlim_cur;
}

/* Whether so many interfaces have room by far. */
static int efa_trial_is_far(rlim_t limit, unsigned count)
{
    return (limit == RLIM_INFINITY) || (limit / 2 / EFA_TRIAL_BYTES >= count);
}

/* How often EFA_TRIAL_BYTES are registered so that it proves that `count`
 * interfaces have room: no more than would break the limit, as it may not hold
 * for this process. */
static unsigned efa_trial_chunks(rlim_t limit, unsigned count)
{
    rlim_t most = limit / EFA_TRIAL_BYTES + 1;

    return (most < count) ? most : count;
}

/* Where the limit is far off, the first device shows that so much can be
 * registered, which tells of the process; the next ones, that they register at
 * all. Each of the 32 of a host would pin as much, for nothing. */
#define EFA_TRIAL_DEVICES 4
#define EFA_TRIAL_LITTLE  4096

/* Memory of a trial: it is registered as often as it takes, since the limit
 * counts registrations, and touching pages is what a trial costs. */
#define EFA_TRIAL_PIECE (EFA_TRIAL_BYTES / 4)

static ucs_status_t efa_trial_memory(efa_md_t *md, unsigned count)
{
    rlim_t       limit  = efa_trial_limit();
    int          is_far = efa_trial_is_far(limit, count);
    unsigned     chunks = is_far ? 1 : efa_trial_chunks(limit, count);
    unsigned     pieces = chunks * (EFA_TRIAL_BYTES / EFA_TRIAL_PIECE), i;
    size_t       size   = EFA_TRIAL_PIECE;
    efa_chunk_t *list   = NULL;
    ucs_status_t status;

    if (is_far && (count > EFA_TRIAL_DEVICES)) {
        return UCS_OK;
    }
    if (is_far && (count > 1)) {
        pieces = 1;
        size   = EFA_TRIAL_LITTLE;
    }
    status = efa_chunk_add(md, &list, size);
    for (i = 1; (i < pieces) && (status == UCS_OK); ++i) {
        status = efa_chunk_add_again(md, &list);
    }
    efa_chunk_list_free(md, &list);
    if ((status == UCS_OK) && (chunks > limit / EFA_TRIAL_BYTES)) {
        __atomic_store_n(&efa_trial_is_unlimited, 1, __ATOMIC_RELAXED);
    }
    return status;
}

/* A queue pair of this kind beside those that the domain promised. */
static ucs_status_t efa_trial_qps(efa_md_t *md, efa_qp_kind_t kind)
{
    efa_qp_params_t params = {
        .tx_depth = EFA_TRIAL_DEPTH,
        .rx_depth = EFA_TRIAL_DEPTH,
        .qkey     = EFA_TRIAL_QKEY,
        .is_trial = 1
    };
    ucs_status_t    status = UCS_OK;
    efa_qp_t        qps[EFA_QP_KINDS];
    unsigned        i, count = 0;

    for (i = 0; (i < EFA_QP_KINDS) && (status == UCS_OK); ++i) {
        params.kind = i;
        if ((i == kind) || efa_promise_is(md, i)) {
            status = efa_qp_open(&qps[count], md, &params);
            count += (status == UCS_OK);
        }
    }
    while (count > 0) {
        efa_qp_close(&qps[--count]);
    }
    return status;
}

/* Whether this process can open an interface on this domain now, beside
 * `others`. */
static ucs_status_t
efa_md_try(efa_md_t *md, efa_qp_kind_t kind, unsigned others)
{
    ucs_status_t status = efa_trial_memory(md, others + 1);

    return (status == UCS_OK) ? efa_trial_qps(md, kind) : status;
}

/* The others that need room when this one is opened, too. */
static unsigned efa_trial_others(efa_md_t *md, efa_qp_kind_t kind)
{
    unsigned srd = efa_promise_count(EFA_QP_SRD);
    unsigned ud  = efa_promise_count(EFA_QP_UD);

    if ((kind == EFA_QP_UD) && !ucx_user_left_out(md->super.host, "srd") &&
        (srd < efa_md_listed())) {
        srd = efa_md_listed();
    }
    return srd + ud - efa_promise_is(md, kind);
}

/* Tries, and remembers the result. */
static ucs_status_t efa_md_offer(efa_md_t *md, efa_qp_kind_t kind)
{
    ucs_status_t status = efa_md_try(md, kind, efa_trial_others(md, kind));

    if (status != UCS_OK) {
        md->refused |= UCS_BIT(kind);
        return status;
    }
    md->refused &= ~UCS_BIT(kind);
    efa_promise_make(md, kind);
    if ((kind == EFA_QP_UD) && (md->refused & UCS_BIT(EFA_QP_SRD))) {
        ucx_host_second_best(md->super.host, "ud", "srd");
    }
    return UCS_OK;
}

void efa_md_try_left_out(ucx_host_t *host)
{
    static const efa_md_config_t config = {
        .reg_cache = UCS_NO,
        .fork_init = UCS_NO
    };
    char         (*names)[UCT_MD_NAME_MAX];
    unsigned     i, count;
    ucx_md_t     *md;

    if (efa_md_list(host, &names, &count) != UCS_OK) {
        return;
    }
    for (i = 0; i < count; ++i) {
        if (efa_md_open(host, names[i], &config, &md) == UCS_OK) {
            (void)efa_md_try((efa_md_t*)md, EFA_QP_SRD, 0);
            efa_md_close(md);
        }
    }
    free(names);
}

ucs_status_t efa_md_query_devices(ucx_md_t *super, const char *transport,
                                  ucx_device_t **devices_p, unsigned *count_p)
{
    efa_md_t     *md   = (efa_md_t*)super;
    efa_qp_kind_t kind = strcmp(transport, "ud") ? EFA_QP_SRD : EFA_QP_UD;
    ucx_device_t *device;

    if (!ucx_user_left_out(super->host, transport) &&
        (efa_md_offer(md, kind) != UCS_OK)) {
        return UCS_ERR_NO_DEVICE;
    }
    device = calloc(1, sizeof(*device));
    if (device == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    snprintf(device->name, sizeof(device->name), "%.*s:%d",
             (int)sizeof(device->name) - 4, md->device->name, EFA_PORT);
    device->type       = UCT_DEVICE_TYPE_NET;
    device->sys_device = ucx_host_sys_device(
            super->host, (md->device->bdf[0] != '\0') ? md->device->bdf : NULL,
            md->device->name);
    *devices_p = device;
    *count_p   = 1;
    return UCS_OK;
}
