/* SPDX-License-Identifier: BSD-3-Clause */
/* Consequences on SRD of the device's status of a completion (efa_status.h):
 * for users, and for the protocol core. */
#include "srd.h"

static const struct {
    ucs_status_t       user;
    flow_send_status_t core;
} srd_ends[] = {
    [EFA_STATUS_CLASS_OK]        = {UCS_OK, FLOW_SEND_OK},
    [EFA_STATUS_CLASS_FLUSHED]   = {UCS_ERR_IO_ERROR, FLOW_SEND_ERROR},
    [EFA_STATUS_CLASS_LOCAL]     = {UCS_ERR_IO_ERROR, FLOW_SEND_ERROR},
    /* UCX has one status for it and for a peer that is gone, as memory may be
     * taken away in mid-transfer */
    [EFA_STATUS_CLASS_ACCESS]    = {UCS_ERR_CONNECTION_RESET, FLOW_SEND_ERROR},
    [EFA_STATUS_CLASS_GONE]      = {UCS_ERR_CONNECTION_RESET, FLOW_SEND_DEAD},
    /* none can come for RDMA; messages are sent again */
    [EFA_STATUS_CLASS_NOT_READY] = {UCS_ERR_IO_ERROR, FLOW_SEND_RNR},
    [EFA_STATUS_CLASS_REMOTE]    = {UCS_ERR_IO_ERROR, FLOW_SEND_ERROR},
    [EFA_STATUS_CLASS_SILENT]    = {UCS_ERR_ENDPOINT_TIMEOUT, FLOW_SEND_LOST},
    [EFA_STATUS_CLASS_STRANGER]  = {UCS_ERR_UNREACHABLE, FLOW_SEND_ERROR}
};

ucs_status_t srd_status(unsigned vendor_err)
{
    return srd_ends[efa_status_class(vendor_err)].user;
}

flow_send_status_t srd_flow_status(unsigned vendor_err)
{
    return srd_ends[efa_status_class(vendor_err)].core;
}
