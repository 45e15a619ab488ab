/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The company we keep: other components of the same UCX. Two of them matter.
 *
 * UCX's ib component lists every verbs device as its own. On an EFA it fails,
 * in some versions with the whole worker. So its list of memory domains is
 * filtered: we stand in for its query function and leave our devices out.
 * Opening the device first, or hiding it from libibverbs, was rejected: both
 * change what other users of the process see.
 *
 * A UCX with an srd of its own (module efa, from 1.19 on) is left alone: that
 * one serves, and ours has no device, unless UCX_EFA_CLAIM=y turns it round.
 *
 * UCX loads its modules inside uct_query_components(), after our constructor
 * in some processes and before it in others, and asks each component several
 * times for the same list. So we look again whenever we are called before an
 * answer is given: cheap, and the answers stay the same.
 */
#ifndef UCX_EFA_COMPANY_H
#define UCX_EFA_COMPANY_H

#include "host.h"

typedef ucs_status_t (*ucx_query_mds_func_t)(
        void *component, uct_md_resource_desc_t **resources_p,
        unsigned *count_p);

typedef ucs_status_t (*ucx_iface_open_func_t)(
        uct_md_h md, uct_worker_h worker, const uct_iface_params_t *params,
        const uct_iface_config_t *config, uct_iface_h *iface_p);

/* A transport in UCX's lists, or with tl NULL a component as such. */
typedef struct ucx_neighbour {
    void       *component; /* UCX's uct_component_t */
    const char *component_name;
    const char *tl_name;
    void       *query_mds;  /* where the component has its function */
    void       *iface_open; /* where the transport has it */
} ucx_neighbour_t;

typedef void (*ucx_visit_func_t)(const ucx_neighbour_t *neighbour, void *arg);

/*
 * The name of a transport of ours that another component of this UCX has too
 * (UCX's own srd, a second copy of this module), or NULL: there is none, or
 * UCX_EFA_CLAIM=y sets UCX's own aside.
 */
const char *ucx_company_rival(const ucx_host_t *host);

/*
 * Look at the components that are there now, and put ourselves in front of the
 * ib component and of the network transports (fallback.h). Safe to repeat.
 * Takes a lock of ours for the list of those; no dl* call under it.
 * Nonzero: another component has a transport of our name, and ours stay out
 * (said once, by ucx_message_collision()).
 */
int ucx_company_settle(ucx_host_t *host);

#endif
