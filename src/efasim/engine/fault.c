/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults: the rules of a plan as their time comes, knobs that change meanwhile,
 * and requests that a knob lets fail. path.c applies them to the traffic.
 */
#include "fault.h"
#include "log.h"
#include "qp.h"

#include <stdlib.h>
#include <string.h>

void sim_fault_plan(struct sim_dev *dev, const struct sim_plan *plan)
{
    dev->plan      = plan;
    dev->plan_done = calloc(plan->num ? plan->num : 1, 1);
    if (dev->plan_done == NULL) {
        dev->plan = NULL;
        sim_log(dev, "out of memory: the plan is not followed");
    }
}

static void fault_between(const struct sim_dev *dev,
                          const struct sim_rule *rule, struct sim_nics *set)
{
    if (sim_nics_has(&rule->a, dev->nic)) {
        sim_nics_add_set(set, &rule->b);
    }
    if (sim_nics_has(&rule->b, dev->nic)) {
        sim_nics_add_set(set, &rule->a);
    }
}

static void fault_heal(struct sim_dev *dev)
{
    unsigned i;

    sim_nics_fill(&dev->partitioned, 0);
    sim_nics_fill(&dev->clogged, 0);
    sim_nics_fill(&dev->absent, 0);
    sim_nics_fill(&dev->impaired, 0);
    if (dev->removed) {
        sim_nics_add(&dev->absent, dev->nic);
    }
    for (i = 0; i < SIM_SLOTS; ++i) { /* take what could not arrive */
        if (dev->peer[i] != NULL) {
            dev->rx_more[i / 64] |= 1ull << (i % 64);
        }
    }
}

/* Pull the device out: its QPs go to error, it answers nobody. */
static void fault_remove(struct sim_dev *dev)
{
    struct sim_list *link;

    if (dev->removed) {
        return;
    }

    dev->removed = 1;
    sim_nics_add(&dev->absent, dev->nic);
    for (link = dev->qps.next; link != &dev->qps; link = link->next) {
        sim_qp_modify(list_entry(link, struct sim_qp, link),
                      &(struct sim_qp_mod){ .mask  = SIM_QPA_STATE,
                                            .state = SIM_QPS_ERR });
    }
    dev->ops->fatal(dev->env, SIM_FATAL_REMOVED);
}

static void fault_knob(struct sim_dev *dev, const struct sim_rule *rule)
{
    struct sim_knobs knobs = dev->knobs;
    char err[256];

    if (sim_knob_set(&knobs, rule->knob, rule->knob->name, rule->value, err,
                     sizeof(err)) == 0) {
        sim_control(dev, &knobs, rule->knob);
    }
}

static void fault_apply(struct sim_dev *dev, const struct sim_rule *rule)
{
    int here = sim_nics_has(&rule->nics, dev->nic);

    switch (rule->action) {
    case SIM_DO_PARTITION:
        fault_between(dev, rule, &dev->partitioned);
        break;
    case SIM_DO_CLOG:
        fault_between(dev, rule, &dev->clogged);
        break;
    case SIM_DO_HEAL:
        fault_heal(dev);
        break;
    case SIM_DO_ABSENT:
        /* the others must know for RDMA */
        sim_nics_add_set(&dev->absent, &rule->nics);
        break;
    case SIM_DO_REMOVE:
        if (here) {
            fault_remove(dev);
        } else {
            sim_nics_add_set(&dev->absent, &rule->nics);
        }
        break;
    case SIM_DO_KILL:
        if (here) {
            dev->ops->fatal(dev->env, SIM_FATAL_KILLED);
        }
        break;
    case SIM_DO_KNOB:
    default:
        if (here && (rule->when != SIM_WHEN_START)) {
            fault_knob(dev, rule);
        }
        break;
    }
}

static int fault_is_due(const struct sim_dev *dev, const struct sim_rule *rule)
{
    switch (rule->when) {
    case SIM_WHEN_TIME:
        return dev->now - dev->dir->epoch >= rule->threshold;
    case SIM_WHEN_REQUESTS:
        return dev->requests >= rule->threshold;
    case SIM_WHEN_START:
    default:
        return 1;
    }
}

void sim_fault_run(struct sim_dev *dev)
{
    const struct sim_rule *rule;
    unsigned i;

    for (i = 0; i < dev->plan->num; ++i) {
        rule = &dev->plan->rule[i];
        if (!dev->plan_done[i] && fault_is_due(dev, rule)) {
            dev->plan_done[i] = 1;
            sim_log_trace(dev, "plan line=%u", rule->line);
            fault_apply(dev, rule);
        }
    }
}

int sim_fault_pending(const struct sim_dev *dev)
{
    unsigned i;

    for (i = 0; (dev->plan != NULL) && (i < dev->plan->num); ++i) {
        if (!dev->plan_done[i] &&
            (dev->plan->rule[i].when == SIM_WHEN_TIME)) {
            return 1;
        }
    }

    return 0;
}

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

int sim_inject_command(struct sim_dev *dev, const char *name)
{
    struct sim_fail *fail;
    int error = 0;
    unsigned i;

    for (i = 0; i < dev->knobs.fail_num; ++i) {
        fail = &dev->knobs.fail[i];
        if ((fail->number > 0) &&
            (!strcmp(fail->name, "any") || !strcmp(fail->name, name)) &&
            (--fail->number == 0)) {
            error = fail->error;
        }
    }

    return error;
}

int sim_inject_hit(struct sim_dev *dev, enum sim_inject_op op,
                   uint8_t *status)
{
    struct sim_inject *inject;
    unsigned i;

    for (i = 0; i < dev->knobs.inject_num; ++i) {
        inject = &dev->knobs.inject[i];
        if (inject->op != op) {
            continue;
        }
        if (inject->chance > 0) {
            if (rng_chance(&dev->chance, inject->chance)) {
                *status = inject->status;
                return 1;
            }
            continue;
        }
        if (inject->count == 0) {
            continue;
        }
        if (inject->skip > 0) {
            --inject->skip;
            continue;
        }
        --inject->count;
        *status = inject->status;
        return 1;
    }

    return 0;
}
