/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_SRD_*: what the transport lets a user set. */
#include "srd.h"

const ucx_config_field_t srd_config_fields[] = {
    BASE_CONFIG_SHARED,
    BASE_CONFIG_UINT("RNR_RETRY", "3", rnr_retry, 0, 6,
              "Times the device tries again when a receiver is not ready, "
              "before the transport does with a growing back-off"),
    BASE_CONFIG_UINT("TX_INLINE", "32", tx_inline, 0, 128,
              "Bytes of a message or a short put that travel inside the work "
              "request, as far as the device goes: more than 32 takes work "
              "requests of 128 B, with rdma-core 63 or later"),
    {"GET_SHORT", "0",
     "Time that a short get (UCT's get_short, which blocks) waits at most for "
     "its bytes; 0: there are no short gets, since UCP ends the process when "
     "one fails",
     offsetof(srd_iface_config_t, get_short), UCX_CONFIG_TIME, 0, 3600},
    {"PUT_FLUSH", "n",
     "Read a byte back behind each RDMA WRITE, and complete the write only "
     "then: for targets in the memory of GPUs before Hopper, where a kernel "
     "that runs may see bytes late that the device has placed; costs a round "
     "trip",
     offsetof(srd_iface_config_t, put_flush), UCX_CONFIG_BOOL, 0, 0},
};

_Static_assert((sizeof(srd_config_fields) / sizeof(srd_config_fields[0])) ==
                       SRD_CONFIG_COUNT,
               "fields of UCX_SRD_*");
