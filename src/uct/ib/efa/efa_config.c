/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_EFA_*: the variables of the memory domain. */
#include "efa_config.h"

const ucx_config_field_t efa_md_config_fields[] = {
    {"REG_CACHE", "try",
     "Keep memory registered for the next transfer. y: always; try: only with "
     "UCX 1.13 to 1.15, whose own cache does not serve all protocols; n: never",
     UCX_CONFIG_AT(efa_md_config_t, reg_cache, UCX_CONFIG_TERNARY), 0, 0},
    {"REG_CACHE_MAX", "16384", "Maximum number of registrations in the cache",
     UCX_CONFIG_AT(efa_md_config_t, reg_cache_max, UCX_CONFIG_UINT), 1, 262144},
    {"REG_CACHE_SIZE", "inf",
     "Maximum number of bytes that the cache keeps registered",
     UCX_CONFIG_AT(efa_md_config_t, reg_cache_bytes, UCX_CONFIG_MEMUNITS),
     0, 0},
    {"FORK_INIT", "try",
     "Make fork() safe on kernels before 5.12: a child then cannot touch "
     "memory that its parent has registered. y: fail if that is impossible; "
     "try: go on without; n: the child can touch it, but the parent may lose "
     "data that the device writes after a fork",
     UCX_CONFIG_AT(efa_md_config_t, fork_init, UCX_CONFIG_TERNARY), 0, 0},
    {"DIRECT", "try",
     "Write and read the device's queues without libefa (rdma-core 60 or "
     "newer). try: if a trial at the start succeeds; y: fail if it does not; "
     "n: never",
     UCX_CONFIG_AT(efa_md_config_t, direct, UCX_CONFIG_TERNARY), 0, 0},
    {"HUGE_PAGES", "try",
     "Put receive buffers on huge pages of 2 MB. try: if the host has free "
     "ones (vm.nr_hugepages); y: warn if it has none; n: never",
     UCX_CONFIG_AT(efa_md_config_t, huge_pages, UCX_CONFIG_TERNARY), 0, 0},
    {"DMABUF", "y",
     "Register GPU memory by dma-buf, where kernel and libibverbs can. n: by "
     "peer memory, or let UCX copy it through host memory",
     UCX_CONFIG_AT(efa_md_config_t, dmabuf, UCX_CONFIG_BOOL), 0, 0},
    {"DEVICE_API", "try",
     "Offer transport srd_gpu, by which a GPU's kernels put and count through "
     "UCX's device API (UCX 1.22 or newer, and a device that writes by RDMA). "
     " try: if UCX_TLS names it, or a library of the program uses that "
     "interface of UCX's; y: always; n: never",
     UCX_CONFIG_AT(efa_md_config_t, device_api, UCX_CONFIG_TERNARY), 0, 0},
    {"RECORD", "",
     "DIR[:SIZE]: record the calls and results of the protocol, without "
     "payload, for srd_replay. Each interface writes one file in folder DIR, a "
     "ring of SIZE bytes (4M to 1T, default 64M). Empty: no recording",
     UCX_CONFIG_AT(efa_md_config_t, record, UCX_CONFIG_STRING), 0, 0},
    {"TOP", "y",
     "Let srd_info --top of the same user show this process's peers and "
     "counters. For this, UCX's asynchronous thread looks at each interface "
     "once a second, and up to 100 times while srd_info reads",
     UCX_CONFIG_AT(efa_md_config_t, top, UCX_CONFIG_BOOL), 0, 0},
};

_Static_assert((sizeof(efa_md_config_fields) /
                sizeof(efa_md_config_fields[0])) == EFA_MD_CONFIG_COUNT,
               "fields of UCX_EFA_*");
