/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* program_invocation_short_name */
#endif
#include "record_file.h"

#include <files/bus.h>
#include <files/output.h>
#include <flow/image.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/*
 * Recordings that lose their file (bus.h): the store goes to memory that nobody
 * reads, and the recording ends. A child after fork(2) has no recording of its
 * own, and loses its parent's likewise.
 */

/* The handler walks the list at any time, hence no guard is ever freed: one
 * without a map is free. */
typedef struct record_guard {
    struct record_guard *next;
    record_t            *record;
    uint8_t             *map; /* NULL: a free guard */
    size_t               size;
    const char          *lost; /* why; NULL: it is not */
} record_guard_t;

static record_guard_t *record_guards;
static unsigned        record_guards_used;
static pthread_mutex_t record_guard_lock = PTHREAD_MUTEX_INITIALIZER;

/* Puts memory in place of the file. 0: failed. In a signal handler, and in a
 * child that was just forked. */
static int record_guard_lose(record_guard_t *guard, uint8_t *map,
                             const char *why)
{
    if (mmap(map, guard->size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        return 0;
    }
    guard->record->end = map;
    guard->lost        = why;
    return 1;
}

/* The guard of this address. It is the one of the calling thread, so that it
 * stays; others may come and go meanwhile: they are read twice. */
static record_guard_t *record_guard_find(const uint8_t *at, uint8_t **map)
{
    record_guard_t *guard = __atomic_load_n(&record_guards, __ATOMIC_ACQUIRE);
    size_t          size;

    for (; guard != NULL; guard = guard->next) {
        *map = __atomic_load_n(&guard->map, __ATOMIC_ACQUIRE);
        size = __atomic_load_n(&guard->size, __ATOMIC_ACQUIRE);
        if ((*map != NULL) && (at >= *map) && ((size_t)(at - *map) < size) &&
            (__atomic_load_n(&guard->map, __ATOMIC_ACQUIRE) == *map)) {
            return guard;
        }
    }
    return NULL;
}

static int record_guard_bus(const uint8_t *at)
{
    uint8_t        *map;
    record_guard_t *guard = record_guard_find(at, &map);

    return (guard != NULL) &&
           record_guard_lose(guard, map,
                             "its file was cut off, or the disk failed");
}

static void record_guard_fork(void)
{
    pthread_mutex_lock(&record_guard_lock);
}

static void record_guard_forked(void)
{
    pthread_mutex_unlock(&record_guard_lock);
}

static void record_guard_forked_child(void)
{
    record_guard_t *guard;

    for (guard = record_guards; guard != NULL; guard = guard->next) {
        if (guard->map != NULL) {
            (void)record_guard_lose(guard, guard->map,
                                    "this is a fork of the process");
        }
    }
    pthread_mutex_unlock(&record_guard_lock);
}

/* Under the lock: the first guard is used. */
static void record_guard_begin(void)
{
    static int forks;

    bus_take(record_guard_bus);
    if (!forks) {
        forks = pthread_atfork(record_guard_fork, record_guard_forked,
                               record_guard_forked_child) == 0;
    }
}

/* Under the lock: a free guard, at the list; NULL: out of memory. */
static record_guard_t *record_guard_get(void)
{
    record_guard_t *guard = record_guards;

    while ((guard != NULL) && (guard->map != NULL)) {
        guard = guard->next;
    }
    if (guard == NULL) {
        guard = calloc(1, sizeof(*guard));
        if (guard != NULL) {
            guard->next = record_guards;
            __atomic_store_n(&record_guards, guard, __ATOMIC_RELEASE);
        }
    }
    return guard;
}

/* Guards record->map until record_guard_remove. When it is lost, record->end
 * is set to its begin: the next call begins a segment. NULL: out of memory. */
static record_guard_t *record_guard_add(record_t *record)
{
    record_guard_t *guard;

    pthread_mutex_lock(&record_guard_lock);
    guard = record_guard_get();
    if (guard != NULL) {
        guard->record = record;
        guard->lost   = NULL;
        __atomic_store_n(&guard->size, record->map_size, __ATOMIC_RELEASE);
        __atomic_store_n(&guard->map, record->map, __ATOMIC_RELEASE);
        if (record_guards_used++ == 0) {
            record_guard_begin();
        }
    }
    pthread_mutex_unlock(&record_guard_lock);
    return guard;
}

/* To be called before record->map is unmapped. */
static void record_guard_remove(record_guard_t *guard)
{
    pthread_mutex_lock(&record_guard_lock);
    __atomic_store_n(&guard->map, NULL, __ATOMIC_RELEASE);
    if (--record_guards_used == 0) {
        bus_release(record_guard_bus);
    }
    pthread_mutex_unlock(&record_guard_lock);
}

/* Bytes as 64, 64k, 64m, 64GB. 0: not such a number. */
static double record_file_bytes(const char *text)
{
    static const char units[] = "kmgt";
    char             *end;
    double            bytes = strtod(text, &end);
    const char       *unit  = (*end == '\0') ? NULL :
                                               strchr(units, *end | 0x20);

    if ((unit != NULL) && (end != text)) {
        bytes *= (double)(1ull << (10 * (unit - units + 1)));
        end   += ((end[1] | 0x20) == 'b') ? 2 : 1;
    }
    return (*end == '\0') ? bytes : 0;
}

int record_file_where(const char *text, record_where_t *where,
                      const char **why)
{
    const char *colon  = strrchr(text, ':');
    double      size   = (colon != NULL) ? record_file_bytes(colon + 1) :
                                           RECORD_SIZE;
    size_t      length = (colon != NULL) ? (size_t)(colon - text) :
                                           strlen(text);

    if (!((size >= RECORD_SIZE_MIN) && (size <= RECORD_SIZE_MAX))) {
        *why = "the size is not from 4M to 1T";
        return 0;
    }
    where->size = (size_t)size;
    if ((length == 0) || (length >= sizeof(where->dir))) {
        *why = "no folder, or a name of more than 255 bytes";
        return 0;
    }
    memcpy(where->dir, text, length);
    where->dir[length] = '\0';
    return 1;
}

void record_file_names(record_names_t *names)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK", "SLURM_PROCID"};
    struct utsname           system;
    const char              *rank = NULL;
    unsigned                 i;

    for (i = 0; (rank == NULL) && (i < sizeof(ranks) / sizeof(ranks[0])); ++i) {
        rank = getenv(ranks[i]);
    }
    if (uname(&system) != 0) {
        memset(&system, 0, sizeof(system));
    }
    snprintf(names->machine, sizeof(names->machine), "%.15s", system.machine);
    snprintf(names->host, sizeof(names->host), "%.63s", system.nodename);
    snprintf(names->program, sizeof(names->program), "%.31s",
             program_invocation_short_name);
    snprintf(names->rank, sizeof(names->rank), "%.15s",
             (rank != NULL) ? rank : "");
    names->pid     = (uint32_t)getpid();
    names->started = (uint64_t)time(NULL);
}

