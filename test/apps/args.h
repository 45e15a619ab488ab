/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of test programs, of which no value is taken that was not meant. */
#ifndef TEST_APPS_ARGS_H
#define TEST_APPS_ARGS_H

#include <stdint.h>

/* The number that getopt's `optarg` is, of option --`name`; ends the program
 * with status 2 and a line where it is none from `min` to `max`. */
uint64_t arg_number(const char *name, uint64_t min, uint64_t max);

/* 1: `word` is an element of `list`, which has commas between them. */
int arg_list_has(const char *list, const char *word);

#endif
