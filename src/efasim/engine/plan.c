/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan.h"
#include "dir.h"
#include "named.h"
#include "util/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAN_WORDS = 12,
    PLAN_LINE  = 256,
};

/* One line, cut into words */
struct plan_line {
    unsigned number;
    char     text[PLAN_LINE];
    char    *word[PLAN_WORDS];
    unsigned words, at;
    int      has_hosts; /* "on HOSTS" stands before the action */
    char    *err;
    size_t   err_size;
};

#define PLAN_NAME(_number, _name) _name,

static const char *const plan_actions[] = { NULL, SIM_DO_LIST(PLAN_NAME) };

static int plan_fail(struct plan_line *line, const char *allowed)
{
    const char *word = (line->at < line->words) ? line->word[line->at] :
                                                  "end of line";

    snprintf(line->err, line->err_size, "line %u: '%.60s': allowed is %s",
             line->number, word, allowed);
    return -1;
}

/* The next word, or NULL. */
static const char *plan_peek(const struct plan_line *line)
{
    return (line->at < line->words) ? line->word[line->at] : NULL;
}

static int plan_is(struct plan_line *line, const char *word)
{
    const char *next = plan_peek(line);

    if ((next == NULL) || strcmp(next, word)) {
        return 0;
    }

    ++line->at;
    return 1;
}

static int plan_time(struct plan_line *line, uint64_t *ns)
{
    static const struct {
        const char *unit;
        uint64_t    ns;
    } units[] = {
        { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
    };
    const char *word = plan_peek(line), *end;
    unsigned i;

    if ((word == NULL) || sim_number(word, UINT64_MAX, ns, &end)) {
        return plan_fail(line, "a time such as 500ms, 2s, 100us or 1ns");
    }
    for (i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
        if (!strcmp(end, units[i].unit) &&
            (*ns <= UINT64_MAX / 4 / units[i].ns)) {
            *ns *= units[i].ns;
            ++line->at;
            return 0;
        }
    }

    return plan_fail(line, "a time such as 500ms, 2s, 100us or 1ns");
}

/* HOST or HOST.DEVICE at the start of `word`: its NICs come into the set, and
 * *end is behind it. -1: it is none. */
static int plan_nics(const char *word, const char **end, struct sim_nics *set)
{
    uint64_t host, device;

    if (sim_number(word, SIM_HOSTS - 1, &host, end)) {
        return -1;
    }
    if (**end == '.') {
        if (sim_number(*end + 1, SIM_DEVICES - 1, &device, end)) {
            return -1;
        }
        sim_nics_add(set, dir_nic_of(host, device));
        return 0;
    }
    for (device = 0; device < SIM_DEVICES; ++device) {
        sim_nics_add(set, dir_nic_of(host, device));
    }
    return 0;
}

/* 0 or 0,2.1,3: a set of NICs. */
static int plan_hosts(struct plan_line *line, struct sim_nics *set)
{
    const char *word = plan_peek(line), *end = "";

    sim_nics_fill(set, 0);
    do {
        if ((word == NULL) || (plan_nics(word, &end, set) != 0) ||
            ((*end != ',') && (*end != '\0'))) {
            return plan_fail(line, "hosts such as 0 or 0,2,3, each below 8, "
                             "or 0.1 for device 1 of host 0, below 32");
        }
        word = end + 1;
    } while (*end == ',');

    ++line->at;
    return 0;
}

static int plan_when(struct plan_line *line, struct sim_rule *rule)
{
    const char *end;

    sim_nics_fill(&rule->nics, 0xff);
    rule->when = SIM_WHEN_START;
    if (plan_is(line, "at")) {
        rule->when = SIM_WHEN_TIME;
        if (plan_time(line, &rule->threshold) != 0) {
            return -1;
        }
    } else if (plan_is(line, "after")) {
        rule->when = SIM_WHEN_REQUESTS;
        if ((plan_peek(line) == NULL) ||
            sim_number(plan_peek(line), UINT64_MAX, &rule->threshold, &end) ||
            (*end != '\0')) {
            return plan_fail(line, "a number of requests");
        }
        ++line->at;
    }

    line->has_hosts = plan_is(line, "on");
    return line->has_hosts ? plan_hosts(line, &rule->nics) : 0;
}

/* The next word is no action. */
static int plan_unknown(struct plan_line *line)
{
    const char *name = plan_peek(line);
    const struct sim_knob *knob;
    nearest_t nearest;
    char allowed[256];
    unsigned i;

    nearest_init(&nearest, (name != NULL) ? name : "");
    for (i = SIM_DO_KNOB + 1; i < SIM_DO_ACTIONS; ++i) {
        nearest_try(&nearest, plan_actions[i]);
    }
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        if (knob->scope != SIM_SCOPE_HOST) {
            nearest_try(&nearest, knob->name);
        }
    }
    snprintf(allowed, sizeof(allowed), "partition, clog, heal, absent, remove, "
             "kill or an option of efasim run other than device and devices%s"
             "%s%s", (nearest.name != NULL) ? "; is " : "",
             (nearest.name != NULL) ? nearest.name : "",
             (nearest.name != NULL) ? " meant?" : "");
    return plan_fail(line, allowed);
}

