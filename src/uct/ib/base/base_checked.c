/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_checked.h"
#include "base_am.h"
#include "base_ops.h"
#include "base_trace.h"

static __attribute__((noinline)) void
base_checked_say_length(uct_ep_h ep, const char *what, size_t length,
                        size_t most)
{
    host_error(base_ep_iface((base_ep_t*)ep)->super.host,
               "%s: invalid length of %s: %zu, expected at most %zu",
               base_ep_device((base_ep_t*)ep), what, length, most);
}

static inline ucs_status_t
base_checked_length(uct_ep_h ep, const char *what, size_t length, size_t most)
{
    if (__builtin_expect(length > most, 0)) {
        base_checked_say_length(ep, what, length, most);
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK;
}

static __attribute__((noinline)) void
base_checked_say_id(uct_ep_h ep, unsigned id)
{
    host_error(base_ep_iface((base_ep_t*)ep)->super.host,
               "%s: invalid active message id %u (0 to %u)",
               base_ep_device((base_ep_t*)ep), id, (unsigned)UCT_AM_ID_MAX - 1);
}

static inline ucs_status_t base_checked_id(uct_ep_h ep, unsigned id)
{
    if (__builtin_expect(id >= UCT_AM_ID_MAX, 0)) {
        base_checked_say_id(ep, id);
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK;
}

/* UCP up to 1.15 sends longer ones: base_am_long. */
static inline int base_checked_is_bound(uct_ep_h ep)
{
    return base_ep_iface((base_ep_t*)ep)->super.host->minor > 15;
}

static inline ucs_status_t
base_checked_short(uct_ep_h ep, unsigned id, size_t length)
{
    ucs_status_t status = base_checked_id(ep, id);

    if (__builtin_expect((status == UCS_OK) && (length > BASE_MAX_SHORT) &&
                         base_checked_is_bound(ep), 0)) {
        base_checked_say_length(ep, "a short active message", length,
                                BASE_MAX_SHORT);
        return UCS_ERR_INVALID_PARAM;
    }
    return status;
}

static size_t base_checked_bytes(const uct_iov_t *iov, size_t count)
{
    size_t total = 0;

    for (; count > 0; ++iov, --count) {
        total += iov->length * iov->count;
    }
    return total;
}

static inline ucs_status_t
base_checked_short_iov(uct_ep_h ep, unsigned id, const uct_iov_t *iov,
                       size_t count)
{
    return base_checked_short(ep, id, base_checked_is_bound(ep) ?
                                              base_checked_bytes(iov, count) :
                                              0);
}

static inline ucs_status_t
base_checked_header(uct_ep_h ep, unsigned id, size_t length)
{
    ucs_status_t status = base_checked_id(ep, id);

    return (status != UCS_OK) ?
                   status :
                   base_checked_length(ep, "an active message's header", length,
                                       base_am_max_hdr(base_ep_iface(
                                               (base_ep_t*)ep)));
}

ssize_t
base_checked_count(uct_ep_h ep, ucx_ep_counter_t what, ucx_ep_counter_t bytes,
                   size_t length, ssize_t status)
{
    if (status >= 0) {
        ucx_ep_count(ep, what, 1);
        ucx_ep_count(ep, bytes, length);
    } else if (status == UCS_ERR_NO_RESOURCE) {
        ucx_ep_count(ep, UCX_EP_NO_RES, 1);
    }
    return status;
}

/* Apart, so that the way without statistics ends with a jump. */
#define BASE_CHECKED(_returns, _name, _params, _args, _check, _what, _bytes, \
                     _length) \
    static __attribute__((noinline)) _returns base_counted_##_name _params \
    { \
        base_iface_t *iface = base_ep_iface((base_ep_t*)ep); \
        _returns      status; \
        \
        base_trace_look(iface); \
        status = iface->unchecked._name _args; \
        return base_checked_count(ep, UCX_EP_##_what, UCX_EP_BYTES_##_bytes, \
                                  _length, status); \
    } \
    \
    static _returns base_checked_##_name _params \
    { \
        base_iface_t *iface  = base_ep_iface((base_ep_t*)ep); \
        _returns      status = _check; \
        \
        if (__builtin_expect(status != UCS_OK, 0)) { \
            return status; \
        } \
        return __builtin_expect(iface->traced & BASE_TRACED_COUNT, 0) ? \
                       base_counted_##_name _args : \
                       iface->unchecked._name _args; \
    }

BASE_OPS_AM(BASE_CHECKED)
BASE_OPS_RMA_SHORT(BASE_CHECKED)
BASE_OPS_RMA(BASE_CHECKED)

static base_iface_t *base_checked_iface_of_ep(uct_ep_h ep)
{
    return base_ep_iface((base_ep_t*)ep);
}

static base_iface_t *base_checked_iface_of_iface(uct_iface_h iface)
{
    return (base_iface_t*)iface;
}

#define BASE_COUNTED(_returns, _name, _params, _args, _of, _done, _wait) \
    static _returns base_checked_##_name _params \
    { \
        _returns status = \
            base_checked_iface_of_##_of(_of)->unchecked._name _args; \
        \
        if (status >= 0) { \
            ucx_##_of##_count(_of, (status == UCS_OK) ? UCX_##_done : \
                                                        UCX_##_wait, 1); \
        } \
        return status; \
    }

BASE_OPS_FLUSH(BASE_COUNTED)

static unsigned base_checked_iface_progress(uct_iface_h iface)
{
    base_trace_look((base_iface_t*)iface);
    return ((base_iface_t*)iface)->unchecked.iface_progress(iface);
}

#define BASE_CHECKED_SET(_returns, _name, ...) \
    ops->_name = base_checked_##_name;

void base_checked_ops(base_iface_t *iface)
{
    uct_iface_ops_t *ops = &iface->super.super.ops;

    iface->unchecked = *ops;
    if (iface->traced & BASE_TRACED_COUNT) {
        BASE_OPS_RMA(BASE_CHECKED_SET)
        BASE_OPS_FLUSH(BASE_CHECKED_SET)
        BASE_CHECKED_SET(, iface_progress)
    } else if (!ucx_host_checks_params(iface->super.host,
                                       (uct_md_h)base_iface_md(iface))) {
        return;
    }
    BASE_OPS_AM(BASE_CHECKED_SET)
    BASE_OPS_RMA_SHORT(BASE_CHECKED_SET)
}
