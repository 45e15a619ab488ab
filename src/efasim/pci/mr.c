/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr.h"

#include "efasim/engine/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MR_SHIFT_MIN = 12,
    MR_SHIFT_MAX = 31,
    MR_PHYSICAL  = 0x80,
};

/* A page list while it is read */
struct mr_reader {
    const struct pci_guest *guest;
    struct pci_mr          *mr;
    uint64_t                page;    /* bytes of one */
    uint64_t                left;    /* pages still to come */
    uint32_t                room;    /* runs that mr->run has room for */
    uint32_t                budget;
};

static int mr_add(struct mr_reader *reader, uint64_t iova)
{
    struct pci_mr *mr = reader->mr;
    struct pci_run *grown;
    uint32_t room;

    if ((iova & (reader->page - 1)) || (iova + reader->page < iova)) {
        return -EINVAL;
    }

    if ((mr->num == 0) ||
        (mr->run[mr->num - 1].iova +
         (mr->bytes - mr->run[mr->num - 1].at) != iova)) {
        if (mr->num == reader->budget) {
            return -ENOMEM;
        }
        if (mr->num == reader->room) {
            room  = reader->room ? 2 * reader->room : 4;
            grown = realloc(mr->run, room * sizeof(*grown));
            if (grown == NULL) {
                return -ENOMEM;
            }
            mr->run      = grown;
            reader->room = room;
        }
        mr->run[mr->num++] = (struct pci_run){ .at   = mr->bytes,
                                               .iova = iova };
    }

    mr->bytes += reader->page;
    --reader->left;
    return 0;
}

/* As many addresses of pages as are still missing, of so many bytes. */
static int mr_read_list(struct mr_reader *reader, uint64_t list, uint64_t bytes)
{
    uint64_t addr[64];
    uint64_t count = bytes / 8, some, i;
    int ret = 0;

    count = (reader->left < count) ? reader->left : count;
    for (; (count > 0) && (ret == 0); count -= some, list += some * 8) {
        some = (count < 64) ? count : 64;
        if (pci_guest_read(reader->guest, list, addr, some * 8) != 0) {
            return -EINVAL;
        }
        for (i = 0; (i < some) && (ret == 0); ++i) {
            ret = mr_add(reader, addr[i]);
        }
    }
    return ret;
}

/* Chunks that tell where the pages of the list are. Each must bring at least
 * one page nearer, so a ring of them comes to an end. */
static int mr_read_chunks(struct mr_reader *reader, struct pci_buffer chunk)
{
    uint64_t addr[PCI_CHUNK_PTRS], iova;
    unsigned i;
    int ret = 0;

    while (reader->left > 0) {
        iova = ((uint64_t)chunk.addr_hi << 32) | chunk.addr_lo;
        if ((chunk.length <= sizeof(chunk)) ||
            (chunk.length > sizeof(addr) + sizeof(chunk)) ||
            (pci_guest_read(reader->guest, iova, addr,
                            chunk.length - sizeof(chunk)) != 0)) {
            return -EINVAL;
        }

        for (i = 0; (i < (chunk.length - sizeof(chunk)) / 8) &&
                    (reader->left > 0) && (ret == 0); ++i) {
            ret = mr_read_list(reader, addr[i], PCI_LIST_BYTES);
        }
        if (ret != 0) {
            return ret;
        }
        if ((reader->left > 0) &&
            ((i < PCI_CHUNK_PTRS) ||
             (pci_guest_read(reader->guest, iova + sizeof(addr), &chunk,
                             sizeof(chunk)) != 0))) {
            return -EINVAL;
        }
    }
    return 0;
}

static int mr_read(struct mr_reader *reader, const struct pci_admin_cmd *cmd)
{
    struct pci_buffer list = cmd->reg_mr.list;
    uint64_t page[4];
    unsigned i;
    int ret = 0;

    if (cmd->head.flags & PCI_ADMIN_DATA) {
        return (cmd->head.flags & PCI_ADMIN_INDIRECT) ?
               mr_read_chunks(reader, list) :
               mr_read_list(reader,
                            ((uint64_t)list.addr_hi << 32) | list.addr_lo,
                            list.length);
    }

    memcpy(page, cmd->reg_mr.page, sizeof(page));
    for (i = 0; (i < 4) && (reader->left > 0) && (ret == 0); ++i) {
        ret = mr_add(reader, page[i]);
    }
    return ret;
}

struct pci_mr *pci_mr_open(const struct pci_guest *guest,
                           const struct pci_admin_cmd *cmd, uint32_t budget,
                           int *err)
{
    unsigned shift  = cmd->reg_mr.flags & 0x1f;
    uint64_t length = cmd->reg_mr.length;
    struct mr_reader reader = { .guest = guest, .budget = budget };
    struct pci_mr *mr;

    *err = -EINVAL;
    if ((shift < MR_SHIFT_MIN) || (shift > MR_SHIFT_MAX) ||
        (cmd->reg_mr.flags & MR_PHYSICAL) || (length == 0) ||
        (length > SIM_MAX_MR_SIZE)) {
        return NULL;
    }

    mr = calloc(1, sizeof(*mr));
    if (mr == NULL) {
        *err = -ENOMEM;
        return NULL;
    }

    reader.mr   = mr;
    reader.page = 1ull << shift;
    mr->skip    = cmd->reg_mr.iova & (reader.page - 1);
    reader.left = (mr->skip + length + reader.page - 1) >> shift;
    *err        = mr_read(&reader, cmd);
    if ((*err == 0) && (reader.left > 0)) {
        *err = -EINVAL;
    }
    if (*err != 0) {
        pci_mr_close(mr);
        return NULL;
    }
    return mr;
}

void pci_mr_close(struct pci_mr *mr)
{
    if (mr != NULL) {
        free(mr->run);
        free(mr);
    }
}

uint8_t *pci_mr_at(const struct pci_mr *mr, const struct pci_guest *guest,
                   uint64_t at, size_t *length, int is_write)
{
    uint32_t low = 0, high = mr->num, middle;
    uint64_t end;

    at += mr->skip;
    if (at >= mr->bytes) {
        return NULL;
    }

    while (high - low > 1) { /* run[low].at <= at < run[high].at */
        middle = low + (high - low) / 2;
        if (mr->run[middle].at <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }

    end = (low + 1 < mr->num) ? mr->run[low + 1].at : mr->bytes;
    if (*length > end - at) {
        *length = end - at;
    }
    return pci_guest_at(guest, mr->run[low].iova + (at - mr->run[low].at),
                        length, is_write);
}
