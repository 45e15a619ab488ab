/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that UCX's memory hooks patch: they replace a function's first bytes
 * by a jump, and know few instructions that they can move elsewhere. Therefore
 * these begin with pushes, as the real driver's do, and call functions in C.
 */
#include "gpu.h"

#if defined(__x86_64__)
#define GPU_HOOKED_BODY(_name) \
    "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n" \
    "push %r15\n push %r12\n push %r13\n push %r14\n" \
    "call gpu_" _name "\n add $72, %rsp\n ret\n"
#else
#define GPU_HOOKED_BODY(_name) "b gpu_" _name "\n"
#endif

#define GPU_HOOKED(_name) \
    __asm__(".text\n .p2align 4\n .globl " #_name "\n" \
            ".type " #_name ", %function\n" #_name ":\n" \
            GPU_HOOKED_BODY(#_name) ".size " #_name ", . - " #_name "\n")

GPU_HOOKED(cuMemAlloc_v2);
GPU_HOOKED(cuMemAllocAsync);
GPU_HOOKED(cuMemAllocFromPoolAsync);
GPU_HOOKED(cuMemAllocManaged);
GPU_HOOKED(cuMemAllocPitch_v2);
GPU_HOOKED(cuMemFree_v2);
GPU_HOOKED(cuMemFreeAsync);
GPU_HOOKED(cuMemFreeHost);
GPU_HOOKED(cuMemMap);
GPU_HOOKED(cuMemUnmap);
GPU_HOOKED(cuModuleGetGlobal_v2);
GPU_HOOKED(cuLibraryGetGlobal);
