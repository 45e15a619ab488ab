/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_IFACE_H_
#define BASE_IFACE_H_

#include "base_types.h"

/* Interfaces of a transport. All of it has static life. */
typedef struct base_iface_kind {
    const base_transport_t *transport;
    const ucx_iface_vops_t *vops;
    ucx_stats_class_t      *stats;
    size_t                  size; /* of its struct, base_iface_t first */
} base_iface_kind_t;

/* Operations that the transports share: their tables begin as copies of these,
 * but for iface_close and iface_query, which each has of its own. */
extern const uct_iface_ops_t base_iface_ops;

/*
 * Opens an interface as `params` and `config` wish and the device allows; the
 * members behind base_iface_t in it are 0. A failure is logged, and nothing is
 * owed. UCS_OK, UCS_ERR_NO_MEMORY, UCS_ERR_IO_ERROR, UCS_ERR_INVALID_PARAM.
 */
ucs_status_t
base_iface_new(const base_iface_kind_t *kind, ucx_md_t *md, uct_worker_h worker,
               const uct_iface_params_t *params, const uct_iface_ops_t *ops,
               const base_config_t *config, base_iface_t **iface_p);

/*
 * Ends an interface that is not progressed any more: says goodbye to peers for
 * a bounded time, stops the device, completes the operations that are left with
 * UCS_ERR_CANCELED, frees everything.
 */
void base_iface_delete(base_iface_t *iface);

/* Attributes of every transport here: UCX's own part, addresses, active
 * messages, events, the device's bandwidth. The rest is the transport's:
 * overhead, latency, priority, RMA. */
void base_iface_query(base_iface_t *iface, uct_iface_attr_t *attr);

/* The alignment that UCP gives buffers. */
#define BASE_IFACE_ALIGN 64

#endif
