/* SPDX-License-Identifier: BSD-3-Clause */
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

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

void pci_region_catch(void)
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

int pci_region_open(struct pci_region *region, int fd, uint64_t offset)
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

void pci_region_close(struct pci_region *region)
{
    struct pci_region **at = &region_all;

    while (*at != region) {
        at = &(*at)->next;
    }
    *at = region->next;
    munmap(region->map, region->map_size);
}
