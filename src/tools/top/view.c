/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "view.h"

#include <flow/look.h>

#include <arpa/inet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIEW_LONG 0.1  /* shortest wait that is shown, s */
#define VIEW_QUIET 3.0 /* without traffic, or without progress: longer than two
                          looks, s */
#define VIEW_NET_S   2.0 /* a device that answers does so before, s */
#define VIEW_IDLE 0.02 /* of a processor used or wanted: less "sleeps" */

/* One row of one page. */
typedef struct view_ref {
    const pages_one_t    *who;
    const base_top_row_t *row;
    unsigned              peer;
} view_ref_t;

int view_is_stalled(const base_top_row_t *row)
{
    return (row->blocked > BASE_TOP_SHARE / 2) ||
           (row->refused > BASE_TOP_SHARE / 2);
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

view_state_t view_state(const pages_one_t *one)
{
    if ((one->state == 'T') || (one->state == 't')) {
        return VIEW_STOPPED;
    }
    if (one->age > PAGES_OLD) {
        return VIEW_SILENT;
    }
    if ((one->awake >= 0) && (one->awake < VIEW_IDLE)) {
        return VIEW_SLEEPS;
    }
    if (one->away > VIEW_QUIET) {
        return VIEW_AWAY;
    }
    return (one->quiet < VIEW_QUIET) ? VIEW_WORKS : VIEW_POLLS;
}

const char *view_does(const pages_one_t *one)
{
    static const char *const words[] = {[VIEW_WORKS]   = "works",
                                        [VIEW_POLLS]   = "polls",
                                        [VIEW_AWAY]    =
                                                "computes, outside of UCX",
                                        [VIEW_SLEEPS]  = "sleeps",
                                        [VIEW_SILENT]  = "does not answer",
                                        [VIEW_STOPPED] = "is stopped"};

    return words[view_state(one)];
}

int view_is_unanswered(const view_wait_t *wait)
{
    int is_out = (wait->row->wait == FLOW_LOOK_SENT) ||
                 (wait->row->wait == FLOW_LOOK_FREE) ||
                 (wait->row->wait == FLOW_LOOK_HELLO);

    return is_out && (wait->row->refused == 0) && /* a refusal is an answer */
           (wait->row->age > VIEW_NET_S * 1000) &&
           (view_state(wait->who) <= VIEW_POLLS) &&
           ((wait->local == NULL) || (view_state(wait->local) < VIEW_AWAY));
}

const char *view_reason(const view_wait_t *wait)
{
    static const char *const words[FLOW_LOOK_WAITS] = {
            [FLOW_LOOK_FREE]   = "completions",
            [FLOW_LOOK_HELLO]  = "its first answer",
            [FLOW_LOOK_LIMIT]  = "its receiver to read",
            [FLOW_LOOK_RNR]    = "its receiver's buffers",
            [FLOW_LOOK_SENT]   = "completions",
            [FLOW_LOOK_FAILED] = "nothing: it failed"};

    return words[(wait->row->refused > BASE_TOP_SHARE / 2) ?
                         FLOW_LOOK_RNR : wait->row->wait];
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
        wait->who   = refs[i].who;
        wait->row   = refs[i].row;
        wait->rank  = peer->rank;
        wait->local = peer->local;
        wait->count = 1;
        memcpy(wait->host, peer->host, sizeof(wait->host));
    }
    qsort(view->waits, view->wait_count, sizeof(*view->waits),
          view_compare_waits);
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

int view_make(view_t *view, const pages_t *pages, const network_t *network)
{
    size_t              most = (size_t)pages->count * BASE_TOP_ROWS + 1;
    view_ref_t         *refs = calloc(most, sizeof(*refs));
    const pages_one_t **sorted = calloc(pages->count + 1, sizeof(*sorted));
    unsigned            count, i;
    int                 status = -1;

    memset(view, 0, sizeof(*view));
    view->pages   = pages;
    view->network = network;
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
        status = 0;
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

/* By process, peer and reason, as they are shown; then the oldest first. */
static int view_compare_same(const void *first, const void *second)
{
    const view_wait_t *a = first, *b = second;
    int                order = (a->who->pid > b->who->pid) -
                               (a->who->pid < b->who->pid);

    if (order == 0) {
        order = strcmp(a->host, b->host);
    }
    if (order == 0) {
        order = (a->rank > b->rank) - (a->rank < b->rank);
    }
    return (order != 0) ? order : strcmp(view_reason(a), view_reason(b));
}

static int view_compare_merge(const void *first, const void *second)
{
    int order = view_compare_same(first, second);

    return (order != 0) ? order : view_compare_waits(first, second);
}

void view_merge(view_t *view)
{
    view_wait_t *waits = view->waits;
    unsigned     kept  = 0, i;

    qsort(waits, view->wait_count, sizeof(*waits), view_compare_merge);
    for (i = 0; i < view->wait_count; ++i) {
        if ((kept > 0) && !view_compare_same(&waits[kept - 1], &waits[i])) {
            waits[kept - 1].count += waits[i].count;
        } else {
            waits[kept++] = waits[i];
        }
    }
    view->wait_count = kept;
    qsort(waits, kept, sizeof(*waits), view_compare_waits);
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
