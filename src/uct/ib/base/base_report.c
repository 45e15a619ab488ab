/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's lines about failed endpoints: one for a peer and a cause, not one
 * for each of its thousands of endpoints. The core tells of those of a peer in
 * a row; the line is written behind the last. Where nobody handles failures it
 * has level FATAL and ends the process, as with UCX's own transports: an MPI
 * job whose network is cut must end, not wait.
 */
#include "base_report.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* The advice where it was this endpoint alone. */
static const char *base_report_remedy(const base_report_t *report)
{
    switch (efa_status_class(report->ended_by)) {
    case EFA_STATUS_CLASS_ACCESS:
        return ": see whether the peer released that memory, or its key, while "
               "this was under way, or whether it is read-only there, or was "
               "when that key was packed";
    case EFA_STATUS_CLASS_FLUSHED:
        return ": see the kernel's log of this device";
    case EFA_STATUS_CLASS_OK:
        return "";
    default:
        return ": see what srd_info --selftest says of both devices, and "
               "report it with a recording (UCX_EFA_RECORD)";
    }
}

static const char *base_report_reason(const base_report_t *report)
{
    if ((report->why == FLOW_END_LOST) && !report->spoke) {
        return ": it never answered; is it in the same subnet, and does its "
               "security group allow all traffic within itself, in and out?";
    }
    switch (report->why) {
    case FLOW_END_DEAD:
        return ": that process is gone; its own output says why";
    case FLOW_END_LOST:
        return ": its host is gone or the network between is cut; see whether "
               "it answers a ping";
    case FLOW_END_RESET:
    case FLOW_END_PAIR:
        return ": the peer gave the connection up; its own output says why";
    default:
        return base_report_remedy(report);
    }
}

/* The operation that failed it, and what its completion said. */
static void base_report_end(const base_report_t *report, char *text,
                            size_t size)
{
    base_out_kind_t kind = (base_out_kind_t)report->ended_as;

    text[0] = '\0';
    if (report->ended_by != EFA_STATUS_OK) {
        snprintf(text, size, " (a %s ended with status %u of the device: %s)",
                 !base_op_is_rma(kind)                  ? "message" :
                 (base_op_rdma(kind) == EFA_RDMA_WRITE) ? "put" : "get",
                 report->ended_by, efa_status_words(report->ended_by));
    }
}

void base_report_write(base_iface_t *iface)
{
    base_report_t *report = &iface->report;
    char           gid[INET6_ADDRSTRLEN] = "?";
    char           more[48] = "";
    char           end[128];

    if (report->count == 0) {
        return;
    }
    if (report->count > 1) {
        snprintf(more, sizeof(more), " (and %u more endpoints to it)",
                 report->count - 1);
    }
    report->count = 0;
    inet_ntop(AF_INET6, report->gid, gid, sizeof(gid));
    base_report_end(report, end, sizeof(end));
    host_log(iface->super.host, report->level,
             "%s: endpoint to %s QPN %u failed: %s%s%s%s",
             base_iface_md(iface)->device->name, gid, report->qpn,
             iface->super.host->status_string(report->status), more, end,
             base_report_reason(report));
}

/* At level WARN at least are told: a peer that never answered, once, as that is
 * how a security group shows that was forgotten; and the first failure that
 * costs the user something, where UCX hides whether anybody handles it: without
 * a handler the program ends or waits for ever. */
static ucs_log_level_t
base_report_level(base_iface_t *iface, const base_failed_t *failed)
{
    base_report_t *report = &iface->report;
    int            silent, costly;

    if (failed->level <= UCS_LOG_LEVEL_WARN) {
        return failed->level;
    }
    silent = (failed->why == FLOW_END_LOST) && !failed->spoke &&
             (memcmp(report->silent, failed->gid, sizeof(report->silent)) != 0);
    costly = !failed->unused && !report->costly &&
             ucx_host_hides_unhandled(iface->super.host);
    if (silent) {
        memcpy(report->silent, failed->gid, sizeof(report->silent));
    }
    report->costly |= costly;
    return (silent || costly) ? UCS_LOG_LEVEL_WARN : failed->level;
}

void base_report_failed(base_iface_t *iface, const base_failed_t *failed)
{
    base_report_t *report = &iface->report;

    if ((report->count == 0) || (report->qpn != failed->qpn) ||
        (report->why != failed->why) ||
        (memcmp(report->gid, failed->gid, sizeof(report->gid)) != 0)) {
        base_report_write(iface);
        memcpy(report->gid, failed->gid, sizeof(report->gid));
        report->qpn      = failed->qpn;
        report->why      = failed->why;
        report->spoke    = failed->spoke;
        report->status   = failed->status;
        report->ended_as = failed->ended_as;
        report->ended_by = failed->ended_by;
        report->level    = base_report_level(iface, failed);
    } else if (failed->level < report->level) {
        report->level = failed->level; /* the worst of them */
    }
    ++report->count;
}

void base_report_refused(base_iface_t *iface, const flow_addr_t *peer)
{
    if (iface->report.refused == peer->incarnation) {
        return; /* said already */
    }
    iface->report.refused = peer->incarnation;
    host_error(iface->super.host,
               "%s: no endpoint to QPN %u: that peer died (its new process has "
               "another address), or this interface has all its %d endpoints: "
               "close some",
               base_iface_md(iface)->device->name, peer->qpn, FLOW_RX_MAX);
}

void base_report_crowded(base_iface_t *iface)
{
    if (iface->report.crowded) {
        return; /* said already */
    }
    iface->report.crowded = 1;
    host_error(iface->super.host,
               "%s: no endpoint now: %d closed ones still wait for their peers "
               "to take their last messages; close fewer at a time, or let the "
               "peers progress",
               base_iface_md(iface)->device->name, FLOW_INDEX_MAX / 2);
}
