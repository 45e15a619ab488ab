/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_OPS_H_
#define BASE_OPS_H_

/*
 * Operations of UCT that a layer before the transport's stands in the way of:
 * its lock (ud_lock.c), its checks (base_checked.c).
 *
 * X(returns, name, parameters, arguments, more...): of what posts, more is how
 * its parameters are checked, which counter of UCX it is, which one its bytes
 * are, and how many (see base_checked.c).
 */
#define BASE_OPS_AM(X) \
    X(ucs_status_t, ep_am_short, \
      (uct_ep_h ep, uint8_t id, uint64_t header, const void *payload, \
       unsigned length), (ep, id, header, payload, length), \
      base_checked_short(ep, id, sizeof(header) + length), \
      AM, SHORT, sizeof(header) + length) \
    X(ucs_status_t, ep_am_short_iov, \
      (uct_ep_h ep, uint8_t id, const uct_iov_t *iov, size_t count), \
      (ep, id, iov, count), \
      base_checked_short_iov(ep, id, iov, count), \
      AM, SHORT, base_checked_bytes(iov, count)) \
    X(ssize_t, ep_am_bcopy, \
      (uct_ep_h ep, uint8_t id, uct_pack_callback_t pack_cb, void *arg, \
       unsigned flags), (ep, id, pack_cb, arg, flags), \
      base_checked_id(ep, id), AM, BCOPY, (size_t)status) \
    X(ucs_status_t, ep_am_zcopy, \
      (uct_ep_h ep, uint8_t id, const void *header, unsigned header_length, \
       const uct_iov_t *iov, size_t count, unsigned flags, \
       uct_completion_t *comp), \
      (ep, id, header, header_length, iov, count, flags, comp), \
      base_checked_header(ep, id, header_length), \
      AM, ZCOPY, header_length + base_checked_bytes(iov, count))

#define BASE_OPS_RMA_SHORT(X) \
    X(ucs_status_t, ep_put_short, \
      (uct_ep_h ep, const void *buffer, unsigned length, \
       uint64_t remote_addr, uct_rkey_t rkey), \
      (ep, buffer, length, remote_addr, rkey), \
      base_checked_length(ep, "a short put", length, BASE_OP_BUF), \
      PUT, SHORT, length) \
    X(ucs_status_t, ep_get_short, \
      (uct_ep_h ep, void *buffer, unsigned length, uint64_t remote_addr, \
       uct_rkey_t rkey), (ep, buffer, length, remote_addr, rkey), \
      base_checked_length(ep, "a short get", length, BASE_OP_BUF), \
      GET, SHORT, length)

#define BASE_OPS_RMA(X) \
    X(ssize_t, ep_put_bcopy, \
      (uct_ep_h ep, uct_pack_callback_t pack_cb, void *arg, \
       uint64_t remote_addr, uct_rkey_t rkey), \
      (ep, pack_cb, arg, remote_addr, rkey), \
      UCS_OK, PUT, BCOPY, (size_t)status) \
    X(ucs_status_t, ep_put_zcopy, \
      (uct_ep_h ep, const uct_iov_t *iov, size_t count, \
       uint64_t remote_addr, uct_rkey_t rkey, uct_completion_t *comp), \
      (ep, iov, count, remote_addr, rkey, comp), \
      UCS_OK, PUT, ZCOPY, base_checked_bytes(iov, count)) \
    X(ucs_status_t, ep_get_bcopy, \
      (uct_ep_h ep, uct_unpack_callback_t unpack_cb, void *arg, \
       size_t length, uint64_t remote_addr, uct_rkey_t rkey, \
       uct_completion_t *comp), \
      (ep, unpack_cb, arg, length, remote_addr, rkey, comp), \
      UCS_OK, GET, BCOPY, length) \
    X(ucs_status_t, ep_get_zcopy, \
      (uct_ep_h ep, const uct_iov_t *iov, size_t count, \
       uint64_t remote_addr, uct_rkey_t rkey, uct_completion_t *comp), \
      (ep, iov, count, remote_addr, rkey, comp), \
      UCS_OK, GET, ZCOPY, base_checked_bytes(iov, count))

/* Here more is what counts them: of an endpoint or an interface, and the
 * counters where they are done, and where that takes longer. */
#define BASE_OPS_FLUSH(X) \
    X(ucs_status_t, ep_flush, \
      (uct_ep_h ep, unsigned flags, uct_completion_t *comp), \
      (ep, flags, comp), ep, EP_FLUSH, EP_FLUSH_WAIT) \
    X(ucs_status_t, ep_fence, (uct_ep_h ep, unsigned flags), (ep, flags), \
      ep, EP_FENCE, EP_FENCE) \
    X(ucs_status_t, ep_pending_add, \
      (uct_ep_h ep, uct_pending_req_t *req, unsigned flags), \
      (ep, req, flags), ep, EP_PENDING, EP_PENDING) \
    X(ucs_status_t, iface_flush, \
      (uct_iface_h iface, unsigned flags, uct_completion_t *comp), \
      (iface, flags, comp), iface, IFACE_FLUSH, IFACE_FLUSH_WAIT) \
    X(ucs_status_t, iface_fence, (uct_iface_h iface, unsigned flags), \
      (iface, flags), iface, IFACE_FENCE, IFACE_FENCE)

#endif