/* One that is there is another process's of the same number, on another host or
 * before: it is not overwritten. */
static int record_file_create(const record_where_t *where,
                              const record_names_t *names, char *path,
                              size_t path_size)
{
    const char *name;
    unsigned    number;
    int         fd = -1, at;

    for (number = 0; (number < 1000) && (fd < 0); ++number) {
        snprintf(path, path_size, "%s/%s.%u.%s.%u%s%.0u.srdrec", where->dir,
                 names->host, names->pid, names->transport, names->qpn,
                 (number > 0) ? "-" : "", number);
        at  = output_folder(path, &name);
        fd  = (at < 0) ? -1 : openat(at, name, O_RDWR | O_CREAT | O_EXCL |
                                               O_CLOEXEC, 0600);
        output_close(at);
        if ((fd < 0) && (errno != EEXIST)) {
            break;
        }
    }
    return fd;
}

/* Room on the disk for all of it, so that it is not full in the middle. A file
 * beyond the user's limit would end the process (SIGXFSZ). */
static int record_file_room(int fd, size_t size)
{
    size_t        have = 0, step = size, next;
    struct rlimit limit;
    int           err = 0;

    if ((getrlimit(RLIMIT_FSIZE, &limit) == 0) && (limit.rlim_cur < size)) {
        return EFBIG;
    }
    while ((err == 0) && (have < size)) {
        next = (step < size - have) ? step : size - have;
        err  = posix_fallocate(fd, (off_t)have, (off_t)next);
        if (err == 0) {
            have += next;
        } else if (err == EINTR) { /* a profiler's signals may come as often */
            step = (next > 2 * RECORD_PAGE) ? next / 2 : next;
            err  = 0;
        }
    }
    return err;
}

static void *record_file_map(int fd, size_t size)
{
    void *map = MAP_FAILED;
    int   err = record_file_room(fd, size);

    if (err == 0) {
        map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        err = errno;
    }
    errno = err;
    return map;
}

/* A recorder with a map of the file; NULL with errno. */
static record_t *record_file_new(int fd, size_t size)
{
    void     *map = record_file_map(fd, size);
    record_t *record;

    if (map == MAP_FAILED) {
        return NULL;
    }
    record = calloc(1, sizeof(*record));
    if (record != NULL) {
        record->map      = map;
        record->map_size = size;
        record->guard    = record_guard_add(record);
        if (record->guard != NULL) {
            return record;
        }
        free(record);
    }
    munmap(map, size);
    errno = ENOMEM;
    return NULL;
}

