/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider without a device, for the tests of src/ucp_hooks: one memory
 * domain, and a transport that hands each message back to its own interface.
 * It offers a configuration variable of every type. The tests read its counts
 * through UCT's own queries: hook_md_query and hook_iface_query say where.
 */
#include "ucp_hooks/provider.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { HOOK_BCOPY_MAX = 4096, HOOK_SHORT_MAX = 256, HOOK_RKEY_SIZE = 12 };

typedef struct hook_md_config {
    char     *name;
    unsigned depth;
    double   factor;
    int      flag;
    int      ternary;
    size_t   size;
    double   timeout;
} hook_md_config_t;

typedef struct hook_iface_config {
    ucx_iface_config_t super;
    unsigned           depth;
} hook_iface_config_t;

typedef struct hook_md {
    ucx_md_t super;
    unsigned registered;
    void     *watched;  /* address of the latest registration */
    unsigned unmapped;  /* events that covered it */
    int      timer_fd;
    unsigned ticks;     /* of a timer of 5 ms */
} hook_md_t;

typedef struct hook_iface {
    ucx_iface_base_t super;
    unsigned         depth;
    unsigned         progressed;
} hook_iface_t;

typedef struct hook_ep {
    ucx_ep_base_t super;
    int           invalid;
} hook_ep_t;

static const char hook_device_addr[8] = "hookdev";

/* ---- endpoint ---- */

static ucs_status_t hook_ep_create(const uct_ep_params_t *params,
                                   uct_ep_h *ep_p)
{
    hook_ep_t *ep = calloc(1, sizeof(*ep));
    ucs_status_t status;

    if (ep == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = ucx_ep_init(&ep->super, (ucx_iface_base_t*)params->iface);
    if (status != UCS_OK) {
        free(ep);
        return status;
    }
    *ep_p = &ep->super.super;
    return UCS_OK;
}

static void hook_ep_destroy(uct_ep_h tl_ep)
{
    hook_ep_t *ep = (hook_ep_t*)tl_ep;

    ucx_ep_cleanup(&ep->super);
    free(ep);
}

static ucs_status_t hook_ep_am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                                     const void *payload, unsigned length)
{
    char buffer[HOOK_SHORT_MAX];

    memcpy(buffer, &header, sizeof(header));
    memcpy(buffer + sizeof(header), payload, length);
    return ucx_iface_invoke_am((ucx_iface_base_t*)ep->iface, id, buffer,
                               sizeof(header) + length, 0);
}

static ssize_t hook_ep_am_bcopy(uct_ep_h ep, uint8_t id,
                                uct_pack_callback_t pack_cb, void *arg,
                                unsigned flags)
{
    char buffer[HOOK_BCOPY_MAX];
    size_t length = pack_cb(buffer, arg);
    ucs_status_t status;

    (void)flags;
    status = ucx_iface_invoke_am((ucx_iface_base_t*)ep->iface, id, buffer,
                                 length, 0);
    return (status == UCS_OK) ? (ssize_t)length : (ssize_t)status;
}

static ucs_status_t hook_ep_flush(uct_ep_h ep, unsigned flags,
                                  uct_completion_t *comp)
{
    (void)ep, (void)flags, (void)comp;
    return UCS_OK;
}

static ucs_status_t hook_ep_fence(uct_ep_h ep, unsigned flags)
{
    (void)ep, (void)flags;
    return UCS_OK;
}

static ucs_status_t hook_ep_check(uct_ep_h ep, unsigned flags,
                                  uct_completion_t *comp)
{
    (void)flags, (void)comp;
    if (!((hook_ep_t*)ep)->invalid) {
        return UCS_OK;
    }
    return ucx_iface_handle_ep_err((ucx_iface_base_t*)ep->iface, ep,
                                   UCS_ERR_ENDPOINT_TIMEOUT);
}

static ucs_status_t hook_ep_pending_add(uct_ep_h ep, uct_pending_req_t *req,
                                        unsigned flags)
{
    (void)ep, (void)req, (void)flags;
    return UCS_ERR_BUSY;
}

