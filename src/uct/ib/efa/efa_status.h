/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_STATUS_H_
#define EFA_STATUS_H_

/*
 * Status of a completion, as the device gives it (docs/EFA-FACTS.md, completion
 * status; verbs' vendor_err). Numbers without a name here are errors of no
 * known meaning. A name that is new has to be dealt with where the compiler
 * says so: the switches over it have no default.
 */
typedef enum efa_status {
    EFA_STATUS_OK                = 0,
    EFA_STATUS_FLUSHED           = 1,  /* the queue pair is gone, not by us */
    EFA_STATUS_LOCAL_INTERNAL    = 2,  /* an error of this device */
    EFA_STATUS_LOCAL_OPERATION   = 3,  /* it does not know the operation */
    EFA_STATUS_LOCAL_AH          = 4,  /* a bad address handle */
    EFA_STATUS_LOCAL_LKEY        = 5,  /* a bad key of local memory */
    EFA_STATUS_LOCAL_LENGTH      = 6,  /* longer than the device sends */
    EFA_STATUS_REMOTE_ACCESS     = 7,  /* a bad remote key or address */
    EFA_STATUS_REMOTE_RESET      = 8,  /* the peer's queue pair went away */
    EFA_STATUS_REMOTE_QPN        = 9,  /* no such queue pair, or in error */
    EFA_STATUS_REMOTE_NOT_READY  = 10, /* no receive was posted */
    EFA_STATUS_REMOTE_LENGTH     = 11, /* a receive was posted that is short */
    EFA_STATUS_BAD_ANSWER        = 12, /* also an error without a number */
    EFA_STATUS_REMOTE_STOPPED    = 13, /* the peer's host no longer answers */
    EFA_STATUS_REMOTE_REFUSED    = 14, /* its device has no handle for us */
    EFA_STATUS_REMOTE_UNREACHED  = 15, /* its host never answered */
    EFA_STATUS_REMOTE_FEATURES   = 18  /* the two devices' features differ */
} efa_status_t;

/* Nonzero: this device refused the work request; the peer never saw it. */
static inline int efa_status_is_local(unsigned status)
{
    switch ((efa_status_t)status) {
    case EFA_STATUS_FLUSHED ... EFA_STATUS_LOCAL_LENGTH:
        return 1;
    case EFA_STATUS_OK:
    case EFA_STATUS_REMOTE_ACCESS ... EFA_STATUS_REMOTE_UNREACHED:
    case EFA_STATUS_REMOTE_FEATURES:
        break;
    }
    return 0;
}

#endif
