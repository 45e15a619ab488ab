/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/sys/string.h>

#define PARSER(_type) "ucs_config_" _type

typedef struct config_type {
    const char *read, *write, *clone, *release;
    const char *words;
} config_type_t;

static const config_type_t config_types[UCX_CONFIG_LAST] = {
    [UCX_CONFIG_STRING] = {PARSER("sscanf_string"), PARSER("sprintf_string"),
        PARSER("clone_string"), PARSER("release_string"), "text"},
    [UCX_CONFIG_UINT] = {PARSER("sscanf_uint"), PARSER("sprintf_uint"),
        PARSER("clone_uint"), PARSER("release_nop"), "unsigned integer"},
    [UCX_CONFIG_BOOL] = {PARSER("sscanf_bool"), PARSER("sprintf_bool"),
        PARSER("clone_int"), PARSER("release_nop"), "y or n"},
    [UCX_CONFIG_TERNARY] = {PARSER("sscanf_ternary"),
        PARSER("sprintf_ternary_auto"), PARSER("clone_int"),
        PARSER("release_nop"), "y, n or try"},
    [UCX_CONFIG_MEMUNITS] = {PARSER("sscanf_memunits"),
        PARSER("sprintf_memunits"), PARSER("clone_ulong"),
        PARSER("release_nop"), "bytes: <number>[b|kb|mb|gb], inf or auto"},
    [UCX_CONFIG_TIME] = {PARSER("sscanf_time"), PARSER("sprintf_time"),
        PARSER("clone_double"), PARSER("release_nop"),
        "time: <number>[s|ms|us|ns]"},
};

const char *ucx_config_find(const ucx_calls_t *calls, const char *const *names,
                            void **functions)
{
    unsigned i;

    for (i = 0; i < 4; ++i) {
        functions[i] = dlsym(calls->uct, names[i]);
        if (functions[i] == NULL) {
            return names[i];
        }
    }
    return NULL;
}

const char *ucx_config_arg_init(ucx_config_arg_t *arg,
                                const ucx_calls_t *calls,
                                const ucx_config_field_t *field,
                                const char *prefix)
{
    const config_type_t *type = &config_types[field->type];
    const char *const names[] = {type->read, type->write, type->clone,
                                 type->release};
    void *functions[4];
    const char *missing = ucx_config_find(calls, names, functions);

    if (missing != NULL) {
        return missing;
    }
    memset(arg, 0, sizeof(*arg));
    arg->field   = field;
    arg->prefix  = prefix;
    memcpy(&arg->read, &functions[0], sizeof(void*));
    memcpy(&arg->write, &functions[1], sizeof(void*));
    memcpy(&arg->clone, &functions[2], sizeof(void*));
    memcpy(&arg->release, &functions[3], sizeof(void*));
    return NULL;
}

/* UCX's sscanf takes "12abc" for 12 and "-1" for 4294967295 */
static int config_read_unsigned(const char *buf, void *dest)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(buf, &end, 0);
    if ((end == buf) || (*end != '\0') || (errno != 0) || (value < 0) ||
        (value > UINT_MAX)) {
        return 0;
    }
    *(unsigned*)dest = (unsigned)value;
    return 1;
}

static int config_read_type(const ucx_config_arg_t *arg, const char *buf,
                            void *dest)
{
    switch (arg->field->type) {
    case UCX_CONFIG_UINT:
        if (!strcmp(buf, "inf") && (arg->field->max == 0)) {
            *(unsigned*)dest = UINT_MAX;
            return 1;
        }
        return config_read_unsigned(buf, dest);
    default:
        return arg->read(buf, dest, NULL) == 1;
    }
}

static int config_in_range(const ucx_config_field_t *field, const void *value)
{
    double number;

    switch (field->type) {
    case UCX_CONFIG_UINT:
        number = *(const unsigned*)value;
        break;
    case UCX_CONFIG_TIME:
        number = *(const double*)value;
        if (__builtin_isnan(number)) {
            return 0;
        }
        break;
    case UCX_CONFIG_MEMUNITS:
        if ((*(const size_t*)value == UCS_MEMUNITS_INF) ||
            (*(const size_t*)value == UCS_MEMUNITS_AUTO)) {
            return 1;
        }
        number = *(const size_t*)value;
        break;
    default:
        return 1;
    }

    if ((field->min == 0) && (field->max == 0)) {
        return 1;
    }
    return (number >= field->min) && (number <= field->max);
}

int ucx_config_read(const char *buf, void *dest, const void *p)
{
    ucx_config_arg_t *arg = (ucx_config_arg_t*)p;

    if (config_read_type(arg, buf, dest)) {
        if (config_in_range(arg->field, dest)) {
            return 1;
        }
        arg->release(dest, NULL);
    }
    if (arg->quiet) {
        return config_read_type(arg, arg->field->dflt, dest);
    }
    __atomic_store_n(&arg->refused, 1, __ATOMIC_RELAXED);
    return 0;
}

/* 1073741824 as "1g", 0.25 as "250ms", 12 as "12" */
static void config_number(char *buf, size_t max, ucx_config_type_t type,
                          double value)
{
    static const struct {
        double     unit;
        const char *name;
    } sizes[] = {{1073741824.0, "gb"}, {1048576.0, "mb"}, {1024.0, "kb"}},
      times[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    unsigned i;

    if (type == UCX_CONFIG_MEMUNITS) {
        for (i = 0; i < 3; ++i) {
            if ((value >= sizes[i].unit) &&
                ((uint64_t)value % (uint64_t)sizes[i].unit == 0)) {
                snprintf(buf, max, "%.0f%s", value / sizes[i].unit,
                         sizes[i].name);
                return;
            }
        }
    } else if (type == UCX_CONFIG_TIME) {
        for (i = 0; (i < 3) && (value < times[i].unit) && (value > 0); ++i) {
        }
        snprintf(buf, max, "%.10g%s", value / times[i].unit, times[i].name);
        return;
    }
    snprintf(buf, max, "%.10g", value);
}

static size_t config_append(char *buf, size_t max, size_t used,
                            const char *text)
{
    int n = (used < max) ? snprintf(buf + used, max - used, "%s", text) : 0;

    return used + ((n > 0) ? n : 0);
}

void ucx_config_help(char *buf, size_t max, const void *p)
{
    ucx_config_arg_t *arg           = (ucx_config_arg_t*)p;
    const ucx_config_field_t *field = arg->field;
    char low[32], high[32], text[192];
    size_t used;

    used = config_append(buf, max, 0, config_types[field->type].words);
    if ((field->min != 0) || (field->max != 0)) {
        config_number(low, sizeof(low), field->type, field->min);
        config_number(high, sizeof(high), field->type, field->max);
        snprintf(text, sizeof(text), ", from %s to %s", low, high);
        used = config_append(buf, max, used, text);
    }
    if (__atomic_exchange_n(&arg->refused, 0, __ATOMIC_RELAXED)) {
        snprintf(text, sizeof(text), " (variable UCX_%s%s)", arg->prefix,
                 field->name);
        config_append(buf, max, used, text);
    }
}

void ucx_config_doc(void *strb, const void *arg)
{
    (void)strb, (void)arg;
}
