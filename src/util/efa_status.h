/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UTIL_EFA_STATUS_H_
#define UTIL_EFA_STATUS_H_

/*
 * Statuses of a completion that failed: name, the number that the device gives
 * (verbs' vendor_err; libefa: enum efa_io_comp_status), class, and meaning. The
 * transports decide by class alone; a status that is new is a row here. A
 * number without a row is of class REMOTE: what was sent may have arrived.
 *   FLUSHED    the queue pair is gone, or (RDMA) its address handle
 *   LOCAL      this device refused the work request; the peer never saw it
 *   ACCESS     the peer's memory is not to be had; the peer may be well
 *   GONE       the peer's queue pair no longer exists
 *   NOT_READY  the peer had no receive posted: the same may be sent again
 *   REMOTE     the peer's device refused it, or it is not known what happened
 *   SILENT     the peer's host does not answer
 *   STRANGER   the peer's device has no address handle of this host
 */
#define EFA_STATUSES(_X) \
    _X(FLUSHED, 1, FLUSHED, "the queue pair or the address handle is gone") \
    _X(LOCAL_INTERNAL, 2, LOCAL, "an error within this device") \
    _X(LOCAL_OPERATION, 3, LOCAL, "an operation that this device lacks") \
    _X(LOCAL_AH, 4, LOCAL, "a bad address handle") \
    _X(LOCAL_LKEY, 5, LOCAL, "local memory that is not registered for it") \
    _X(LOCAL_LENGTH, 6, LOCAL, "longer than this device sends") \
    _X(REMOTE_ACCESS, 7, ACCESS, "remote memory without such a right") \
    _X(REMOTE_RESET, 8, GONE, "the peer's queue pair went away meanwhile") \
    _X(REMOTE_QPN, 9, GONE, "the peer has no such queue pair, or it failed") \
    _X(REMOTE_NOT_READY, 10, NOT_READY, "the peer had no receive posted") \
    _X(REMOTE_LENGTH, 11, REMOTE, "longer than the receive that was posted") \
    _X(BAD_ANSWER, 12, REMOTE, "a bad answer, or an error without a number") \
    _X(REMOTE_STOPPED, 13, SILENT, "the peer's host no longer answers") \
    _X(REMOTE_REFUSED, 14, STRANGER, "its device has no handle of this host") \
    _X(REMOTE_UNREACHED, 15, SILENT, "the peer's host never answered") \
    _X(REMOTE_FEATURES, 18, REMOTE, "the two devices' features differ")

typedef enum efa_status {
    EFA_STATUS_OK = 0,
#define EFA_STATUS_NAME(_name, _number, ...) EFA_STATUS_##_name = _number,
    EFA_STATUSES(EFA_STATUS_NAME)
#undef EFA_STATUS_NAME
} efa_status_t;

typedef enum efa_status_class {
    EFA_STATUS_CLASS_OK,
    EFA_STATUS_CLASS_FLUSHED,
    EFA_STATUS_CLASS_LOCAL,
    EFA_STATUS_CLASS_ACCESS,
    EFA_STATUS_CLASS_GONE,
    EFA_STATUS_CLASS_NOT_READY,
    EFA_STATUS_CLASS_REMOTE,
    EFA_STATUS_CLASS_SILENT,
    EFA_STATUS_CLASS_STRANGER
} efa_status_class_t;

static inline efa_status_class_t efa_status_class(unsigned status)
{
    switch (status) {
#define EFA_STATUS_CASE(_name, _number, _class, _words) \
    case _number: return EFA_STATUS_CLASS_##_class;
    EFA_STATUSES(EFA_STATUS_CASE)
#undef EFA_STATUS_CASE
    case EFA_STATUS_OK:
        return EFA_STATUS_CLASS_OK;
    default:
        return EFA_STATUS_CLASS_REMOTE;
    }
}

/* The meaning of a status, in words that end a sentence; of a number without a
 * row, that nobody knows it. */
static inline const char *efa_status_words(unsigned status)
{
    switch (status) {
#define EFA_STATUS_CASE(_name, _number, _class, _words) \
    case _number: return _words;
    EFA_STATUSES(EFA_STATUS_CASE)
#undef EFA_STATUS_CASE
    default:
        return "a number that nobody has explained";
    }
}

/* Nonzero: this device refused the work request; the peer never saw it. */
static inline int efa_status_is_local(unsigned status)
{
    efa_status_class_t is = efa_status_class(status);

    return (is == EFA_STATUS_CLASS_FLUSHED) || (is == EFA_STATUS_CLASS_LOCAL);
}

#endif
