/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOP_TOP_H_
#define TOP_TOP_H_

/* srd_info --top. */
typedef struct top_args {
    int         is_wanted;
    int         once;
    const char *interval; /* seconds, as the user wrote it; NULL: one */
    const char *json;     /* file, written anew each time; "-"; NULL: text */
} top_args_t;

/* Shows this user's interfaces until the user ends it, or once. The status of
 * the program: 1 if there is nothing to show, or it cannot be written; 2 for an
 * argument that is wrong. */
int top_run(const top_args_t *args);

#endif
