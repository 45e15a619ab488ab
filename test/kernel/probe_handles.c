/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles. */
#include "probe.h"

#include <string.h>

#define handles_try(_probe, _attr, ...) \
    PROBE_TRY(ibv_create_ah((_probe)->pd, _attr), ibv_destroy_ah, __VA_ARGS__)

static void handles_attributes(const struct probe *probe)
{
    struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
    unsigned i;

    attr.grh.dgid = probe->gid;
    for (i = 0; i < 5; ++i) {
        attr.grh.sgid_index = i;
        handles_try(probe, &attr, "handle with sgid_index %u", i);
    }
    attr.grh.sgid_index = 255;
    handles_try(probe, &attr, "handle with sgid_index 255");
    attr.grh.sgid_index = 0;
    for (i = 0; i < 3; ++i) {
        attr.port_num = i;
        handles_try(probe, &attr, "handle with port %u", i);
    }
    attr.port_num  = 1;
    attr.is_global = 0;
    handles_try(probe, &attr, "handle without GRH");
    attr.is_global = 1;
    attr.dlid      = 7;
    handles_try(probe, &attr, "handle with a LID");
    attr.dlid            = 0;
    attr.sl              = 3;
    attr.src_path_bits   = 1;
    attr.grh.hop_limit   = 9;
    attr.grh.flow_label  = 77;
    attr.grh.traffic_class = 5;
    handles_try(probe, &attr, "handle with a service level");
    memset(&attr.grh.dgid, 0, sizeof(attr.grh.dgid));
    handles_try(probe, &attr, "handle of the zero GID");
    attr.grh.dgid.raw[0] = 0xff;
    handles_try(probe, &attr, "handle of a multicast GID");
    attr.grh.dgid         = probe->gid;
    attr.grh.dgid.raw[15] = 200;
    handles_try(probe, &attr, "handle of nobody");
}

static void handles_shared(const struct probe *probe)
{
    struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
    struct efadv_ah_attr one = { 0 }, two = { 0 };
    struct ibv_ah *a, *b;

    attr.grh.dgid = probe->gid;
    a = ibv_create_ah(probe->pd, &attr);
    b = ibv_create_ah(probe->pd, &attr);
    efadv_query_ah(a, &one, sizeof(one));
    efadv_query_ah(b, &two, sizeof(two));
    probe_number(one.ahn == two.ahn, "two handles of a GID have one number");
    probe_say(probe_result(ibv_dealloc_pd(probe->pd)), "PD before its handle");
    probe_say(probe_result(ibv_destroy_ah(a)), "the first destroyed");
    probe_say(probe_result(ibv_destroy_ah(b)), "the second destroyed");
}

static void handles_limit(const struct probe *probe)
{
    static struct ibv_ah *ah[1100];
    struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
    unsigned num;

    attr.grh.dgid        = probe->gid;
    attr.grh.dgid.raw[8] = 0x77;
    for (num = 0; num < 1100; ++num) {
        attr.grh.dgid.raw[12] = num >> 8;
        attr.grh.dgid.raw[13] = (uint8_t)num;
        ah[num]               = ibv_create_ah(probe->pd, &attr);
        if (ah[num] == NULL) {
            break;
        }
    }
    probe_say((num < 1100) ? probe_result(-1) : "ok", "one handle too many");
    probe_number(num, "handles");
    while (num > 0) {
        ibv_destroy_ah(ah[--num]);
    }
}

void probe_handles(const struct probe *probe)
{
    handles_attributes(probe);
    handles_shared(probe);
    handles_limit(probe);
}
