/* SPDX-License-Identifier: BSD-3-Clause */
/* The knobs of the device as options. */
#ifndef EFASIM_CLI_ROWS_H
#define EFASIM_CLI_ROWS_H

#include "command/options.h"

#include "efasim/engine/knobs.h"

enum { ROWS_MAX = 256 }; /* options of a program, with its own */

/* Appends the knobs to `count` rows of a program's own, with titles: all, or
 * those of a device alone. The text of a flag that is on is that of its --no-.
 * Returns their number. Row `of` is the knob. */
unsigned rows_of_knobs(option_row_t rows[ROWS_MAX], unsigned count,
                       int is_device);

/* Take such an option, whose value is NULL if it has none. Returns the value;
 * NULL after a line: it is not allowed. */
const char *rows_set(struct sim_knobs *knobs, const option_row_t *row,
                     const char *value);

#endif
