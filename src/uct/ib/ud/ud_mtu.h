/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_MTU_H_
#define UD_MTU_H_

#include "ud.h"

#define UD_MTU_MIN   256  /* headers, control packets, and some payload */
#define UD_MTU_SMALL 4096 /* the length that every device takes: active_mtu */

/*
 * How long a datagram may be. The device says it of SRD's messages (8928 B);
 * whether it holds for UD, too, no public source tells (EFA-FACTS: identity). A
 * datagram that is too long may be refused, or be lost without a word. An
 * interface therefore tries when it opens: it sends one to itself.
 *
 * `wished` is UCX_EFA_UD_MTU, 0 for the most that there is. Sets *mtu_p.
 * UCS_OK; UCS_ERR_INVALID_PARAM: less than UD_MTU_MIN, which is said.
 */
ucs_status_t ud_mtu_find(efa_md_t *md, unsigned wished, unsigned *mtu_p);

#endif
