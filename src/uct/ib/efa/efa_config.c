/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_EFA_*: what the memory domain lets a user set. */
#include "efa_config.h"

const ucx_config_field_t efa_md_config_fields[] = {
    {"REG_CACHE", "try",
     "Keep registrations for the next transfer of the same memory: y, n, or "
     "try (only with UCX 1.13 to 1.15, whose own cache does not serve all "
     "protocols)",
     offsetof(efa_md_config_t, reg_cache), UCX_CONFIG_TERNARY, 0, 0},
    {"REG_CACHE_MAX", "16384", "Registrations that the cache keeps at most",
     offsetof(efa_md_config_t, reg_cache_max), UCX_CONFIG_UINT, 1, 262144},
    {"REG_CACHE_SIZE", "inf", "Bytes that the cache keeps registered at most",
     offsetof(efa_md_config_t, reg_cache_bytes), UCX_CONFIG_MEMUNITS, 0, 0},
    {"FORK_INIT", "try",
     "Make fork() safe on kernels before 5.12: y, n, or try. There children "
     "then cannot touch memory that the parent has registered; with n they "
     "can, but a fork may make the parent lose what the device writes",
     offsetof(efa_md_config_t, fork_init), UCX_CONFIG_TERNARY, 0, 0},
    {"DIRECT", "try",
     "Write and read the device's queues without libefa, which takes rdma-core "
     "60: y, n, or try (where a trial shows that it works)",
     offsetof(efa_md_config_t, direct), UCX_CONFIG_TERNARY, 0, 0},
    {"HUGE_PAGES", "try",
     "Receive buffers on huge pages of 2 MB: y, n, or try (where the host has "
     "free ones, vm.nr_hugepages)",
     offsetof(efa_md_config_t, huge_pages), UCX_CONFIG_TERNARY, 0, 0},
};

_Static_assert((sizeof(efa_md_config_fields) /
                sizeof(efa_md_config_fields[0])) == EFA_MD_CONFIG_COUNT,
               "fields of UCX_EFA_*");
