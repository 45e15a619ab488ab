/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer increments a counter of ours, by the key with which it may write. */
#include "srd_gpu.h"
#include "srd_gpu_cuda.h"

static ucs_status_t srd_gpu_refuse(srd_gpu_iface_t *iface,
                                   const srd_gpu_wire_t *wire, const char *why)
{
    if (iface->refused++ == 0) {
        host_error(iface->super.super.host,
                   "%s: a peer's increment of a counter at 0x%lx is refused: "
                   "%s (said once)", base_iface_md(&iface->super)->device->name,
                   (unsigned long)wire->raddr, why);
    }
    return UCS_OK;
}

ucs_status_t srd_gpu_count(void *arg, void *data, size_t length,
                           unsigned flags)
{
    srd_gpu_iface_t *iface = arg;
    srd_gpu_wire_t   wire;
    efa_md_t        *md  = base_iface_md(&iface->super);
    int              err = 0, is_host;

    (void)flags;
    iface->is_counted = 1;
    if (length != sizeof(wire)) {
        wire.raddr = 0;
        return srd_gpu_refuse(iface, &wire, "the message is of another version "
                              "of this transport");
    }
    memcpy(&wire, data, sizeof(wire));
    if (wire.raddr % sizeof(uint64_t) != 0) {
        return srd_gpu_refuse(iface, &wire, "it is not aligned to 8 bytes");
    }
    if (!efa_device_mem_get(md, &iface->counted, wire.rkey, wire.raddr,
                            sizeof(uint64_t), &is_host)) {
        return srd_gpu_refuse(iface, &wire, "no memory is registered there, "
                              "for peers to write, with that key");
    }
    if (is_host || !srd_gpu_cuda_is_device((void*)wire.raddr)) {
        __atomic_fetch_add((uint64_t*)wire.raddr, wire.add, __ATOMIC_RELEASE);
    } else {
        err = srd_gpu_cuda_add(wire.raddr, wire.add);
    }
    efa_device_mem_put(md);
    return (err == 0) ? UCS_OK :
                        srd_gpu_refuse(iface, &wire,
                                       "CUDA's driver cannot copy it");
}
