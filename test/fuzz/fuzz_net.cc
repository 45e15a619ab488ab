/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two cores over a network that the input drives: which packet moves next,
 * how it completes, whether it is damaged, who opens, sends, closes, and when
 * time passes. Unless a byte was damaged, what arrives is what was sent.
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

    from.out.erase(from.out.begin() + which);
    if (how == 15) {
        from.complete(sent, FLOW_SEND_RNR); /* refused, will come again */
        return;
    }
    if (damage && !sent.bytes.empty()) {
        sent.bytes[input.byte() % sent.bytes.size()] ^= input.byte();
    }
    to.receive(sent.bytes, flow_src(FLOW_AH_UNKNOWN, from.addr.qpn));
    from.complete(sent, (damage && (how == 14)) ? FLOW_SEND_DEAD :
                                                  FLOW_SEND_OK);
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
        if ((tx != nullptr) && (what > 200)) {
            for (flow_tx_t *&flow : self.flows) {
                flow = (flow == tx) ? nullptr : flow;
            }
            flow_tx_close(self.core, tx);
        }
        break;
    case 2:
        self.now += 50000000;
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
    Core a(1), b(2);
    bool damage = input.byte() & 1;

    while (!input.empty()) {
        uint8_t what = input.byte();
        Core &self   = (what & 1) ? a : b;
        Core &peer   = (what & 1) ? b : a;

        self.grow();
        if (what & 2) {
            act(self, peer, input);
        } else {
            move(self, peer, input, damage && (what & 4));
        }
        self.timers();
        self.events();
        self.control();
        peer.events();
        if (what > 240) {
            a.check();
            b.check();
        }
    }
    a.check();
    b.check();
    return 0;
}
