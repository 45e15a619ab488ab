/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "file.h"

#include <command/options.h>
#include <config.h>
#include <flow/image.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void file_text(char *dest, const char *text, size_t size)
{
    size_t i;

    for (i = 0; (i + 1 < size) && (text[i] != '\0'); ++i) {
        dest[i] = ((text[i] >= ' ') && (text[i] <= '~')) ? text[i] : '?';
    }
    dest[i] = '\0';
}

static const char *file_look_head(replay_file_t *file, char *why,
                                  size_t why_size)
{
    const record_head_t *head = file->head;
    char release[sizeof(head->names.release)];
    char machine[sizeof(head->names.machine)];

    if ((file->size < RECORD_PAGE) || (head->magic != RECORD_MAGIC)) {
        return "this is no recording: name a file *.srdrec, which "
               "UCX_EFA_RECORD=DIR writes to DIR";
    }
    file_text(release, head->names.release, sizeof(release));
    file_text(machine, head->names.machine, sizeof(machine));
    if ((head->version != RECORD_VERSION) ||
        (head->layout != flow_image_layout())) {
        snprintf(why, why_size,
                 "recorded by version %s on %s (format %u, layout "
                 "%016llx); this is srd_replay %s (format %u, layout "
                 "%016llx): take that of the version that recorded",
                 release, machine, head->version,
                 (unsigned long long)head->layout, PACKAGE_VERSION,
                 RECORD_VERSION, (unsigned long long)flow_image_layout());
        return why;
    }
    if ((head->segments != RECORD_SEGMENTS) ||
        (head->segment_size % RECORD_PAGE != 0) ||
        (head->segment_size == 0) ||
        (head->segment_size > (file->size - RECORD_PAGE) / RECORD_SEGMENTS)) {
        return "cut off, or not written to its end: copy it anew, whole";
    }
    return NULL;
}

/* Segment i of bytes, if its head lies within them, else NULL. */
static record_segment_t *file_segment(uint8_t *bytes, size_t size, unsigned i)
{
    const record_head_t *head = (const record_head_t*)bytes;

    return ((head->segment_size % RECORD_PAGE == 0) &&
            (head->segment_size > 0) && (head->segment_size <= size) &&
            (RECORD_PAGE + (i + 1) * head->segment_size <= size)) ?
                   (record_segment_t*)(bytes + RECORD_PAGE +
                                       i * head->segment_size) :
                   NULL;
}

static int file_segment_is_good(const replay_file_t *file,
                                const record_segment_t *segment)
{
    uint64_t used = segment->used;

    return (segment->sequence != 0) && (used <= file->head->segment_size) &&
           (used >= sizeof(*segment)) &&
           (segment->image_size <= used - sizeof(*segment)) &&
           (segment->image_size % 8 == 0) &&
           (segment->ops <=
            (used - sizeof(*segment) - segment->image_size) /
                    sizeof(record_op_t));
}

/* The newest of them, and those before it as far as they go on. */
static void file_look_segments(replay_file_t *file)
{
    const record_segment_t *found[RECORD_SEGMENTS + 1] = {NULL}, *newest = NULL;
    const record_segment_t *segment;
    unsigned i;

    for (i = 0; i < RECORD_SEGMENTS; ++i) {
        segment = file_segment(file->bytes, file->size, i);
        if ((segment != NULL) && file_segment_is_good(file, segment) &&
            ((segment->sequence - 1) % RECORD_SEGMENTS == i)) {
            found[i] = segment;
            if ((newest == NULL) || (segment->sequence > newest->sequence)) {
                newest = segment;
            }
        }
    }
    file->count = 0;
    for (i = RECORD_SEGMENTS; (newest != NULL) && (i-- > 0);) {
        /* i turns before the newest */
        if (newest->sequence <= i) {
            continue;
        }
        segment = found[(newest->sequence - 1 - i) % RECORD_SEGMENTS];
        if ((segment != NULL) && (segment->sequence == newest->sequence - i)) {
            file->segment[file->count++] = segment;
        } else {
            file->count = 0;
        }
    }
}

const char *file_look(replay_file_t *file, uint8_t *bytes, size_t size,
                      char *why, size_t why_size)
{
    const char *error;

    memset(file, 0, sizeof(*file));
    file->bytes = bytes;
    file->size  = size;
    file->head  = (const record_head_t*)bytes;
    error       = file_look_head(file, why, why_size);
    if (error != NULL) {
        return error;
    }
    file_look_segments(file);
    return (file->count == 0) ?
           "nothing in it was recorded to its end: record again" : NULL;
}

/* Up to size bytes at an offset: fewer at the file's end. */
static size_t file_get(int fd, uint8_t *bytes, size_t size, size_t offset)
{
    size_t  have = 0;
    ssize_t got;

    do {
        got   = pread(fd, bytes + have, size - have, (off_t)(offset + have));
        have += (got > 0) ? (size_t)got : 0;
    } while ((have < size) &&
             ((got > 0) || ((got < 0) && (errno == EINTR))));
    return have;
}

/* The same but for holes, which are no load, however large: adds to *held. 0,
 * or -1: something cannot be read. */
