/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What we tell the user when we stay out of a UCX: one line each, a warning if
 * UCX_TLS names a transport of ours, otherwise only at log level debug.
 */
#ifndef UCX_EFA_MESSAGE_H
#define UCX_EFA_MESSAGE_H

#include "host.h"

/* The libuct at @path is none we can drive, because of @why. Written to stderr
 * by ourselves: UCX's logger may be the very thing that differs. Also a warning
 * where this machine has an EFA, unless UCX_EFA_WARN_FALLBACK=n. */
void ucx_message_refused(const char *path, const char *why);

/* Another component of this UCX already has transport @name: none of ours is
 * offered. */
void ucx_message_collision(const ucx_host_t *host, const char *name);

/* What host_report_absent() of this thread is about, where its caller names no
 * transport: the one that UCX asks for now, by name. NULL: of none any more. */
void ucx_message_about(const char *name);

/* Nonzero for the first caller in the process, who then prints the one line
 * about an EFA that is not used. */
int ucx_message_is_first(void);

/* What host_report_absent() said last; "" for nothing. */
void ucx_message_absence(char *text, size_t max);

/* An interface of transport @name was opened, or could not be, and so UCX gives
 * up the whole worker: a line at level error, unless UCX_TLS leaves the transport
 * out or there was a line already, about the reason or about another interface
 * after the last one that could be. */
void ucx_message_iface(const ucx_host_t *host, const char *name,
                       ucs_status_t status);

/* uct_query_components() was called, and no libuct can be found. */
void ucx_message_lost_caller(void);

#endif
