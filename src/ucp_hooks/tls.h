/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which transports and devices are chosen, and whose they are.
 *
 * UCX_TLS as UCX reads it, so that we know before UCX opens an interface, and
 * where it opens none, whether it is to use a transport of ours. (See
 * ucx_setting(): the functions serve set-up and messages.)
 *
 * An item is the name of a transport or an alias, UCX's name for several, and
 * fits as a whole; "\name" is the transport alone, "name:aux" one for wireup.
 * "all" means all where it stands alone. "ib" is an alias that has srd, too,
 * from UCX 1.20 on, ours as well. "ud" is an alias of two transports of UCX's
 * InfiniBand; none of UCX's aliases has our ud, only its name takes it.
 */
#ifndef UCX_EFA_TLS_H
#define UCX_EFA_TLS_H

#include "host.h"

/* Nonzero if UCX_TLS excludes ("^...") transport @name by its name. */
int tls_excludes(const char *name);

/* Nonzero if one of ours was asked for by name (ucx_user_asked_for). */
int tls_asked_for_any(void);

/* Nonzero if UCX_TLS names transports of ours and nothing else: without a
 * device for them UCX has none at all. @or_local: or such as stay in a host. */
int tls_asks_only_for_ours(int or_local);

/* The name of a transport of ours that UCX_TLS has in capital letters, of which
 * UCX knows none; NULL: there is none. */
const char *tls_in_capitals(void);

/* Nonzero if UCX_NET_DEVICES may take the first port of memory domain
 * @md_name, "rdmap0s6:1". "rdmap0s6" and "^..." are understood, too, whatever
 * UCX makes of them. */
int tls_may_use_md(const char *md_name);

/* The first of our transports that UCX_TLS does not leave out; NULL: none. */
const char *tls_first_of_ours(const ucx_host_t *host);

/* Our transports by name, the last two with @between (" or ") between them.
 * With @host only those that UCX_TLS does not leave out, if there are any. */
void tls_names_of_ours(const ucx_host_t *host, const char *between, char *text,
                       size_t max);

/*
 * UCX up to 1.17 ends a program in ucp_worker_get_address() that has more than
 * 32 memory domains, 1.18 refuses the address: it gives the number of a domain
 * five bits there. A host of 32 EFAs has more with those of tcp, shared memory
 * and GPUs. UCX from 1.19 on takes the first UCX_MAX_COMPONENT_MDS of a
 * component, 16 unless the user sets it, whatever he chose.
 *
 * Sorts @names of @count devices: those that UCX_NET_DEVICES may take come
 * first. Returns how many of them the UCX of @host gets, the first ones. If
 * these are not all, and the user chose none, they are spread over the host, as
 * neighbours serve the same GPU; a warning says so, once in a process.
 */
unsigned ucx_devices_offer(const ucx_host_t *host,
                           char (*names)[UCT_MD_NAME_MAX], unsigned count);

/* Transports of our names that other components of a UCX have: UCX's own srd,
 * or a second copy of this module. */
typedef struct ucx_collision {
    const char *name; /* of the transport, ours too; NULL: there is none */
    int        is_copy; /* of this module */
    const void *code; /* a function of the copy, else NULL */
} ucx_collision_t;

/* The first one of this UCX; name NULL: there is none, or it is UCX's own and
 * set aside (UCX_EFA_CLAIM). */
ucx_collision_t ucx_collision_find(const ucx_host_t *host);

#endif
