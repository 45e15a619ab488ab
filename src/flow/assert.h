/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assertions guard the core's own logic and its caller's contract, never what a
 * peer sent. They are in every build. The program that links the objects
 * defines flow_assert_failed:
 *   - that of the module writes a line and returns; in a build with
 *     AddressSanitizer it ends the process
 *   - those of tests, simulators and fuzzers end their program
 * Where it returns, the core goes on: a flow may then fail or be lost, but the
 * code behind an assertion stays within the records and comes to an end. Where
 * it would not, flow_holds makes the function leave.
 */
#ifndef FLOW_ASSERT_H_
#define FLOW_ASSERT_H_

#ifdef __cplusplus
extern "C" {
#endif

void flow_assert_failed(const char *expr, const char *file, int line);

#ifdef __cplusplus
}
#endif

/* Nonzero, unless the condition was false and flow_assert_failed returned. */
#define flow_holds(_expr) \
    (__builtin_expect(!!(_expr), 1) || \
     (flow_assert_failed(#_expr, __FILE__, __LINE__), 0))

#define flow_assert(_expr) ((void)flow_holds(_expr))

#endif
