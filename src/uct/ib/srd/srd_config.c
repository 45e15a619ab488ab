/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_SRD_*: what the transport lets a user set. */
#include "srd.h"

#define SRD_FIELD(_name, _dflt, _member, _min, _max, _doc) \
    {_name, _dflt, _doc, offsetof(srd_iface_config_t, _member), \
     UCX_CONFIG_UINT, _min, _max, NULL}

const ucx_config_field_t srd_config_fields[] = {
    SRD_FIELD("TX_QUEUE_LEN", "512", tx_queue_len, 16, 4000,
              "Operations that an interface has in flight at most"),
    SRD_FIELD("RX_QUEUE_LEN", "256", rx_queue_len, 128, 16384,
              "Receives posted when an interface opens; more are posted as "
              "peers come"),
    SRD_FIELD("RX_BUFFERS_MAX", "4096", rx_buffers_max, 256, 32768,
              "Receive buffers of an interface at most, of about 9 KB each; "
              "beyond it unexpected messages are copied by UCP"),
    SRD_FIELD("WINDOW", "64", window, 1, FLOW_WINDOW_MAX,
              "Messages a peer may send before we consumed them"),
    SRD_FIELD("RNR_RETRY", "3", rnr_retry, 0, 6,
              "Times the device tries again when a receiver is not ready, "
              "before the transport does with a growing back-off"),
    SRD_FIELD("MAX_AH", "1024", max_ah, 1, 65535,
              "Hosts (address handles) an interface talks to at a time; the "
              "device may have less"),
};

_Static_assert((sizeof(srd_config_fields) / sizeof(srd_config_fields[0])) ==
                       SRD_CONFIG_COUNT,
               "fields of UCX_SRD_*");
