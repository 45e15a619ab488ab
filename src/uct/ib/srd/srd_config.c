/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_SRD_*: the transport's variables. */
#include "srd.h"

const ucx_config_field_t srd_config_fields[] = {
    BASE_CONFIG_SHARED,
    BASE_CONFIG_UINT("RNR_RETRY", "3", rnr_retry, 0, 6,
              "How often the device repeats a send to a receiver that is not "
              "ready; then the transport repeats it, at growing intervals"),
    BASE_CONFIG_UINT("SL", "0", sl, 0, 15,
              "Service level of the queue pair; 0: the device's usual one. "
              "libfabric takes 8 for traffic of low latency. Where libefa "
              "(rdma-core older than 55), driver or device take no such level "
              "a warning says so, and the usual one is used"),
    BASE_CONFIG_UINT("TX_INLINE", "32", tx_inline, 0, 128,
              "Largest message or short put, in bytes, that travels inside the "
              "work request, within the device's limit; more than 32 takes "
              "work requests of 128 B (rdma-core 63 or newer)"),
    {"GET_SHORT", "0",
     "Longest time that a short get (UCT's get_short, which blocks) waits for "
     "its data; 0: no short gets, because UCP ends the process when one fails",
     UCX_CONFIG_AT(srd_iface_config_t, get_short, UCX_CONFIG_TIME), 0, 3600},
    {"PUT_FLUSH", "n",
     "Read a byte back after each RDMA WRITE and complete the write only then; "
     "costs a round trip. For memory of GPUs before Hopper, where a running "
     "kernel may see written data late",
     UCX_CONFIG_AT(srd_iface_config_t, put_flush, UCX_CONFIG_BOOL), 0, 0},
    {"GPU_CHANNELS", "4",
     "Rings of transport srd_gpu, into which kernels write their operations, "
     "rounded up to a power of two",
     UCX_CONFIG_AT(srd_iface_config_t, gpu_channels, UCX_CONFIG_UINT), 1, 32},
    {"GPU_DEPTH", "1024",
     "Operations that each of them takes, of 64 B, likewise rounded up",
     UCX_CONFIG_AT(srd_iface_config_t, gpu_depth, UCX_CONFIG_UINT), 2, 65536},
    {"GPU_THREAD", "y",
     "Have a thread for kernels' operations, and for those of peers; n: they "
     "go on while the program calls ucp_worker_progress",
     UCX_CONFIG_AT(srd_iface_config_t, gpu_thread, UCX_CONFIG_BOOL), 0, 0},
    {"GPU_IDLE", "10ms",
     "How long that thread polls in vain before it sleeps, for up to 2 ms at a "
     "time",
     UCX_CONFIG_AT(srd_iface_config_t, gpu_idle, UCX_CONFIG_TIME), 0, 1e6},
};

_Static_assert((sizeof(srd_config_fields) / sizeof(srd_config_fields[0])) ==
                       SRD_CONFIG_COUNT,
               "fields of UCX_SRD_*");
