/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <string.h>

void sim_control_seed(struct sim_dev *dev)
{
    dev->rng.state = dev->knobs.seed * 0x100000001b3ull +
                     ((uint64_t)dev->nic << 48);
}

void sim_control(struct sim_dev *dev, const struct sim_knobs *knobs,
                 const struct sim_knob *knob)
{
    if (knob->type == SIM_KNOB_INJECT) {
        memcpy(dev->knobs.inject, knobs->inject, sizeof(knobs->inject));
        dev->knobs.inject_num = knobs->inject_num;
        return;
    }
    if (knob->type == SIM_KNOB_FAIL) {
        memcpy(dev->knobs.fail, knobs->fail, sizeof(knobs->fail));
        dev->knobs.fail_num = knobs->fail_num;
        return;
    }

    memcpy((char*)&dev->knobs + knob->offset,
           (const char*)knobs + knob->offset, sim_knob_size(knob));
    sim_control_seed(dev);
}
