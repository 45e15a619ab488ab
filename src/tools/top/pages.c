/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "pages.h"

#include <flow/limits.h>
#include <flow/look.h>
#include <uct/ib/efa/efa_clock.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES_TRIES  100 /* to read a page that is being written, at once */
#define PAGES_PAUSES 100 /* of 1 ms, for all pages of a reading: who writes one
                            may have lost its processor amidst it */

/* Makes text of another process safe: terminated, and only printable ASCII. */
static void pages_clean(char *text, size_t size)
{
    size_t i;

    text[size - 1] = '\0';
    for (i = 0; text[i] != '\0'; ++i) {
        if ((text[i] <= ' ') || (text[i] > '~')) {
            text[i] = '?';
        }
    }
}

static void pages_clean_row(base_top_row_t *row)
{
    if (row->blocked > BASE_TOP_SHARE) {
        row->blocked = BASE_TOP_SHARE;
    }
    if (row->refused > BASE_TOP_SHARE) {
        row->refused = BASE_TOP_SHARE;
    }
    if (row->depth > FLOW_WINDOW_MAX) {
        row->depth = FLOW_WINDOW_MAX;
    }
    if (row->wait >= FLOW_LOOK_WAITS) {
        row->wait = FLOW_LOOK_FREE;
    }
}

/* 0: too short, or it was being written at each try. */
static int pages_whole(int fd, base_top_page_t *page, unsigned *pauses)
{
    unsigned tries = 0;

    while (pread(fd, page, sizeof(*page), 0) == (ssize_t)sizeof(*page)) {
        if (page->hash == base_top_hash(page)) {
            return 1;
        }
        if (++tries >= PAGES_TRIES) {
            if (*pauses == PAGES_PAUSES) {
                return 0;
            }
            ++*pauses;
            (void)poll(NULL, 0, 1);
        }
    }
    return 0;
}

/* 0: it is not a page, or was being written at each try. */
static int pages_load(int fd, base_top_page_t *page, unsigned *pauses)
{
    unsigned i;

    if (!pages_whole(fd, page, pauses) || (page->size != sizeof(*page)) ||
        memcmp(page->magic, BASE_TOP_MAGIC, sizeof(page->magic)) ||
        (page->rows > BASE_TOP_ROWS) || (page->moved > page->written) ||
        (page->progressed > page->written)) {
        return 0;
    }
    pages_clean(page->host, sizeof(page->host));
    pages_clean(page->program, sizeof(page->program));
    pages_clean(page->device, sizeof(page->device));
    pages_clean(page->transport, sizeof(page->transport));
    if (page->rank < 0) {
        page->rank = -1;
    }
    for (i = 0; i < page->rows; ++i) {
        pages_clean_row(&page->row[i]);
    }
    return 1;
}

/* The process's PID in its own PID namespace, the innermost. */
static uint32_t pages_own_pid(long pid)
{
    char     path[64], line[256], *number;
    FILE    *file;
    uint32_t own = 0;

    snprintf(path, sizeof(path), "/proc/%ld/status", pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        number = strrchr(line, '\t');
        if (!strncmp(line, "NSpid:", 6) && (number != NULL)) {
            own = (uint32_t)strtoul(number, NULL, 10);
        }
    }
    fclose(file);
    return own;
}

/* Facts of a process that all its pages share. */
typedef struct pages_of {
    long     pid;
    uint32_t own; /* PID in its own PID namespace */
    char     state;
    uint64_t ticks;
    double   awake;
} pages_of_t;

