/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface's capabilities, as UCT asks for them. */
#include "ud.h"

#include <uct/ib/base/base_iface.h>

/* Estimates that UCP compares transports by: srd is to be preferred. A flow of
 * UD has 10 Gb/s (EFA-FACTS: completion and ordering), and each message is
 * acknowledged. */
#define UD_LATENCY   12e-6 /* seconds */
#define UD_OVERHEAD  150e-9
#define UD_BANDWIDTH 1.25e9 /* bytes per second */
#define UD_PRIORITY  0

ucs_status_t ud_iface_query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    base_iface_query((base_iface_t*)tl_iface, attr);
    attr->overhead  = UD_OVERHEAD;
    attr->latency.c = UD_LATENCY;
    attr->priority  = UD_PRIORITY;
    if (attr->bandwidth.shared > UD_BANDWIDTH) {
        attr->bandwidth.shared = UD_BANDWIDTH;
    }
    return UCS_OK;
}
