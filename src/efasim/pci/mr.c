/* SPDX-License-Identifier: BSD-3-Clause */
#include "mr.h"

#include "efasim/engine/efa_io.h"
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
struct pci_mr_reader {
    const struct pci_guest *guest;
    struct pci_mr          *mr;
    uint64_t                page;      /* bytes of one */
    uint64_t                left;      /* pages still to come */
    uint32_t                room;      /* runs that mr->run has room for */
    uint32_t                budget;
    uint64_t                list;      /* where the next addresses are */
    uint64_t                list_left; /* so many */
    uint8_t                 is_indirect;
    struct pci_buffer       chunk;     /* then: of such lists */
    uint32_t                chunk_at;  /* the next of it */
    uint64_t                low, high; /* of guest memory, found to be mapped */
};

/* Is the page's first byte where the guest has memory? */
static int mr_is_mapped(struct pci_mr_reader *reader, uint64_t iova)
{
    size_t length = SIZE_MAX;

    if ((iova >= reader->low) && (iova < reader->high)) {
        return 1;
    }
    if (pci_guest_at(reader->guest, iova, &length, 0) == NULL) {
        return 0;
    }
    reader->low  = iova;
    reader->high = iova + length;
    return 1;
}

static int mr_add(struct pci_mr_reader *reader, uint64_t iova)
{
    struct pci_mr *mr = reader->mr;
    struct pci_run *grown;
    uint32_t room;

    if ((iova & (reader->page - 1)) || (iova + reader->page < iova) ||
        !mr_is_mapped(reader, iova)) {
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

/* The next list of a chunk; the last of a full chunk tells where the next chunk
 * is. Each list brings a page nearer at least, so a ring of them has an end. */
static int mr_next_list(struct pci_mr_reader *reader)
{
    struct pci_buffer *chunk = &reader->chunk;
    uint64_t iova            = io_addr(chunk->addr_lo, chunk->addr_hi);

    if (!reader->is_indirect) {
        return -EINVAL;
    }
    if (reader->chunk_at == PCI_CHUNK_PTRS) {
        if (pci_guest_read(reader->guest, iova + PCI_CHUNK_PTRS * 8, chunk,
                           sizeof(*chunk)) != 0) {
            return -EINVAL;
        }
        iova             = io_addr(chunk->addr_lo, chunk->addr_hi);
        reader->chunk_at = 0;
    }
    if ((chunk->length <= sizeof(*chunk)) ||
        (chunk->length > PCI_CHUNK_PTRS * 8 + sizeof(*chunk)) ||
        (reader->chunk_at >= (chunk->length - sizeof(*chunk)) / 8) ||
        (pci_guest_read(reader->guest, iova + reader->chunk_at * 8,
                        &reader->list, 8) != 0)) {
        return -EINVAL;
    }

    ++reader->chunk_at;
    reader->list_left = PCI_LIST_ADDRS;
    return 0;
}

int pci_mr_read(struct pci_mr_reader *reader)
{
    uint64_t addr[64], some, i, budget = PCI_MR_PAGES;
    int ret = 0;

    while ((reader->left > 0) && (budget > 0) && (ret == 0)) {
        if (reader->list_left == 0) {
            ret = mr_next_list(reader);
            continue;
        }
        some = (reader->list_left < 64) ? reader->list_left : 64;
        some = (reader->left < some) ? reader->left : some;
        if (pci_guest_read(reader->guest, reader->list, addr, some * 8) != 0) {
            return -EINVAL;
        }
        for (i = 0; (i < some) && (ret == 0); ++i) {
            ret = mr_add(reader, addr[i]);
        }
        reader->list      += some * 8;
        reader->list_left -= some;
        budget            -= (some < budget) ? some : budget;
    }
    return ret ? ret : (reader->left > 0) ? -EAGAIN : 0;
}

static int mr_begin(struct pci_mr_reader *reader,
                    const struct pci_admin_cmd *cmd)
{
    struct pci_buffer list = cmd->reg_mr.list;
    uint64_t page[4];
    unsigned i;
    int ret = 0;

    reader->chunk       = list;
    reader->is_indirect = !!(cmd->head.flags & PCI_ADMIN_INDIRECT);
    if (cmd->head.flags & PCI_ADMIN_DATA) {
        reader->list      = io_addr(list.addr_lo, list.addr_hi);
        reader->list_left = reader->is_indirect ? 0 : list.length / 8;
        return 0;
    }

    reader->is_indirect = 0;
    memcpy(page, cmd->reg_mr.page, sizeof(page));
    for (i = 0; (i < 4) && (reader->left > 0) && (ret == 0); ++i) {
        ret = mr_add(reader, page[i]);
    }
    return ret;
}

int pci_mr_open(const struct pci_guest *guest, const struct pci_admin_cmd *cmd,
                uint32_t budget, struct pci_mr_reader **reader_p)
{
    unsigned shift  = cmd->reg_mr.flags & PCI_MR_PAGE;
    uint64_t length = cmd->reg_mr.length;
    struct pci_mr_reader *reader;
    int ret;

    if ((shift < MR_SHIFT_MIN) || (shift > MR_SHIFT_MAX) ||
        (cmd->reg_mr.flags & MR_PHYSICAL) || (length == 0) ||
        (length > SIM_MAX_MR_SIZE) || (length > pci_guest_bytes(guest))) {
        return -EINVAL;
    }

    reader     = calloc(1, sizeof(*reader));
    if (reader == NULL) {
        return -ENOMEM;
    }
    reader->mr = calloc(1, sizeof(*reader->mr));
    if (reader->mr == NULL) {
        free(reader);
        return -ENOMEM;
    }

    reader->guest    = guest;
    reader->budget   = budget;
    reader->page     = 1ull << shift;
    reader->mr->skip = cmd->reg_mr.iova & (reader->page - 1);
    reader->left     = (reader->mr->skip + length + reader->page - 1) >> shift;
    ret              = mr_begin(reader, cmd);
    if (ret != 0) {
        pci_mr_close(pci_mr_take(reader));
        return ret;
    }
    *reader_p = reader;
    return 0;
}

struct pci_mr *pci_mr_take(struct pci_mr_reader *reader)
{
    struct pci_mr *mr = (reader == NULL) ? NULL : reader->mr;

    free(reader);
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
