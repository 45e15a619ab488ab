/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two cores over a network that the input drives: which packet moves next,
 * how it completes, whether it is damaged, lost or doubled, who opens, sends,
 * probes, pauses, closes, and when time passes.
 */
#include "fuzz.h"

using namespace fuzz;

static void move(Core &from, Core &to, Input &input, bool damage)
{
    if (from.out.empty()) {
        return;
    }
    size_t which = input.byte() % from.out.size();
    Sent sent    = from.out[which];
    uint8_t how  = input.byte() % 16;

    from.out.erase(from.out.begin() + (long)which);
    if (how == 15) { /* refused, will come again; UD: lost */
        from.complete(sent, from.ud() ? FLOW_SEND_OK : FLOW_SEND_RNR);
        return;
    }
    if (damage && !sent.bytes.empty()) {
        sent.bytes[input.byte() % sent.bytes.size()] ^= input.byte();
    }
    to.receive(sent.bytes, flow_src(FLOW_AH_UNKNOWN, from.addr.qpn));
    if ((how == 13) && from.ud()) {
        to.receive(sent.bytes, flow_src(FLOW_AH_UNKNOWN, from.addr.qpn));
    }
    from.complete(sent, !(damage && (how == 14)) ? FLOW_SEND_OK :
                        from.ud() ? FLOW_SEND_ERROR : FLOW_SEND_DEAD);
}

static void act_on(Core &self, flow_tx_t *tx, uint8_t what)
{
    switch (what % 8) {
    case 0:
        if (what > 200) {
            self.close(tx);
        }
        break;
    case 1:
        flow_tx_ping(self.core, tx);
        break;
    case 2:
        flow_tx_rma_ready(self.core, tx);
        break;
    case 3:
        flow_tx_pause(tx, FLOW_PAUSE_USER);
        break;
    case 4:
        flow_tx_resume(self.core, tx, FLOW_PAUSE_USER);
        break;
    default:
        flow_core_rx_posted(self.core, what);
    }
}

static void act(Core &self, Core &peer, Input &input)
{
    uint8_t what  = input.byte();
    flow_tx_t *tx = self.flows.empty() ?
                            nullptr :
                            self.flows[what % self.flows.size()];

    switch (input.byte() % 6) {
    case 0:
        if (self.flows.size() < 8) {
            self.open(peer);
        }
        break;
    case 1:
        if (tx != nullptr) {
            act_on(self, tx, what);
        }
        break;
    case 2:
        self.now += self.ud() ? 3000000 : 50000000;
        break;
    default:
        if (tx != nullptr) {
            self.send(tx, what);
        }
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input(data, size);
    uint8_t first          = input.byte();
    bool damage            = first & 1;
    flow_profile_t profile = (first & 2) ? FLOW_UD : FLOW_SRD;
    Core a(1, profile), b(2, profile);

    while (!input.empty()) {
        uint8_t what = input.byte();
        Core &self   = (what & 1) ? a : b;
        Core &peer   = (what & 1) ? b : a;

        if (what & 2) {
            act(self, peer, input);
        } else {
            move(self, peer, input, damage && (what & 4));
        }
        self.progress();
        peer.progress();
        if (what > 240) {
            a.check();
            b.check();
        }
    }
    a.check();
    b.check();
    return 0;
}
