/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_EFA_UD_*: what the transport lets a user set. */
#include "ud.h"

const ucx_config_field_t ud_config_fields[] = {
    BASE_CONFIG_SHARED,
    BASE_CONFIG_UINT("TRIES", "64", tries, 1, FLOW_TRIES_MAX,
              "Time-outs in a row, from 2 ms on to 0.5 s, until a peer that "
              "says nothing is lost: 64 take about half a minute"),
    BASE_CONFIG_UINT("MTU", "0", mtu, 0, 65535,
              "Bytes of a datagram that we send at most, 256 or more; 0: what "
              "the device takes, which is tried when an interface opens"),
    {"TIMER", "10ms",
     "Time between two looks of another thread whether packets are to be "
     "acknowledged or sent again, while the program makes no progress",
     offsetof(ud_iface_config_t, timer), UCX_CONFIG_TIME, 0.001, 1},
};

_Static_assert((sizeof(ud_config_fields) / sizeof(ud_config_fields[0])) ==
                       UD_CONFIG_COUNT,
               "fields of UCX_EFA_UD_*");
