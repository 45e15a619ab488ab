/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoder: whatever it takes, encoding it again gives the same bytes. */
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t again[FLOW_CTL_MAX];
    flow_ctl_msg_t msg, back;
    unsigned len;

    if ((size < 1) || !(data[0] & FLOW_WIRE_CTL) ||
        (flow_ctl_decode(data, size, &msg) != FLOW_DROP_NONE)) {
        return 0;
    }
    len = flow_ctl_encode(&msg, again);
    if ((len != size) ||
        (flow_ctl_decode(again, len, &back) != FLOW_DROP_NONE) ||
        (memcmp(&msg, &back, sizeof(msg)) != 0)) {
        abort();
    }
    return 0;
}
