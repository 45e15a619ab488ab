/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "view.h"

#include <arpa/inet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIEW_LONG 0.1  /* shortest wait that is shown, s */
#define VIEW_IDLE 0.02 /* share of a CPU below which a process "sleeps" */

/* One row of one page. */
typedef struct view_ref {
    const pages_one_t    *who;
    const base_top_row_t *row;
    unsigned              peer;
} view_ref_t;

int view_is_stalled(const base_top_row_t *row)
{
    return row->blocked > BASE_TOP_SHARE / 2;
}

static int view_compare_id(const uint8_t *gid, uint32_t qpn,
                           const uint8_t *other_gid, uint32_t other_qpn)
{
    int order = memcmp(gid, other_gid, 16);

    return (order != 0) ? order : (qpn > other_qpn) - (qpn < other_qpn);
}

/* By peer, then by process. */
static int view_compare_refs(const void *first, const void *second)
{
    const view_ref_t *a = first, *b = second;
    int               order;

    order = view_compare_id(a->row->gid, a->row->qpn, b->row->gid, b->row->qpn);
    return (order != 0) ? order :
                          (a->who->pid > b->who->pid) -
                                  (a->who->pid < b->who->pid);
}

static int view_compare_pages(const void *first, const void *second)
{
    const base_top_page_t *a = &(*(const pages_one_t *const*)first)->page;
    const base_top_page_t *b = &(*(const pages_one_t *const*)second)->page;

    return view_compare_id(a->gid, a->qpn, b->gid, b->qpn);
}

static double view_most(double first, double second)
{
    return (first > second) ? first : second;
}

static void view_peer_begin(view_peer_t *peer, const base_top_row_t *row,
                            const pages_one_t **pages, unsigned count)
{
    pages_one_t         key;
    const pages_one_t  *key_at = &key, *const *found;

    memset(peer, 0, sizeof(*peer));
    peer->row  = row;
    peer->rank = -1;
    memcpy(key.page.gid, row->gid, sizeof(key.page.gid));
    key.page.qpn = row->qpn;
    found = bsearch(&key_at, pages, count, sizeof(*pages), view_compare_pages);
    if (found != NULL) {
        peer->local = *found;
        peer->rank  = (*found)->page.rank;
        snprintf(peer->host, sizeof(peer->host), "%s", (*found)->page.host);
    } else if (inet_ntop(AF_INET6, row->gid, peer->host,
                         sizeof(peer->host)) == NULL) {
        snprintf(peer->host, sizeof(peer->host), "?");
    }
}

static void view_peer_add(view_peer_t *peer, const base_top_row_t *row)
{
    peer->sent     += row->sent;
    peer->received += row->received;
    peer->bytes    += (double)row->bytes;
    peer->blocked   = view_most(peer->blocked,
                                (double)row->blocked / BASE_TOP_SHARE);
    peer->refused   = view_most(peer->refused,
                                (double)row->refused / BASE_TOP_SHARE);
    peer->lost      = view_most(peer->lost, (double)row->lost / 65536);
    peer->age       = view_most(peer->age, (double)row->age / 1000);
    peer->depth     = (row->depth > peer->depth) ? row->depth : peer->depth;
}

/* refs are sorted. */
static void view_peers(view_t *view, view_ref_t *refs, unsigned count,
                       const pages_one_t **pages)
{
    view_peer_t *peer = NULL;
    long         pid  = 0;
    unsigned     i;

    for (i = 0; i < count; ++i) {
        if ((peer == NULL) ||
            (view_compare_id(peer->row->gid, peer->row->qpn, refs[i].row->gid,
                             refs[i].row->qpn) != 0)) {
            peer = &view->peers[view->peer_count++];
            view_peer_begin(peer, refs[i].row, pages, view->pages->count);
            pid = 0;
        }
        refs[i].peer = view->peer_count - 1;
        view_peer_add(peer, refs[i].row);
        if (view_is_stalled(refs[i].row) && (refs[i].who->pid != pid)) {
            ++peer->stalls;
            pid = refs[i].who->pid;
        }
    }
}

