/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <stdarg.h>
#include <stdio.h>

static void result_set(st_result_t *result, st_verdict_t verdict,
                       const char *format, va_list ap)
{
    result->verdict = verdict;
    vsnprintf(result->seen, sizeof(result->seen), format, ap);
}

void st_result_same(st_result_t *result, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    result_set(result, ST_SAME, format, ap);
    va_end(ap);
}

void st_result_differs(st_result_t *result, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    result_set(result, ST_DIFFERS, format, ap);
    va_end(ap);
}

void st_result_not_asked(st_result_t *result, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    result_set(result, ST_NOT_ASKED, format, ap);
    va_end(ap);
}

void st_result_decide(st_result_t *result, int same, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    result_set(result, same ? ST_SAME : ST_DIFFERS, format, ap);
    va_end(ap);
}

void st_result_point(st_t *st, const st_point_t *point)
{
    if (st->point_count < ST_POINTS_MAX) {
        st->points[st->point_count++] = *point;
    }
}
