/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan of faults: the kinds of a device's faults, and their times. A plan is
 * text, one rule per line, '#' begins a comment:
 *
 *     [at TIME | after COUNT] [on HOSTS] ACTION
 *
 *     TIME    since the fabric was made: 500ms, 2s, 100us, 1ns
 *     COUNT   requests that the device has taken
 *     HOSTS   0 or 0,2,3; 0.1 is device 1 of host 0 alone; default: all
 *     ACTION  KNOB VALUE       as the option of `efasim run`
 *             partition A B    hosts A and B do not reach each other
 *             clog A B         nothing moves between them, and nothing is lost
 *             heal             ends partitions, clogs and absence
 *             absent           the device takes no packet, answers nothing
 *             remove           the device is pulled out
 *             kill             the host dies: SIGKILL for its programs
 *
 * A rule without `at` and `after` holds from the start. Times are those of
 * the fabric, so that all its processes act together.
 */
#ifndef EFASIM_ENGINE_PLAN_H
#define EFASIM_ENGINE_PLAN_H

#include "knobs.h"
#include "limits.h"

#include <stdint.h>
#include <string.h>

/* A set of a fabric's NICs */
struct sim_nics {
    uint64_t word[SIM_NICS / 64];
};

static inline int sim_nics_has(const struct sim_nics *set, unsigned nic)
{
    return (set->word[nic / 64] >> (nic % 64)) & 1;
}

static inline void sim_nics_add(struct sim_nics *set, unsigned nic)
{
    set->word[nic / 64] |= 1ull << (nic % 64);
}

static inline void
sim_nics_add_set(struct sim_nics *set, const struct sim_nics *other)
{
    unsigned i;

    for (i = 0; i < SIM_NICS / 64; ++i) {
        set->word[i] |= other->word[i];
    }
}

static inline void sim_nics_fill(struct sim_nics *set, int byte)
{
    memset(set, byte, sizeof(*set));
}

enum {
    SIM_PLAN_RULES = 256,
    SIM_PLAN_VALUE = 64,
};

enum sim_plan_when {
    SIM_WHEN_START,
    SIM_WHEN_TIME,     /* threshold: nanoseconds since the fabric was made */
    SIM_WHEN_REQUESTS, /* threshold: a number of requests */
};

/* Actions but that of a knob, as a plan spells them */
#define SIM_DO_LIST(_) \
    _(PARTITION, "partition") \
    _(CLOG, "clog") \
    _(HEAL, "heal") \
    _(ABSENT, "absent") \
    _(REMOVE, "remove") \
    _(KILL, "kill")

#define SIM_DO_NUMBER(_number, _name) SIM_DO_##_number,

enum sim_plan_action { SIM_DO_KNOB, SIM_DO_LIST(SIM_DO_NUMBER) SIM_DO_ACTIONS };

struct sim_rule {
    enum sim_plan_when     when;
    uint64_t               threshold;
    struct sim_nics        nics;
    enum sim_plan_action   action;
    struct sim_nics        a, b;   /* the sides of a partition or clog */
    const struct sim_knob *knob;
    char                   value[SIM_PLAN_VALUE];
    unsigned               line;
};

struct sim_plan {
    unsigned        num;
    struct sim_rule rule[SIM_PLAN_RULES];
};

/*
 * Parse a plan. Returns 0; or -1 with one line in `err`: line number, what
 * stands there, what is allowed. `plan` is then not to be used.
 */
int sim_plan_parse(struct sim_plan *plan, const char *text, char *err,
                   size_t err_size);

/* Set the knobs of the rules that hold from the start on this NIC. */
void sim_plan_knobs(const struct sim_plan *plan, unsigned nic,
                    struct sim_knobs *knobs);

#endif
