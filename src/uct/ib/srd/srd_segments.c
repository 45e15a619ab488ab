/* SPDX-License-Identifier: BSD-3-Clause */
#include "srd_segments.h"
#include "srd_list.h"

#include <uct/ib/base/base_ops.h>
#include <uct/ib/base/base_vfs.h>
#include <uct/ib/efa/efa_rkey.h>

#include <stdlib.h>
#include <string.h>

static int srd_segments_seen; /* under base_vfs_lock */

/* A table that is being read. */
typedef struct srd_table_read {
    uct_completion_t comp;
    base_ep_t       *ep;
    efa_rkey_t      *rkey;
    efa_keys_t      *keys;
} srd_table_read_t;

static void srd_table_unpack(void *arg, const void *data, size_t length)
{
    memcpy(((srd_table_read_t*)arg)->keys, data, length);
}

static void srd_table_done(uct_completion_t *comp)
{
    srd_table_read_t *read = (srd_table_read_t*)comp; /* its first member */
    efa_rkey_t       *rkey = read->rkey;

    read->ep->table_read = 0;
    if ((comp->status == UCS_OK) && (rkey->keys == NULL)) {
        rkey->keys = read->keys;
        read->keys = NULL;
    }
    efa_rkey_drop(rkey);
    free(read->keys);
    free(read);
}

/* UCS_ERR_NO_RESOURCE: the table comes; or why it does not. */
static ucs_status_t srd_table_fetch(base_ep_t *ep, efa_rkey_t *rkey)
{
    srd_table_read_t *read;
    ucs_status_t      status = UCS_ERR_NO_MEMORY;

    if (ep->table_read) {
        return UCS_ERR_NO_RESOURCE;
    }
    read = malloc(sizeof(*read));
    if (read == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    *read = (srd_table_read_t){
        .comp = {.func = srd_table_done, .count = 1, .status = UCS_OK},
        .ep   = ep,
        .rkey = rkey,
        .keys = malloc(sizeof(*read->keys))
    };
    if (read->keys != NULL) {
        status = srd_ep_get_bcopy((uct_ep_h)ep, srd_table_unpack, read,
                                  sizeof(*read->keys), rkey->wire.table,
                                  rkey->wire.table_key, &read->comp);
    }
    if (status == UCS_INPROGRESS) {
        ep->table_read = 1;
        __atomic_add_fetch(&rkey->uses, 1, __ATOMIC_RELAXED);
        return UCS_ERR_NO_RESOURCE;
    }
    free(read->keys);
    free(read);
    return status;
}

static __attribute__((noinline)) ucs_status_t
srd_segments_refuse(const base_ep_t *ep)
{
    host_error(base_ep_iface(ep)->super.host,
               "%s: the keys of QPN %u's memory cannot be right: its table has "
               "no keys, or more than %u",
               base_ep_device(ep), ep->dest.remote_qpn, EFA_KEYS_MAX);
    return UCS_ERR_INVALID_PARAM;
}

/* Replaces a key of memory in segments by that of the segment at the address.
 * UCS_OK; UCS_ERR_NO_RESOURCE: it is not known yet. */
static ucs_status_t
srd_segments_key(uct_ep_h tl_ep, uct_rkey_t *rkey_p, uint64_t remote_addr)
{
    base_ep_t  *ep   = (base_ep_t*)tl_ep;
    efa_rkey_t *rkey = efa_rkey_segments(*rkey_p);

    if (rkey == NULL) {
        return UCS_OK;
    }
    /* A read of the table that another endpoint was faster with ends first: its
     * owner may end the memory when its operations have ended. */
    if ((rkey->keys == NULL) || ep->table_read) {
        return srd_table_fetch(ep, rkey);
    }
    if (!efa_keys_are_valid(rkey->keys)) {
        return srd_segments_refuse(ep);
    }
    *rkey_p = efa_keys_at(rkey->keys, remote_addr);
    return UCS_OK;
}

#define SRD_SEGMENTS_OP(_returns, _name, _params, _args, ...) \
    static _returns srd_segments_##_name _params \
    { \
        ucs_status_t status = srd_segments_key(ep, &rkey, remote_addr); \
        \
        return (status == UCS_OK) ? srd_##_name _args : status; \
    }

BASE_OPS_RMA_SHORT(SRD_SEGMENTS_OP)
BASE_OPS_RMA(SRD_SEGMENTS_OP)

/* The keys are resolved for each piece of an element once all are known. */
static ucs_status_t srd_segments_list(uct_ep_h ep, const ucx_sgl_t *sgl)
{
    ucs_status_t status = UCS_OK;
    uct_rkey_t   rkey;
    size_t       i;

    for (i = 0; (i < sgl->count) && (status == UCS_OK); ++i) {
        rkey   = sgl->rkeys[i];
        status = srd_segments_key(ep, &rkey, 0);
    }
    return status;
}

static ucs_status_t srd_segments_put_sgl(uct_ep_h ep, const ucx_sgl_t *sgl,
                                         uct_completion_t *comp)
{
    ucs_status_t status = srd_segments_list(ep, sgl);

    return (status == UCS_OK) ? srd_ep_put_sgl_any(ep, sgl, comp) : status;
}

static ucs_status_t srd_segments_get_sgl(uct_ep_h ep, const ucx_sgl_t *sgl,
                                         uct_completion_t *comp)
{
    ucs_status_t status = srd_segments_list(ep, sgl);

    return (status == UCS_OK) ? srd_ep_get_sgl_any(ep, sgl, comp) : status;
}

#define SRD_SEGMENTS_SET(_returns, _name, ...) \
    if (ops->_name == srd_##_name) { \
        __atomic_store_n(&ops->_name, srd_segments_##_name, __ATOMIC_RELAXED); \
    }

static void srd_segments_set(uct_iface_ops_t *ops)
{
    BASE_OPS_RMA_SHORT(SRD_SEGMENTS_SET)
    BASE_OPS_RMA(SRD_SEGMENTS_SET)
}

/* Other threads may use the interface meanwhile, as they have no such key. */
static void srd_segments_set_iface(base_iface_t *iface)
{
    static ucx_iface_vops_t vops;

    if (iface->transport->qp_kind != EFA_QP_SRD) {
        return;
    }
    if (vops.is_reachable == NULL) {
        vops            = *iface->super.vops;
        vops.ep_put_sgl = srd_segments_put_sgl;
        vops.ep_get_sgl = srd_segments_get_sgl;
    }
    __atomic_store_n(&iface->super.vops, &vops, __ATOMIC_RELEASE);
    srd_segments_set(&iface->super.super.ops);
    srd_segments_set(&iface->unchecked);
}

void srd_segments_open(base_iface_t *iface)
{
    base_vfs_lock();
    if (srd_segments_seen) {
        srd_segments_set_iface(iface);
    }
    base_vfs_unlock();
}

ucs_status_t srd_rkey_unpack(ucx_host_t *host, const void *buffer,
                             uct_rkey_t *rkey_p, void **handle_p)
{
    ucs_status_t status = efa_rkey_unpack(host, buffer, rkey_p, handle_p);

    if ((status == UCS_OK) && (*handle_p != NULL)) {
        base_vfs_lock();
        if (!srd_segments_seen) {
            srd_segments_seen = 1;
            base_vfs_each(srd_segments_set_iface);
        }
        base_vfs_unlock();
    }
    return status;
}