static int view_compare_waits(const void *first, const void *second)
{
    const view_wait_t *a = first, *b = second;

    return (a->row->age < b->row->age) - (a->row->age > b->row->age);
}

static void view_waits(view_t *view, const view_ref_t *refs, unsigned count)
{
    const view_peer_t *peer;
    view_wait_t       *wait;
    unsigned           i;

    for (i = 0; i < count; ++i) {
        if ((refs[i].row->age < VIEW_LONG * 1000) &&
            !view_is_stalled(refs[i].row)) {
            continue;
        }
        peer       = &view->peers[refs[i].peer];
        wait       = &view->waits[view->wait_count++];
        wait->who  = refs[i].who;
        wait->row  = refs[i].row;
        wait->rank = peer->rank;
        memcpy(wait->host, peer->host, sizeof(wait->host));
    }
    qsort(view->waits, view->wait_count, sizeof(*view->waits),
          view_compare_waits);
}

/* By the host that stalls a process, then by process. */
static int view_compare_stalls(const void *first, const void *second)
{
    const view_wait_t *a = *(const view_wait_t *const*)first;
    const view_wait_t *b = *(const view_wait_t *const*)second;
    int                order = strcmp(a->host, b->host);

    return (order != 0) ? order :
                          (a->who->pid > b->who->pid) -
                                  (a->who->pid < b->who->pid);
}

/* Names the host that stalls `count` processes; if a single peer of that host
 * does, also its rank, process and state. */
static void view_headline(view_t *view, const char *host, unsigned count,
                          int ranks)
{
    const view_peer_t *peer = NULL;
    unsigned           peers = 0, i;
    size_t             used;

    for (i = 0; i < view->peer_count; ++i) {
        if ((view->peers[i].stalls > 0) && !strcmp(view->peers[i].host, host)) {
            peer = &view->peers[i];
            ++peers;
        }
    }
    used = (size_t)snprintf(view->headline, sizeof(view->headline),
                            "%s stalls %u %s%s", host, count,
                            ranks ? "rank" : "process",
                            (count == 1) ? "" : ranks ? "s" : "es");
    if ((peers != 1) || (used >= sizeof(view->headline))) {
        return;
    }
    if (peer->rank >= 0) {
        used += (size_t)snprintf(view->headline + used,
                                 sizeof(view->headline) - used,
                                 ": its rank %d", peer->rank);
    }
    if ((peer->local != NULL) && (used < sizeof(view->headline))) {
        snprintf(view->headline + used, sizeof(view->headline) - used,
                 "%s process %ld %s", (peer->rank >= 0) ? "," : ":",
                 peer->local->pid, view_does(peer->local));
    }
}

/* The host that stalls most processes. -1: out of memory. */
static int view_stalls(view_t *view)
{
    const view_wait_t **stalls = calloc(view->wait_count + 1, sizeof(*stalls));
    const view_wait_t  *most   = NULL;
    unsigned            count = 0, run = 0, best = 0, i;
    int                 ranks = 1;

    if (stalls == NULL) {
        return -1;
    }
    for (i = 0; i < view->wait_count; ++i) {
        if (view_is_stalled(view->waits[i].row)) {
            stalls[count++] = &view->waits[i];
            ranks          &= view->waits[i].who->page.rank >= 0;
        }
    }
    qsort(stalls, count, sizeof(*stalls), view_compare_stalls);
    for (i = 0; i < count; ++i) {
        if ((i > 0) && !strcmp(stalls[i]->host, stalls[i - 1]->host)) {
            run += stalls[i]->who->pid != stalls[i - 1]->who->pid;
        } else {
            run = 1;
        }
        if (run > best) {
            best = run;
            most = stalls[i];
        }
    }
    if (most != NULL) {
        view_headline(view, most->host, best, ranks);
    }
    free(stalls);
    return 0;
}