static void hook_ep_pending_purge(uct_ep_h ep, uct_pending_purge_callback_t cb,
                                  void *arg)
{
    (void)ep, (void)cb, (void)arg;
}

/* ---- interface ---- */

static ucs_status_t hook_iface_flush(uct_iface_h iface, unsigned flags,
                                     uct_completion_t *comp)
{
    (void)iface, (void)flags, (void)comp;
    return UCS_OK;
}

static ucs_status_t hook_iface_fence(uct_iface_h iface, unsigned flags)
{
    (void)iface, (void)flags;
    return UCS_OK;
}

static unsigned hook_iface_progress(uct_iface_h iface)
{
    ((hook_iface_t*)iface)->progressed++;
    return 0;
}

static void hook_iface_close(uct_iface_h iface)
{
    ucx_iface_progress_disable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    ucx_iface_cleanup((ucx_iface_base_t*)iface);
    free(iface);
}

static ucs_status_t hook_iface_query(uct_iface_h iface, uct_iface_attr_t *attr)
{
    hook_iface_t *self = (hook_iface_t*)iface;

    ucx_iface_attr_init(&self->super, attr);
    attr->cap.flags           = UCT_IFACE_FLAG_AM_SHORT |
                                UCT_IFACE_FLAG_AM_BCOPY |
                                UCT_IFACE_FLAG_CONNECT_TO_IFACE |
                                UCT_IFACE_FLAG_PENDING |
                                UCT_IFACE_FLAG_CB_SYNC;
    attr->cap.am.max_short    = HOOK_SHORT_MAX;
    attr->cap.am.max_bcopy    = HOOK_BCOPY_MAX;
    attr->cap.am.align_mtu    = 1;
    attr->cap.am.opt_zcopy_align = 1;
    attr->device_addr_len     = sizeof(hook_device_addr);
    attr->overhead            = 1e-6;
    attr->bandwidth.shared    = 1e9;
    attr->latency             = ucs_linear_func_make(2e-6, 0);
    attr->priority            = self->depth & 0xff;
    attr->cap.am.max_hdr      = self->progressed;
    return UCS_OK;
}

static ucs_status_t hook_iface_get_device_address(uct_iface_h iface,
                                                  uct_device_addr_t *addr)
{
    (void)iface;
    memcpy(addr, hook_device_addr, sizeof(hook_device_addr));
    return UCS_OK;
}

static int hook_iface_is_reachable(uct_iface_h iface,
                                   const uct_device_addr_t *dev_addr,
                                   const uct_iface_addr_t *iface_addr)
{
    (void)iface, (void)iface_addr;
    return !memcmp(dev_addr, hook_device_addr, sizeof(hook_device_addr));
}

static int hook_ep_is_connected(uct_ep_h ep, const uct_device_addr_t *dev_addr,
                                const uct_iface_addr_t *iface_addr)
{
    return hook_iface_is_reachable(ep->iface, dev_addr, iface_addr);
}

static ucs_status_t hook_ep_invalidate(uct_ep_h ep)
{
    ((hook_ep_t*)ep)->invalid = 1;
    return UCS_OK;
}

/* Numbers that tell what was asked. */
static void hook_estimate(uct_iface_h iface, ucx_op_t op,
                          ucx_estimate_t *estimate)
{
    (void)iface;
    estimate->post     = op + 1.0;
    estimate->complete = op + 2.0;
    estimate->receive  = op + 3.0;
    estimate->latency  = op + 4.0;
}

static void hook_query_sgl(uct_iface_h iface, size_t *max_put_p,
                           size_t *max_get_p)
{
    *max_put_p = ((hook_iface_t*)iface)->depth;
    *max_get_p = ((hook_iface_t*)iface)->depth + 1;
}

