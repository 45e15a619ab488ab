/* SPDX-License-Identifier: BSD-3-Clause */
/* All pages together: who waits for whom. */
#ifndef TOP_VIEW_H_
#define TOP_VIEW_H_

#include "pages.h"

#define VIEW_HOST     64
#define VIEW_HEADLINE 256

/* The interface of a peer, as all processes here see it. */
typedef struct view_peer {
    const base_top_row_t *row;   /* one of them: GID and number */
    const pages_one_t    *local; /* its own page; NULL: of another host */
    char                  host[VIEW_HOST]; /* its name, or its GID */
    int                   rank;  /* -1: unknown */
    double                sent, received, bytes; /* a second */
    double                blocked, refused, lost; /* the most of any, 0 .. 1 */
    unsigned              depth;
    double                age;    /* s */
    unsigned              stalls; /* processes that wait most of the time */
} view_peer_t;

/* A process that waits for a peer. */
typedef struct view_wait {
    const pages_one_t    *who;
    const base_top_row_t *row;
    char                  host[VIEW_HOST];
    int                   rank; /* of the peer; -1: unknown */
} view_wait_t;

typedef struct view {
    const pages_t *pages;
    view_peer_t   *peers;
    unsigned       peer_count;
    view_wait_t   *waits; /* oldest first */
    unsigned       wait_count;
    double         sent, received, bytes; /* of all peers, a second */
    char           headline[VIEW_HEADLINE]; /* what stalls most */
} view_t;

/* The pages stay meanwhile. 0, or -1: out of memory. */
int  view_make(view_t *view, const pages_t *pages);
void view_free(view_t *view);

typedef enum view_order {
    VIEW_BY_STALLS,
    VIEW_BY_AGE,
    VIEW_BY_BYTES,
    VIEW_BY_MESSAGES,
    VIEW_BY_REFUSED,
    VIEW_BY_LOST,
    VIEW_BY_DEPTH
} view_order_t;

/* Sorts the peers, the most first. */
void view_sort(view_t *view, view_order_t order);

/* A word for what a process does. */
const char *view_does(const pages_one_t *one);

/* Is it stalled by this peer? */
int view_is_stalled(const base_top_row_t *row);

#endif
