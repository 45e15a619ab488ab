/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers increment counters of ours, by the keys with which they may write.
 * Those of one round of progress are applied together, in their order: for
 * counters in a GPU's memory the time is that of waiting for copies.
 */
#include "srd_gpu.h"
#include "srd_gpu_cuda.h"

/* Increments in one device's memory that were found right. */
typedef struct srd_gpu_adds {
    int                device;
    unsigned           count;
    srd_gpu_cuda_add_t list[SRD_GPU_ADDS];
} srd_gpu_adds_t;

static void srd_gpu_refuse(srd_gpu_iface_t *iface, uint64_t address,
                           const char *why)
{
    if (iface->refused++ == 0) {
        host_error(iface->super.super.host,
                   "%s: a peer's increment of a counter at 0x%lx is refused: "
                   "%s (said once)", base_iface_md(&iface->super)->device->name,
                   (unsigned long)address, why);
    }
}

void srd_gpu_count_prepare(srd_gpu_iface_t *iface)
{
    if ((iface->add_values == NULL) && srd_gpu_cuda_is_used()) {
        iface->add_values = srd_gpu_memory_get(
                iface, SRD_GPU_ADDS * sizeof(*iface->add_values));
    }
}

static void srd_gpu_adds_apply(srd_gpu_iface_t *iface, srd_gpu_adds_t *adds)
{
    if (adds->count == 0) {
        return;
    }
    srd_gpu_count_prepare(iface);
    if ((iface->add_values == NULL) ||
        (srd_gpu_cuda_add(adds->device, adds->list, adds->count,
                          iface->add_values) != 0)) {
        srd_gpu_refuse(iface, adds->list[0].address,
                       "CUDA's driver cannot copy it");
    }
    adds->count = 0;
}

/* Memory stays registered until it is applied. */
static void srd_gpu_adds_put(srd_gpu_iface_t *iface, srd_gpu_adds_t *adds,
                             const srd_gpu_wire_t *wire)
{
    efa_md_t             *md = base_iface_md(&iface->super);
    efa_device_mem_kind_t kind;
    int                   device;

    kind   = efa_device_mem_find(md, &iface->counted, wire->rkey, wire->raddr,
                                 sizeof(uint64_t));
    device = ((kind == EFA_DEVICE_MEM_GPU) || (kind == EFA_DEVICE_MEM_ANY)) ?
                     srd_gpu_cuda_device_of(wire->raddr) :
                     -1;
    if (device != adds->device) {
        srd_gpu_adds_apply(iface, adds);
        adds->device = device;
    }
    if (device >= 0) {
        adds->list[adds->count].address = wire->raddr;
        adds->list[adds->count++].add   = wire->add;
    } else if ((kind == EFA_DEVICE_MEM_NONE) || (kind == EFA_DEVICE_MEM_GPU) ||
               !efa_device_mem_add(md, &iface->counted, wire->rkey,
                                   wire->raddr, wire->add)) {
        srd_gpu_refuse(iface, wire->raddr, "no memory is registered there, "
                       "for peers to write, with that key, or it was unmapped");
    }
}

void srd_gpu_count_all(srd_gpu_iface_t *iface)
{
    efa_md_t      *md = base_iface_md(&iface->super);
    srd_gpu_adds_t adds;
    unsigned       i;

    adds.device = -1;
    adds.count  = 0;
    efa_device_mem_lock(md);
    for (i = 0; i < iface->add_count; ++i) {
        srd_gpu_adds_put(iface, &adds, &iface->adds[i]);
    }
    srd_gpu_adds_apply(iface, &adds);
    efa_device_mem_unlock(md);
    iface->add_count = 0;
}

ucs_status_t srd_gpu_count(void *arg, void *data, size_t length,
                           unsigned flags)
{
    srd_gpu_iface_t *iface = arg;
    srd_gpu_wire_t  *wire  = &iface->adds[iface->add_count];

    (void)flags;
    iface->is_counted = 1;
    if (length != sizeof(*wire)) {
        srd_gpu_refuse(iface, 0, "the message is of another version of this "
                       "transport");
        return UCS_OK;
    }
    memcpy(wire, data, sizeof(*wire));
    if (wire->raddr % sizeof(uint64_t) != 0) {
        srd_gpu_refuse(iface, wire->raddr, "it is not aligned to 8 bytes");
    } else if (++iface->add_count == SRD_GPU_ADDS) {
        srd_gpu_count_all(iface);
    }
    return UCS_OK;
}
