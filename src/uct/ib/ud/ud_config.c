/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_EFA_UD_*: the transport's variables. */
#include "ud.h"

const ucx_config_field_t ud_config_fields[] = {
    BASE_CONFIG_SHARED,
    BASE_CONFIG_UINT("FIRST_WINDOW", "4", first_window, 1, FLOW_WINDOW_MAX,
              "Messages that an endpoint may have in flight before the first "
              "acknowledgement; larger values suit networks without other "
              "traffic"),
    BASE_CONFIG_UINT("TRIES", "64", tries, 1, FLOW_TRIES_MAX,
              "Consecutive time-outs after which a silent peer counts as lost. "
              "Each is twice as long as the one before, up to 0.5 s; 64 take "
              "about half a minute, and none counts as less than 64 ms"),
    BASE_CONFIG_UINT("MTU", "0", mtu, 0, 65535,
              "Largest datagram to send, in bytes, 256 or more; 0: the largest "
              "that the device takes, found when an interface opens"),
    {"TIMER", "10ms",
     "How often UCX's asynchronous thread looks for packets to acknowledge or "
     "repeat while the program makes no progress",
     UCX_CONFIG_AT(ud_iface_config_t, timer, UCX_CONFIG_TIME), 0.001, 1},
};

_Static_assert((sizeof(ud_config_fields) / sizeof(ud_config_fields[0])) ==
                       UD_CONFIG_COUNT,
               "fields of UCX_EFA_UD_*");
