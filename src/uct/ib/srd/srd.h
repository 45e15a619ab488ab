/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_H_
#define SRD_H_

#include <uct/ib/base/base_types.h>
#include <ucp_hooks/provider.h>

extern const ucx_transport_t srd_transport;

/* The part of base_transport_t that srd and srd_gpu share. */
void srd_flow_params(flow_params_t *params);
#define SRD_GOODBYE_TIME 20000000 /* ns */
#define SRD_TRANSPORT \
    .prefix       = "UCX_SRD_", \
    .qp_kind      = EFA_QP_SRD, \
    .release_desc = base_rxq_release, \
    .goodbye_time = SRD_GOODBYE_TIME, \
    .flow_params  = srd_flow_params, \
    .status       = srd_status, \
    .flow_status  = srd_flow_status

/* The status of a completion, in base_transport_t. */
ucs_status_t       srd_status(unsigned vendor_err);
flow_send_status_t srd_flow_status(unsigned vendor_err);

/* iface_query of UCT, and query_sgl of provider.h. */
ucs_status_t srd_iface_query(uct_iface_h tl_iface, uct_iface_attr_t *attr);
void srd_query_sgl(uct_iface_h tl_iface, size_t *max_put_p, size_t *max_get_p);

/* Costs of operations (srd_estimate.c): estimate of provider.h, and those that
 * iface_query says of all of them. */
void srd_estimate(uct_iface_h tl_iface, ucx_op_t op, ucx_estimate_t *estimate);
void srd_estimate_query(uct_iface_h tl_iface, uct_iface_attr_t *attr);

/* Active messages (srd_am.c), puts and gets (srd_put.c, srd_get.c) of UCT. */
ucs_status_t srd_ep_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                             const void *payload, unsigned length);
ucs_status_t srd_ep_am_short_iov(uct_ep_h tl_ep, uint8_t id,
                                 const uct_iov_t *iov, size_t iovcnt);
ssize_t srd_ep_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack_cb,
                        void *arg, unsigned flags);
ucs_status_t srd_ep_put_short(uct_ep_h tl_ep, const void *buffer,
                              unsigned length, uint64_t remote_addr,
                              uct_rkey_t rkey);
ssize_t srd_ep_put_bcopy(uct_ep_h tl_ep, uct_pack_callback_t pack_cb, void *arg,
                         uint64_t remote_addr, uct_rkey_t rkey);
ucs_status_t srd_ep_put_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov,
                              size_t iovcnt, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp);
ucs_status_t srd_ep_get_short(uct_ep_h tl_ep, void *buffer, unsigned length,
                              uint64_t remote_addr, uct_rkey_t rkey);
ucs_status_t srd_ep_get_bcopy(uct_ep_h tl_ep, uct_unpack_callback_t unpack_cb,
                              void *arg, size_t length, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp);
ucs_status_t srd_ep_get_zcopy(uct_ep_h tl_ep, const uct_iov_t *iov,
                              size_t iovcnt, uint64_t remote_addr,
                              uct_rkey_t rkey, uct_completion_t *comp);

#endif
