/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages of all processes, merged: which process waits for which peer. */
#ifndef TOP_VIEW_H_
#define TOP_VIEW_H_

#include "network.h"
#include "pages.h"

#define VIEW_HOST 64

/* A peer's interface, summed over all processes of this host. */
typedef struct view_peer {
    const base_top_row_t *row;   /* any row of this peer: its GID and QPN */
    const pages_one_t    *local; /* its own page; NULL: it is on another host */
    char                  host[VIEW_HOST]; /* host name, or the GID */
    int                   rank;  /* -1: unknown */
    double                sent, received, bytes; /* per second */
    double                blocked, refused, lost; /* highest share of any row,
                                                     0 .. 1 */
    unsigned              depth;
    double                age;    /* of the oldest waiting message, s */
    unsigned              stalls; /* processes stalled by it:
                                     view_is_stalled */
} view_peer_t;

/* A process that waits for a peer. */
typedef struct view_wait {
    const pages_one_t    *who;
    const base_top_row_t *row;   /* the oldest of `count` */
    const pages_one_t    *local; /* the peer's; NULL: it is on another host */
    char                  host[VIEW_HOST];
    int                   rank;  /* of the peer; -1: unknown */
    unsigned              count; /* endpoints: 1 until view_merge */
} view_wait_t;

typedef struct view {
    const pages_t *pages;
    const network_t *network;
    view_peer_t   *peers;
    unsigned       peer_count;
    view_wait_t   *waits; /* oldest first */
    unsigned       wait_count;
    double         sent, received, bytes; /* of all peers, per second */
} view_t;

/* Makes a view of both, which must outlive it. 0, or -1: out of memory. */
int  view_make(view_t *view, const pages_t *pages, const network_t *network);
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

/* Sorts the peers by this quantity, the largest first. */
void view_sort(view_t *view, view_order_t order);

/* Makes one of the waits of a process for the same peer and reason. */
void view_merge(view_t *view);

/* The reason of a wait (flow_look_wait_t), to follow the word "for". */
const char *view_reason(const view_wait_t *wait);

/* States of a process, the worst last. */
typedef enum view_state {
    VIEW_WORKS,
    VIEW_POLLS,
    VIEW_AWAY, /* it runs, and does not call progress */
    VIEW_SLEEPS,
    VIEW_SILENT,
    VIEW_STOPPED
} view_state_t;

view_state_t view_state(const pages_one_t *one);

/* Whether it waits for what the peer's device does by itself: the network or
 * that device does not answer. */
int view_is_unanswered(const view_wait_t *wait);

/* A short description of the state of a process, such as "sleeps". */
const char *view_does(const pages_one_t *one);

/* Whether this row's process waited for this row's peer to read, or for buffers
 * of it, for more than half of the last second. */
int view_is_stalled(const base_top_row_t *row);

#endif
