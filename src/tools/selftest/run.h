/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_SELFTEST_RUN_H_
#define SRD_SELFTEST_RUN_H_

#include <tools/info.h>

typedef struct st_run_args {
    const char *peer;   /* HOST or HOST:PORT; NULL: this host alone */
    const char *listen; /* port; NULL: no */
    const char *device; /* NULL: the first one */
    const char *only;   /* names of probes; NULL: all */
    int         facts;  /* no measurements */
    const char *serve;  /* a descriptor, of a child of ours; NULL: no */
} st_run_args_t;

/* The exit status: 0, or 1 if something differs or could not be asked. */
int st_run(info_t *info, const st_run_args_t *args);

#endif
