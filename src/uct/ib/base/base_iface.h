/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_IFACE_H_
#define BASE_IFACE_H_

#include "base_types.h"

/*
 * Opens queue pair, pools and core as `params` and `config` wish and the device
 * allows. Only fields behind `super` are touched; ucx_iface_init comes before.
 * A failure is logged, and nothing is owed.
 * UCS_OK, UCS_ERR_NO_MEMORY, UCS_ERR_IO_ERROR, UCS_ERR_INVALID_PARAM.
 */
ucs_status_t base_iface_open(base_iface_t *iface, efa_md_t *md,
                             const base_transport_t *transport,
                             const uct_iface_params_t *params,
                             const base_config_t *config);

/*
 * Says goodbye to peers for a bounded time, stops the device, completes what
 * is left with UCS_ERR_CANCELED, frees everything behind `super`.
 */
void base_iface_close(base_iface_t *iface);

#endif
