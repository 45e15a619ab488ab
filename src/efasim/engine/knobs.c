/* SPDX-License-Identifier: BSD-3-Clause */
#include "knobs.h"
#include "limits.h"
#include "named.h"
#include "profile.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sim_knob sim_knob_table[] = {
#define KNOB(_group, _scope, _name, _field, _type, _min, _max, _usual, _arg, \
             _help) \
    { _name, SIM_KNOB_##_type, offsetof(struct sim_knobs, _field), _min, _max, \
      _usual, _arg, _help, SIM_SCOPE_##_scope, SIM_GROUP_##_group },
#include "knobs.def"
#undef KNOB
    { .name = NULL }
};

void sim_knobs_init(struct sim_knobs *knobs)
{
    const struct sim_knob *knob;
    size_t at;

    memset(knobs, 0, sizeof(*knobs));
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        for (at = 0; (knob->usual != 0) && (at < sim_knob_size(knob));
             at += sizeof(knob->usual)) {
            memcpy((char*)knobs + knob->offset + at, &knob->usual,
                   sizeof(knob->usual));
        }
    }
}

static int knob_name_equal(const char *a, const char *b)
{
    for (; *a && *b; ++a, ++b) {
        int ca = (*a == '_') ? '-' : tolower((unsigned char)*a);
        int cb = (*b == '_') ? '-' : tolower((unsigned char)*b);

        if (ca != cb) {
            return 0;
        }
    }

    return *a == *b;
}

const struct sim_knob *sim_knob_find(const char *name)
{
    const struct sim_knob *knob;

    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        if (knob_name_equal(knob->name, name)) {
            return knob;
        }
    }

    return NULL;
}

void sim_knob_variable(const struct sim_knob *knob, char *name, size_t size)
{
    char *c;

    snprintf(name, size, "EFASIM_%s", knob->name);
    for (c = name; *c != '\0'; ++c) {
        *c = (*c == '-') ? '_' : toupper((unsigned char)*c);
    }
}

static int knob_set_uint(uint64_t *field, const struct sim_knob *knob,
                         const char *value)
{
    const char *end;
    uint64_t number;

    if (sim_number(value, knob->max, &number, &end) || (*end != '\0') ||
        (number < knob->min)) {
        return -1;
    }

    *field = number;
    return 0;
}

static int knob_set_probability(double *field, const char *value)
{
    char *end;
    double p;

    if (!isdigit((unsigned char)*value) && (*value != '.')) {
        return -1;
    }

    p = strtod(value, &end);
    if ((end == value) || (*end != '\0') || !isfinite(p) || (p < 0) ||
        (p > 1)) {
        return -1;
    }

    *field = p;
    return 0;
}

#define KNOB_NAME(_number, _name) _name,

static const char *const knob_ops[] = { SIM_INJECT_LIST(KNOB_NAME) };

/* OP:STATUS[:COUNT[:SKIP]]; returns the character behind it, or NULL. */
static const char *knob_parse_inject(const char *text,
                                     struct sim_inject *inject)
{
    size_t length = strcspn(text, ":");
    uint64_t status;
    unsigned op;
    char *end;

    op             = sim_named_find(knob_ops, SIM_INJECT_OPS, text, length);
    inject->count  = 1;
    inject->skip   = 0;
    inject->chance = 0;
    if ((op == SIM_INJECT_OPS) || (text[length] != ':') ||
        sim_number(text + length + 1, 255, &status, &text)) {
        return NULL;
    }

    inject->op     = op;
    inject->status = status;
    if ((*text == ':') && (strcspn(text + 1, ".") < strcspn(text + 1, ":,"))) {
        inject->chance = strtod(text + 1, &end);
        return ((inject->chance > 0) && (inject->chance <= 1)) ? end : NULL;
    }
    if ((*text == ':') &&
        sim_number(text + 1, UINT64_MAX, &inject->count, &text)) {
        return NULL;
    }
    if ((*text == ':') &&
        sim_number(text + 1, UINT64_MAX, &inject->skip, &text)) {
        return NULL;
    }

    return text;
}

static int knob_set_inject(struct sim_knobs *knobs, const char *value)
{
    struct sim_inject inject[SIM_INJECT_MAX];
    unsigned num = 0;

    while (*value != '\0') {
        if (num == SIM_INJECT_MAX) {
            return -1;
        }
        value = knob_parse_inject(value, &inject[num]);
        if ((value == NULL) || ((*value != ',') && (*value != '\0'))) {
            return -1;
        }
        ++num;
        value += (*value == ',');
    }

    memcpy(knobs->inject, inject, num * sizeof(inject[0]));
    knobs->inject_num = num;
    return 0;
}

static const struct {
    const char *name;
    int         number;
} knob_errnos[] = {
    { "0", 0 },           { "1", EACCES },      { "EACCES", EACCES },
    { "EPERM", EPERM },   { "ENODEV", ENODEV }, { "EBUSY", EBUSY },
    { "ENOMEM", ENOMEM }, { "EIO", EIO },       { "EINVAL", EINVAL },
    { "ENOENT", ENOENT }, { "EOPNOTSUPP", EOPNOTSUPP },
};

enum {
    KNOB_ERRNOS = sizeof(knob_errnos) / sizeof(knob_errnos[0]),
};

/* -1: not one of the names */
static int knob_errno(const char *value)
{
    unsigned i;

    for (i = 0; i < KNOB_ERRNOS; ++i) {
        if (!strcmp(value, knob_errnos[i].name)) {
            return knob_errnos[i].number;
        }
    }

    return -1;
}

