/* SPDX-License-Identifier: BSD-3-Clause */
/* Knobs that are lists of named numbers: NAME:N,NAME:N. A name that is not in
 * the list keeps its value. */
#ifndef EFASIM_ENGINE_NAMED_H
#define EFASIM_ENGINE_NAMED_H

#include "knobs.h"

/* How many names such a knob has; 0: it is of another type. */
unsigned sim_named_count(const struct sim_knob *knob);

/* Sets `field`, an array of a number per name. 0, or -1 and nothing is set. */
int sim_named_set(uint64_t *field, const struct sim_knob *knob,
                  const char *value);

/* The name that the first `length` characters of the text are; count: none. */
unsigned sim_named_find(const char *const *names, unsigned count,
                        const char *text, size_t length);

/* Append "a, b or c" to a text. The names are the first members of structures
 * so many bytes apart. */
void sim_named_join(char *buf, size_t size, const void *names, size_t stride,
                    unsigned num);

/* The allowed names, as text. */
void sim_named_allowed(const struct sim_knob *knob, char *buf, size_t size);

/*
 * A whole number at the start of `text`, at most `max`: digits alone, no sign,
 * no space. Returns 0, with *end behind it; or -1, nothing set.
 */
int sim_number(const char *text, uint64_t max, uint64_t *value,
               const char **end);

#endif
