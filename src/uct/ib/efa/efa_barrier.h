/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_BARRIER_H_
#define EFA_BARRIER_H_

/*
 * Order between our loads and stores and the device's, as rdma-core names it
 * (util/udma_barrier.h). On x86 loads are not reordered with loads, nor stores
 * to ordinary memory with each other; stores to write-combining memory are.
 */

/* Behind the look at the sign of a completion, before the rest of it is read,
 * and the packet, which a CPU may load earlier: udma_from_device_barrier.
 * (There x86 has an LFENCE, which ordinary memory does not need.) */
static inline void efa_barrier_completion(void)
{
#if defined(__x86_64__)
    __asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dmb oshld" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Behind receive descriptors, in ordinary memory, before their doorbell:
 * udma_to_device_barrier. (Loads from a buffer that is posted again come first,
 * too: stores that depend on them do not overtake them.) */
static inline void efa_barrier_recv(void)
{
#if defined(__x86_64__)
    __asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dmb oshst" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Behind work requests, in the device's write-combining memory, and the bytes
 * they name, before their doorbell: mmio_flush_writes. Such stores may leave
 * the CPU late and in any order; on aarch64 only dsb waits for them. */
static inline void efa_barrier_send(void)
{
#if defined(__x86_64__)
    __asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ volatile("dsb st" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
