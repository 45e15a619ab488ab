/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_config.h"
#include "base_op.h"
#include "base_rxq.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(BASE_CONFIG_RX_QUEUE_LEN - BASE_RXQ_RESERVE >=
               2 * FLOW_WINDOW_MAX, "RX_QUEUE_LEN (base_config.h): the first "
               "peer has its window at once (grant.c, flow_grant_flow_open)");

/* Entries that a completion queue may have: libefa makes it a power of 2. */
static unsigned base_config_cqes(const efa_device_t *device)
{
    unsigned cqes = 1;

    while (cqes <= device->max_cqe / 2) {
        cqes *= 2;
    }
    return (device->max_cqe > 0) ? cqes : UINT_MAX; /* 0: it does not say */
}

void base_config_resolve(base_config_t *config, const efa_device_t *device)
{
    base_op_counts_t counts   = base_op_counts(config->tx_queue_len);
    unsigned         cqes     = base_config_cqes(device);
    unsigned         sends    = efa_at_most(device->max_sq_wr, cqes);
    unsigned         receives = efa_at_most(device->max_rq_wr, cqes);

    if ((base_op_count(&counts) > sends) && (sends > BASE_CTL_OPS)) {
        config->tx_queue_len = (sends - BASE_CTL_OPS) / 3 * 2;
    }
    config->rx_buffers_max = efa_at_most(config->rx_buffers_max, receives);
    config->rx_queue_len   = efa_at_most(config->rx_queue_len,
                                         config->rx_buffers_max / 2);
    config->max_ah         = efa_at_most(config->max_ah, device->max_ah);
    if ((config->mtu == 0) || (config->mtu > device->max_msg)) {
        config->mtu = device->max_msg;
    }
}

#define BASE_CONFIG_TEXT_OF(_n) #_n
#define BASE_CONFIG_TEXT(_n)    BASE_CONFIG_TEXT_OF(_n)
/* The text of an enumerator from 10 to 99. */
#define BASE_CONFIG_DIGITS(_n) \
    ((const char[]){'0' + (_n) / 10, '0' + (_n) % 10, '\0'})
#define BASE_CONFIG_ROW(...) UCX_CONFIG_ROW(base_config_t, __VA_ARGS__)

static const ucx_config_field_t base_config_rows[] = {
#define BOTH_VARIABLE BASE_CONFIG_ROW
#include <uct/ib/variables.def>
};

static const ucx_config_field_t base_config_srd_rows[] = {
#define BOTH_VARIABLE BASE_CONFIG_ROW
#define SRD_VARIABLE  BASE_CONFIG_ROW
#include <uct/ib/variables.def>
};

static const ucx_config_field_t base_config_ud_rows[] = {
#define BOTH_VARIABLE BASE_CONFIG_ROW
#define UD_VARIABLE   BASE_CONFIG_ROW
#include <uct/ib/variables.def>
};

const ucx_config_table_t base_config_srd = {
    .title  = "srd transport",
    .prefix = "SRD_",
    .fields = base_config_srd_rows,
    .count  = sizeof(base_config_srd_rows) / sizeof(base_config_srd_rows[0]),
    .size   = sizeof(base_config_t),
};

const ucx_config_table_t base_config_srd_gpu = {
    .title  = "srd_gpu transport",
    .prefix = "SRD_",
    .fields = base_config_srd_rows,
    .count  = sizeof(base_config_srd_rows) / sizeof(base_config_srd_rows[0]),
    .size   = sizeof(base_config_t),
};

const ucx_config_table_t base_config_ud = {
    .title  = "ud transport on EFA",
    .prefix = "EFA_UD_",
    .fields = base_config_ud_rows,
    .count  = sizeof(base_config_ud_rows) / sizeof(base_config_ud_rows[0]),
    .size   = sizeof(base_config_t),
};

/* Why base_config_resolve lowered the value at `offset`, and what to do. */
static void base_config_why(char *text, size_t max, size_t offset,
                            const char *prefix, const efa_device_t *device,
                            const base_config_t *config)
{
    unsigned cqes = base_config_cqes(device);

    switch (offset) {
    case offsetof(base_config_t, tx_queue_len):
        snprintf(text, max, "its queue has %u sends, %u of them for control "
                 "and a third of the others for peers that answer; ask for no "
                 "more", efa_at_most(device->max_sq_wr, cqes), BASE_CTL_OPS);
        break;
    case offsetof(base_config_t, rx_queue_len):
        snprintf(text, max, "an interface opens with half of its %u receive "
                 "buffers at most; raise %sRX_BUFFERS_MAX too, as far as the "
                 "device has them (%u)", config->rx_buffers_max, prefix,
                 efa_at_most(device->max_rq_wr, cqes));
        break;
    case offsetof(base_config_t, rx_buffers_max):
        snprintf(text, max, "its queue has no more receives; ask for no more");
        break;
    default:
        snprintf(text, max, "it has no more address handles; ask for no more");
        break;
    }
}

void base_config_report(ucx_host_t *host, const char *prefix, int acked,
                        const efa_device_t *device, const base_config_t *wished,
                        const base_config_t *config)
{
    static unsigned           said[2]; /* rows, of srd and of ud */
    unsigned                 *of = &said[acked != 0], i;
    const ucx_config_field_t *row;
    unsigned                  was, is;
    char                      why[200];

    for (i = 0; i < sizeof(base_config_rows) / sizeof(*base_config_rows); ++i) {
        row = &base_config_rows[i];
        memcpy(&was, (const char*)wished + row->offset, sizeof(was));
        memcpy(&is, (const char*)config + row->offset, sizeof(is));
        if ((is >= was) || (was == strtoul(row->dflt, NULL, 10)) ||
            (__atomic_fetch_or(of, 1u << i, __ATOMIC_RELAXED) & (1u << i))) {
            continue;
        }
        base_config_why(why, sizeof(why), row->offset, prefix, device,
                        config);
        host_warn(host, "%s%s=%u: %s uses %u: %s", prefix, row->name, was,
                  device->name, is, why);
    }
}

/* UCP asks for offset 8 whatever the alignment, where uct.h wants less than
 * that: the remainder counts. */
ucs_status_t base_config_layout(ucx_host_t *host, const char *transport,
                                const uct_iface_params_t *params,
                                base_rxq_layout_t *layout)
{
    size_t align  = 1, offset = 0;
    int    aligns = (params->field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT) !=
                    0;

    if (aligns) {
        align = params->am_alignment;
    }
    if (params->field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET) {
        offset = params->am_align_offset;
    }
    if ((align == 0) || ((align & (align - 1)) != 0) ||
        (!aligns &&
         (params->field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET))) {
        host_error(host,
                   "%s: alignment %zu with offset %zu of active messages: the "
                   "alignment has to be given, and a power of 2",
                   transport, aligns ? align : 0, offset);
        return UCS_ERR_INVALID_PARAM;
    }
    memset(layout, 0, sizeof(*layout));
    layout->align        = align;
    layout->align_offset = offset & (align - 1);
    if (params->field_mask & UCT_IFACE_PARAM_FIELD_RX_HEADROOM) {
        layout->headroom = params->rx_headroom;
    }
    return UCS_OK;
}
