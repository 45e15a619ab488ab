/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_md.h"
#include "efa_ah.h"
#include "efa_device_mem.h"
#include "efa_gpu.h"
#include "efa_mr.h"
#include "efa_promise.h"
#include "efa_rkey.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EFA_REG_COST        16e-6 /* seconds, of pinning and a command */
#define EFA_REG_COST_BYTE   0.06e-9
#define EFA_REG_COST_CACHED 50e-9
#define EFA_WHY_MAX         512 /* bytes of an explanation */

static unsigned efa_listed;

/* Says why there is nothing, once per cause: UCX asks again and again. */
static void efa_md_report_none(ucx_host_t *host, const char *why)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char            said[EFA_WHY_MAX];
    int                    again;

    pthread_mutex_lock(&lock);
    again = strcmp(said, why) == 0;
    snprintf(said, sizeof(said), "%s", why);
    pthread_mutex_unlock(&lock);
    if (!again) {
        efa_report_absent(host, "no srd, no ud: %s", why);
    }
}

ucs_status_t efa_md_list(ucx_host_t *host, char (**names_p)[UCT_MD_NAME_MAX],
                         unsigned *count_p)
{
    char (*devices)[EFA_DEVICE_NAME_MAX];
    const efa_verbs_t *verbs;
    ucs_status_t       status;
    unsigned           i, count;
    char               why[EFA_WHY_MAX];

    *names_p = NULL;
    *count_p = 0;
    verbs    = efa_verbs_get(why, sizeof(why));
    if (verbs == NULL) {
        efa_md_report_none(host, why);
        return UCS_OK;
    }

    status = efa_device_list(verbs, &devices, &count);
    if (status != UCS_OK) {
        return status;
    }
    if (count == 0) {
        efa_device_explain_none(why, sizeof(why));
        efa_md_report_none(host, why);
        return UCS_OK;
    }

    *names_p = calloc(count, sizeof(**names_p));
    if (*names_p == NULL) {
        free(devices);
        return UCS_ERR_NO_MEMORY;
    }
    for (i = 0; i < count; ++i) {
        snprintf((*names_p)[i], sizeof(**names_p), "%.*s",
                 (int)sizeof(**names_p) - 1, devices[i]);
    }
    *count_p = count;
    __atomic_store_n(&efa_listed, count, __ATOMIC_RELAXED);
    free(devices);
    return UCS_OK;
}

unsigned efa_md_listed(void)
{
    return __atomic_load_n(&efa_listed, __ATOMIC_RELAXED);
}

/* Out of memory it is not recorded. */
static char *efa_md_record(const efa_md_config_t *config)
{
    return ((config->record != NULL) && (config->record[0] != '\0')) ?
                   strdup(config->record) :
                   NULL;
}

/* Whether the kernel copies at fork what a device writes to. libibverbs asks
 * it by a message each time: for the first of 32 devices. */
