/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations as UCX's own transports have them in builds for developers
 * (--enable-stats): parameters are checked, UCT's statistics kept, and a log
 * level that changes while the program runs is noticed. They stand before the
 * others, so that nobody else pays for it.
 */
#include "srd_list.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_flush.h>
#include <uct/ib/base/base_pending.h>
#include <uct/ib/base/base_progress.h>
#include <uct/ib/base/base_trace.h>

/* Looks at the log level, and at the id. */
static ucs_status_t srd_checked_am(uct_ep_h tl_ep, unsigned id)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);

    base_trace_look(iface);
    if (id < UCT_AM_ID_MAX) {
        return UCS_OK;
    }
    host_error(iface->super.host, "%s: invalid active message id %u (0 to %u)",
               base_ep_device(ep), id, (unsigned)UCT_AM_ID_MAX - 1);
    return UCS_ERR_INVALID_PARAM;
}

static ucs_status_t srd_checked_length(uct_ep_h tl_ep, const char *what,
                                       size_t length, size_t most)
{
    base_ep_t *ep = (base_ep_t*)tl_ep;

    base_trace_look(base_ep_iface(ep));
    if (length <= most) {
        return UCS_OK;
    }
    host_error(base_ep_iface(ep)->super.host,
               "%s: invalid length of %s: %zu, expected at most %zu",
               base_ep_device(ep), what, length, most);
    return UCS_ERR_INVALID_PARAM;
}

/* UCP up to 1.15 sends longer ones: base_am_long. */
static ucs_status_t srd_checked_short(uct_ep_h ep, unsigned id, size_t length)
{
    base_iface_t *iface = base_ep_iface((base_ep_t*)ep);
    ucs_status_t  status = srd_checked_am(ep, id);

    if ((status != UCS_OK) || (iface->super.host->minor < 16)) {
        return status;
    }
    return srd_checked_length(ep, "a short active message", length,
                              BASE_MAX_SHORT);
}

/* An operation was tried: returns what it did. */
static ssize_t srd_count(uct_ep_h ep, ucx_ep_counter_t what,
                         ucx_ep_counter_t bytes, size_t length, ssize_t status)
{
    if (status >= 0) {
        ucx_ep_count(ep, what, 1);
        ucx_ep_count(ep, bytes, length);
    } else if (status == UCS_ERR_NO_RESOURCE) {
        ucx_ep_count(ep, UCX_EP_NO_RES, 1);
    }
    return status;
}

static size_t srd_iov_length(const uct_iov_t *iov, size_t count)
{
    size_t total = 0;

    for (; count > 0; ++iov, --count) {
        total += iov->length * iov->count;
    }
    return total;
}

static ucs_status_t
srd_checked_am_short(uct_ep_h ep, uint8_t id, uint64_t header,
                     const void *payload, unsigned length)
{
    size_t       total  = sizeof(header) + length;
    ucs_status_t status = srd_checked_short(ep, id, total);

    if (status == UCS_OK) {
        status = srd_count(ep, UCX_EP_AM, UCX_EP_BYTES_SHORT, total,
                           srd_ep_am_short(ep, id, header, payload, length));
    }
    return status;
}

static ucs_status_t srd_checked_am_short_iov(uct_ep_h ep, uint8_t id,
                                             const uct_iov_t *iov, size_t count)
{
    size_t       total  = srd_iov_length(iov, count);
    ucs_status_t status = srd_checked_short(ep, id, total);

    if (status == UCS_OK) {
        status = srd_count(ep, UCX_EP_AM, UCX_EP_BYTES_SHORT, total,
                           base_am_short_iov(ep, id, iov, count));
    }
    return status;
}

static ssize_t srd_checked_am_bcopy(uct_ep_h ep, uint8_t id,
                                    uct_pack_callback_t pack_cb, void *arg,
                                    unsigned flags)
{
    ssize_t length = srd_checked_am(ep, id);

    if (length == UCS_OK) {
        length = base_am_bcopy(ep, id, pack_cb, arg, flags);
        srd_count(ep, UCX_EP_AM, UCX_EP_BYTES_BCOPY, length, length);
    }
    return length;
}