static int file_get_data(int fd, uint8_t *bytes, size_t size, size_t offset,
                         size_t *held)
{
    off_t  at = (off_t)offset, end = at + (off_t)size, hole;
    size_t part;

    while (((at = lseek(fd, at, SEEK_DATA)) >= 0) && (at < end)) {
        hole = lseek(fd, at, SEEK_HOLE);
        part = (size_t)(((hole < end) ? hole : end) - at);
        if ((hole <= at) || (file_get(fd, bytes + (at - (off_t)offset), part,
                                      (size_t)at) < part)) {
            return -1;
        }
        *held += part;
        at    += (off_t)part;
    }
    return ((at >= 0) || (errno == ENXIO)) ? 0 : -1;
}

/* The head, and the used parts of segments. A segment of which not all can be
 * read has nothing. The bytes that are no hole. */
static size_t file_get_all(int fd, uint8_t *bytes, size_t size)
{
    const record_head_t *head = (const record_head_t*)bytes;
    record_segment_t    *segment;
    size_t               at, rest, held = 0;
    unsigned             i;

    (void)file_get(fd, bytes, (size < RECORD_PAGE) ? size : RECORD_PAGE, 0);
    for (i = 0; (size > RECORD_PAGE) && (i < RECORD_SEGMENTS); ++i) {
        segment = file_segment(bytes, size, i);
        if (segment == NULL) {
            continue;
        }
        at = (size_t)((uint8_t*)segment - bytes);
        (void)file_get(fd, (uint8_t*)segment, sizeof(*segment), at);
        rest = segment->used - sizeof(*segment);
        if ((segment->sequence == 0) ||
            (rest > head->segment_size - sizeof(*segment)) ||
            (file_get_data(fd, (uint8_t*)(segment + 1), rest,
                           at + sizeof(*segment), &held) != 0)) {
            segment->sequence = 0;
        }
    }
    return held;
}

/*
 * A process that still writes may have begun a segment anew while it was read:
 * then its body is half of one and half of another, and it is dropped. Or it
 * went on to the next one, which was read later: then the end of the former is
 * not there, and the next one is dropped.
 */
static void file_drop_torn(int fd, uint8_t *bytes, size_t size)
{
    record_segment_t *segment, *later, now;
    unsigned          i, j;

    for (i = 0; i < RECORD_SEGMENTS; ++i) {
        segment = file_segment(bytes, size, i);
        if ((segment == NULL) || (segment->sequence == 0)) {
            continue;
        }
        if ((pread(fd, &now, sizeof(now), (uint8_t*)segment - bytes) !=
             (ssize_t)sizeof(now)) || (now.sequence != segment->sequence)) {
            segment->sequence = 0;
        } else if (now.used != segment->used) {
            for (j = 0; j < RECORD_SEGMENTS; ++j) {
                later = file_segment(bytes, size, j);
                if ((later != NULL) && (later->sequence > segment->sequence)) {
                    later->sequence = 0;
                }
            }
        }
    }
}

/* All of the file, of a process that may still write it, too. A FIFO that
 * nobody writes is not waited for. */
static uint8_t *file_load(const char *path, size_t *size_p, size_t *held_p)
{
    int         fd    = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), err;
    uint8_t    *bytes = NULL;
    struct stat stat;

    if (fd < 0) {
        return NULL;
    }
    if ((fstat(fd, &stat) == 0) && S_ISREG(stat.st_mode)) {
        *size_p = (size_t)stat.st_size;
        bytes   = mmap(NULL, *size_p + RECORD_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        bytes   = (bytes == MAP_FAILED) ? NULL : bytes;
        if (bytes != NULL) {
            /* some filesystems call what they have yet to write a hole */
            (void)fdatasync(fd);
            *held_p = file_get_all(fd, bytes, *size_p);
            if (*size_p > RECORD_PAGE) {
                file_drop_torn(fd, bytes, *size_p);
            }
        }
    } else {
        errno = S_ISDIR(stat.st_mode) ? EISDIR : EINVAL;
    }
    err = errno;
    close(fd);
    errno = err;
    return bytes;
}

int file_read(replay_file_t *file, const char *path)
{
    char        why[512];
    const char *error;
    size_t      size, held;
    uint8_t    *bytes = file_load(path, &size, &held);

    if (bytes == NULL) {
        options_error("cannot read %s: %s; %s", path, strerror(errno),
                      (errno == ENOMEM) ?
                      "all of it is in memory: replay it on a host that has as "
                      "much" : "name a recording (*.srdrec, in the folder of "
                      "UCX_EFA_RECORD)");
        return -1;
    }
    error = file_look(file, bytes, size, why, sizeof(why));
    if (error != NULL) {
        options_error("%s: %s", path, error);
        file_free(file);
        return -1;
    }
    file->held = held;
    return 0;
}

void file_free(replay_file_t *file)
{
    munmap(file->bytes, file->size + RECORD_PAGE);
}

int file_is_recording(const char *path)
{
    uint64_t magic = 0;
    int      fd    = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0) {
        (void)file_get(fd, (uint8_t*)&magic, sizeof(magic), 0);
        close(fd);
    }
    return magic == RECORD_MAGIC;
}
