/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"
#include "event.h"
#include "func.h"
#include "log.h"

#include "efasim/fabric/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A ring from one owner to another. It stays until neither maps it and one of
 * them is gone. */
struct pci_link {
    struct pci_link *next;
    struct ring     *ring;
    uint32_t         from, to;
    unsigned         maps;
};

int pci_world_open(struct pci_world *world)
{
    struct dir *dir = mmap(NULL, sizeof(*dir), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    memset(world, 0, sizeof(*world));
    world->trace_fd = -1;
    if (dir == MAP_FAILED) {
        return -errno;
    }
    if (syscall(SYS_getrandom, &dir->id, sizeof(dir->id), 0) !=
        sizeof(dir->id)) {
        dir->id = getpid();
    }

    dir->size  = sizeof(*dir);
    dir->epoch = fabric_clock();
    dir->magic = DIR_MAGIC;
    world->dir = dir;
    return 0;
}

static int world_is_owner(const struct pci_world *world, uint32_t owner)
{
    return atomic_load(&world->dir->slot[dir_owner_slot(owner) % SIM_SLOTS]
                                .owner) == owner;
}

/* Free the rings that nobody needs any more. */
static void world_prune(struct pci_world *world)
{
    struct pci_link **at = &world->links, *link;

    while ((link = *at) != NULL) {
        if ((link->maps > 0) || (world_is_owner(world, link->from) &&
                                 world_is_owner(world, link->to))) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        free(link->ring);
        free(link);
    }
}

void pci_world_close(struct pci_world *world)
{
    if (world->dir != NULL) {
        world_prune(world);
        munmap(world->dir, sizeof(*world->dir));
        world->dir = NULL;
    }
}

uint32_t pci_world_attach(struct pci_world *world, unsigned index)
{
    struct dir_slot *slot = &world->dir->slot[index];
    uint32_t gen          = (atomic_fetch_add(&slot->gen, 1) + 1) & 0xffff;

    slot->nic       = dir_nic_of(index, 0);
    slot->is_device = 1;
    slot->home      = index;
    memset((void*)slot->inbound, 0, sizeof(slot->inbound));
    memset((void*)slot->ah, 0, sizeof(slot->ah));
    atomic_store(&slot->owner, dir_owner(index, gen));
    atomic_store(&slot->state, DIR_SLOT_LIVE);
    return dir_owner(index, gen);
}

void pci_world_leave(struct pci_world *world, unsigned index)
{
    struct dir_slot *slot = &world->dir->slot[index];

    dir_purge(world->dir, slot->nic, atomic_load(&slot->owner));
    atomic_store(&slot->owner, 0);
    atomic_store(&slot->state, DIR_SLOT_FREE);
    world_prune(world);
}

/* ------------------------------------------------ what the engine asks for */

static uint64_t world_now(void *env)
{
    (void)env;
    return fabric_clock();
}

static struct ring *world_ring(struct pci_world *world, uint32_t from,
                               uint32_t to, int create)
{
    struct pci_link *link = world->links;

    while ((link != NULL) && ((link->from != from) || (link->to != to))) {
        link = link->next;
    }
    if ((link == NULL) && create) {
        link = calloc(1, sizeof(*link));
        if (link == NULL) {
            return NULL;
        }
        link->ring = aligned_alloc(64, (sizeof(*link->ring) + 63) & ~63ul);
        if (link->ring == NULL) {
            free(link);
            return NULL;
        }
        memset((void*)link->ring, 0, sizeof(*link->ring));
        link->from   = from;
        link->to     = to;
        link->next   = world->links;
        world->links = link;
    }
    if (link == NULL) {
        return NULL;
    }

    ++link->maps;
    return link->ring;
}

static struct ring *world_ring_map_tx(void *env, uint32_t owner)
{
    struct pci_func *func = env;

    return world_ring(func->world, func->owner, owner, 1);
}

static struct ring *world_ring_map_rx(void *env, uint32_t owner)
{
    struct pci_func *func = env;

    return world_ring(func->world, owner, func->owner, 0);
}

static void world_ring_unmap(void *env, struct ring *ring)
{
    struct pci_world *world = ((struct pci_func*)env)->world;
    struct pci_link *link;

    for (link = world->links; link != NULL; link = link->next) {
        if (link->ring == ring) {
            --link->maps;
            break;
        }
    }
    world_prune(world);
}

/* All functions are driven by one loop: none sleeps. */
static void world_wake(void *env, unsigned slot)
{
    (void)env;
    (void)slot;
}

static int world_is_alive(void *env, uint32_t owner)
{
    return world_is_owner(((struct pci_func*)env)->world, owner);
}

/* Where an address of the engine's is, in a registration of `func` or in the
 * guest's memory. */
static uint8_t *world_at(const void *of, uint64_t addr, size_t *length,
                         int is_write)
{
    const struct pci_func *func = of;
    struct pci_mr *mr;

    if (addr & PCI_ADDR_GUEST) {
        return pci_guest_at(&func->guest, addr & ~PCI_ADDR_GUEST, length,
                            is_write);
    }
    mr = pci_func_mr(func, addr);
    return (mr == NULL) ? NULL :
           pci_mr_at(mr, &func->guest, addr & PCI_MR_OFFSET, length, is_write);
}

static int world_rdma(void *env, uint32_t owner, enum io_tx_op op,
                      struct sim_near near, uint64_t addr, size_t length)
{
    struct pci_func *func = env, *peer;
    size_t piece, far_piece;
    const uint8_t *src;
    uint8_t *far, *dst;

    peer = func->world->func[dir_owner_slot(owner) % SIM_HOSTS];
    if ((peer == NULL) || (peer->owner != owner)) {
        return -ESRCH;
    }

    for (; length > 0; length -= piece, addr += piece, near.addr += piece) {
        piece     = length;
        far_piece = length;
        far       = world_at(peer, addr, &far_piece, op == IO_OP_WRITE);
        dst       = NULL;
        src       = near.bytes;
        if (near.bytes == NULL) {
            dst = world_at(func, near.addr, &piece, op == IO_OP_READ);
            src = dst;
        } else {
            near.bytes += far_piece;
        }
        if ((far == NULL) || (src == NULL)) {
            return -EFAULT;
        }
        piece = (piece < far_piece) ? piece : far_piece;
        if (op == IO_OP_WRITE) {
            memmove(far, src, piece);
        } else {
            memmove(dst, far, piece);
        }
    }
    return 0;
}

/* Memory that is not there (the guest took it away while registered) reads as
 * zeros, and writes to it are lost. */
static void world_mem_read(void *env, void *dst, uint64_t addr, size_t length)
{
    size_t left = pci_guest_copy(world_at, env, addr, dst, length, 0);

    memset((uint8_t*)dst + (length - left), 0, left);
}

static void world_mem_write(void *env, uint64_t addr, const void *src,
                            size_t length)
{
    (void)pci_guest_copy(world_at, env, addr, (void*)src, length, 1);
}

static void world_event(void *env, struct sim_cq *cq)
{
    pci_event_completion(env, cq);
}

static void world_log(void *env, const char *line)
{
    pci_log(env, line);
}

static void world_trace(void *env, const char *line)
{
    struct pci_func *func = env;
    uint64_t now          = fabric_clock() - func->world->dir->epoch;
    char buf[320];
    ssize_t done;
    int length;

    length = snprintf(buf, sizeof(buf), "%llu.%06llu function=%u %s\n",
                      (unsigned long long)(now / 1000000000),
                      (unsigned long long)(now / 1000 % 1000000), func->index,
                      line);
    length = (length < (int)sizeof(buf)) ? length : (int)sizeof(buf) - 1;
    done   = write(func->world->trace_fd, buf, length);
    if ((done != length) && !func->world->is_cut) { /* the guest matters more */
        func->world->is_cut = 1;
        snprintf(buf, sizeof(buf), "--trace: not all could be written (%s): "
                 "make room, or name another file",
                 strerror((done < 0) ? errno : ENOSPC));
        pci_log(func, buf);
    }
}

static void world_fatal(void *env, enum sim_fatal what)
{
    (void)what; /* either way the guest's device is broken: it stays there */
    pci_event_fatal(env);
}

const struct sim_env_ops pci_world_ops = {
    .now         = world_now,
    .ring_map_tx = world_ring_map_tx,
    .ring_map_rx = world_ring_map_rx,
    .ring_unmap  = world_ring_unmap,
    .wake        = world_wake,
    .is_alive    = world_is_alive,
    .rdma        = world_rdma,
    .mem_read    = world_mem_read,
    .mem_write   = world_mem_write,
    .event       = world_event,
    .log         = world_log,
    .trace       = world_trace,
    .fatal       = world_fatal,
};
