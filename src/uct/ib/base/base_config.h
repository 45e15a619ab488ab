/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CONFIG_H_
#define BASE_CONFIG_H_

#include <uct/ib/efa/efa_md.h>

#include "base_rxq.h"

/* Settings of a transport; those that are not in its table are 0. */
typedef struct base_config {
    ucx_iface_config_t super;
#define BOTH_VARIABLE UCX_CONFIG_MEMBER
#define SRD_VARIABLE  UCX_CONFIG_MEMBER
#define UD_VARIABLE   UCX_CONFIG_MEMBER
#include <uct/ib/variables.def>
} base_config_t;

#define BASE_CONFIG_RX_QUEUE_LEN 256 /* the default */

extern const ucx_config_table_t base_config_srd, base_config_srd_gpu,
        base_config_ud;

/*
 * UCX checks the ranges of a table; values that depend on each other or on the
 * device are put right here.
 */
void base_config_resolve(base_config_t *config, const efa_device_t *device);

/* Warns of each value that is no default and was put right by that, once in the
 * process. `prefix`: of the variables; `acked`: of two transports, which. */
void base_config_report(ucx_host_t *host, const char *prefix, int acked,
                        const efa_device_t *device,
                        const base_config_t *wished,
                        const base_config_t *config);

/*
 * How received packets are to lie in their buffers, but for their size.
 * UCS_OK; UCS_ERR_INVALID_PARAM, and it was said, where `params` cannot be met.
 */
ucs_status_t base_config_layout(ucx_host_t *host, const char *transport,
                                const uct_iface_params_t *params,
                                base_rxq_layout_t *layout);

#endif
