/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in libuct for the tests of version detection: it exports what
 * FAKE_MINOR of UCX exports, as far as detection looks (0: older than 1.13),
 * and answers uct_query_components() itself. hooks_suite.sh compiles it, with
 * FAKE_BAD_SIZE for data objects of a wrong size, FAKE_GAP for a missing
 * symbol in the middle.
 */
#include <stddef.h>

#define MARK(_name) void _name(void); void _name(void) {}

#if FAKE_MINOR >= 13
MARK(uct_md_mkey_pack_v2)
#endif
#if FAKE_MINOR >= 14 && !defined(FAKE_GAP)
MARK(uct_md_query_v2)
#endif
#if FAKE_MINOR == 15
MARK(uct_base_iface_is_reachable_v2)
#endif
#if FAKE_MINOR >= 16
MARK(uct_rkey_compare)
#endif
#if FAKE_MINOR >= 17
MARK(uct_md_base_md_query)
#endif
#if FAKE_MINOR >= 18
MARK(uct_iface_fill_info_str_buf)
#endif
#if FAKE_MINOR >= 19
MARK(uct_rkey_unpack_v2)
#endif
#if FAKE_MINOR >= 20
MARK(uct_ep_get_device_ep)
#endif
#if FAKE_MINOR >= 21
MARK(uct_md_mem_elem_pack)
#endif
#if FAKE_MINOR >= 22
MARK(uct_ep_put_sgl_zcopy)
#endif
#if FAKE_MINOR >= 23
MARK(uct_ep_get_sgl_zcopy)
#endif

#ifdef FAKE_BAD_SIZE
char uct_tcp_tl[96], uct_tcp_component[216], uct_md_config_table[80];
#else
char uct_tcp_tl[96], uct_tcp_component[208], uct_md_config_table[80];
#endif

void uct_release_component_list(void *components);
void uct_release_component_list(void *components)
{
    (void)components;
}

int uct_query_components(void *components_p, unsigned *num_components_p);
int uct_query_components(void *components_p, unsigned *num_components_p)
{
    (void)components_p;
    *num_components_p = 4711; /* the caller checks that it got here */
    return 0;
}
