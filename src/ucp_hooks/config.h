/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration variables: UCX's parser callbacks for the types of provider.h,
 * in the signatures of ucs_config_parser_t (unchanged from 1.13 on). Each
 * adds to UCX's own parser what that lacks: it reads the whole text, enforces
 * the limits of the field, and its error names the variable in full.
 */
#ifndef UCX_EFA_CONFIG_H
#define UCX_EFA_CONFIG_H

#include "calls.h"
#include "provider.h"

/* The parser's argument for one field. */
typedef struct ucx_config_arg {
    const ucx_config_field_t *field;
    const char               *prefix; /* of the table */
    int                      quiet;   /* a bad value counts as the default */
    int                      refused; /* the last read() refused its text */

    /* UCX's parser for the type. None of these looks at its argument: all but
     * read() are called by UCX itself, with this one. */
    int          (*read)(const char *buf, void *dest, const void *arg);
    int          (*write)(char *buf, size_t max, const void *src,
                          const void *arg);
    ucs_status_t (*clone)(const void *src, void *dest, const void *arg);
    void         (*release)(void *ptr, const void *arg);
} ucx_config_arg_t;

/* Looks up four functions of UCX's by their names, by dlsym. Returns NULL, or
 * the name of the one that is missing. */
const char *ucx_config_find(const ucx_calls_t *calls, const char *const *names,
                            void **functions);

/*
 * Prepare @arg for @field; UCX's functions come from @calls->uct. Calls dlsym.
 * Returns NULL, or the name of the symbol that is missing.
 */
const char *ucx_config_arg_init(ucx_config_arg_t *arg,
                                const ucx_calls_t *calls,
                                const ucx_config_field_t *field,
                                const char *prefix);

/* ucs_config_parser_t::read: 1 if @buf is valid and *dest set, else 0. */
int ucx_config_read(const char *buf, void *dest, const void *arg);

/* ::help: the allowed values, in words. After a refused read() UCX prints it in
 * its error line, so then it adds the variable's name. */
void ucx_config_help(char *buf, size_t max, const void *arg);

/* ::doc, from 1.17 on: documentation of choices beyond help(); none. */
void ucx_config_doc(void *strb, const void *arg);

#endif
