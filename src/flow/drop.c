/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/drop.h"

static const char *const flow_drop_names[] = {
    "none",
#define FLOW_DROP_NAME(_name) #_name,
    FLOW_DROP_LIST(FLOW_DROP_NAME)
#undef FLOW_DROP_NAME
};

const char *flow_drop_name(flow_drop_t reason)
{
    return ((unsigned)reason < FLOW_DROP_LAST) ? flow_drop_names[reason] : "?";
}
