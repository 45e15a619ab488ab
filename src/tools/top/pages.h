/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of the interfaces of this user's processes (base_top_page.h). */
#ifndef TOP_PAGES_H_
#define TOP_PAGES_H_

#include <uct/ib/base/base_top_page.h>

enum {
    PAGES_MAX     = 4096, /* that are shown */
    PAGES_PROCESS = 64    /* ... of one process */
};

/* Seconds without a look of its own: not even its thread runs. */
#define PAGES_OLD 3.0

typedef struct pages_one {
    base_top_page_t page; /* whole, and each member within its range */
    int             fd;   /* with the lock of those who read */
    long            pid;  /* as this process knows it */
    char            state;  /* of the process, as in ps(1); '?': unknown */
    uint64_t        ticks;  /* that it had on a CPU, ever */
    double          cpu;    /* ... since the last time, of one CPU; less than 0:
                               unknown */
    double          age;    /* s since it was written */
    double          idle;   /* s in which nothing moved, when it was */
} pages_one_t;

typedef struct pages {
    pages_one_t *list;
    unsigned     count, max;
    unsigned     broken; /* pages that were none */
    uint64_t     when;   /* CLOCK_MONOTONIC, ns */
} pages_t;

/*
 * Finds and reads all of them. `before`, which is released, holds the locks
 * until there are new ones; zeros at first. 0, or -1 with errno.
 */
int pages_read(pages_t *pages, pages_t *before);

void pages_release(pages_t *pages);

#endif
