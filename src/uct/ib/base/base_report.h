/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_REPORT_H_
#define BASE_REPORT_H_

#include "base_types.h"

/* An endpoint that failed: to whom it led, and at which level that is told. */
typedef struct base_failed {
    uint8_t         gid[16];
    uint32_t        qpn;
    int             spoke; /* flow_peer_spoke */
    int             unused; /* the user loses nothing by it */
    flow_end_t      why;
    ucs_status_t    status;
    uint8_t         ended_as; /* of base_ep_t */
    uint8_t         ended_by;
    ucs_log_level_t level; /* set when the user's handler has run */
} base_failed_t;

/* An endpoint failed. The line follows by base_report_write, one for all of
 * that peer; at level FATAL it ends the process. */
void base_report_failed(base_iface_t *iface, const base_failed_t *failed);
void base_report_write(base_iface_t *iface);

/* There is no endpoint to a peer: says so once for each. */
void base_report_refused(base_iface_t *iface, const flow_addr_t *peer);

/* Too many closed endpoints are not gone yet: says so once. */
void base_report_crowded(base_iface_t *iface);

#endif