static ucs_status_t
srd_checked_am_zcopy(uct_ep_h ep, uint8_t id, const void *header,
                     unsigned header_length, const uct_iov_t *iov, size_t count,
                     unsigned flags, uct_completion_t *comp)
{
    base_iface_t *iface = base_ep_iface((base_ep_t*)ep);
    ucs_status_t  status = srd_checked_am(ep, id);

    if (status == UCS_OK) {
        status = srd_checked_length(ep, "an active message's header",
                                    header_length, base_am_max_hdr(iface));
    }
    if (status == UCS_OK) {
        status = srd_count(ep, UCX_EP_AM, UCX_EP_BYTES_ZCOPY,
                           header_length + srd_iov_length(iov, count),
                           base_am_zcopy(ep, id, header, header_length, iov,
                                         count, flags, comp));
    }
    return status;
}

static ucs_status_t
srd_checked_put_short(uct_ep_h ep, const void *buffer, unsigned length,
                      uint64_t remote_addr, uct_rkey_t rkey)
{
    ucs_status_t status = srd_checked_length(ep, "a short put", length,
                                             BASE_OP_BUF);

    if (status == UCS_OK) {
        status = srd_count(ep, UCX_EP_PUT, UCX_EP_BYTES_SHORT, length,
                           srd_ep_put_short(ep, buffer, length, remote_addr,
                                            rkey));
    }
    return status;
}

static ssize_t
srd_checked_put_bcopy(uct_ep_h ep, uct_pack_callback_t pack_cb, void *arg,
                      uint64_t remote_addr, uct_rkey_t rkey)
{
    ssize_t length;

    base_trace_look(base_ep_iface((base_ep_t*)ep));
    length = srd_ep_put_bcopy(ep, pack_cb, arg, remote_addr, rkey);
    return srd_count(ep, UCX_EP_PUT, UCX_EP_BYTES_BCOPY, length, length);
}

static ucs_status_t
srd_checked_put_zcopy(uct_ep_h ep, const uct_iov_t *iov, size_t count,
                      uint64_t remote_addr, uct_rkey_t rkey,
                      uct_completion_t *comp)
{
    base_trace_look(base_ep_iface((base_ep_t*)ep));
    return srd_count(ep, UCX_EP_PUT, UCX_EP_BYTES_ZCOPY,
                     srd_iov_length(iov, count),
                     srd_ep_put_zcopy(ep, iov, count, remote_addr, rkey, comp));
}

static ucs_status_t srd_checked_get_short(uct_ep_h ep, void *buffer,
                                          unsigned length, uint64_t remote_addr,
                                          uct_rkey_t rkey)
{
    ucs_status_t status = srd_checked_length(ep, "a short get", length,
                                             BASE_OP_BUF);

    if (status == UCS_OK) {
        status = srd_count(ep, UCX_EP_GET, UCX_EP_BYTES_SHORT, length,
                           srd_ep_get_short(ep, buffer, length, remote_addr,
                                            rkey));
    }
    return status;
}

static ucs_status_t
srd_checked_get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack_cb, void *arg,
                      size_t length, uint64_t remote_addr, uct_rkey_t rkey,
                      uct_completion_t *comp)
{
    base_trace_look(base_ep_iface((base_ep_t*)ep));
    return srd_count(ep, UCX_EP_GET, UCX_EP_BYTES_BCOPY, length,
                     srd_ep_get_bcopy(ep, unpack_cb, arg, length, remote_addr,
                                      rkey, comp));
}

static ucs_status_t
srd_checked_get_zcopy(uct_ep_h ep, const uct_iov_t *iov, size_t count,
                      uint64_t remote_addr, uct_rkey_t rkey,
                      uct_completion_t *comp)
{
    base_trace_look(base_ep_iface((base_ep_t*)ep));
    return srd_count(ep, UCX_EP_GET, UCX_EP_BYTES_ZCOPY,
                     srd_iov_length(iov, count),
                     srd_ep_get_zcopy(ep, iov, count, remote_addr, rkey, comp));
}