static int plan_knob(struct plan_line *line, struct sim_rule *rule)
{
    const char *name = plan_peek(line);
    struct sim_knobs scratch;
    const char *value;
    char err[256];

    rule->knob = name ? sim_knob_find(name) : NULL;
    if ((rule->knob == NULL) || (rule->knob->scope == SIM_SCOPE_HOST)) {
        return plan_unknown(line);
    }
    if ((rule->when != SIM_WHEN_START) &&
        (rule->knob->scope != SIM_SCOPE_ANY)) {
        return plan_fail(line, "nothing that must be known at the start");
    }

    ++line->at;
    value = plan_peek(line);
    value = value ? value : (rule->knob->arg ? "" : "1");
    line->at += (line->at < line->words);
    sim_knobs_init(&scratch);
    if ((strlen(value) >= SIM_PLAN_VALUE) ||
        sim_knob_set(&scratch, rule->knob, rule->knob->name, value, err,
                     sizeof(err))) {
        snprintf(line->err, line->err_size, "line %u: %s", line->number,
                 (strlen(value) >= SIM_PLAN_VALUE) ? "value too long" : err);
        return -1;
    }

    rule->action = SIM_DO_KNOB;
    snprintf(rule->value, sizeof(rule->value), "%s", value);
    return 0;
}

/* The two sides of a partition or clog. */
static int plan_sides(struct plan_line *line, struct sim_rule *rule)
{
    const char *const *word = (const char *const*)&line->word[line->at];

    if (plan_hosts(line, &rule->a) || plan_hosts(line, &rule->b)) {
        return -1;
    }
    if (!strcmp(word[0], word[1]) && (strchr(word[0], ',') == NULL)) {
        --line->at;
        return plan_fail(line, "another host than that on the first side: "
                         "there is no network between a host and itself");
    }
    return 0;
}

static int plan_action(struct plan_line *line, struct sim_rule *rule)
{
    unsigned i;

    for (i = SIM_DO_KNOB + 1; i < SIM_DO_ACTIONS; ++i) {
        if (plan_is(line, plan_actions[i])) {
            rule->action = i;
            break;
        }
    }
    if (i == SIM_DO_ACTIONS) {
        return plan_knob(line, rule);
    }

    if (line->has_hosts && ((i == SIM_DO_PARTITION) || (i == SIM_DO_CLOG) ||
                            (i == SIM_DO_HEAL))) {
        --line->at; /* the action */
        return plan_fail(line, "an action of those hosts behind 'on HOSTS': "
                         "partition and clog name theirs, heal is for all");
    }
    if ((i == SIM_DO_ABSENT) && !line->has_hosts) {
        --line->at;
        return plan_fail(line, "that behind 'on HOSTS', as in 'on 1 absent': "
                         "without all hosts nobody is left to notice");
    }
    return ((i == SIM_DO_PARTITION) || (i == SIM_DO_CLOG)) ?
           plan_sides(line, rule) : 0;
}

/* Cut a line into words; returns the start of the next line. */
static const char *plan_split(struct plan_line *line, const char *text)
{
    size_t length = strcspn(text, "\n");
    size_t copy   = (length < PLAN_LINE) ? length : PLAN_LINE - 1;
    char *save, *word;

    memcpy(line->text, text, copy);
    line->text[copy]                    = '\0';
    line->text[strcspn(line->text, "#")] = '\0';
    line->words                         = 0;
    line->at                            = 0;
    for (word = strtok_r(line->text, " \t\r", &save);
         (word != NULL) && (line->words < PLAN_WORDS);
         word = strtok_r(NULL, " \t\r", &save)) {
        line->word[line->words++] = word;
    }

    ++line->number;
    return text + length + (text[length] == '\n');
}

int sim_plan_parse(struct sim_plan *plan, const char *text, char *err,
                   size_t err_size)
{
    struct plan_line line = { .err = err, .err_size = err_size };
    struct sim_rule *rule;

    plan->num = 0;
    while (*text != '\0') {
        text = plan_split(&line, text);
        if (line.words == 0) {
            continue;
        }
        if (plan->num == SIM_PLAN_RULES) {
            return plan_fail(&line, "no more than 256 rules");
        }

        rule = &plan->rule[plan->num];
        memset(rule, 0, sizeof(*rule));
        rule->line = line.number;
        if (plan_when(&line, rule) || plan_action(&line, rule)) {
            return -1;
        }
        if (line.at < line.words) {
            return plan_fail(&line, "nothing more on this line");
        }
        ++plan->num;
    }

    return 0;
}

void sim_plan_knobs(const struct sim_plan *plan, unsigned nic,
                    struct sim_knobs *knobs)
{
    const struct sim_rule *rule;
    char err[256];
    unsigned i;

    for (i = 0; i < plan->num; ++i) {
        rule = &plan->rule[i];
        if ((rule->when == SIM_WHEN_START) && (rule->action == SIM_DO_KNOB) &&
            sim_nics_has(&rule->nics, nic)) {
            sim_knob_set(knobs, rule->knob, rule->knob->name, rule->value,
                         err, sizeof(err)); /* parsed once: it is good */
        }
    }
}
