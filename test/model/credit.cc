/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credits: what a receiver gives, to all its flows together, it has buffers
 * for. A flow may have more when it comes (its first window) and what it had
 * as a calm flow when it becomes active; so what is looked at is that the sum
 * does not grow beyond the buffers while the flows that share it stay the same.
 */
#include "model.h"

#include <algorithm>

namespace model {

static Credit credit_of(const flow_core_t *core)
{
    Credit credit = {0, core->owed, core->lent};

    for (uint32_t index = 1; index < core->rx_free.head; ++index) {
        const flow_rx_t *rx = flow_core_rx(core, index);
        if ((rx->state == FLOW_RX_ACTIVE) && (rx->flags & FLOW_RXF_ACTIVE)) {
            credit.active |= 1ull << index;
        }
    }
    return credit;
}

void check_credits()
{
    const int64_t buffers = std::max(2, (int)bounds.buffers);

    for (unsigned id = 0; id < bounds.nodes; ++id) {
        Credit &before = world.credit[id];
        if (!(touched & (1u << id)) || !world.alive[id]) {
            continue;
        }
        const Credit credit = credit_of(cores[id]);
        if (!(credit.active & ~before.active) && (credit.owed > before.owed) &&
            (credit.owed > buffers) && !ud()) { /* UD: what it shows to have */
            broken("active flows were given more than there are buffers");
        }
        if ((credit.lent > before.lent) && (credit.lent > buffers / 2)) {
            broken("calm flows were lent more than half of the buffers");
        }
        before = credit;
    }
}

} /* namespace model */
