/* SPDX-License-Identifier: BSD-3-Clause */
/* Huge pages, where this machine has some free: else there is no question. */
#include "probe.h"

#include <linux/memfd.h>
#include <linux/mman.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, HUGE_NUM = 4 };

/* Behind them nothing may be accessed: no mapping is there by chance. */
static void *huge_map(int prot)
{
    const size_t length = (size_t)HUGE_PAGE * HUGE_NUM;
    char *room = mmap(NULL, length + 2 * HUGE_PAGE, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED) {
        return MAP_FAILED;
    }
    room += HUGE_PAGE - (uintptr_t)room % HUGE_PAGE;
    return mmap(room, length, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
                MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
}

static void huge_ranges(const struct probe *probe, char *at)
{
    static const struct { const char *name; size_t from, length; } all[] = {
        { "one", 0, HUGE_PAGE },
        { "all", 0, (size_t)HUGE_PAGE * HUGE_NUM },
        { "a small page of one", 4096, 4096 },
        { "a byte", HUGE_PAGE + 5, 1 },
        { "across two", HUGE_PAGE - 4096, 8192 },
        { "beyond the last", 0, (size_t)HUGE_PAGE * HUGE_NUM + 4096 },
    };
    unsigned i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        probe_reg(probe, at + all[i].from, all[i].length,
                  IBV_ACCESS_LOCAL_WRITE, "huge pages, %s", all[i].name);
    }
    probe_reg(probe, at, HUGE_PAGE, 0, "huge pages, to be read");
    probe_reg(probe, at, HUGE_PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_HUGETLB,
              "huge pages, said to be so");
}

/* As a user: a huge page is 512 small ones. */
static void huge_locked(const struct probe *probe)
{
    struct ibv_mr *mr[2];

    mr[0] = ibv_reg_mr(probe->pd, probe->page, HUGE_PAGE, 1);
    probe_say(probe_pointer(mr[0]), "huge pages, within the limit");
    mr[1] = ibv_reg_mr(probe->pd, probe->page + HUGE_PAGE, 4096, 1);
    probe_say(probe_pointer(mr[1]), "huge pages, a small page more");
    if (mr[0] != NULL) {
        ibv_dereg_mr(mr[0]);
    }
    probe_reg(probe, probe->page, 2 * HUGE_PAGE, 1, "huge pages, two");
}

static void huge_read_only(const struct probe *probe)
{
    char *at = huge_map(PROT_READ);

    if (at == MAP_FAILED) {
        return;
    }
    probe_reg(probe, at, HUGE_PAGE, 0, "huge read-only, to be read");
    probe_reg(probe, at, HUGE_PAGE, IBV_ACCESS_LOCAL_WRITE,
              "huge read-only, to be written");
    munmap(at, (size_t)HUGE_PAGE * HUGE_NUM);
}

/* Pages of a file, which is cut short while they are mapped */
static void huge_file(const struct probe *probe)
{
    int fd   = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
    char *at = ((fd < 0) || (ftruncate(fd, 2 * HUGE_PAGE) != 0)) ? MAP_FAILED :
               mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
                    fd, 0);

    if (at != MAP_FAILED) {
        probe_reg(probe, at, 2 * HUGE_PAGE, 1, "huge pages of a file");
        probe_reg(probe, at + HUGE_PAGE - 4096, 8192, 1,
                  "huge pages of a file, across two");
        probe_say(ftruncate(fd, HUGE_PAGE) ? "no" : "ok",
                  "huge pages of a file, cut short");
        probe_reg(probe, at, 2 * HUGE_PAGE, 1,
                  "huge pages of a file, and one that it has no more");
        probe_reg(probe, at, 2 * HUGE_PAGE, 0,
                  "huge pages of a file, and one no more, to be read");
        probe_reg(probe, at, HUGE_PAGE, 1,
                  "huge pages of a file, the one that it has");
        munmap(at, 2 * HUGE_PAGE);
    }
    close(fd);
}

void probe_huge(const struct probe *probe)
{
    struct probe own = *probe;
    struct ibv_mr *mr;

    own.page = huge_map(PROT_READ | PROT_WRITE);
    if (own.page == MAP_FAILED) {
        return;
    }
    huge_ranges(&own, own.page);
    probe_say("", "huge pages of a user");
    probe_child(&own, PROBE_USER, HUGE_PAGE, huge_locked);
    own.page += HUGE_PAGE - 8192; /* messages from one page into another */
    probe_say("", "huge pages: data");
    probe_data(&own);
    own.page -= HUGE_PAGE - 8192;

    mr = ibv_reg_mr(own.pd, own.page, HUGE_PAGE, IBV_ACCESS_LOCAL_WRITE);
    munmap(own.page, (size_t)HUGE_PAGE * HUGE_NUM);
    probe_reg(&own, own.page, HUGE_PAGE, 1, "huge pages, unmapped");
    probe_say(mr ? probe_result(ibv_dereg_mr(mr)) : "none",
              "huge pages, unmapped and deregistered");
    huge_file(probe);
    huge_read_only(probe);
}
