/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_LIST_H_
#define SRD_LIST_H_

#include "srd.h"

/* Elements that a list may have, where the device has the operation at all. */
size_t srd_list_max(const base_iface_t *iface);

/*
 * Puts and gets of lists, as provider.h has them. UCS_INPROGRESS; UCS_OK: there
 * was nothing to be moved; UCS_ERR_INVALID_PARAM: more elements than
 * srd_list_max, more work requests than half of UCX_SRD_TX_QUEUE_LEN, or a
 * memory handle of another domain; UCS_ERR_NO_RESOURCE, also where some of it
 * could be posted; UCS_ERR_UNREACHABLE, or why the endpoint failed.
 */
ucs_status_t srd_ep_put_sgl(uct_ep_h tl_ep, const ucx_sgl_t *sgl,
                            uct_completion_t *comp);
ucs_status_t srd_ep_get_sgl(uct_ep_h tl_ep, const ucx_sgl_t *sgl,
                            uct_completion_t *comp);

/* The same where keys may be of memory in segments, whose tables are here. */
ucs_status_t srd_ep_put_sgl_any(uct_ep_h tl_ep, const ucx_sgl_t *sgl,
                                uct_completion_t *comp);
ucs_status_t srd_ep_get_sgl_any(uct_ep_h tl_ep, const ucx_sgl_t *sgl,
                                uct_completion_t *comp);

#endif
