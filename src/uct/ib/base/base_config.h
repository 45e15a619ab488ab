/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CONFIG_H_
#define BASE_CONFIG_H_

#include <uct/ib/efa/efa_md.h>

#include "base_rxq.h"

/* What every transport lets a user set: first in its configuration. Fields that
 * a transport's table does not name are 0. */
typedef struct base_config {
    ucx_iface_config_t super;
    unsigned           tx_queue_len;   /* operations in flight */
    unsigned           rx_queue_len;   /* receives posted at open */
    unsigned           rx_buffers_max; /* receive buffers at most */
    unsigned           window;         /* packets granted to one peer */
    unsigned           rnr_retry; /* of the device, before ours begin */
    unsigned           max_ah;
    unsigned           tx_inline; /* bytes in a work request, at most */
    unsigned           tries; /* with acks: time-outs in a row until a peer is
                                 lost; 0: the protocol core's */
    unsigned           mtu;   /* bytes of a packet; 0: the device's */
} base_config_t;

/* One number in a transport's table. */
#define BASE_CONFIG_UINT(_name, _dflt, _member, _min, _max, _doc)            \
    {_name, _dflt, _doc, offsetof(base_config_t, _member), UCX_CONFIG_UINT, \
     _min, _max}

/* What every transport's table has. */
#define BASE_CONFIG_SHARED                                                    \
    BASE_CONFIG_UINT("TX_QUEUE_LEN", "512", tx_queue_len, 16, 4000,           \
                     "Operations that an interface has in flight at most; "   \
                     "half as many again only to peers that answer"),         \
    BASE_CONFIG_UINT("RX_QUEUE_LEN", "256", rx_queue_len, 128, 16384,         \
                     "Receives posted when an interface opens; more are "     \
                     "posted as peers come"),                                 \
    BASE_CONFIG_UINT("RX_BUFFERS_MAX", "4096", rx_buffers_max, 256, 32768,    \
                     "Receive buffers of an interface at most, of about 9 KB " \
                     "each; beyond it unexpected messages are copied by UCP"), \
    BASE_CONFIG_UINT("WINDOW", "64", window, 1, FLOW_WINDOW_MAX,              \
                     "Messages a peer may send before we consumed them"),     \
    BASE_CONFIG_UINT("MAX_AH", "1024", max_ah, 1, 65535,                      \
                     "Hosts (address handles) an interface talks to at a "    \
                     "time; the device may have less")

/*
 * UCX checks the ranges of a table; what hangs together and what the device
 * allows is put right here.
 */
void base_config_resolve(base_config_t *config, const efa_device_t *device);

/*
 * How received packets are to lie in their buffers, but for their size.
 * UCS_OK; UCS_ERR_INVALID_PARAM, and it was said, where `params` cannot be met.
 */
ucs_status_t base_config_layout(ucx_host_t *host, const char *transport,
                                const uct_iface_params_t *params,
                                base_rxq_layout_t *layout);

#endif