/* All rows, and the pages sorted. */
static unsigned view_collect(const pages_t *pages, view_ref_t *refs,
                             const pages_one_t **sorted)
{
    unsigned count = 0, i, k;

    for (i = 0; i < pages->count; ++i) {
        sorted[i] = &pages->list[i];
        for (k = 0; k < pages->list[i].page.rows; ++k) {
            refs[count].who   = &pages->list[i];
            refs[count++].row = &pages->list[i].page.row[k];
        }
    }
    qsort(sorted, pages->count, sizeof(*sorted), view_compare_pages);
    qsort(refs, count, sizeof(*refs), view_compare_refs);
    return count;
}

int view_make(view_t *view, const pages_t *pages)
{
    size_t              most = (size_t)pages->count * BASE_TOP_ROWS + 1;
    view_ref_t         *refs = calloc(most, sizeof(*refs));
    const pages_one_t **sorted = calloc(pages->count + 1, sizeof(*sorted));
    unsigned            count, i;
    int                 status = -1;

    memset(view, 0, sizeof(*view));
    view->pages = pages;
    view->peers = calloc(most, sizeof(*view->peers));
    view->waits = calloc(most, sizeof(*view->waits));
    if ((refs != NULL) && (sorted != NULL) && (view->peers != NULL) &&
        (view->waits != NULL)) {
        count = view_collect(pages, refs, sorted);
        view_peers(view, refs, count, sorted);
        view_waits(view, refs, count);
        for (i = 0; i < view->peer_count; ++i) {
            view->sent     += view->peers[i].sent;
            view->received += view->peers[i].received;
            view->bytes    += view->peers[i].bytes;
        }
        status = view_stalls(view);
    }
    free(refs);
    free(sorted);
    if (status != 0) {
        view_free(view);
    }
    return status;
}

void view_free(view_t *view)
{
    free(view->peers);
    free(view->waits);
    memset(view, 0, sizeof(*view));
}

static double view_key(const view_peer_t *peer, view_order_t order)
{
    switch (order) {
    case VIEW_BY_STALLS:
        return peer->stalls + peer->blocked;
    case VIEW_BY_AGE:
        return peer->age;
    case VIEW_BY_BYTES:
        return peer->bytes;
    case VIEW_BY_MESSAGES:
        return peer->sent + peer->received;
    case VIEW_BY_REFUSED:
        return peer->refused;
    case VIEW_BY_LOST:
        return peer->lost;
    case VIEW_BY_DEPTH:
        return peer->depth;
    }
    return 0;
}

/* By the order chosen, then by age, then by bytes. */
static int view_compare_peers(const void *first, const void *second, void *arg)
{
    const view_order_t orders[] = {*(const view_order_t*)arg, VIEW_BY_AGE,
                                   VIEW_BY_BYTES};
    double             a, b;
    unsigned           i;

    for (i = 0; i < sizeof(orders) / sizeof(orders[0]); ++i) {
        a = view_key(first, orders[i]);
        b = view_key(second, orders[i]);
        if (a != b) {
            return (a < b) - (a > b);
        }
    }
    return 0;
}

void view_sort(view_t *view, view_order_t order)
{
    qsort_r(view->peers, view->peer_count, sizeof(*view->peers),
            view_compare_peers, &order);
}

const char *view_does(const pages_one_t *one)
{
    if ((one->state == 'T') || (one->state == 't')) {
        return "is stopped";
    }
    if (one->age > PAGES_OLD) {
        return "does not answer";
    }
    if ((one->cpu >= 0) && (one->cpu < VIEW_IDLE)) {
        return "sleeps";
    }
    if (one->idle < 1) {
        return "works";
    }
    return (one->cpu < 0) ? "moves nothing" : "computes or polls";
}
