/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of probes and measurements, as the report has them. */
#ifndef SRD_SELFTEST_RESULT_H_
#define SRD_SELFTEST_RESULT_H_

#include "selftest.h"

/* How a probe ends: with a line on what the device does. */
void st_result_same(st_result_t *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void st_result_differs(st_result_t *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void st_result_not_asked(st_result_t *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Same if `same`, else it differs. */
void st_result_decide(st_result_t *result, int same, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One more measurement; beyond ST_POINTS_MAX it is left out. */
void st_result_point(st_t *st, const st_point_t *point);

#endif