record_t *record_file_open(const record_where_t *where, flow_core_t *core,
                           const record_names_t *names, char *path,
                           size_t path_size,
                           void (*stopped)(void *arg, const char *why),
                           void *arg)
{
    size_t         part = where->size / RECORD_SEGMENTS / RECORD_PAGE *
                          RECORD_PAGE;
    size_t         size = RECORD_PAGE + part * RECORD_SEGMENTS;
    int            fd   = record_file_create(where, names, path, path_size);
    record_t      *record;
    record_head_t *head;
    int            err;

    if (fd < 0) {
        return NULL;
    }
    record = record_file_new(fd, size);
    err    = errno;
    close(fd);
    if (record == NULL) {
        output_remove(path);
        errno = err;
        return NULL;
    }

    head               = (record_head_t*)record->map;
    head->version      = RECORD_VERSION;
    head->segments     = RECORD_SEGMENTS;
    head->segment_size = part;
    head->layout       = flow_image_layout();
    head->names        = *names;
    __atomic_store_n(&head->magic, RECORD_MAGIC, __ATOMIC_RELEASE);
    record->core       = core;
    record->stopped    = stopped;
    record->arg        = arg;
    flow_core_set_user(core, record);
    record_file_turn(record);
    return record;
}

void record_file_close(record_t *record)
{
    if (record->segment != NULL) {
        record->segment->closed = 1;
    }
    flow_core_set_user(record->core, NULL);
    record_guard_remove(record->guard);
    munmap(record->map, record->map_size);
    free(record);
}

/* The operations behind the parts; 0: no room before end. */
static int record_file_ops(record_t *record, record_segment_t *segment,
                           uint8_t *at, const uint8_t *end)
{
    flow_image_op_t linked = {NULL, 0, 0};
    record_op_t     op;

    segment->ops = 0;
    while (flow_image_op(record->core, &linked)) {
        if ((size_t)(end - at) < sizeof(op)) {
            return 0;
        }
        op.id     = record->replays ? ((record_replayed_op_t*)linked.op)->id :
                                      (uintptr_t)linked.op;
        op.place  = linked.place;
        op.tx     = linked.tx;
        op.sent   = linked.op->sent;
        op.psn    = linked.op->psn;
        op.flags  = linked.op->flags;
        op.linked = linked.op->linked;
        memcpy(at, &op, sizeof(op));
        at += sizeof(op);
        ++segment->ops;
    }
    segment->used = (uint64_t)(at - (uint8_t*)segment);
    return 1;
}

int record_file_image(record_t *record, record_segment_t *segment,
                      size_t size)
{
    uint8_t  *at    = (uint8_t*)(segment + 1);
    uint8_t  *end   = (uint8_t*)segment + size;
    uint32_t  parts = flow_image_parts(record->core), part;
    size_t    bytes;

    for (part = 0; part < parts; ++part) {
        bytes = flow_image_size(record->core, part);
        if ((size_t)(end - at) < bytes) {
            return 0;
        }
        flow_image_save(record->core, part, at);
        at += bytes;
    }
    segment->parts      = parts;
    segment->image_size = (uint64_t)(at - (uint8_t*)(segment + 1));
    segment->first_call = record->calls + 1;
    segment->closed     = 0;
    return record_file_ops(record, segment, at, end);
}

/* Later calls go nowhere: the core has no recorder any more, and the call that
 * is under way writes over the bytes of another one. */
static void record_file_stop(record_t *record, const char *why)
{
    flow_core_set_user(record->core, NULL);
    record->segment = NULL;
    record->pos     = record->map + RECORD_PAGE - RECORD_CALL_MAX;
    record->end     = record->pos;
    record->stopped(record->arg, why);
}

void record_file_turn(record_t *record)
{
    /* the head may say anything by now: others can write the file */
    size_t            size = (record->map_size - RECORD_PAGE) / RECORD_SEGMENTS;
    const char       *lost = record->guard->lost;
    record_segment_t *segment;

    if (lost != NULL) {
        record_file_stop(record, lost);
        return;
    }
    segment = (record_segment_t*)(record->map + RECORD_PAGE +
                                  record->sequence % RECORD_SEGMENTS * size);
    __atomic_store_n(&segment->sequence, 0, __ATOMIC_RELEASE);
    if (!record_file_image(record, segment, size / 2)) {
        record_file_stop(record, "its peers take more room than a segment has, "
                         "a larger size (DIR:SIZE) helps");
        return;
    }
    memset(&record->base, 0, sizeof(record->base));
    record->segment = segment;
    record->pos     = (uint8_t*)segment + segment->used;
    record->end     = (uint8_t*)segment + size - 2 * RECORD_CALL_MAX;
    __atomic_store_n(&segment->sequence, ++record->sequence, __ATOMIC_RELEASE);
}
