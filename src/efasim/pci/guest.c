/* SPDX-License-Identifier: BSD-3-Clause */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { GUEST_PAGE = 4096 };

static struct pci_region *region_all;

/* mmap() is a bare system call, and the signal comes from a touch of guest
 * memory alone, never in the middle of a list's change. */
static void region_bus(int sig, siginfo_t *info, void *context)
{
    const uint8_t *at = info->si_addr;
    struct pci_region *region;
    int saved = errno;

    (void)context;
    for (region = region_all; region != NULL; region = region->next) {
        if ((at >= region->map) && (at < region->map + region->map_size) &&
            (mmap(region->map, region->map_size, PROT_READ | PROT_WRITE,
                  MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0) != MAP_FAILED)) {
            region->lost = 1;
            errno        = saved;
            return;
        }
    }
    signal(sig, SIG_DFL); /* a fault of ours: it comes again, and ends us */
}

void pci_guest_catch(void)
{
    struct sigaction action = { .sa_sigaction = region_bus,
                                .sa_flags     = SA_SIGINFO };

    sigaction(SIGBUS, &action, NULL);
}

/* The pages of the file, 0: it is not one of memory, or too short. Only files
 * of memory have seals; any other might not answer fstat() for long. */
static uint64_t region_page(int fd, uint64_t offset, uint64_t size)
{
    struct statfs system;
    struct stat file;

    if ((fcntl(fd, F_GET_SEALS) < 0) || (fstat(fd, &file) != 0) ||
        (fstatfs(fd, &system) != 0) || !S_ISREG(file.st_mode) ||
        (offset > (uint64_t)file.st_size) ||
        (size > (uint64_t)file.st_size - offset)) {
        return 0;
    }
    return (system.f_type == HUGETLBFS_MAGIC) ? (uint64_t)system.f_bsize :
                                                (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Map region->size bytes of the file from `offset` on. */
static int region_open(struct pci_region *region, int fd, uint64_t offset)
{
    uint64_t page = region_page(fd, offset, region->size);
    uint64_t skip;

    if (page == 0) {
        return -EINVAL;
    }

    /* huge pages are mapped and unmapped as wholes */
    skip             = offset & (page - 1);
    region->map_size = (skip + region->size + page - 1) & ~(page - 1);
    region->map      = mmap(NULL, region->map_size,
                            PROT_READ | (region->writable ? PROT_WRITE : 0),
                            MAP_SHARED, fd, (off_t)(offset - skip));
    if (region->map == MAP_FAILED) {
        return -errno;
    }

    region->ptr  = region->map + skip;
    region->next = region_all;
    region_all   = region;
    return 0;
}

static void region_close(struct pci_region *region)
{
    struct pci_region **at = &region_all;

    while (*at != region) {
        at = &(*at)->next;
    }
    *at = region->next;
    munmap(region->map, region->map_size);
}

static int guest_overlaps(const struct pci_guest *guest, uint64_t iova,
                          uint64_t size)
{
    const struct pci_region *region;
    unsigned i;

    for (i = 0; i < guest->num; ++i) {
        region = guest->region[i];
        if ((iova < region->iova + region->size) &&
            (region->iova < iova + size)) {
            return 1;
        }
    }
    return 0;
}

uint64_t pci_guest_bytes(const struct pci_guest *guest)
{
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < guest->num; ++i) {
        sum += guest->region[i]->size;
    }
    return sum;
}

int pci_guest_map(struct pci_guest *guest, uint64_t iova, uint64_t size, int fd,
                  uint64_t offset, int writable)
{
    struct pci_region *region;
    int err;

    if ((size == 0) || (iova + size < iova) || (offset + size < offset) ||
        ((iova | size | offset) & (GUEST_PAGE - 1)) ||
        guest_overlaps(guest, iova, size)) {
        return -EINVAL;
    }
    if (fd < 0) {
        return 0;
    }
    if ((guest->kept == PCI_GUEST_REGIONS) || (size > PCI_REGION_TOTAL) ||
        (guest->kept_bytes > PCI_REGION_TOTAL - size)) {
        return -ENOSPC;
    }

    region = calloc(1, sizeof(*region));
    if (region == NULL) {
        return -ENOMEM;
    }

    region->guest    = guest;
    region->iova     = iova;
    region->size     = size;
    region->refs     = 1;
    region->writable = !!writable;
    err              = region_open(region, fd, offset);
    if (err != 0) {
        free(region);
        return err;
    }

    guest->region[guest->num++] = region;
    guest->kept_bytes          += size;
    ++guest->kept;
    return 0;
}

/* 1: some of the region lies in the range, -1: all of it */
static int guest_within(const struct pci_region *region, uint64_t first,
                        uint64_t last)
{
    uint64_t end = region->iova + region->size - 1;

    if ((end < first) || (region->iova > last)) {
        return 0;
    }
    return ((region->iova >= first) && (end <= last)) ? -1 : 1;
}

int pci_guest_unmap(struct pci_guest *guest, uint64_t iova, uint64_t size)
{
    struct pci_region *region;
    unsigned i, kept = 0;

    if ((size == 0) || (iova + (size - 1) < iova)) {
        return -EINVAL;
    }
    for (i = 0; i < guest->num; ++i) {
        if (guest_within(guest->region[i], iova, iova + (size - 1)) > 0) {
            return -EINVAL;
        }
    }
    for (i = 0; i < guest->num; ++i) {
        region = guest->region[i];
        if (guest_within(region, iova, iova + (size - 1))) {
            pci_guest_release(region);
        } else {
            guest->region[kept++] = region;
        }
    }
    guest->num = kept;
    return 0;
}

int pci_guest_is_lost(const struct pci_guest *guest)
{
    unsigned i;

    for (i = 0; i < guest->num; ++i) {
        if (guest->region[i]->lost) {
            return 1;
        }
    }
    return 0;
}

void pci_guest_clear(struct pci_guest *guest)
{
    while (guest->num > 0) {
        pci_guest_release(guest->region[--guest->num]);
    }
}

static struct pci_region *guest_find(const struct pci_guest *guest,
                                     uint64_t iova)
{
    struct pci_region *region;
    unsigned i;

    for (i = 0; i < guest->num; ++i) {
        region = guest->region[i];
        if (iova - region->iova < region->size) {
            return region;
        }
    }
    return NULL;
}

uint8_t *pci_guest_at(const void *of, uint64_t iova, size_t *length,
                      int is_write)
{
    const struct pci_guest *guest   = of;
    const struct pci_region *region = guest_find(guest, iova);
    uint64_t at;

    if ((region == NULL) || region->lost || (is_write && !region->writable)) {
        return NULL;
    }

    at = iova - region->iova;
    if (*length > region->size - at) {
        *length = region->size - at;
    }
    return region->ptr + at;
}

size_t pci_guest_copy(pci_guest_place place, const void *of, uint64_t addr,
                      void *bytes, size_t length, int is_write)
{
    uint8_t *there;
    size_t piece;

    for (; length > 0; length -= piece, addr += piece) {
        piece = length;
        there = place(of, addr, &piece, is_write);
        if (there == NULL) {
            break;
        }
        memcpy(is_write ? there : bytes, is_write ? bytes : there, piece);
        bytes = (uint8_t*)bytes + piece;
    }
    return length;
}

int pci_guest_read(const struct pci_guest *guest, uint64_t iova, void *dst,
                   size_t length)
{
    return (pci_guest_copy(pci_guest_at, guest, iova, dst, length, 0) ||
            pci_guest_is_lost(guest)) ? -EFAULT : 0;
}

int pci_guest_write(const struct pci_guest *guest, uint64_t iova,
                    const void *src, size_t length)
{
    return pci_guest_copy(pci_guest_at, guest, iova, (void*)src, length, 1) ?
           -EFAULT : 0;
}

uint8_t *pci_guest_hold(struct pci_guest *guest, uint64_t iova, size_t length,
                        struct pci_region **region)
{
    struct pci_region *found = guest_find(guest, iova);

    if ((found == NULL) || found->lost || !found->writable || (length == 0) ||
        (length > found->size - (iova - found->iova))) {
        return NULL;
    }

    ++found->refs;
    *region = found;
    return found->ptr + (iova - found->iova);
}

void pci_guest_release(struct pci_region *region)
{
    if ((region != NULL) && (--region->refs == 0)) {
        region->guest->kept_bytes -= region->size;
        --region->guest->kept;
        region_close(region);
        free(region);
    }
}
