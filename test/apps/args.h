/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of test programs, of which no value is taken that was not meant. */
#ifndef TEST_APPS_ARGS_H
#define TEST_APPS_ARGS_H

#include <stddef.h>
#include <stdint.h>

/* An option --`name` and the variable that it sets. */
typedef struct arg {
    const char *name;
    enum { ARG_IS_FLAG, ARG_IS_TEXT, ARG_IS_NUMBER } kind;
    void       *value;
    size_t     size;     /* of a number */
    uint64_t   min, max;
} arg_t;

/* The variable: an int, which becomes 1, a string, or an unsigned integer. */
#define ARG_FLAG(name, variable) {name, ARG_IS_FLAG, &(variable), 0, 0, 0}
#define ARG_TEXT(name, variable) {name, ARG_IS_TEXT, &(variable), 0, 0, 0}
#define ARG_NUMBER(name, variable, min, max) \
    {name, ARG_IS_NUMBER, &(variable), sizeof(variable), min, max}

/* Takes all arguments; `args` ends with a NULL name. Ends the program with
 * status 2 and `usage`, or a line where a number is none from `min` to `max`. */
void arg_parse(int argc, char **argv, const char *usage, const arg_t *args);

/* 1: `word` is an element of `list`, which has commas between them. */
int arg_list_has(const char *list, const char *word);

#endif
