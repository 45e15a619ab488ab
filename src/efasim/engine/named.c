/* SPDX-License-Identifier: BSD-3-Clause */
#include "named.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 16 };

#define NAMED_NAME(_number, _name) _name,

static const char *const named_accept[] = { SIM_ACCEPT_LIST(NAMED_NAME) };
static const char *const named_answer[] = { SIM_ANSWER_LIST(NAMED_NAME) };
static const char *const named_late[]   = { SIM_LATE_LIST(NAMED_NAME) };

static const char *const *named_of(const struct sim_knob *knob,
                                   unsigned *count_p)
{
    switch (knob->type) {
    case SIM_KNOB_ACCEPT:
        *count_p = SIM_ACCEPTS;
        return named_accept;
    case SIM_KNOB_ANSWER:
        *count_p = SIM_ANSWERS;
        return named_answer;
    case SIM_KNOB_LATE:
        *count_p = SIM_LATE_OPS;
        return named_late;
    default:
        *count_p = 0;
        return NULL;
    }
}

unsigned sim_named_count(const struct sim_knob *knob)
{
    unsigned count;

    (void)named_of(knob, &count);
    return count;
}

unsigned sim_named_find(const char *const *names, unsigned count,
                        const char *text, size_t length)
{
    unsigned i;

    for (i = 0; (i < count) && ((strlen(names[i]) != length) ||
                                strncmp(text, names[i], length)); ++i) {
    }
    return i;
}

int sim_named_set(uint64_t *field, const struct sim_knob *knob,
                  const char *value)
{
    uint64_t numbers[NAMED_MAX];
    const char *const *names;
    unsigned i, count;
    size_t length;

    names = named_of(knob, &count);
    memcpy(numbers, field, count * sizeof(*field));
    while (*value != '\0') {
        length = strcspn(value, ":");
        i      = sim_named_find(names, count, value, length);
        if ((i == count) || (value[length] != ':') ||
            sim_number(value + length + 1, knob->max, &numbers[i], &value) ||
            ((*value != ',') && (*value != '\0'))) {
            return -1;
        }
        value += (*value == ',');
    }

    memcpy(field, numbers, count * sizeof(*field));
    return 0;
}

void sim_named_join(char *buf, size_t size, const void *names, size_t stride,
                    unsigned num)
{
    const char *name;
    size_t at;
    unsigned i;

    for (i = 0; i < num; ++i) {
        at = strlen(buf);
        memcpy(&name, (const char*)names + i * stride, sizeof(name));
        snprintf(buf + at, size - at, "%s%s", name,
                 (i + 2 < num) ? ", " : (i + 2 == num) ? " or " : "");
    }
}

void sim_named_allowed(const struct sim_knob *knob, char *buf, size_t size)
{
    const char *const *names;
    unsigned count;

    names = named_of(knob, &count);
    snprintf(buf, size, "NAME:N, several separated by commas; NAME is ");
    sim_named_join(buf, size, names, sizeof(names[0]), count);
}

size_t sim_knob_size(const struct sim_knob *knob)
{
    unsigned count = sim_named_count(knob);

    return ((knob->type == SIM_KNOB_INJECT) || (knob->type == SIM_KNOB_FAIL)) ?
           0 : ((count > 0) ? count : 1) * sizeof(uint64_t);
}

int sim_number(const char *text, uint64_t max, uint64_t *value,
               const char **end)
{
    unsigned long long parsed;
    char *stop;

    if (!isdigit((unsigned char)*text)) {
        return -1;
    }

    errno  = 0;
    parsed = strtoull(text, &stop, 10);
    if ((errno != 0) || (parsed > max)) {
        return -1;
    }

    *value = parsed;
    *end   = stop;
    return 0;
}