/* Copies, all at once, if the keys are those of the addresses. */
static ucs_status_t hook_sgl(const ucx_sgl_t *sgl, uct_completion_t *comp,
                             int is_put)
{
    size_t i, block, stride;
    char *here, *there;

    for (i = 0; i < sgl->count; ++i) {
        if ((sgl->memhs[i] != sgl->buffers[i]) ||
            (sgl->rkeys[i] != sgl->remote_addrs[i])) {
            return UCS_ERR_INVALID_PARAM;
        }
        stride = (sgl->strides != NULL) ? sgl->strides[i] : 0;
        for (block = 0;
             block < ((sgl->counts != NULL) ? sgl->counts[i] : 1); ++block) {
            here  = (char*)sgl->buffers[i] + block * stride;
            there = (char*)(uintptr_t)sgl->remote_addrs[i] + block * stride;
            memcpy(is_put ? there : here, is_put ? here : there,
                   sgl->lengths[i]);
        }
    }
    ucx_completion_done(comp, UCS_OK);
    return UCS_INPROGRESS;
}

static ucs_status_t hook_ep_put_sgl(uct_ep_h ep, const ucx_sgl_t *sgl,
                                    uct_completion_t *comp)
{
    (void)ep;
    return hook_sgl(sgl, comp, 1);
}

static ucs_status_t hook_ep_get_sgl(uct_ep_h ep, const ucx_sgl_t *sgl,
                                    uct_completion_t *comp)
{
    (void)ep;
    return hook_sgl(sgl, comp, 0);
}

static const ucx_iface_vops_t hook_vops = {
    .is_reachable    = hook_iface_is_reachable,
    .ep_is_connected = hook_ep_is_connected,
    .ep_invalidate   = hook_ep_invalidate,
    .estimate        = hook_estimate,
    .query_sgl       = hook_query_sgl,
    .ep_put_sgl      = hook_ep_put_sgl,
    .ep_get_sgl      = hook_ep_get_sgl
};

static const uct_iface_ops_t hook_ops = {
    .ep_create                = hook_ep_create,
    .ep_destroy               = hook_ep_destroy,
    .ep_am_short              = hook_ep_am_short,
    .ep_am_bcopy              = hook_ep_am_bcopy,
    .ep_flush                 = hook_ep_flush,
    .ep_fence                 = hook_ep_fence,
    .ep_check                 = hook_ep_check,
    .ep_pending_add           = hook_ep_pending_add,
    .ep_pending_purge         = hook_ep_pending_purge,
    .iface_flush              = hook_iface_flush,
    .iface_fence              = hook_iface_fence,
    .iface_progress_enable    = ucx_iface_progress_enable,
    .iface_progress_disable   = ucx_iface_progress_disable,
    .iface_progress           = hook_iface_progress,
    .iface_close              = hook_iface_close,
    .iface_query              = hook_iface_query,
    .iface_get_device_address = hook_iface_get_device_address
};

