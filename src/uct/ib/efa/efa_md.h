/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_MD_H_
#define EFA_MD_H_

#include "efa_device.h"
#include "efa_rcache.h"

#include <ucp_hooks/provider.h>

/* Configuration of the memory domain, UCX_EFA_*; efa_config.c has the table. */
typedef struct efa_md_config {
    int      reg_cache;        /* ucs_ternary_auto_value_t */
    unsigned reg_cache_max;    /* regions kept unused and used */
    size_t   reg_cache_bytes;  /* or UCS_MEMUNITS_INF */
    int      fork_init;        /* ucs_ternary_auto_value_t */
} efa_md_config_t;

typedef struct efa_md efa_md_t;

/* What UCX holds for a registration. UCP registers for each large transfer and
 * leaves it to the cache that this is cheap, so handles come from a pool. */
typedef struct efa_memh {
    struct ibv_mr       *mr;
    efa_md_t            *md; /* NULL while free */
    efa_rcache_region_t *region; /* of the cache; NULL: mr is ours alone */
    efa_rcache_gone_t    gone;
    int                  is_host; /* no GPU's memory, for sure */
    union {
        uct_completion_t *comp; /* of an invalidation */
        struct efa_memh  *next; /* while free */
    };
} efa_memh_t;

typedef struct efa_ah_shared efa_ah_shared_t; /* efa_ah.h */

/* A memory domain: one open device and one protection domain. */
struct efa_md {
    ucx_md_t        super;
    efa_device_t   *device;
    struct ibv_pd  *pd;
    int             access; /* IBV_ACCESS_* of every registration */
    uint64_t        gpu_types;    /* registered by address (peer memory) */
    uint64_t        dmabuf_types; /* registered by a dma-buf's descriptor */
    int             has_cache;
    efa_rcache_t    cache; /* when has_cache */
    pthread_mutex_t memh_lock;
    efa_memh_t     *memh_free;
    void           *memh_blocks; /* linked by their first word */
    efa_ah_shared_t *ahs;
};

/* Is it a handle of this domain? Not so for NULL, one that was given back, and
 * what other domains hand out: structures, or odd constants. */
static inline int efa_memh_is_of(uct_mem_h handle, const efa_md_t *md)
{
    const efa_memh_t *memh = handle;

    return (memh != NULL) && ((uintptr_t)handle % sizeof(void*) == 0) &&
           (memh->md == md);
}

/* Says that it is not. UCS_ERR_INVALID_PARAM. */
ucs_status_t efa_memh_refuse(const efa_md_t *md, uct_mem_h memh);

static inline uint32_t efa_memh_lkey(uct_mem_h memh)
{
    return ((const efa_memh_t*)memh)->mr->lkey;
}

/* Entry points of the component; contracts in ucp_hooks/provider.h. */
ucs_status_t efa_md_list(ucx_host_t *host, char (**names_p)[UCT_MD_NAME_MAX],
                         unsigned *count_p);
ucs_status_t efa_md_open(ucx_host_t *host, const char *name,
                         const void *config, ucx_md_t **md_p);
void         efa_md_close(ucx_md_t *md);
ucs_status_t efa_md_query(ucx_md_t *md, ucx_md_attr_t *attr);
ucs_status_t
efa_mem_reg(ucx_md_t *md, const ucx_mem_reg_t *reg, uct_mem_h *memh_p);
ucs_status_t efa_mem_dereg(ucx_md_t *md, uct_mem_h memh, int invalidate,
                           uct_completion_t *comp);
ucs_status_t
efa_mkey_pack(ucx_md_t *md, uct_mem_h memh, int invalidate, void *buffer);
ucs_status_t efa_rkey_unpack(ucx_host_t *host, const void *buffer,
                             uct_rkey_t *rkey_p, void **handle_p);
ucs_status_t
efa_rkey_release(ucx_host_t *host, uct_rkey_t rkey, void *handle);

/* Starts and ends the registration cache of a domain. A cache that cannot be
 * kept right (no memory events) is not kept. */
void efa_md_cache_open(efa_md_t *md, const efa_md_config_t *config);
void efa_md_cache_close(efa_md_t *md);

/* Finds out which GPU memory this device and kernel can register. */
void efa_md_probe_gpu(efa_md_t *md);

/* mem_advise of the component (provider.h). */
ucs_status_t efa_mem_advise(ucx_md_t *md, uct_mem_h memh, void *address,
                            size_t length, unsigned advice);

/* The pool of handles; after close no handle is valid. */
void efa_md_memh_open(efa_md_t *md);
void efa_md_memh_close(efa_md_t *md);

#define EFA_MD_CONFIG_COUNT 4
extern const ucx_config_field_t efa_md_config_fields[];

/*
 * Whether this process can open an interface on this domain now: registers
 * memory for messages and makes a queue pair, and gives both back. A failure is
 * reported as absence. UCS_OK, UCS_ERR_NO_MEMORY, UCS_ERR_IO_ERROR.
 */
ucs_status_t efa_md_try(efa_md_t *md);

/* The same for all devices, which it opens: what a user reads who told UCX to
 * use none of them, and whose peers are on other hosts (provider.h). */
void efa_md_try_left_out(ucx_host_t *host);

/* The devices of this domain for a transport: ours, unless the trial fails,
 * which is left out where UCX_TLS leaves the transport out.
 * UCS_OK, UCS_ERR_NO_DEVICE, UCS_ERR_NO_MEMORY. */
ucs_status_t efa_md_query_devices(ucx_md_t *md, const char *transport,
                                  ucx_device_t **devices_p, unsigned *count_p);

#endif
