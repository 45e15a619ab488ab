/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_MD_H_
#define EFA_MD_H_

#include "efa_config.h"
#include "efa_device.h"
#include "efa_rcache.h"

/* From this minor on UCX's own cache serves all protocols; they want all memory
 * in it, whatever the domain keeps. */
#define EFA_UCX_CACHES_ALL 16

typedef struct efa_md efa_md_t;

typedef struct efa_memh efa_memh_t; /* efa_mr.h */
typedef struct efa_ah_table efa_ah_table_t; /* efa_ah.h */

/* Memory that a thread is about to unmap. */
typedef struct efa_leaving {
    pthread_t   thread;
    uintptr_t   start, end; /* equal: none */
    uint64_t    since; /* efa_clock */
} efa_leaving_t;

/* A memory domain: one open device and one protection domain. */
struct efa_md {
    ucx_md_t        super;
    efa_device_t   *device;
    struct ibv_pd  *pd;
    unsigned        promised; /* bits of efa_qp_kind_t (efa_promise.h) */
    unsigned        refused;  /* the same, of trials that failed */
    int             access; /* IBV_ACCESS_* of a registration, at most */
    uint64_t        gpu_types;    /* registered by address (peer memory) */
    uint64_t        dmabuf_types; /* registered by a dma-buf's descriptor */
    int             no_dmabuf;    /* UCX_EFA_DMABUF=n */
    int             dmabuf_refused; /* and told: peer memory did instead */
    int             shortage_said; /* of memory to register, to UCP */
    atomic_uint     vectors;  /* interrupts that were chosen, ever */
    int             direct; /* ucs_ternary_auto_value_t: UCX_EFA_DIRECT */
    int             huge_pages; /* the same: UCX_EFA_HUGE_PAGES */
    char           *record; /* UCX_EFA_RECORD; NULL: not recorded */
    int             top; /* UCX_EFA_TOP */
    int             device_api; /* the same: UCX_EFA_DEVICE_API; or UCS_NO */
    int             direct_tried;
    const char     *direct_why_not; /* efa_direct_test.h, when tried */
    int             has_cache;
    efa_rcache_t    cache; /* when has_cache */
    pthread_mutex_t memh_lock;
    pthread_mutex_t count_lock; /* efa_device_mem.h; may be taken under it */
    pid_t           count_pid;  /* whose it is; 0: nobody counts */
    efa_leaving_t   leaving[16]; /* under count_lock */
    struct efa_adding *adding;   /* likewise; NULL: nobody counted yet */
    efa_memh_t     *memh_free;
    size_t          segment; /* bytes of the last ones (efa_mr_priv.h), or 0 */
    void           *memh_blocks; /* linked by their first word */
    efa_ah_table_t *ahs;
};

/* Entry points of the component; contracts in ucp_hooks/provider.h. */
ucs_status_t efa_md_list(ucx_host_t *host, char (**names_p)[UCT_MD_NAME_MAX],
                         unsigned *count_p);
/* Domains that efa_md_list() found last. */
unsigned     efa_md_listed(void);
ucs_status_t efa_md_open(ucx_host_t *host, const char *name,
                         const void *config, ucx_md_t **md_p);
void         efa_md_close(ucx_md_t *md);
ucs_status_t efa_md_query(ucx_md_t *md, ucx_md_attr_t *attr);

#endif
