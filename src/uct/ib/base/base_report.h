/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_REPORT_H_
#define BASE_REPORT_H_

#include "base_types.h"

/* An endpoint to `dest` failed, and nobody handles it: the user must read of it
 * somewhere. The line follows by base_report_write, for all of that peer. */
void base_report_failed(base_iface_t *iface, const efa_dest_t *dest,
                        ucs_status_t status, flow_end_t why);
void base_report_write(base_iface_t *iface);

/* There is no endpoint to a peer: says so once for each. */
void base_report_refused(base_iface_t *iface, const flow_addr_t *peer);

#endif
