/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <cstdio>

extern "C" {
#include "flow/image.h"
}

namespace fuzz {

static flow_params_t params_of(unsigned id, flow_profile_t profile)
{
    flow_params_t params;

    if (profile == FLOW_UD) {
        flow_params_default_ud(&params);
    } else {
        flow_params_default(&params);
    }
    params.self.qpn         = id;
    params.self.qkey        = id;
    params.self.gid[15]     = (uint8_t)id;
    params.self.incarnation = id; /* short, so that a fuzzer may guess it */
    params.rx_posted        = 128;
    params.rx_reserve       = 16;
    return params;
}

Core::Core(unsigned id, flow_profile_t profile) :
    Driver(params_of(id, profile))
{
}

void Core::on_broken(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

void Core::on_deliver(const Bytes &packet)
{
    got.push_back(packet.back());
}

void Core::forget(flow_tx_t *tx)
{
    for (flow_tx_t *&flow : flows) {
        flow = (flow == tx) ? nullptr : flow;
    }
}

void Core::close(flow_tx_t *tx)
{
    forget(tx);
    flow_tx_close(core, tx);
}

void Core::on_event(const flow_event_t &event)
{
    if (event.type == FLOW_EVENT_TX_FAILED) {
        close(event.tx);
    }
}

bool Core::on_control(const flow_ctl_t &ctl)
{
    out.push_back({Bytes(ctl.data, ctl.data + ctl.len), true, ctl.cookie,
                   nullptr});
    return out.size() < 4096;
}

bool Core::on_repost(flow_op_t *op, bool failed)
{
    Sent sent = m_kept[op];

    if (ud()) {
        flow_resend_header(core, op, sent.bytes.data());
        out.push_back(sent);
        return true;
    }
    m_kept.erase(op);
    if (failed) {
        flow_tx_done(core, op->tx, op->psn);
    } else {
        out.push_back(sent);
    }
    return true;
}

void Core::on_release(flow_op_t *op, bool failed)
{
    (void)failed;
    if (m_kept.erase(op) != 1) {
        on_broken("an operation was released twice");
    }
}

void Core::progress()
{
    grow();
    flow_timer_run(core, now);
    pull_reposts();
    pull_releases();
    pull_events();
    pull_control();
    pull_releases();
    pull_events();
}

bool Core::send(flow_tx_t *tx, uint8_t byte)
{
    uint8_t hdr[FLOW_LONG_HDR];
    unsigned len;

    grow();
    flow_timer_set_now(core, now);
    if (!flow_tx_ready(core, tx)) {
        return false;
    }
    len = flow_tx_header(core, tx, byte % FLOW_AM_ID_MAX, hdr);
    m_ops.emplace_back(new flow_op_t());
    flow_op_t *op = m_ops.back().get();
    out.push_back({Bytes(hdr, hdr + len), false, 0, op});
    out.back().bytes.push_back(byte);
    if (ud()) {
        flow_resend_commit(core, tx, op);
        m_kept[op] = out.back();
    } else {
        op->tx  = tx;
        op->psn = flow_tx_commit(tx);
    }
    return true;
}

void Core::complete(const Sent &sent, flow_send_status_t status)
{
    if (sent.ctl) {
        flow_ctl_done(core, sent.cookie, status, now);
    } else if (ud()) {
        flow_resend_sent(core, sent.op, status == FLOW_SEND_ERROR);
    } else if (status == FLOW_SEND_RNR) {
        m_kept[sent.op] = sent;
        flow_tx_rnr(core, sent.op, now);
    } else {
        if (status != FLOW_SEND_OK) {
            flow_tx_fail(core, sent.op->tx, status);
        }
        flow_tx_done(core, sent.op->tx, sent.op->psn);
    }
}

flow_tx_t *Core::open(const Core &peer)
{
    flow_tx_t *tx = Driver::open(peer.addr, this);

    if (tx != nullptr) {
        flows.push_back(tx);
    }
    return tx;
}

void Core::check()
{
    const char *error = Driver::check();

    error = (error != nullptr) ? error : flow_image_end(core);
    if (error != nullptr) {
        on_broken(error);
    }
}

} /* namespace fuzz */
