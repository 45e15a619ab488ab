/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive path: arbitrary packets between honest ones. An attacker at
 * another QPN may say what it likes; the honest flow must go on undisturbed.
 */
#include "fuzz.h"

using namespace fuzz;

static void exchange(Core &a, Core &b)
{
    for (int round = 0; round < 3; ++round) {
        for (Core *from : {&a, &b}) {
            Core &to = (from == &a) ? b : a;
            from->events();
            from->control();
            std::vector<Sent> wire;
            wire.swap(from->out);
            for (Sent &sent : wire) {
                to.receive(sent.bytes, flow_src(FLOW_AH_UNKNOWN,
                                                from->addr.qpn));
                from->complete(sent, FLOW_SEND_OK);
            }
            from->events();
        }
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input(data, size);
    Core honest(1), victim(2);
    flow_tx_t *tx    = honest.open(victim);
    size_t expected  = 0, arrived = 0;
    flow_tx_t *other = victim.open(honest);

    (void)other;
    exchange(honest, victim);
    while (!input.empty()) {
        uint8_t what = input.byte();
        if (what & 1) {
            victim.got.clear();
            if (!honest.send(tx, 7)) {
                exchange(honest, victim); /* it asks for more, and gets it */
                if (!honest.send(tx, 7)) {
                    abort();
                }
            }
            ++expected;
            exchange(honest, victim);
            arrived += victim.got.size();
            if (arrived != expected) {
                abort();
            }
        } else {
            Bytes bytes = input.bytes(what >> 1);
            victim.receive(bytes, flow_src(FLOW_AH_UNKNOWN, 3));
            victim.events();
        }
        victim.check();
    }
    return 0;
}
