/* SPDX-License-Identifier: BSD-3-Clause */
/* Before headers of ours that have C11's atomics: g++ knows those from C++23 on,
 * clang always. The headers included here come before them. */
#ifndef TEST_GTEST_C11_H
#define TEST_GTEST_C11_H

#include <gtest/gtest.h>

#include <atomic>

#define _Static_assert static_assert
#ifndef __clang__
using std::atomic_flag;
using std::atomic_uint;
#define _Atomic
#define atomic_load(_at)          __atomic_load_n(_at, __ATOMIC_SEQ_CST)
#define atomic_store(_at, _val)   __atomic_store_n(_at, _val, __ATOMIC_SEQ_CST)
#define atomic_load_explicit      __atomic_load_n
#define atomic_store_explicit     __atomic_store_n
#define atomic_fetch_add_explicit __atomic_fetch_add
#define memory_order_relaxed      __ATOMIC_RELAXED
#define memory_order_acquire      __ATOMIC_ACQUIRE
#define memory_order_release      __ATOMIC_RELEASE
#endif

#endif
