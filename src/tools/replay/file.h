/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording, as it lies in memory: what was written and can be replayed. */
#ifndef REPLAY_FILE_H_
#define REPLAY_FILE_H_

#include <record/record_format.h>

typedef struct replay_file {
    uint8_t             *bytes; /* all of it; what is not used may be zeros */
    size_t               size;
    size_t               held;  /* of file_read: bytes that are no hole */
    const record_head_t *head;
    unsigned             count; /* of segments, oldest first, without a gap */
    const record_segment_t *segment[RECORD_SEGMENTS];
} replay_file_t;

/* Looks at `size` bytes, aligned to 8, which stay the caller's; nothing is
 * assumed of them. NULL, or why they are no recording that can be replayed
 * here, in `why`. */
const char *file_look(replay_file_t *file, uint8_t *bytes, size_t size,
                      char *why, size_t why_size);

/* A text of a recording, which may have any bytes, as printable characters:
 * `size` bytes of each. */
void file_text(char *dest, const char *text, size_t size);

/* Reads a file. 0, and file_free is to be called; or -1 after a line on
 * standard error. */
int  file_read(replay_file_t *file, const char *path);
void file_free(replay_file_t *file);

/* Whether this is the name of a recording. */
int file_is_recording(const char *path);

#endif
