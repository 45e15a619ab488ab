/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_SRD_*: what the transport lets a user set. */
#include "srd.h"

const ucx_config_field_t srd_config_fields[] = {
    BASE_CONFIG_UINT("TX_QUEUE_LEN", "512", tx_queue_len, 16, 4000,
              "Operations that an interface has in flight at most; half as "
              "many again only to peers that answer"),
    BASE_CONFIG_UINT("RX_QUEUE_LEN", "256", rx_queue_len, 128, 16384,
              "Receives posted when an interface opens; more are posted as "
              "peers come"),
    BASE_CONFIG_UINT("RX_BUFFERS_MAX", "4096", rx_buffers_max, 256, 32768,
              "Receive buffers of an interface at most, of about 9 KB each; "
              "beyond it unexpected messages are copied by UCP"),
    BASE_CONFIG_UINT("WINDOW", "64", window, 1, FLOW_WINDOW_MAX,
              "Messages a peer may send before we consumed them"),
    BASE_CONFIG_UINT("RNR_RETRY", "3", rnr_retry, 0, 6,
              "Times the device tries again when a receiver is not ready, "
              "before the transport does with a growing back-off"),
    BASE_CONFIG_UINT("MAX_AH", "1024", max_ah, 1, 65535,
              "Hosts (address handles) an interface talks to at a time; the "
              "device may have less"),
    BASE_CONFIG_UINT("TX_INLINE", "80", tx_inline, 0, 128,
              "Bytes of a message or a short put that travel inside the work "
              "request, as far as the device goes: more than 32 takes work "
              "requests of 128 B, with rdma-core 63 or later"),
    {"GET_SHORT", "0",
     "Time that a short get (UCT's get_short, which blocks) waits at most for "
     "its bytes; 0: there are no short gets, since UCP ends the process when "
     "one fails",
     offsetof(srd_iface_config_t, get_short), UCX_CONFIG_TIME, 0, 3600},
};

_Static_assert((sizeof(srd_config_fields) / sizeof(srd_config_fields[0])) ==
                       SRD_CONFIG_COUNT,
               "fields of UCX_SRD_*");