/* A number that a name stood for; -1: it was none. */
static int knob_set_number(uint64_t *field, int number)
{
    if (number < 0) {
        return -1;
    }

    *field = number;
    return 0;
}

const char *const sim_command_names[] = {
    "any",      "alloc-pd",  "create-ah",      "reg-mr",   "reg-dmabuf-mr",
    "query-mr", "create-cq", "create-channel", "create-qp", "modify-qp",
    "query-qp", "query-device", "query-port",  "get-context", NULL
};

enum {
    KNOB_COMMANDS = sizeof(sim_command_names) / sizeof(sim_command_names[0]) - 1
};

/* NAME:N[:ERRNO]; `text` is cut up. */
static int knob_parse_fail(char *text, struct sim_fail *fail)
{
    char *save, *name = strtok_r(text, ":", &save);
    char *number      = name ? strtok_r(NULL, ":", &save) : NULL;
    char *error       = number ? strtok_r(NULL, ":", &save) : NULL;
    const char *end;
    unsigned i;

    if ((number == NULL) || sim_number(number, UINT32_MAX, &fail->number,
                                        &end) ||
        (*end != '\0') || (fail->number == 0)) {
        return -1;
    }

    fail->error = error ? knob_errno(error) : ENOMEM;
    for (i = 0; (fail->error > 0) && (sim_command_names[i] != NULL); ++i) {
        if (knob_name_equal(sim_command_names[i], name)) {
            snprintf(fail->name, sizeof(fail->name), "%s",
                     sim_command_names[i]);
            return 0;
        }
    }

    return -1;
}

static int knob_set_fail(struct sim_knobs *knobs, const char *value)
{
    struct sim_fail fail[SIM_FAIL_MAX];
    char copy[512], *save, *word;
    unsigned num = 0;

    if (strlen(value) >= sizeof(copy)) {
        return -1;
    }
    strcpy(copy, value);
    for (word = strtok_r(copy, ",", &save); word != NULL;
         word = strtok_r(NULL, ",", &save)) {
        if ((num == SIM_FAIL_MAX) || knob_parse_fail(word, &fail[num])) {
            return -1;
        }
        ++num;
    }

    memcpy(knobs->fail, fail, num * sizeof(fail[0]));
    knobs->fail_num = num;
    return 0;
}

static void knob_allowed(const struct sim_knob *knob, char *buf, size_t size)
{
    size_t at;

    buf[0] = '\0';
    switch (knob->type) {
    case SIM_KNOB_UINT:
        snprintf(buf, size, "a whole number from %llu to %llu",
                 (unsigned long long)knob->min,
                 (unsigned long long)knob->max);
        break;
    case SIM_KNOB_PROBABILITY:
        snprintf(buf, size, "a number from 0 to 1");
        break;
    case SIM_KNOB_FLAG:
        snprintf(buf, size, "0 or 1");
        break;
    case SIM_KNOB_INJECT:
        snprintf(buf, size, "OP:STATUS[:COUNT[:SKIP]] or OP:STATUS:0.1 with "
                 "OP ");
        sim_named_join(buf, size, knob_ops, sizeof(knob_ops[0]),
                       SIM_INJECT_OPS);
        at = strlen(buf);
        snprintf(buf + at, size - at, " and STATUS 0 to 255, at most %d, "
                 "separated by commas", SIM_INJECT_MAX);
        break;
    case SIM_KNOB_ERRNO:
        sim_named_join(buf, size, knob_errnos, sizeof(knob_errnos[0]),
                       KNOB_ERRNOS);
        break;
    case SIM_KNOB_FAIL:
        snprintf(buf, size, "NAME:N[:ERRNO], at most %d, separated by commas; "
                 "NAME is ", SIM_FAIL_MAX);
        sim_named_join(buf, size, sim_command_names,
                       sizeof(sim_command_names[0]), KNOB_COMMANDS);
        break;
    case SIM_KNOB_DEVICE:
        sim_named_join(buf, size, sim_profile_get(1),
                       sizeof(struct sim_profile), SIM_PROFILES);
        break;
    case SIM_KNOB_ACCEPT:
    case SIM_KNOB_ANSWER:
    case SIM_KNOB_LATE:
        sim_named_allowed(knob, buf, size);
        break;
    }
}

int sim_knob_set(struct sim_knobs *knobs, const struct sim_knob *knob,
                 const char *label, const char *value, char *err,
                 size_t err_size)
{
    void *field = (char*)knobs + knob->offset;
    char allowed[320];
    int ret = -1;

    switch (knob->type) {
    case SIM_KNOB_UINT:
    case SIM_KNOB_FLAG:
        ret = knob_set_uint(field, knob, value);
        break;
    case SIM_KNOB_PROBABILITY:
        ret = knob_set_probability(field, value);
        break;
    case SIM_KNOB_INJECT:
        ret = knob_set_inject(knobs, value);
        break;
    case SIM_KNOB_ERRNO:
        ret = knob_set_number(field, knob_errno(value));
        break;
    case SIM_KNOB_FAIL:
        ret = knob_set_fail(knobs, value);
        break;
    case SIM_KNOB_DEVICE:
        ret = knob_set_number(field, sim_profile_find(value) ?
                                     (int)sim_profile_find(value) : -1);
        break;
    case SIM_KNOB_ACCEPT:
    case SIM_KNOB_ANSWER:
    case SIM_KNOB_LATE:
        ret = sim_named_set(field, knob, value);
        break;
    }

    if (ret != 0) {
        knob_allowed(knob, allowed, sizeof(allowed));
        snprintf(err, err_size, "%s=%.100s: allowed is %s", label, value,
                 allowed);
    }

    return ret;
}
