/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_EFA_UD_*: what the transport lets a user set. */
#include "ud.h"

const ucx_config_field_t ud_config_fields[] = {
    BASE_CONFIG_UINT("TX_QUEUE_LEN", "512", tx_queue_len, 16, 4000,
              "Messages that an interface has under way at most; half as many "
              "again only to peers that answer"),
    BASE_CONFIG_UINT("RX_QUEUE_LEN", "256", rx_queue_len, 128, 16384,
              "Receives posted when an interface opens; more are posted as "
              "peers come"),
    BASE_CONFIG_UINT("RX_BUFFERS_MAX", "4096", rx_buffers_max, 256, 32768,
              "Receive buffers of an interface at most, of about 9 KB each; "
              "beyond it unexpected messages are copied by UCP"),
    BASE_CONFIG_UINT("WINDOW", "64", window, 1, FLOW_WINDOW_MAX,
              "Messages a peer may send before we consumed them"),
    BASE_CONFIG_UINT("TRIES", "64", tries, 1, FLOW_TRIES_MAX,
              "Time-outs in a row, from 2 ms on to 0.5 s, until a peer that "
              "says nothing is lost: 64 take about half a minute"),
    BASE_CONFIG_UINT("MTU", "0", mtu, 0, 65535,
              "Bytes of a datagram that we send at most, 256 or more; 0: what "
              "the device takes, which is tried when an interface opens"),
    BASE_CONFIG_UINT("MAX_AH", "1024", max_ah, 1, 65535,
              "Hosts (address handles) an interface talks to at a time; the "
              "device may have less"),
    {"TIMER", "10ms",
     "Time between two looks of another thread whether packets are to be "
     "acknowledged or sent again, while the program makes no progress",
     offsetof(ud_iface_config_t, timer), UCX_CONFIG_TIME, 0.001, 1},
};

_Static_assert((sizeof(ud_config_fields) / sizeof(ud_config_fields[0])) ==
                       UD_CONFIG_COUNT,
               "fields of UCX_EFA_UD_*");
