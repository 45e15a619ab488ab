/* SPDX-License-Identifier: BSD-3-Clause */
#include "named.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 16 };

static const char *const named_accept[SIM_ACCEPTS] = {
    [SIM_ACCEPT_SEND_QUEUE]    = "send-queue",
    [SIM_ACCEPT_RECEIVE_QUEUE] = "receive-queue",
    [SIM_ACCEPT_SEND_SGE]      = "send-sge",
    [SIM_ACCEPT_RECEIVE_SGE]   = "receive-sge",
    [SIM_ACCEPT_INLINE]        = "inline",
    [SIM_ACCEPT_MESSAGE]       = "message",
    [SIM_ACCEPT_READ]          = "read",
    [SIM_ACCEPT_HANDLES]       = "handles",
    [SIM_ACCEPT_QUEUE_PAIRS]   = "queue-pairs",
    [SIM_ACCEPT_REGISTRATION]  = "registration",
    [SIM_ACCEPT_BATCH]         = "batch",
};

static const char *const named_answer[SIM_ANSWERS] = {
    [SIM_ANSWER_DEAD]    = "dead",
    [SIM_ANSWER_ABSENT]  = "absent",
    [SIM_ANSWER_RNR]     = "rnr",
    [SIM_ANSWER_UNKNOWN] = "unknown",
    [SIM_ANSWER_KEY]     = "key",
    [SIM_ANSWER_LONG]    = "long",
    [SIM_ANSWER_HANDLE]  = "handle",
    [SIM_ANSWER_OVERRUN] = "overrun",
};

static const char *const named_late[SIM_LATE_OPS] = {
    [SIM_LATE_SEND]  = "send",
    [SIM_LATE_READ]  = "read",
    [SIM_LATE_WRITE] = "write",
};

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
        for (i = 0; (i < count) && ((strlen(names[i]) != length) ||
                                    strncmp(value, names[i], length)); ++i) {
        }
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

void sim_named_allowed(const struct sim_knob *knob, char *buf, size_t size)
{
    const char *const *names;
    unsigned i, count;
    size_t at;

    names = named_of(knob, &count);
    snprintf(buf, size, "NAME:N, several separated by commas; NAME is ");
    for (i = 0; i < count; ++i) {
        at = strlen(buf);
        snprintf(buf + at, size - at, "%s%s", (i == 0) ? "" :
                 (i + 1 == count) ? " or " : ", ", names[i]);
    }
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
