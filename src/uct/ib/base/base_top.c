/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "base_top.h"
#include "base_vfs.h"

#include <record/record_file.h>
#include <uct/ib/efa/efa_clock.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define BASE_TOP_SECOND 1000000000u /* ns */
#define BASE_TOP_SEEN   50000000u  /* between two looks, with a reader, ns */
#define BASE_TOP_FAST   10000000u  /* the same at high message rates, as numbers
                                      of a flow wrap after 65,536 */
#define BASE_TOP_MANY   16384      /* messages between two looks: a high rate */
#define BASE_TOP_COST   20 /* looks take up to 1/20 of the thread's time */

/* In glibc from 2.27 on, F_SEAL_FUTURE_WRITE from 2.31 (memfd_create(2),
 * fcntl(2)). */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC       1u
#define MFD_ALLOW_SEALING 2u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS   (1024 + 9)
#define F_SEAL_SEAL   1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW   4
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 16
#endif

/* Makes and maps the page. The user's limit on file sizes is checked before, as
 * a file beyond it would end the process (SIGXFSZ). 0, or an errno value. */
static int base_top_map(base_top_t *top)
{
    size_t        size = sizeof(*top->page);
    struct rlimit limit;

    if ((getrlimit(RLIMIT_FSIZE, &limit) != 0) || (limit.rlim_cur < size)) {
        return EFBIG;
    }
    top->page_fd = (int)syscall(SYS_memfd_create, BASE_TOP_NAME,
                                MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (top->page_fd < 0) {
        return errno;
    }
    if ((fchmod(top->page_fd, S_IRUSR | S_IWUSR) != 0) ||
        (ftruncate(top->page_fd, (off_t)size) != 0)) {
        return errno;
    }
    top->page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                     top->page_fd, 0);
    if (top->page == MAP_FAILED) {
        top->page = NULL;
        return errno;
    }
    (void)madvise(top->page, size, MADV_DONTFORK);
    /* kernels before 5.1 refuse F_SEAL_FUTURE_WRITE: others can write then */
    (void)fcntl(top->page_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    (void)fcntl(top->page_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    return 0;
}

static void base_top_names(base_top_t *top)
{
    const base_iface_t *iface = top->iface;
    base_top_page_t    *page  = &top->next;
    record_names_t      names;
    char               *end;

    memset(&names, 0, sizeof(names));
    record_file_names(&names);
    memcpy(page->magic, BASE_TOP_MAGIC, sizeof(page->magic));
    page->size = sizeof(*page);
    page->pid  = (uint32_t)getpid();
    page->qpn  = iface->qpn;
    page->rank = (int32_t)strtol(names.rank, &end, 10);
    if ((end == names.rank) || (*end != '\0') || (page->rank < 0)) {
        page->rank = -1;
    }
    memcpy(page->gid, base_iface_md(iface)->device->gid.raw,
           sizeof(page->gid));
    snprintf(page->host, sizeof(page->host), "%s", names.host);
    snprintf(page->program, sizeof(page->program), "%s", names.program);
    snprintf(page->device, sizeof(page->device), "%.31s",
             base_iface_md(iface)->device->name);
    snprintf(page->transport, sizeof(page->transport), "%.7s",
             iface->transport->name);
}

/* A reader at the same time finds a wrong hash, and reads again. */
static void base_top_write(base_top_t *top)
{
    top->next.hash = base_top_hash(&top->next);
    memcpy(top->page, &top->next, sizeof(*top->page));
}

/* Whether a reader holds its lock. */
static int base_top_is_read(const base_top_t *top)
{
    if (flock(top->page_fd, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK;
    }
    flock(top->page_fd, LOCK_UN);
    return 0;
}

static void base_top_set_timer(base_top_t *top, flow_time_t pace)
{
    struct itimerspec spec = {{0, 0}, {0, 0}};

    if (pace == top->pace) {
        return;
    }
    top->pace                = pace;
    spec.it_value.tv_sec     = (time_t)(pace / BASE_TOP_SECOND);
    spec.it_value.tv_nsec    = (long)(pace % BASE_TOP_SECOND);
    spec.it_interval         = spec.it_value;
    timerfd_settime(top->timer_fd, 0, &spec, NULL);
}

static flow_time_t
base_top_pace(const base_top_t *top, uint64_t messages, flow_time_t cost)
{
    flow_time_t pace = (messages > BASE_TOP_MANY) ? BASE_TOP_FAST :
                                                    BASE_TOP_SEEN;

    if (!base_top_is_read(top)) {
        return BASE_TOP_SECOND;
    }
    pace = (pace < cost * BASE_TOP_COST) ? BASE_TOP_SEEN * 4 : pace;
    return (pace < cost * BASE_TOP_COST) ? BASE_TOP_SECOND : pace;
}

static void
base_top_run(int fd, ucs_event_set_types_t events, void *arg)
{
    base_top_t   *top   = arg;
    base_iface_t *iface = top->iface;
    uint64_t      expirations, posted;
    flow_time_t   now;

    (void)events;
    if (read(fd, &expirations, sizeof(expirations)) < 0) {
        return;
    }
    base_vfs_lock();
    now = efa_clock();
    base_top_look(iface, &top->second, &top->bytes, now);
    if (now - top->second.began >= BASE_TOP_SECOND - BASE_TOP_FAST) {
        base_top_fill(iface, &top->second, &top->next, now);
        base_top_write(top);
    }
    base_vfs_unlock();
    posted       = iface->ops_posted - top->posted;
    top->posted += posted;
    base_top_set_timer(top, base_top_pace(top, posted, efa_clock() - now));
}

static void base_top_free(base_top_t *top)
{
    if (top->timer_fd >= 0) {
        close(top->timer_fd);
    }
    if (top->page != NULL) {
        munmap(top->page, sizeof(*top->page));
    }
    if (top->page_fd >= 0) {
        close(top->page_fd);
    }
    base_top_bytes_close(&top->bytes);
    free(top);
}

/* NULL, or the reason why there is no page. */
static const char *base_top_start(base_top_t *top)
{
    const ucx_host_t *host = top->iface->super.host;
    ucs_status_t      status;
    int               err;

    if (!base_top_bytes_open(&top->bytes, &top->iface->ops)) {
        return strerror(ENOMEM);
    }
    err = base_top_map(top);
    if (err != 0) {
        return strerror(err);
    }
    top->timer_fd = timerfd_create(CLOCK_MONOTONIC,
                                   TFD_NONBLOCK | TFD_CLOEXEC);
    if (top->timer_fd < 0) {
        return strerror(errno);
    }
    base_top_names(top);
    top->second.began = efa_clock();
    top->second.moved = top->second.began;
    top->next.written    = top->second.began;
    top->next.moved      = top->second.began;
    top->next.progressed = top->second.began;
    base_top_write(top); /* before it has endpoints */
    base_top_set_timer(top, BASE_TOP_SECOND);
    status = host->async_set_event_handler(UCS_ASYNC_MODE_THREAD_MUTEX,
                                           top->timer_fd,
                                           UCS_EVENT_SET_EVREAD, base_top_run,
                                           top, NULL);
    return (status == UCS_OK) ? NULL : host->status_string(status);
}

void base_top_open(base_iface_t *iface)
{
    base_top_t *top;
    const char *why;

    if (!base_iface_md(iface)->top || (iface->top != NULL)) {
        return;
    }
    top = calloc(1, sizeof(*top));
    if (top == NULL) {
        return;
    }
    top->iface    = iface;
    top->page_fd  = -1;
    top->timer_fd = -1;
    why           = base_top_start(top);
    if (why != NULL) {
        host_debug(iface->super.host, "%s: not shown by srd_info --top: %s",
                   base_iface_md(iface)->device->name, why);
        base_top_free(top);
        return;
    }
    iface->top = top;
}

void base_top_close(base_iface_t *iface)
{
    base_top_t *top = iface->top;

    if (top != NULL) {
        iface->super.host->async_remove_handler(top->timer_fd, 1);
        base_top_free(top);
        iface->top = NULL;
    }
}
