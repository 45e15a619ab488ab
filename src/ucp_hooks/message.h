/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages for the user where we stay out of a UCX: one line each, a warning if
 * UCX_TLS names a transport of ours, otherwise only at log level debug.
 */
#ifndef UCX_EFA_MESSAGE_H
#define UCX_EFA_MESSAGE_H

#include "tls.h"

/* The libuct at @path is none we can drive, because of @why. Written to stderr
 * by ourselves: UCX's logger may be the very thing that differs. Also a warning
 * where this machine has an EFA, unless UCX_EFA_WARN_FALLBACK=n. */
void ucx_message_refused(const char *path, const char *why);

/* Another component of this UCX already has a transport of ours: none of ours
 * is offered. Calls dladdr. */
void ucx_message_collision(const ucx_host_t *host,
                           const ucx_collision_t *collision);

/* UCX asks for the devices of our transports: says so if UCX_TLS or
 * UCX_NET_DEVICES name what this UCX, or an EFA, does not have, or if both
 * leave UCX no device. Once in a process. */
void ucx_message_devices(ucx_host_t *host);

/* At the end of a rank of an MPI job: says so if UCX_TLS names a transport of
 * ours and no interface of it was ever opened. Only rank 0 speaks. Calls
 * dlsym. */
void ucx_message_unused(void);

/* The transport that UCX asks this thread for now: the subject of a
 * host_report_absent() whose caller names none. NULL: none any more. */
void ucx_message_about(const char *name);

/* Nonzero for the first caller in the process, who then prints the one line
 * about an EFA that is not used. */
int ucx_message_is_first(void);

/* The last line of host_report_absent(); "" for none. */
void ucx_message_absence(char *text, size_t max);

/* An interface of transport @name was opened, or could not be, and so UCX gives
 * up the whole worker: a line at level error, unless UCX_TLS leaves the
 * transport out or there was a line already, about the reason or about another
 * interface after the last one that could be. @is_said: the transport has
 * printed an error of its own. */
void ucx_message_iface(const ucx_host_t *host, const char *name,
                       ucs_status_t status, int is_said);

/* uct_query_components() was called, and no libuct can be found. */
void ucx_message_lost_caller(void);

/*
 * Two sides without a transport in common: srd here and ud there, or tcp alone.
 * UCX compares names before it asks any transport, and says "Destination is
 * unreachable" or "not available". A log handler of ours sees that line, and
 * says before it, once in a process, which transports this side has and what
 * both need. (Rejected: the peer's, too, which UCP's unpacked address alone
 * has, in another layout each few minors.) This watches the lines of this UCX
 * from now on; harmless where it has no log handlers.
 */
void apart_attach(const ucx_host_t *host);

#endif
