/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of device and port, and their counters. */
#include "probe.h"

enum { CAP_COUNTERS = 1 << 6 }; /* in efadv.h since rdma-core 65 */

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void device_attr(const struct ibv_device_attr *attr)
{
    const struct { const char *name; unsigned long long value; } all[] = {
        { "max_mr_size", attr->max_mr_size },
        { "page_size_cap", attr->page_size_cap },
        { "vendor_id", attr->vendor_id },
        { "vendor_part_id", attr->vendor_part_id },
        { "hw_ver", attr->hw_ver },
        { "max_qp", attr->max_qp },
        { "max_qp_wr", attr->max_qp_wr },
        { "device_cap_flags", attr->device_cap_flags },
        { "max_sge", attr->max_sge },
        { "max_sge_rd", attr->max_sge_rd },
        { "max_cq", attr->max_cq },
        { "max_cqe", attr->max_cqe },
        { "max_mr", attr->max_mr },
        { "max_pd", attr->max_pd },
        { "max_qp_rd_atom", attr->max_qp_rd_atom },
        { "max_ee_rd_atom", attr->max_ee_rd_atom },
        { "atomic_cap", attr->atomic_cap },
        { "max_mw", attr->max_mw },
        { "max_mcast_grp", attr->max_mcast_grp },
        { "max_ah", attr->max_ah },
        { "max_srq", attr->max_srq },
        { "max_pkeys", attr->max_pkeys },
        { "local_ca_ack_delay", attr->local_ca_ack_delay },
        { "phys_port_cnt", attr->phys_port_cnt },
        { "sys_image_guid", attr->sys_image_guid },
        { "node_guid is there", attr->node_guid != 0 },
    };
    unsigned i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        probe_number(all[i].value, "device %s", all[i].name);
    }
}

static void device_port(const struct ibv_port_attr *attr)
{
    const struct { const char *name; unsigned long long value; } all[] = {
        { "state", attr->state },
        { "max_mtu", attr->max_mtu },
        { "active_mtu", attr->active_mtu },
        { "gid_tbl_len", attr->gid_tbl_len },
        { "port_cap_flags", attr->port_cap_flags },
        { "max_msg_sz", attr->max_msg_sz },
        { "bad_pkey_cntr", attr->bad_pkey_cntr },
        { "pkey_tbl_len", attr->pkey_tbl_len },
        { "lid", attr->lid },
        { "sm_lid", attr->sm_lid },
        { "lmc", attr->lmc },
        { "max_vl_num", attr->max_vl_num },
        { "sm_sl", attr->sm_sl },
        { "active_width", attr->active_width },
        { "active_speed", attr->active_speed },
        { "phys_state", attr->phys_state },
        { "link_layer", attr->link_layer },
        { "flags", attr->flags },
    };
    unsigned i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        probe_number(all[i].value, "port %s", all[i].name);
    }
}

static void device_efa(const struct probe *probe)
{
    struct efadv_device_attr attr;

    if (efadv_query_device(probe->ctx, &attr, sizeof(attr)) != 0) {
        probe_say(probe_result(-1), "efadv_query_device");
        return;
    }
    probe_number(attr.max_sq_wr, "efa max_sq_wr");
    probe_number(attr.max_rq_wr, "efa max_rq_wr");
    probe_number(attr.max_sq_sge, "efa max_sq_sge");
    probe_number(attr.max_rq_sge, "efa max_rq_sge");
    probe_number(attr.inline_buf_size, "efa inline_buf_size");
    probe_number(attr.device_caps & ~(uint32_t)CAP_COUNTERS,
                 "efa device_caps");
    probe_number(!!(attr.device_caps & CAP_COUNTERS), "completion counters");
    probe_number(attr.max_rdma_size, "efa max_rdma_size");
}

static void device_tables(const struct probe *probe)
{
    struct ibv_gid_entry entry = { 0 }, entries[4];
    union ibv_gid gid;
    __be16 pkey;
    int i;

    for (i = -1; i < 3; ++i) {
        probe_say(probe_result(ibv_query_gid(probe->ctx, 1, i, &gid)),
                  "GID of index %d", i);
        pkey = 0;
        probe_say(probe_result(ibv_query_pkey(probe->ctx, 1, i, &pkey)),
                  "pkey of index %d", i);
        if (i == 0) {
            probe_number(pkey, "pkey");
        }
    }
    probe_say(probe_result(ibv_query_gid_ex(probe->ctx, 1, 0, &entry, 0)),
              "GID entry 0");
    probe_number(entry.gid_type, "its type");
    probe_number(entry.ndev_ifindex, "its net device");
    probe_say(probe_result(ibv_query_gid_ex(probe->ctx, 1, 1, &entry, 0)),
              "GID entry 1");
    probe_number(ibv_query_gid_table(probe->ctx, entries, 4, 0),
                 "GID table's entries");
}

static void device_counters(const struct probe *probe, const char *folder)
{
    char path[PATH_MAX];
    struct dirent **names;
    int count, i;

    snprintf(path, sizeof(path), "%s/%s", probe->ctx->device->ibdev_path,
             folder);
    count = scandir(path, &names, NULL, alphasort);
    probe_number(count, "files of %s", folder);
    for (i = 0; i < count; ++i) {
        probe_say("there", "%s/%s", folder, names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0) {
        free(names);
    }
}

void probe_device(const struct probe *probe)
{
    struct ibv_device_attr_ex ex;
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    unsigned i;

    probe_say(probe_result(ibv_query_device(probe->ctx, &attr)),
              "query_device");
    device_attr(&attr);
    memset(&ex, 0, sizeof(ex));
    probe_say(probe_result(ibv_query_device_ex(probe->ctx, NULL, &ex)),
              "query_device_ex");
    probe_number(ex.orig_attr.max_qp, "query_device_ex max_qp");
    probe_number(ex.device_cap_flags_ex, "device_cap_flags_ex");
    probe_number(ex.hca_core_clock, "hca_core_clock");
    probe_number(ex.phys_port_cnt_ex, "phys_port_cnt_ex");
    probe_number(ex.odp_caps.general_caps, "on-demand paging");
    probe_number(ex.raw_packet_caps, "raw_packet_caps");
    probe_number(ex.max_dm_size, "max_dm_size");
    for (i = 0; i < 3; ++i) {
        probe_say(probe_result(ibv_query_port(probe->ctx, i, &port)),
                  "port %u", i);
        if (i == 1) {
            device_port(&port);
        }
    }
    probe_number(probe->ctx->num_comp_vectors, "completion vectors");
    probe_number(probe->ctx->device->node_type + 100, "node type, + 100");
    probe_number(probe->ctx->device->transport_type + 100,
                 "transport type, + 100");
    device_efa(probe);
    device_tables(probe);
    device_counters(probe, "hw_counters");
    device_counters(probe, "ports/1/hw_counters");
}
