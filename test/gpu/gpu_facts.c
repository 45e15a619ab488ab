/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_facts: what the GPU's driver here does where UCX and the tests lean on it,
 * a line "NAME VALUE" each. The emulated driver's answers are in facts.txt; where
 * a real one's differ, the emulated one is to change. With --emulated: whether
 * it is the emulated one, as status 0.
 */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FACT_PAGE = 4096, FACT_BLOCK = 2 << 20 };

#define FACT_CALL(_name, _types, ...) \
    (((CUresult (*)_types)gpu_call(#_name))(__VA_ARGS__))

/* The driver's answer to exporting a range as a dma-buf. */
static CUresult export(const void *ptr, size_t size, int *fd)
{
    *fd = -1;
    return FACT_CALL(cuMemGetHandleForAddressRange,
                     (void*, CUdeviceptr, size_t, int, unsigned long long), fd,
                     (uintptr_t)ptr, size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                     0);
}

static void fact_export(void)
{
    uint8_t *ptr = gpu_malloc(FACT_BLOCK);
    int supported = 0, fd;

    FACT_CALL(cuDeviceGetAttribute, (int*, int, CUdevice), &supported,
              CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0);
    printf("dmabuf_supported %d\n", supported);
    printf("export_whole %d\n", export(ptr, FACT_BLOCK, &fd));
    if (fd >= 0) {
        printf("export_seek_end %s\n",
               (lseek(fd, 0, SEEK_END) < 0) ? strerror(errno) : "works");
        close(fd);
    }
    printf("export_from_second_page %d\n", export(ptr + FACT_PAGE, FACT_PAGE,
                                                  &fd));
    printf("export_odd_size %d\n", export(ptr, FACT_PAGE + 1, &fd));
    printf("export_odd_start %d\n", export(ptr + 1, FACT_PAGE, &fd));
    printf("export_beyond_end %d\n", export(ptr, 1ul << 40, &fd));
    gpu_free(ptr);
    printf("export_freed %d\n", export(ptr, FACT_BLOCK, &fd));
}

static void fact_ranges(void)
{
    CUdeviceptr base = 0;
    size_t size      = 0;
    uint8_t *ptr     = gpu_malloc(1000), *again;
    unsigned type    = 77;
    int host;

    FACT_CALL(cuMemGetAddressRange_v2, (CUdeviceptr*, size_t*, CUdeviceptr),
              &base, &size, (uintptr_t)ptr + 10);
    printf("range_of_1000_bytes %s %zu\n",
           (base == (uintptr_t)ptr) ? "starts there" : "starts elsewhere",
           size);
    printf("alignment_of_small %d\n", ((uintptr_t)ptr % 512) == 0);
    gpu_free(ptr);
    again = gpu_malloc(1000);
    printf("small_comes_back %d\n", again == ptr);
    gpu_free(again);
    ptr = gpu_malloc(FACT_BLOCK);
    gpu_free(ptr);
    again = gpu_malloc(FACT_BLOCK);
    printf("large_comes_back %d\n", again == ptr);
    gpu_free(again);
    printf("host_pointer_attribute %d\n",
           FACT_CALL(cuPointerGetAttribute, (void*, int, CUdeviceptr), &type,
                     CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&host));
}

/* In a child: how it ends. */
static void fact_cpu(void)
{
    volatile uint8_t *ptr = gpu_malloc(FACT_BLOCK);
    pid_t child           = fork();
    int status            = 0;

    if (child == 0) {
        (void)*ptr;
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("cpu_read %s\n", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) :
                                                  "works");
    gpu_free((void*)ptr);
}

int main(int argc, char **argv)
{
    gpu_copied_t copied;

    if ((argc > 1) && (strcmp(argv[1], "--emulated") == 0)) {
        return gpu_copied(&copied) ? 0 : 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (gpu_open(0)) {
        return 1;
    }
    fact_export();
    fact_ranges();
    fact_cpu();
    return 0;
}
