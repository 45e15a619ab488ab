/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user reads of failed endpoints: one line for a peer and a cause, not
 * one for each of its thousands of endpoints. The core tells of those of a peer
 * in a row; the line is written behind the last.
 */
#include "base_report.h"

#include <stdio.h>

static const char *base_report_reason(flow_end_t why)
{
    switch (why) {
    case FLOW_END_DEAD:
        return " (the peer's process is gone)";
    case FLOW_END_LOST:
        return " (the peer's host is gone or the network is cut)";
    default:
        return "";
    }
}

void base_report_write(base_iface_t *iface)
{
    base_report_t *report = &iface->report;
    char           more[48] = "";

    if (report->count == 0) {
        return;
    }
    if (report->count > 1) {
        snprintf(more, sizeof(more), ", and %u more endpoints to it",
                 report->count - 1);
    }
    host_error(iface->super.host, "%s: endpoint to QPN %u failed: %s%s%s",
               base_iface_md(iface)->device->name, report->qpn,
               iface->super.host->status_string(report->status),
               base_report_reason(report->why), more);
    report->count = 0;
}

void base_report_failed(base_iface_t *iface, const efa_dest_t *dest,
                        ucs_status_t status, flow_end_t why)
{
    base_report_t *report = &iface->report;

    if ((report->ah != dest->ah) || (report->qpn != dest->remote_qpn) ||
        (report->why != why)) {
        base_report_write(iface);
        report->ah  = dest->ah;
        report->qpn = dest->remote_qpn;
        report->why = why;
    }
    if (report->count++ == 0) {
        report->status = status;
    }
}

void base_report_refused(base_iface_t *iface, const flow_addr_t *peer)
{
    if (iface->report.refused == peer->incarnation) {
        return; /* said already */
    }
    iface->report.refused = peer->incarnation;
    host_error(iface->super.host,
               "%s: no endpoint to QPN %u: that peer died, or this interface "
               "has too many endpoints (%d), or closed too many that it still "
               "says goodbye for: progress and try again",
               base_iface_md(iface)->device->name, peer->qpn, FLOW_INDEX_MAX);
}
