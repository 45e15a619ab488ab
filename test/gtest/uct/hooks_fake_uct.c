/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in libuct for the tests of version detection: it exports what
 * FAKE_MINOR of UCX exports, as far as detection looks (0: older than 1.13),
 * and answers uct_query_components() itself. hooks_suite.sh compiles it, with
 * FAKE_BAD_SIZE for data objects of a wrong size, FAKE_GAP for a missing
 * symbol in the middle.
 */
#include <stddef.h>

#include "ucp_hooks/minors.h"

#ifdef FAKE_GAP
#define GAP 14 /* this one's is missing */
#else
#define GAP 0
#endif

#define TEXT_(_number) #_number
#define TEXT(_number)  TEXT_(_number)
#define MARK(_minor, _symbol, _stays) \
    __asm__(".if (" #_minor " != " TEXT(GAP) ") && ((" #_minor " == " \
            TEXT(FAKE_MINOR) ") || (" #_stays " && (" #_minor " < " \
            TEXT(FAKE_MINOR) ")))\n" \
            ".globl " _symbol "\n" \
            ".type " _symbol ", %function\n" \
            _symbol ": ret\n" \
            ".endif\n");

__asm__(".text\n");
UCX_MINORS(MARK)

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
