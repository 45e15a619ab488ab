/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_TRIAL_H_
#define EFA_TRIAL_H_

#include "efa_md.h"

/* Bytes that are registered for a moment before an interface is offered; it
 * begins with 3 MB, and grows. */
#define EFA_TRIAL_BYTES 0x400000

/*
 * A trial: whether this process can open an interface now. It registers memory
 * for messages and makes a queue pair, for this interface and for those that
 * were offered and are not open yet, and gives all back. A failure is reported
 * as absence.
 */

/* Tries SRD on all devices, which it opens: the line for a user who told UCX to
 * use none of them, and whose peers are on other hosts (provider.h). */
void efa_md_try_left_out(ucx_host_t *host);

/* The devices of this domain for a transport, "srd" or "ud": ours, unless the
 * trial fails, which is left out where UCX_TLS leaves the transport out.
 * UCS_OK, UCS_ERR_NO_DEVICE, UCS_ERR_NO_MEMORY. */
ucs_status_t efa_md_query_devices(ucx_md_t *md, const char *transport,
                                  ucx_device_t **devices_p, unsigned *count_p);

#endif
