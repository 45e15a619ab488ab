/* SPDX-License-Identifier: BSD-3-Clause */
#include "func.h"
#include "admin.h"
#include "event.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
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

    func->sim->guest = 1;
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
    pci_mr_close(pci_mr_take(func->reader));
    func->reader = NULL;
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
    func->aq_announced = 0;
    func->has_cmd      = 0;
    func->admin_waits  = 0;
    func->mmio_resp   = 0;
    func->masked      = 0;
    func->aenq_read   = 0;
    func->aenq_groups = 0;
    func->alive_next  = 0;
    pci_world_leave(func->world, func->index);
}

/* Zeros in the send queues: the next user may not read the last one's. */
static void func_punch(struct pci_func *func)
{
    if (fallocate(func->llq_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  PCI_BAR2_BYTES) != 0) {
        memset(func->llq, 0, PCI_BAR2_BYTES);
    }
}

int pci_func_renew(struct pci_func *func)
{
    int fd = syscall(SYS_memfd_create, "efapci-llq",
                     MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint8_t *llq;
    int err;

    if (fd < 0) {
        return -errno;
    }
    /* the machine has it, too: it may not make it shorter under us */
    llq = ((ftruncate(fd, PCI_BAR2_BYTES) != 0) ||
           (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
                                   F_SEAL_SEAL) != 0)) ? MAP_FAILED :
          mmap(NULL, PCI_BAR2_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (llq == MAP_FAILED) {
        err = errno;
        close(fd);
        return -err;
    }

    if (func->llq != NULL) {
        munmap(func->llq, PCI_BAR2_BYTES);
        close(func->llq_fd);
    }
    func->llq    = llq;
    func->llq_fd = fd;
    return 0;
}

void pci_func_reset(struct pci_func *func)
{
    func_stop(func);
    func_punch(func);
    if (func_start(func) != 0) {
        func->status = PCI_STS_FATAL;
        pci_log(func, "out of memory: the function does not work until its "
                      "next reset. Is there a memory limit (ulimit, cgroup)?");
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
    func->mr = calloc(SIM_MAX_MR, sizeof(*func->mr));
    if ((func->mr == NULL) || (pci_func_renew(func) != 0)) {
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

/* The guest's memory has become less: nothing on it can be relied on. */
static void func_check_memory(struct pci_func *func)
{
    if (!pci_guest_is_lost(&func->guest)) {
        func->is_lost = 0;
    } else if (!func->is_lost) {
        func->is_lost = 1;
        pci_log(func, "the machine's memory is gone (its file was truncated, "
                      "or its file system is full): the device is in the "
                      "fatal state. Restart the machine");
        pci_event_fatal(func);
    }
}

unsigned pci_func_progress(struct pci_func *func)
{
    unsigned done = pci_admin_progress(func);

    pci_event_keep_alive(func);
    pci_event_beat(func);
    func_check_memory(func);
    pci_log_flush(func);
    return done + ((func->sim == NULL) ? 0 : sim_dev_progress(func->sim));
}

int pci_func_is_busy(const struct pci_func *func)
{
    return pci_admin_is_busy(func) ||
           ((func->sim != NULL) && sim_dev_is_busy(func->sim));
}
