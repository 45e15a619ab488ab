/* SPDX-License-Identifier: BSD-3-Clause */
/* Meaning of the device's status of a completion on SRD (EFA-FACTS: completion
 * status). */
#include "srd.h"

ucs_status_t srd_status(unsigned vendor_err)
{
    switch ((efa_status_t)vendor_err) {
    case EFA_STATUS_OK:
        return UCS_OK;
    case EFA_STATUS_REMOTE_ACCESS: /* UCX has one status for it and for a peer
                 that is gone, as memory may be taken away in mid-transfer */
    case EFA_STATUS_REMOTE_RESET:
    case EFA_STATUS_REMOTE_QPN:
        return UCS_ERR_CONNECTION_RESET;
    case EFA_STATUS_REMOTE_STOPPED:
    case EFA_STATUS_REMOTE_UNREACHED:
        return UCS_ERR_ENDPOINT_TIMEOUT;
    case EFA_STATUS_REMOTE_REFUSED:
        return UCS_ERR_UNREACHABLE;
    case EFA_STATUS_FLUSHED ... EFA_STATUS_LOCAL_LENGTH:
    case EFA_STATUS_REMOTE_NOT_READY ... EFA_STATUS_BAD_ANSWER:
    case EFA_STATUS_REMOTE_FEATURES:
        break;
    }
    return UCS_ERR_IO_ERROR; /* as of a number without a name */
}

flow_send_status_t srd_flow_status(unsigned vendor_err)
{
    switch ((efa_status_t)vendor_err) {
    case EFA_STATUS_OK:
        return FLOW_SEND_OK;
    case EFA_STATUS_REMOTE_NOT_READY:
        return FLOW_SEND_RNR;
    case EFA_STATUS_REMOTE_RESET:
    case EFA_STATUS_REMOTE_QPN:
        return FLOW_SEND_DEAD;
    case EFA_STATUS_REMOTE_STOPPED:
    case EFA_STATUS_REMOTE_UNREACHED:
        return FLOW_SEND_LOST;
    case EFA_STATUS_FLUSHED ... EFA_STATUS_REMOTE_ACCESS:
    case EFA_STATUS_REMOTE_LENGTH ... EFA_STATUS_BAD_ANSWER:
    case EFA_STATUS_REMOTE_REFUSED:
    case EFA_STATUS_REMOTE_FEATURES:
        break;
    }
    return FLOW_SEND_ERROR;
}
