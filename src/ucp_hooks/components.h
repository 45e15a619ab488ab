/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX's other components, and our changes in them. Two matter.
 *
 * UCX's ib component lists every verbs device as its own. On an EFA it fails,
 * in some versions with the whole worker. Its list of memory domains is
 * therefore filtered: our function stands in for its query function and leaves
 * out the devices that we serve. Opening a device before ib does, or hiding it
 * from libibverbs, was rejected: both change UCX for other users of the
 * process.
 *
 * Where UCX has an srd of its own (of component ib, from 1.19 on), it is set
 * aside in the same way: whoever puts this module into a process wants it, and
 * the two do not talk to each other, so all sides had to be told otherwise.
 * With UCX_EFA_CLAIM=n, and where we find no device, UCX's own serves.
 *
 * UCX loads its modules inside uct_query_components(): in some processes after
 * our constructor, in others before it; and it asks a component several times
 * for its list. We therefore look at the components again whenever we are
 * called, before an answer is given: that is cheap, and answers stay the same.
 */
#ifndef UCX_EFA_COMPONENTS_H
#define UCX_EFA_COMPONENTS_H

#include "host.h"

typedef ucs_status_t (*ucx_query_mds_func_t)(
        void *component, uct_md_resource_desc_t **resources_p,
        unsigned *count_p);

typedef ucs_status_t (*ucx_iface_open_func_t)(
        uct_md_h md, uct_worker_h worker, const uct_iface_params_t *params,
        const uct_iface_config_t *config, uct_iface_h *iface_p);

/* An entry of UCX's lists: a transport or, with tl_name NULL, a component. */
typedef struct ucx_list_entry {
    void       *component; /* UCX's uct_component_t */
    const char *component_name;
    const char *tl_name;
    void       *query_mds;  /* where the component has its function */
    void       *iface_open; /* where the transport has it */
} ucx_list_entry_t;

typedef void (*ucx_visit_func_t)(const ucx_list_entry_t *entry, void *arg);

/*
 * Look at the components that are there now. The ib component's query function
 * and the functions that open interfaces of network transports (fallback.h) are
 * replaced by ours, which call the original. Safe to repeat. Takes a lock of
 * ours for the list of replaced functions; no dl* call under it. Nonzero:
 * another component has a transport of our name, and ours have no device
 * (ucx_message_collision() says so, once).
 */
int ucx_components_intercept(ucx_host_t *host);

#endif