static int efa_md_fork_is_safe(const efa_verbs_t *verbs)
{
    static int is_safe;

    if (!__atomic_load_n(&is_safe, __ATOMIC_RELAXED) &&
        (verbs->is_fork_initialized != NULL) &&
        (verbs->is_fork_initialized() == EFA_FORK_UNNEEDED)) {
        __atomic_store_n(&is_safe, 1, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&is_safe, __ATOMIC_RELAXED);
}

/* Before the first registration of the process. Newer kernels copy pages that
 * a device writes to at fork: nothing to do there, and it must not be done,
 * since libibverbs up to 44 would take registered memory from children. */
static ucs_status_t
efa_md_fork_init(efa_md_t *md, const efa_md_config_t *config)
{
    const efa_verbs_t *verbs = md->device->verbs;
    int                err;

    if ((config->fork_init == UCS_NO) || efa_md_fork_is_safe(verbs)) {
        return UCS_OK;
    }
    err = verbs->fork_init();
    if ((err == 0) || (config->fork_init == UCS_TRY)) {
        return UCS_OK;
    }
    efa_report_absent(md->super.host,
                      "%s: fork() cannot be made safe as UCX_EFA_FORK_INIT=y "
                      "wants: %s; something else in this process has "
                      "registered memory before",
                      md->device->name, strerror(err));
    return UCS_ERR_UNSUPPORTED;
}

/* Whether srd_gpu is offered: UCX_EFA_DEVICE_API as it is for this process. */
static int efa_device_api(const efa_md_t *md, const void *config)
{
    int wished = ((const efa_md_config_t*)config)->device_api;

    if (ucx_host_device_api(md->super.host) == UCX_DEVICE_API_NONE) {
        return UCS_NO;
    }
    if (wished == UCS_TRY) {
        wished = (ucx_user_asked_for("srd_gpu") ||
                  (efa_gpu_has_driver() && ucx_host_uses_device_api())) ?
                         UCS_YES :
                         UCS_NO;
    }
    return wished;
}

ucs_status_t efa_md_open(ucx_host_t *host, const char *name,
                         const void *config, ucx_md_t **md_p)
{
    efa_md_t    *md;
    ucs_status_t status;

    md = calloc(1, sizeof(*md));
    if (md == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    md->super.host = host;

    status = efa_device_open(host, name, &md->device);
    if (status != UCS_OK) {
        goto err_free;
    }
    status = efa_md_fork_init(md, config);
    if (status != UCS_OK) {
        goto err_close;
    }

    md->pd = md->device->verbs->alloc_pd(md->device->context);
    if (md->pd == NULL) {
        efa_report_absent(host,
                          "%s: no protection domain: %s; close some of the "
                          "programs that use the device",
                          name, strerror(errno));
        status = UCS_ERR_IO_ERROR;
        goto err_close;
    }

    status = efa_ah_table_open(md);
    if (status != UCS_OK) {
        goto err_dealloc;
    }

    md->access = IBV_ACCESS_LOCAL_WRITE;
    if (md->device->caps & EFA_DEVICE_CAP_RDMA_READ) {
        md->access |= IBV_ACCESS_REMOTE_READ;
    }
    if (md->device->caps & EFA_DEVICE_CAP_RDMA_WRITE) {
        md->access |= IBV_ACCESS_REMOTE_WRITE;
    }
    md->direct     = ((const efa_md_config_t*)config)->direct;
    md->huge_pages = ((const efa_md_config_t*)config)->huge_pages;
    md->record     = efa_md_record(config);
    md->top        = ((const efa_md_config_t*)config)->top;
    md->device_api = efa_device_api(md, config);
    efa_md_probe_gpu(md, ((const efa_md_config_t*)config)->dmabuf);
    efa_md_memh_open(md);
    efa_device_mem_open(md);
    efa_md_cache_open(md, config);

    *md_p = &md->super;
    return UCS_OK;

err_dealloc:
    md->device->verbs->dealloc_pd(md->pd);
err_close:
    efa_device_close(md->device);
err_free:
    free(md);
    return status;
}

void efa_md_close(ucx_md_t *super)
{
    efa_md_t *md = (efa_md_t*)super;
    unsigned  kind;

    for (kind = 0; kind < EFA_QP_KINDS; ++kind) {
        efa_promise_end(md, kind);
    }
    efa_md_cache_close(md);
    efa_device_mem_close(md);
    efa_md_memh_close(md);
    efa_ah_table_close(md);
    md->device->verbs->dealloc_pd(md->pd);
    efa_device_close(md->device);
    free(md->record);
    free(md);
}

ucs_status_t efa_md_query(ucx_md_t *super, ucx_md_attr_t *attr)
{
    efa_md_t *md = (efa_md_t*)super;

    attr->caps             = UCX_MD_CAP_REG | UCX_MD_CAP_NEED_MEMH |
                             UCX_MD_CAP_NEED_RKEY | UCX_MD_CAP_INVALIDATE |
                             UCX_MD_CAP_ADVISE;
    if (md->dmabuf_types != 0) {
        attr->caps |= UCX_MD_CAP_REG_DMABUF;
    }
    attr->reg_mem_types    = UCS_BIT(UCS_MEMORY_TYPE_HOST) | md->gpu_types;
    attr->cache_mem_types  = md->dmabuf_types;
    if (!md->has_cache || (md->super.host->minor >= EFA_UCX_CACHES_ALL)) {
        attr->cache_mem_types |= attr->reg_mem_types;
    }
    attr->access_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->max_reg          = md->device->max_mr;
    attr->reg_alignment    = 1;
    attr->rkey_packed_size = sizeof(efa_rkey_wire_t);
    attr->reg_cost.c       = md->has_cache ? EFA_REG_COST_CACHED : EFA_REG_COST;
    attr->reg_cost.m       = md->has_cache ? 0 : EFA_REG_COST_BYTE;
    attr->local_cpus       = md->device->local_cpus;
    return UCS_OK;
}
