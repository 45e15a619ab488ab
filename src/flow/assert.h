/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assertions guard the core's own logic and its caller's contract, never what
 * a peer sent. They stay in release builds. The program that links the objects
 * defines flow_assert_failed; it may return (the core then goes on as if the
 * condition had held, which is the module's choice: nothing ends the process).
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

#define flow_assert(_expr) \
    (__builtin_expect(!!(_expr), 1) ? \
             (void)0 : flow_assert_failed(#_expr, __FILE__, __LINE__))

#endif
