/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device's status of a completion means on SRD (EFA-FACTS: completion
 * status). */
#include "srd.h"

ucs_status_t srd_status(unsigned vendor_err)
{
    switch (vendor_err) {
    case 0:
        return UCS_OK;
    case EFA_STATUS_FLUSHED:
        return UCS_ERR_IO_ERROR;
    case 7: /* remote access: UCX has one status for it and for a peer that
               is gone, as memory may be taken away in mid-transfer */
    case 8:
    case 9:
        return UCS_ERR_CONNECTION_RESET;
    case 13:
    case 15:
        return UCS_ERR_ENDPOINT_TIMEOUT;
    case EFA_STATUS_REFUSED:
        return UCS_ERR_UNREACHABLE;
    default:
        return UCS_ERR_IO_ERROR;
    }
}

flow_send_status_t srd_flow_status(unsigned vendor_err)
{
    switch (vendor_err) {
    case 0:
        return FLOW_SEND_OK;
    case 10:
        return FLOW_SEND_RNR;
    case 8:
    case 9:
        return FLOW_SEND_DEAD;
    case 13:
    case 15:
        return FLOW_SEND_LOST;
    default:
        return FLOW_SEND_ERROR;
    }
}
