/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CONFIG_H_
#define BASE_CONFIG_H_

#include <uct/ib/efa/efa_md.h>

#include "base_rxq.h"

/* Settings of every transport: first in its configuration. Fields that a
 * transport's table does not name are 0. */
typedef struct base_config {
    ucx_iface_config_t super;
    unsigned           tx_queue_len;   /* operations in flight */
    unsigned           rx_queue_len;   /* receives posted at open */
    unsigned           rx_buffers_max; /* receive buffers at most */
    unsigned           window;         /* packets granted to one peer */
    unsigned           rnr_retry; /* of the device, before ours begin */
    unsigned           max_ah;
    unsigned           sl; /* service level of the queue pair; 0: the usual */
    unsigned           tx_inline; /* bytes in a work request, at most */
    unsigned           first_window; /* with acks: packets out before one */
    unsigned           tries; /* with acks: time-outs in a row until a peer is
                                 lost; 0: the protocol core's */
    unsigned           mtu;   /* bytes of a packet; 0: the device's */
} base_config_t;

/* One number in a transport's table. */
#define BASE_CONFIG_UINT(_name, _dflt, _member, _min, _max, _doc) \
    {_name, _dflt, _doc, \
     UCX_CONFIG_AT(base_config_t, _member, UCX_CONFIG_UINT), _min, _max}

#define BASE_CONFIG_RX_QUEUE_LEN 256 /* the default */
#define BASE_CONFIG_TEXT_OF(_n)  #_n
#define BASE_CONFIG_TEXT(_n)     BASE_CONFIG_TEXT_OF(_n)
/* The text of an enumerator from 10 to 99. */
#define BASE_CONFIG_DIGITS(_n) \
    (const char[]){'0' + (_n) / 10, '0' + (_n) % 10, '\0'}

/* Rows of every transport's table. */
#define BASE_CONFIG_SHARED                                                    \
    BASE_CONFIG_UINT("TX_QUEUE_LEN", "512", tx_queue_len, 16, 4000,           \
                     "Maximum number of operations in flight per interface; " \
                     "half as many more are reserved for peers that answer"), \
    BASE_CONFIG_UINT("RX_QUEUE_LEN",                                          \
                     BASE_CONFIG_TEXT(BASE_CONFIG_RX_QUEUE_LEN),              \
                     rx_queue_len, 128, 16384,                                \
                     "Receives posted when an interface opens; the queue "    \
                     "grows as peers come"),                                  \
    BASE_CONFIG_UINT("RX_BUFFERS_MAX", "4096", rx_buffers_max, 256, 32768,    \
                     "Maximum number of receive buffers per interface, of "   \
                     "about 9 KB each; when they run short UCP copies "       \
                     "unexpected messages"),                                  \
    BASE_CONFIG_UINT("WINDOW", BASE_CONFIG_DIGITS(FLOW_WINDOW_MAX), window,   \
                     1, FLOW_WINDOW_MAX,                                      \
                     "Messages that a peer may send before this side has "    \
                     "consumed them"),                                        \
    BASE_CONFIG_UINT("MAX_AH", "1024", max_ah, 1, 65535,                      \
                     "Maximum number of hosts (address handles) that an "     \
                     "interface talks to at a time; the device may have "     \
                     "fewer")

/*
 * UCX checks the ranges of a table; values that depend on each other or on the
 * device are put right here.
 */
void base_config_resolve(base_config_t *config, const efa_device_t *device);

/* Warns of each value that is no default and was put right by that, once in the
 * process. `prefix`: of the variables; `acked`: of two transports, which. */
void base_config_report(ucx_host_t *host, const char *prefix, int acked,
                        const efa_device_t *device,
                        const base_config_t *wished,
                        const base_config_t *config);

/*
 * How received packets are to lie in their buffers, but for their size.
 * UCS_OK; UCS_ERR_INVALID_PARAM, and it was said, where `params` cannot be met.
 */
ucs_status_t base_config_layout(ucx_host_t *host, const char *transport,
                                const uct_iface_params_t *params,
                                base_rxq_layout_t *layout);

#endif
