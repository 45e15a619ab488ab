/* SPDX-License-Identifier: BSD-3-Clause */
/* The one component of this module, as src/ucp_hooks registers it. */
#include "efa/efa_device.h"
#include "efa/efa_md.h"
#include "efa/efa_mr.h"
#include "efa/efa_trial.h"
#include "efa/efa_rkey.h"
#include "srd/srd.h"
#include "srd/srd_segments.h"
#include "srd_gpu/srd_gpu.h"
#include "ud/ud.h"

static const ucx_transport_t *const efa_transports[] = {&srd_transport,
                                                        &ud_transport,
                                                        &srd_gpu_transport};

static const ucx_config_field_t efa_md_config_rows[] = {
#define MD_VARIABLE(...) UCX_CONFIG_ROW(efa_md_config_t, __VA_ARGS__)
#include <uct/ib/variables.def>
};

static const ucx_config_table_t efa_md_config = {
    .title  = "EFA memory domain",
    .prefix = "EFA_",
    .fields = efa_md_config_rows,
    .count  = sizeof(efa_md_config_rows) / sizeof(efa_md_config_rows[0]),
    .size   = sizeof(efa_md_config_t),
};

const ucx_component_t ucx_provider = {
    .name      = "efa",
    .md_config       = &efa_md_config,
    .transports      = efa_transports,
    .transport_count = sizeof(efa_transports) / sizeof(efa_transports[0]),
    .carrier_count   = 2,
    .query_mds         = efa_md_list,
    .device_is_present = efa_device_is_present,
    .count_rdma        = efa_device_count_rdma,
    .open_libraries    = efa_device_open_libraries,
    .try_left_out      = efa_md_try_left_out,
    .md_open           = efa_md_open,
    .md_close          = efa_md_close,
    .md_query          = efa_md_query,
    .mem_reg           = efa_mem_reg,
    .mem_dereg         = efa_mem_dereg,
    .mem_advise        = efa_mem_advise,
    .mkey_pack         = efa_mkey_pack,
    .rkey_unpack       = srd_rkey_unpack,
    .rkey_release      = efa_rkey_release,
    .mem_elem_pack     = efa_mem_elem_pack,
};
