/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_QUEUE_H_
#define EFA_QUEUE_H_

#include <infiniband/verbs.h>

/* Status of a completion as the device gives it (EFA-FACTS). */
#define EFA_STATUS_FLUSHED 1  /* the queue pair is gone, and not by us */
#define EFA_STATUS_REFUSED 14 /* the peer's device has no handle for us */
#define EFA_STATUS_UNKNOWN 12 /* "bad status", for an error without a number */

/* Where a work request goes: address handle, remote_qpn, remote_qkey. */
typedef __typeof__(((struct ibv_send_wr*)NULL)->wr.ud) efa_dest_t;

/* Status of a completion as the device gave it; 0 is success. */
static inline unsigned efa_wc_status(const struct ibv_wc *wc)
{
    if (__builtin_expect(wc->status == IBV_WC_SUCCESS, 1)) {
        return 0;
    }
    return (wc->vendor_err != 0) ? wc->vendor_err : EFA_STATUS_UNKNOWN;
}

#endif