/* proc(5): the command may have any characters, brackets too. */
static void pages_stat(pages_of_t *one)
{
    unsigned long long user = 0, system = 0;
    char               path[64], text[1024], *rest;
    FILE              *file;
    size_t             length;

    one->state = '?';
    one->ticks = 0;
    snprintf(path, sizeof(path), "/proc/%ld/stat", one->pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return;
    }
    length       = fread(text, 1, sizeof(text) - 1, file);
    text[length] = '\0';
    fclose(file);
    rest = strrchr(text, ')');
    if ((rest != NULL) &&
        (sscanf(rest + 1,
                " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                &one->state, &user, &system) == 3)) {
        one->ticks = user + system;
    }
}

static void pages_of(pages_of_t *one, long pid, const pages_t *pages,
                     const pages_t *before)
{
    const pages_one_t *last;
    double             used;
    unsigned           i;

    one->pid   = pid;
    one->own   = pages_own_pid(pid);
    one->awake = -1;
    pages_stat(one);
    for (i = 0; i < before->count; ++i) {
        last = &before->list[i];
        if ((last->pid == pid) && (last->ticks <= one->ticks) &&
            (before->when < pages->when)) {
            used = (double)(one->ticks - last->ticks) * 1e9 /
                   (double)sysconf(_SC_CLK_TCK);
            one->awake = used / (double)(pages->when - before->when);
            /* runnable at both: it wants a processor that others have */
            one->awake += (one->state == 'R') && (last->state == 'R');
            return;
        }
    }
}

static void pages_times(pages_one_t *one, const pages_t *pages)
{
    uint64_t written = one->page.written;

    one->age   = (written < pages->when) ?
                         (double)(pages->when - written) / 1e9 :
                         0;
    one->idle  = (double)(written - one->page.moved) / 1e9 + one->age;
    one->quiet = one->idle;
    one->away  = (double)(written - one->page.progressed) / 1e9;
}

static double pages_least(double first, double second)
{
    return (first < second) ? first : second;
}

/* Tells each page of a process, the last `count`, what all of them say. */
static void pages_share(pages_one_t *list, unsigned count)
{
    pages_one_t least = list[0];
    unsigned    i;

    for (i = 1; i < count; ++i) {
        least.age   = pages_least(least.age, list[i].age);
        least.quiet = pages_least(least.quiet, list[i].quiet);
        least.away  = pages_least(least.away, list[i].away);
    }
    for (i = 0; i < count; ++i) {
        list[i].age   = least.age;
        list[i].quiet = least.quiet;
        list[i].away  = least.away;
    }
}

/* Clears the rates of a stale page. */
static void pages_forget(base_top_page_t *page)
{
    unsigned i;

    for (i = 0; i < page->rows; ++i) {
        page->row[i].sent     = 0;
        page->row[i].received = 0;
        page->row[i].bytes    = 0;
    }
}

/* Room for one more page; NULL: out of memory, or too many pages. */
static pages_one_t *pages_next(pages_t *pages)
{
    unsigned     max = (pages->max == 0) ? 16 : pages->max * 2;
    pages_one_t *list;

    if (pages->count >= PAGES_MAX) {
        return NULL;
    }
    if (pages->count == pages->max) {
        list = realloc(pages->list, max * sizeof(*list));
        if (list == NULL) {
            return NULL;
        }
        pages->list = list;
        pages->max  = max;
    }
    return &pages->list[pages->count];
}

/* Adds the page behind a descriptor with the right name, which any process can
 * forge. Returns whether it is a page of that process. */
static int pages_add(pages_t *pages, const pages_of_t *of, const char *path)
{
    pages_one_t *one = pages_next(pages);
    struct stat  stat;

    if (one == NULL) {
        ++pages->left_out;
        return 0;
    }
    one->fd    = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    one->pid   = of->pid;
    one->state = of->state;
    one->ticks = of->ticks;
    one->awake = of->awake;
    if (one->fd < 0) {
        pages->left_out += (errno == EMFILE) || (errno == ENFILE);
        return 0;
    }
    if ((fstat(one->fd, &stat) != 0) || !S_ISREG(stat.st_mode) ||
        (stat.st_uid != geteuid()) || /* he wrote it who made it */
        (stat.st_size != sizeof(one->page)) ||
        !pages_load(one->fd, &one->page, &pages->pauses)) {
        close(one->fd); /* forged, or of a process that just ended */
        return 0;
    }
    if (one->page.pid != of->own) { /* inherited by a forked child */
        close(one->fd);
        return 0;
    }
    (void)flock(one->fd, LOCK_SH | LOCK_NB); /* else at the next reading */
    pages_times(one, pages);
    if (one->age > PAGES_OLD) {
        pages_forget(&one->page);
    }
    ++pages->count;
    return 1;
}

static void pages_process(pages_t *pages, const pages_t *before, long pid)
{
    static const char name[] = "/memfd:" BASE_TOP_NAME;
    char              path[300], target[64];
    DIR              *dir;
    struct dirent    *entry;
    ssize_t           length;
    unsigned          met = 0, found = 0;
    pages_of_t        of;

    snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    dir = opendir(path);
    if (dir == NULL) {
        return; /* another user's, or gone */
    }
    while ((entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof(path), "/proc/%ld/fd/%s", pid, entry->d_name);
        length         = readlink(path, target, sizeof(target) - 1);
        target[(length > 0) ? length : 0] = '\0';
        if (!strncmp(target, name, sizeof(name) - 1)) {
            if (met++ == 0) {
                pages_of(&of, pid, pages, before);
            }
            if (found < PAGES_PROCESS) { /* others like this have more open */
                found += (unsigned)pages_add(pages, &of, path);
            } else {
                ++pages->left_out;
            }
        }
    }
    closedir(dir);
    if (found > 0) {
        pages_share(pages->list + pages->count - found, found);
    }
}

int pages_read(pages_t *pages, pages_t *before)
{
    DIR            *dir = opendir("/proc");
    struct dirent  *entry;
    struct stat     stat;
    long            pid;

    memset(pages, 0, sizeof(*pages));
    if (dir == NULL) {
        return -1;
    }
    pages->when = efa_clock();
    while ((entry = readdir(dir)) != NULL) {
        pid = strtol(entry->d_name, NULL, 10); /* 0: no process's */
        if ((pid != 0) && (pid != getpid()) && /* it has those of before open */
            (fstatat(dirfd(dir), entry->d_name, &stat, 0) == 0) &&
            (stat.st_uid == geteuid())) {
            pages_process(pages, before, pid);
        }
    }
    closedir(dir);
    pages_release(before);
    return 0;
}

void pages_release(pages_t *pages)
{
    unsigned i;

    for (i = 0; i < pages->count; ++i) {
        close(pages->list[i].fd);
    }
    free(pages->list);
    memset(pages, 0, sizeof(*pages));
}
