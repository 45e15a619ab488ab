/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing: the calls into one core, into a file that is mapped. It is good at
 * any time, however the process ends; nothing waits for the disk. One recorder
 * serves one core and is used as that is: by one thread at a time.
 */
#ifndef RECORD_FILE_H_
#define RECORD_FILE_H_

#include "record_format.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct record record_t;

struct record {
    uint8_t          *pos; /* where the next byte goes */
    uint8_t          *end; /* no call begins behind it */
    record_segment_t *segment;
    record_base_t     base;
    flow_core_t      *core;
    uint64_t          calls;   /* recorded so far */
    flow_time_t       late;    /* told to the core and not yet recorded, or 0 */
    int               replays; /* operations are record_replayed_op_t */
    /* of a file: */
    uint8_t          *map;
    size_t            map_size;
    uint64_t          sequence; /* of its segment */
    struct record_guard *guard; /* of record_file.c */
    void            (*stopped)(void *arg, const char *why);
    void             *arg;
};

/* DIR[:SIZE], as a user wrote it. */
typedef struct record_where {
    char   dir[256];
    size_t size; /* bytes of each file */
} record_where_t;

/* 1: taken apart. 0: *why says its fault. */
int record_file_where(const char *text, record_where_t *where,
                      const char **why);

/*
 * Record everything that is called from now on, by record_call.h; names->device
 * and so on go into the file's head, and its name. NULL: `path`, which has
 * `path_size` bytes, could not be made: errno says why. stopped: the file holds
 * no more from now on, as `why` says; at most once, from inside any call.
 */
record_t *record_file_open(const record_where_t *where, flow_core_t *core,
                           const record_names_t *names, char *path,
                           size_t path_size,
                           void (*stopped)(void *arg, const char *why),
                           void *arg);

/* The core goes. The file stays. */
void record_file_close(record_t *record);

/* Fills what the process knows: machine, host, program, rank, pid, time. */
void record_file_names(record_names_t *names);

/* Begin a segment, or stop. */
void record_file_turn(record_t *record);

/*
 * The beginning of a segment: an image of the core as it is, behind `segment`,
 * whose fields are filled but for the sequence number. 0: it takes more than
 * `size` bytes. Reads the members of an operation that the core linked.
 */
int record_file_image(record_t *record, record_segment_t *segment,
                      size_t size);

#ifdef __cplusplus
}
#endif

#endif
