/* SPDX-License-Identifier: BSD-3-Clause */
#include "func.h"
#include "event.h"

#include <errno.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A device in the engine, on a slot of its own. */
static int func_start(struct pci_func *func)
{
    func->owner = pci_world_attach(func->world, func->index);
    func->sim   = sim_dev_open(func->world->dir, func->index,
                               dir_nic_of(func->index, 0), &pci_world_ops,
                               func, &func->knobs);
    if (func->sim == NULL) {
        pci_world_leave(func->world, func->index);
        return -ENOMEM;
    }

    if (func->plan != NULL) {
        sim_fault_plan(func->sim, func->plan);
    }
    func->sim->tracing = (func->world->trace_fd >= 0);
    func->status       = PCI_STS_READY;
    return 0;
}

static void func_stop(struct pci_func *func)
{
    unsigned i;

    if (func->sim == NULL) {
        return;
    }

    sim_dev_close(func->sim);
    func->sim = NULL;
    for (i = 0; i < PCI_EQS; ++i) {
        pci_guest_release(func->eq[i].region);
    }
    for (i = 0; i < SIM_MAX_CQ; ++i) {
        pci_guest_release(func->cq[i].region);
    }
    for (i = 0; i < SIM_MAX_QP; ++i) {
        pci_guest_release(func->qp[i].rq);
    }
    for (i = 0; (i < SIM_MAX_MR) && (func->mr_runs > 0); ++i) {
        if (func->mr[i] != NULL) {
            func->mr_runs -= func->mr[i]->num;
            pci_mr_close(func->mr[i]);
            func->mr[i] = NULL;
        }
    }

    memset(func->eq, 0, sizeof(func->eq));
    memset((void*)func->cq, 0, sizeof(func->cq));
    memset((void*)func->qp, 0, sizeof(func->qp));
    memset(func->uar, 0, sizeof(func->uar));
    memset(&func->aq, 0, sizeof(func->aq));
    memset(&func->acq, 0, sizeof(func->acq));
    memset(&func->aenq, 0, sizeof(func->aenq));
    func->mmio_resp   = 0;
    func->masked      = 0;
    func->aenq_read   = 0;
    func->aenq_groups = 0;
    func->alive_next  = 0;
    pci_world_leave(func->world, func->index);
}

void pci_func_reset(struct pci_func *func)
{
    func_stop(func);
    if (func_start(func) != 0) {
        func->status = PCI_STS_FATAL;
        fprintf(stderr, "efapci[%u]: out of memory: the function is dead\n",
                func->index);
    }
}

int pci_func_open(struct pci_func *func, struct pci_world *world,
                  unsigned index, const struct sim_knobs *knobs,
                  const struct sim_plan *plan)
{
    unsigned i;

    memset(func, 0, sizeof(*func));
    func->world = world;
    func->index = index;
    func->knobs = *knobs;
    func->plan  = plan;
    for (i = 0; i < PCI_VECTORS; ++i) {
        func->irq[i] = -1;
    }

    atomic_store(&world->dir->host[index].profile, knobs->device);
    atomic_store(&world->dir->host[index].devices, 1);
    func->mr     = calloc(SIM_MAX_MR, sizeof(*func->mr));
    func->llq_fd = syscall(SYS_memfd_create, "efapci-llq", MFD_CLOEXEC);
    if ((func->mr == NULL) || (func->llq_fd < 0) ||
        (ftruncate(func->llq_fd, PCI_BAR2_BYTES) != 0)) {
        return -ENOMEM;
    }

    func->llq = mmap(NULL, PCI_BAR2_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                     func->llq_fd, 0);
    if (func->llq == MAP_FAILED) {
        return -ENOMEM;
    }

    world->func[index] = func;
    return func_start(func);
}

void pci_func_close(struct pci_func *func)
{
    func_stop(func);
    pci_guest_clear(&func->guest);
    func->world->func[func->index] = NULL;
    munmap(func->llq, PCI_BAR2_BYTES);
    close(func->llq_fd);
    free(func->mr);
}

unsigned pci_func_progress(struct pci_func *func)
{
    pci_event_keep_alive(func);
    return (func->sim == NULL) ? 0 : sim_dev_progress(func->sim);
}

int pci_func_is_busy(const struct pci_func *func)
{
    return (func->sim != NULL) && sim_dev_is_busy(func->sim);
}
