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
            from->progress();
            std::vector<Sent> wire;
            wire.swap(from->out);
            for (Sent &sent : wire) {
                to.receive(sent.bytes, flow_src(FLOW_AH_UNKNOWN,
                                                from->addr.qpn));
                from->complete(sent, FLOW_SEND_OK);
            }
            from->progress();
        }
    }
}

/* One more message goes through, whatever was said in between. */
static void honest_message(Core &honest, Core &victim, flow_tx_t *tx)
{
    victim.got.clear();
    for (int i = 0; !honest.send(tx, 7); ++i) {
        honest.now += 10000000; /* it asks for more, and gets it */
        victim.now += 10000000;
        exchange(honest, victim);
        if (i == 4) {
            abort();
        }
    }
    exchange(honest, victim);
    if ((victim.got.size() != 1) || (victim.got[0] != 7)) {
        abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input input(data, size);
    flow_profile_t profile = (input.byte() & 1) ? FLOW_UD : FLOW_SRD;
    Core honest(1, profile), victim(2, profile);
    flow_tx_t *tx = honest.open(victim);

    victim.open(honest);
    exchange(honest, victim);
    while (!input.empty()) {
        uint8_t what = input.byte();
        if (what & 1) {
            honest_message(honest, victim, tx);
        } else {
            Bytes bytes = input.bytes(what >> 1);
            victim.receive(bytes, flow_src(FLOW_AH_UNKNOWN, 3));
            victim.pull_events();
        }
        victim.check();
    }
    return 0;
}
