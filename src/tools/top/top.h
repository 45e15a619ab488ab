/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOP_TOP_H_
#define TOP_TOP_H_

/* The arguments of srd_info --top. */
typedef struct top_args {
    int         once;
    const char *interval; /* seconds, as the user wrote them; NULL: one */
    const char *json;     /* a file, replaced each time; "-": standard output;
                             NULL: text */
} top_args_t;

/* Shows this user's interfaces, once or until the user quits. Returns the exit
 * status of the program: 0; 1 if there is nothing to show or the output cannot
 * be written; 2 for a wrong argument. */
int top_run(const top_args_t *args);

#endif