static ucs_status_t hook_iface_open(ucx_md_t *md, uct_worker_h worker,
                                    const uct_iface_params_t *params,
                                    const void *config, uct_iface_h *iface_p)
{
    const hook_iface_config_t *cfg = config;
    hook_iface_t *self             = calloc(1, sizeof(*self));
    uct_iface_ops_t ops            = hook_ops;
    ucs_status_t status;

    if (self == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    self->depth = cfg->depth;
    if (cfg->depth == 13) { /* asks for the check of a forgotten operation */
        ops.ep_check = NULL;
    }
    status = ucx_iface_init(&self->super, &ops, &hook_vops, md, worker, params,
                            config);
    if (status != UCS_OK) {
        free(self);
        return status;
    }
    *iface_p = &self->super.super;
    return UCS_OK;
}

static ucs_status_t hook_query_devices(ucx_md_t *md, ucx_device_t **devices_p,
                                       unsigned *count_p)
{
    ucx_device_t *device = calloc(1, sizeof(*device));

    if (device == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    strcpy(device->name, "hook0:1");
    device->type       = UCT_DEVICE_TYPE_NET;
    device->sys_device = ucx_host_sys_device(md->host, "0000:00:1e.7", "hook");
    *devices_p         = device;
    *count_p           = 1;
    return UCS_OK;
}

/* ---- memory domain ---- */

static ucs_status_t hook_query_mds(ucx_host_t *host,
                                   char (**names_p)[UCT_MD_NAME_MAX],
                                   unsigned *count_p)
{
    char (*names)[UCT_MD_NAME_MAX] = calloc(1, sizeof(*names));

    if (names == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    host_debug(host, "hooktest asked for its memory domains");
    strcpy(names[0], "hook0");
    *names_p = names;
    *count_p = 1;
    return UCS_OK;
}

static void hook_unmapped(void *address, size_t length, void *arg)
{
    hook_md_t *md = arg;

    if ((md->watched >= address) &&
        ((char*)md->watched < (char*)address + length)) {
        md->unmapped++;
    }
}

static void hook_tick(int id, ucs_event_set_types_t events, void *arg)
{
    uint64_t expirations;

    (void)events;
    if (read(id, &expirations, sizeof(expirations)) < 0) {
        return;
    }
    __atomic_fetch_add(&((hook_md_t*)arg)->ticks, 1, __ATOMIC_RELAXED);
}

static ucs_status_t hook_md_open(ucx_host_t *host, const char *name,
                                 const void *config, ucx_md_t **md_p)
{
    const struct itimerspec tick = {{0, 5000000}, {0, 5000000}};
    const hook_md_config_t *cfg  = config;
    ucs_status_t status;
    hook_md_t *md;

    if (strcmp(name, "hook0")) {
        return UCS_ERR_NO_DEVICE;
    }
    host_info(host, "hooktest name=%s depth=%u factor=%g flag=%d size=%zu "
              "timeout=%g", cfg->name, cfg->depth, cfg->factor, cfg->flag,
              cfg->size, cfg->timeout);
    md = calloc(1, sizeof(*md));
    if (md == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    status = ucx_host_watch_unmap(host, hook_unmapped, md);
    if (status != UCS_OK) {
        host_debug(host, "no unmap events: %s", host->status_string(status));
    }
    md->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    timerfd_settime(md->timer_fd, 0, &tick, NULL);
    status = host->async_set_event_handler(UCS_ASYNC_MODE_THREAD_SPINLOCK,
                                           md->timer_fd, UCS_EVENT_SET_EVREAD,
                                           hook_tick, md, NULL);
    if (status != UCS_OK) {
        ucx_host_unwatch_unmap(host, hook_unmapped, md);
        close(md->timer_fd);
        free(md);
        return status;
    }
    *md_p = &md->super;
    return UCS_OK;
}

static void hook_md_close(ucx_md_t *md)
{
    if (((hook_md_t*)md)->registered != 0) {
        host_error(md->host, "%u registrations left",
                   ((hook_md_t*)md)->registered);
    }
    md->host->async_remove_handler(((hook_md_t*)md)->timer_fd, 1);
    close(((hook_md_t*)md)->timer_fd);
    ucx_host_unwatch_unmap(md->host, hook_unmapped, md);
    free(md);
}

static ucs_status_t hook_md_query(ucx_md_t *md, ucx_md_attr_t *attr)
{
    const hook_md_t *self = (const hook_md_t*)md;

    attr->caps             = UCX_MD_CAP_REG | UCX_MD_CAP_NEED_MEMH |
                             UCX_MD_CAP_NEED_RKEY | UCX_MD_CAP_INVALIDATE;
    attr->reg_mem_types    = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->access_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
    attr->max_reg          = 1ul << 30;
    attr->reg_alignment    = 1;
    attr->rkey_packed_size = HOOK_RKEY_SIZE;
    attr->reg_cost         = ucs_linear_func_make(
            self->unmapped, __atomic_load_n(&self->ticks, __ATOMIC_RELAXED));
    return UCS_OK;
}

static ucs_status_t hook_mem_reg(ucx_md_t *md, const ucx_mem_reg_t *reg,
                                 uct_mem_h *memh_p)
{
    if ((reg->mem_type != UCS_MEMORY_TYPE_HOST) || (reg->dmabuf_fd != -1)) {
        return UCS_ERR_UNSUPPORTED;
    }
    ((hook_md_t*)md)->registered++;
    ((hook_md_t*)md)->watched = reg->address;
    *memh_p = reg->address;
    return UCS_OK;
}

static ucs_status_t hook_mem_dereg(ucx_md_t *md, uct_mem_h memh,
                                   int invalidate, uct_completion_t *comp)
{
    (void)memh;
    if (invalidate != (comp != NULL)) {
        return UCS_ERR_INVALID_PARAM;
    }
    ((hook_md_t*)md)->registered--;
    ucx_completion_done(comp, UCS_OK);
    return UCS_OK;
}

static ucs_status_t hook_mkey_pack(ucx_md_t *md, uct_mem_h memh,
                                   int invalidate, void *buffer)
{
    uint32_t flag = invalidate;

    (void)md;
    memcpy(buffer, &memh, sizeof(memh));
    memcpy((char*)buffer + sizeof(memh), &flag, sizeof(flag));
    return UCS_OK;
}

static ucs_status_t hook_rkey_unpack(ucx_host_t *host, const void *buffer,
                                     uct_rkey_t *rkey_p, void **handle_p)
{
    (void)host;
    memcpy(rkey_p, buffer, sizeof(*rkey_p));
    *handle_p = NULL;
    return UCS_OK;
}

static ucs_status_t hook_rkey_release(ucx_host_t *host, uct_rkey_t rkey,
                                      void *handle)
{
    (void)host, (void)rkey, (void)handle;
    return UCS_OK;
}

/* ---- configuration ---- */

#define MD_FIELD(_name, _dflt, _member, _type, ...) \
    { .name = _name, .dflt = _dflt, .doc = "Test variable " _name, \
      .offset = offsetof(hook_md_config_t, _member), \
      .type = UCX_CONFIG_##_type, __VA_ARGS__ }

static const ucx_config_field_t hook_md_fields[] = {
    MD_FIELD("NAME", "none", name, STRING),
    MD_FIELD("DEPTH", "128", depth, UINT, .min = 16, .max = 4096),
    MD_FIELD("FACTOR", "1.5", factor, DOUBLE, .min = 0.5, .max = 2),
    MD_FIELD("FLAG", "y", flag, BOOL),
    MD_FIELD("TERNARY", "try", ternary, TERNARY),
    MD_FIELD("SIZE", "8k", size, MEMUNITS, .min = 4096, .max = 1073741824.0),
    MD_FIELD("TIMEOUT", "1s", timeout, TIME, .min = 0.001, .max = 60),
};

static const ucx_config_field_t hook_iface_fields[] = {
    { .name = "DEPTH", .dflt = "64", .doc = "Test depth",
      .offset = offsetof(hook_iface_config_t, depth),
      .type = UCX_CONFIG_UINT, .min = 8, .max = 256 },
};

static const ucx_transport_t hook_transport = {
    .name          = "hooktl",
    .config        = {"hooktl transport", "HOOKTL_", hook_iface_fields,
                      sizeof(hook_iface_fields) / sizeof(ucx_config_field_t),
                      sizeof(hook_iface_config_t)},
    .query_devices = hook_query_devices,
    .iface_open    = hook_iface_open
};

static const ucx_transport_t *const hook_transports[] = {&hook_transport};

const ucx_component_t ucx_provider = {
    .name            = "hooktest",
    .md_config       = {"hooktest memory domain", "HOOKMD_", hook_md_fields,
                        sizeof(hook_md_fields) / sizeof(ucx_config_field_t),
                        sizeof(hook_md_config_t)},
    .transports      = hook_transports,
    .transport_count = 1,
    .query_mds       = hook_query_mds,
    .md_open         = hook_md_open,
    .md_close        = hook_md_close,
    .md_query        = hook_md_query,
    .mem_reg         = hook_mem_reg,
    .mem_dereg       = hook_mem_dereg,
    .mkey_pack       = hook_mkey_pack,
    .rkey_unpack     = hook_rkey_unpack,
    .rkey_release    = hook_rkey_release
};
