/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of probes and measurements, as the report has them. */
#ifndef SRD_SELFTEST_RESULT_H_
#define SRD_SELFTEST_RESULT_H_

#include "selftest.h"

/* How a probe ends: with a line on what the device does. */
void st_result_set(st_result_t *result, st_verdict_t verdict,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define st_result_same(_result, ...) \
    st_result_set(_result, ST_SAME, __VA_ARGS__)
#define st_result_differs(_result, ...) \
    st_result_set(_result, ST_DIFFERS, __VA_ARGS__)
#define st_result_not_asked(_result, ...) \
    st_result_set(_result, ST_NOT_ASKED, __VA_ARGS__)
/* Same if `_same`, else it differs. */
#define st_result_decide(_result, _same, ...) \
    st_result_set(_result, (_same) ? ST_SAME : ST_DIFFERS, __VA_ARGS__)

/* One more measurement; beyond ST_POINTS_MAX it is left out. */
void st_result_point(st_t *st, const st_point_t *point);

#endif
