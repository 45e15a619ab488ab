/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in options and plans. */
#ifndef EFASIM_ENGINE_NUMBER_H
#define EFASIM_ENGINE_NUMBER_H

#include <stdint.h>

/*
 * A whole number at the start of `text`, at most `max`: digits alone, no sign,
 * no space. Returns 0, with *end behind it; or -1, nothing set.
 */
int sim_number(const char *text, uint64_t max, uint64_t *value,
               const char **end);

#endif
