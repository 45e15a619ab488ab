/* SPDX-License-Identifier: BSD-3-Clause */
#include "result.h"

#include <stdarg.h>
#include <stdio.h>

void st_result_set(st_result_t *result, st_verdict_t verdict,
                   const char *format, ...)
{
    va_list ap;

    result->verdict = verdict;
    va_start(ap, format);
    vsnprintf(result->seen, sizeof(result->seen), format, ap);
    va_end(ap);
}

void st_result_point(st_t *st, const st_point_t *point)
{
    if (st->point_count < ST_POINTS_MAX) {
        st->points[st->point_count++] = *point;
    }
}
