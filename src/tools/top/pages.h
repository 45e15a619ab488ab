/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of the interfaces of this user's processes (base_top_page.h). */
#ifndef TOP_PAGES_H_
#define TOP_PAGES_H_

#include <uct/ib/base/base_top_page.h>

enum {
    PAGES_MAX     = 4096, /* pages shown in all */
    PAGES_PROCESS = 64    /* pages shown of one process */
};

/* A page this many seconds old is stale: even UCX's asynchronous thread, which
 * writes it, does not run in that process. */
#define PAGES_OLD 3.0

typedef struct pages_one {
    base_top_page_t page; /* a checked copy: each member within its range */
    int             fd;   /* of the page, with the reader's lock */
    long            pid;  /* in srd_info's PID namespace */
    char            state;  /* of the process, as in ps(1); '?': unknown */
    uint64_t        ticks;  /* CPU time of the process, clock ticks */
    double          awake;  /* processors that it used or waited for since the
                               last reading; less than 0: unknown */
    double          idle;   /* seconds since traffic of this interface */
    double          age;    /* of the process's youngest page, s */
    double          quiet;  /* seconds since traffic of any of its interfaces */
    double          away;   /* between a call of progress for any of them and
                               the page, s: UCX progresses none without use */
} pages_one_t;

typedef struct pages {
    pages_one_t *list;
    unsigned     count, max;
    unsigned     left_out; /* pages that were not read: too many, or no more
                              descriptors for them */
    unsigned     pauses; /* that this reading made for pages being written */
    uint64_t     when;   /* time of this reading, CLOCK_MONOTONIC, ns */
} pages_t;

/*
 * Finds and reads all pages of this user. `before` is the last reading (zeros
 * at first); its locks are kept until the new ones are taken, then it is
 * released. Returns 0, or -1 with errno.
 */
int pages_read(pages_t *pages, pages_t *before);

void pages_release(pages_t *pages);

#endif
