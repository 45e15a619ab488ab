/* SPDX-License-Identifier: BSD-3-Clause */
/* Places of processes in a fabric's directory. */
#include "slot.h"
#include "folder.h"
#include "process.h"

#include "files/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void fabric_slot_free(struct fabric *fabric, struct dir_slot *slot)
{
    uint32_t owner = atomic_load(&slot->owner);

    if (slot->is_device) {
        dir_purge(fabric->dir, slot->nic % SIM_NICS, owner);
    }
    atomic_store(&slot->owner, 0);
    atomic_store(&slot->state, DIR_SLOT_FREE);
}

int fabric_slot_is_alive(const struct dir_slot *slot)
{
    return fabric_process_is_alive(slot->pid, slot->start_time, slot->pid_ns,
                                   slot->mark);
}

struct dir_slot *fabric_slot_own(const struct fabric *fabric, int is_device)
{
    struct dir_slot *slot = fabric->dir->slot;
    int pid               = getpid();

    for (; slot < fabric->dir->slot + SIM_SLOTS; ++slot) {
        if ((atomic_load(&slot->state) == DIR_SLOT_LIVE) &&
            (slot->pid == pid) && (!slot->is_device == !is_device) &&
            (is_device || (slot->nic == fabric->nic)) &&
            (slot->pid_ns == fabric_process_ns()) &&
            (slot->start_time == fabric_process_start(pid))) {
            return slot;
        }
    }
    return NULL;
}

/* Each process with many devices is looked for once. */
unsigned fabric_reap(struct fabric *fabric)
{
    unsigned live = 0, is_alive = 0, i;
    struct dir_slot *slot, *last = NULL;

    for (i = 0; i < SIM_SLOTS; ++i) {
        slot = &fabric->dir->slot[i];
        if (atomic_load(&slot->state) == DIR_SLOT_FREE) {
            continue;
        }
        if ((last == NULL) || (slot->pid != last->pid) ||
            (slot->start_time != last->start_time) ||
            (slot->pid_ns != last->pid_ns) ||
            (slot->mark.value != last->mark.value)) {
            is_alive = fabric_slot_is_alive(slot) != 0;
        }
        last  = slot;
        live += is_alive;
        if (!is_alive) {
            fabric_slot_free(fabric, slot);
        }
    }
    return live;
}

int fabric_owner_is_alive(struct fabric *fabric, uint32_t owner)
{
    struct dir_slot *slot = &fabric->dir->slot[dir_owner_slot(owner) %
                                               SIM_SLOTS];
    int lock, alive;

    if (atomic_load(&slot->owner) != owner) {
        return 0;
    }
    alive = fabric_slot_is_alive(slot);
    if (alive != 0) {
        return alive;
    }

    lock = fabric_lock(fabric->path, 1);
    if (atomic_load(&slot->owner) == owner) {
        fabric_slot_free(fabric, slot);
    }
    output_close(lock);
    return 0;
}

/* Say whose the slot is; a further device's asks nobody. One without a device
 * is for what the process executes, too. */
static void fabric_slot_sign(const struct fabric *fabric, struct dir_slot *slot)
{
    const struct dir_slot *like = (fabric->like < 0) ?
                                  NULL : &fabric->dir->slot[fabric->like];

    slot->pid = getpid();
    if ((like != NULL) && (like->pid == slot->pid)) {
        slot->start_time = like->start_time;
        slot->pid_ns     = like->pid_ns;
    } else {
        slot->start_time = fabric_process_start(slot->pid);
        slot->pid_ns     = fabric_process_ns();
    }
    slot->mark = slot->is_device ? fabric_process_mark() :
                                   (struct dir_mark){ 0 };
}

int fabric_attach_locked(struct fabric *fabric, unsigned nic, int is_device)
{
    struct dir *dir = fabric->dir;
    struct dir_slot *slot;
    uint32_t index, gen;
    unsigned i;

    fabric->nic = nic;
    slot        = is_device ? NULL : fabric_slot_own(fabric, 0);
    if (slot != NULL) {
        fabric->slot  = slot - dir->slot;
        fabric->owner = atomic_load(&slot->owner);
        return 0;
    }

    for (i = 0; i < SIM_SLOTS; ++i) {
        index = (dir->next_slot + i) % SIM_SLOTS;
        slot  = &dir->slot[index];
        if (atomic_load(&slot->state) == DIR_SLOT_FREE) {
            break;
        }
    }
    if (i == SIM_SLOTS) {
        errno = ENOSPC;
        return -1;
    }

    dir->next_slot = index + 1;
    slot->nic       = nic;
    slot->is_device = is_device;
    fabric_slot_sign(fabric, slot);
    slot->home      = index;
    atomic_store(&slot->sleeping, DIR_AWAKE);
    memset((void*)slot->inbound, 0, sizeof(slot->inbound));
    memset((void*)slot->ah, 0, sizeof(slot->ah));
    gen = (atomic_fetch_add(&slot->gen, 1) + 1) & 0xffff;

    fabric->slot  = index;
    fabric->owner = dir_owner(index, gen);
    atomic_store(&slot->owner, fabric->owner);
    atomic_store(&slot->state, DIR_SLOT_LIVE);
    return 0;
}