static size_t srd_sgl_length(const ucx_sgl_t *sgl)
{
    size_t total = 0, i;

    for (i = 0; i < sgl->count; ++i) {
        total += sgl->lengths[i] * ((sgl->counts == NULL) ? 1 : sgl->counts[i]);
    }
    return total;
}

ucs_status_t srd_checked_put_sgl(uct_ep_h ep, const ucx_sgl_t *sgl,
                                 uct_completion_t *comp)
{
    base_trace_look(base_ep_iface((base_ep_t*)ep));
    return srd_count(ep, UCX_EP_PUT, UCX_EP_BYTES_ZCOPY, srd_sgl_length(sgl),
                     srd_ep_put_sgl(ep, sgl, comp));
}

ucs_status_t srd_checked_get_sgl(uct_ep_h ep, const ucx_sgl_t *sgl,
                                 uct_completion_t *comp)
{
    base_trace_look(base_ep_iface((base_ep_t*)ep));
    return srd_count(ep, UCX_EP_GET, UCX_EP_BYTES_ZCOPY, srd_sgl_length(sgl),
                     srd_ep_get_sgl(ep, sgl, comp));
}

static ucs_status_t
srd_checked_flush(uct_ep_h ep, unsigned flags, uct_completion_t *comp)
{
    ucs_status_t status = base_flush_ep(ep, flags, comp);

    if (status == UCS_OK) {
        ucx_ep_count(ep, UCX_EP_FLUSH, 1);
    } else if (status == UCS_INPROGRESS) {
        ucx_ep_count(ep, UCX_EP_FLUSH_WAIT, 1);
    }
    return status;
}

static ucs_status_t srd_checked_fence(uct_ep_h ep, unsigned flags)
{
    ucx_ep_count(ep, UCX_EP_FENCE, 1);
    return base_flush_ep_fence(ep, flags);
}

static ucs_status_t
srd_checked_pending_add(uct_ep_h ep, uct_pending_req_t *req, unsigned flags)
{
    ucs_status_t status = base_pending_add(ep, req, flags);

    if (status == UCS_OK) {
        ucx_ep_count(ep, UCX_EP_PENDING, 1);
    }
    return status;
}

static ucs_status_t
srd_checked_iface_flush(uct_iface_h iface, unsigned flags,
                        uct_completion_t *comp)
{
    ucs_status_t status = base_flush_iface(iface, flags, comp);

    if (status == UCS_OK) {
        ucx_iface_count(iface, UCX_IFACE_FLUSH, 1);
    } else if (status == UCS_INPROGRESS) {
        ucx_iface_count(iface, UCX_IFACE_FLUSH_WAIT, 1);
    }
    return status;
}

static ucs_status_t srd_checked_iface_fence(uct_iface_h iface, unsigned flags)
{
    ucx_iface_count(iface, UCX_IFACE_FENCE, 1);
    return base_flush_iface_fence(iface, flags);
}

static unsigned srd_checked_progress(uct_iface_h iface)
{
    base_trace_look((base_iface_t*)iface);
    return base_progress_any(iface);
}

void srd_checked_ops(uct_iface_ops_t *ops)
{
    ops->ep_am_short     = srd_checked_am_short;
    ops->ep_am_short_iov = srd_checked_am_short_iov;
    ops->ep_am_bcopy     = srd_checked_am_bcopy;
    ops->ep_am_zcopy     = srd_checked_am_zcopy;
    ops->ep_put_short    = srd_checked_put_short;
    ops->ep_put_bcopy    = srd_checked_put_bcopy;
    ops->ep_put_zcopy    = srd_checked_put_zcopy;
    ops->ep_get_short    = srd_checked_get_short;
    ops->ep_get_bcopy    = srd_checked_get_bcopy;
    ops->ep_get_zcopy    = srd_checked_get_zcopy;
    ops->ep_flush        = srd_checked_flush;
    ops->ep_fence        = srd_checked_fence;
    ops->ep_pending_add  = srd_checked_pending_add;
    ops->iface_flush     = srd_checked_iface_flush;
    ops->iface_fence     = srd_checked_iface_fence;
    ops->iface_progress  = srd_checked_progress;
}
