/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The minors of UCX that this module drives: the one list, oldest first. The
 * tables (abi.h), how a minor is known (hooks.c), the objects (local.mk) and
 * the tests are made from it; abi_layout.h has the layouts of each.
 *
 * X(minor, symbol, stays): the release added the exported symbol to libuct, and
 * it stays in all later ones, or (stays 0) is in this minor alone.
 */
#ifndef UCX_EFA_MINORS_H
#define UCX_EFA_MINORS_H

#define UCX_MINORS(X) \
    X(13, "uct_md_mkey_pack_v2", 1) \
    X(14, "uct_md_query_v2", 1) \
    X(15, "uct_base_iface_is_reachable_v2", 0) \
    X(16, "uct_rkey_compare", 1) \
    X(17, "uct_md_base_md_query", 1) \
    X(18, "uct_iface_fill_info_str_buf", 1) \
    X(19, "uct_rkey_unpack_v2", 1) \
    X(20, "uct_ep_get_device_ep", 1) \
    X(21, "uct_md_mem_elem_pack", 1) \
    X(22, "uct_ep_put_sgl_zcopy", 1) \
    X(23, "uct_ep_get_sgl_zcopy", 1)

#endif
