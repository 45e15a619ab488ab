/* SPDX-License-Identifier: BSD-3-Clause */
#include "headline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process that sleeps and had traffic within so many seconds waits for events
 * as programs do. */
#define HEADLINE_IDLE 1.0

/* Processes that polled for so many seconds in vain hang, s. */
#define HEADLINE_QUIET 3.0

/* A process: the worst state of its interfaces. */
typedef struct headline_process {
    const pages_one_t *one; /* any of its pages */
    view_state_t       state;
    double             idle; /* seconds since its last traffic */
    int                is_awaited;
} headline_process_t;

static int headline_by_pid(const pages_one_t *a, const pages_one_t *b)
{
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* By the process waited for, then by the one that waits. */
static int headline_compare_waits(const void *first, const void *second)
{
    const view_wait_t *a = *(const view_wait_t *const*)first;
    const view_wait_t *b = *(const view_wait_t *const*)second;
    int                order = headline_by_pid(a->local, b->local);

    return (order != 0) ? order : headline_by_pid(a->who, b->who);
}

/* By the host that stalls a process, then by process. */
static int headline_compare_stalls(const void *first, const void *second)
{
    const view_wait_t *a = *(const view_wait_t *const*)first;
    const view_wait_t *b = *(const view_wait_t *const*)second;
    int                order = strcmp(a->host, b->host);

    return (order != 0) ? order : headline_by_pid(a->who, b->who);
}

/* "5 ranks", or "1 process". */
static void headline_count(char text[32], unsigned count, int ranks)
{
    snprintf(text, 32, "%u %s%s", count, ranks ? "rank" : "process",
             (count == 1) ? "" : ranks ? "s" : "es");
}

/* The processes that wait for this one, as "; 5 ranks wait"; their number.
 * `waits` are sorted. */
static unsigned headline_waiters(const view_wait_t **waits, unsigned waits_len,
                                 const pages_one_t *one, char text[48])
{
    char               number[32];
    const view_wait_t *last  = NULL;
    unsigned           count = 0, i;
    int                ranks = 1;

    for (i = 0; i < waits_len; ++i) {
        if ((waits[i]->local->pid == one->pid) &&
            ((last == NULL) || (last->who->pid != waits[i]->who->pid))) {
            last   = waits[i];
            ranks &= last->who->page.rank >= 0;
            ++count;
        }
    }
    headline_count(number, count, ranks);
    snprintf(text, 48, "; %s wait%s", number, (count == 1) ? "s" : "");
    if (count == 0) {
        text[0] = '\0';
    }
    return count;
}

/* The process whose pages begin with number `*next`, which is moved on. */
static headline_process_t headline_process(const pages_t *pages, unsigned *next)
{
    const pages_one_t *one     = &pages->list[*next];
    headline_process_t process = {.one   = one,
                                  .state = view_state(one),
                                  .idle  = one->idle + one->age};

    while ((++*next < pages->count) && (one[1].pid == one->pid)) {
        ++one;
        if (view_state(one) > process.state) {
            process.one   = one;
            process.state = view_state(one);
        }
        if (one->idle + one->age < process.idle) {
            process.idle = one->idle + one->age;
        }
    }
    return process;
}

/* Which is worse: the one that others wait for, then by state. */
static int headline_order(const headline_process_t *a,
                          const headline_process_t *b)
{
    return (a->is_awaited != b->is_awaited) ? a->is_awaited - b->is_awaited :
                                              (int)a->state - (int)b->state;
}

static void headline_say(const headline_process_t *worst, unsigned more,
                         const char *waiters, char *text)
{
    char rank[32] = "", others[32] = "";

    if (worst->one->page.rank >= 0) {
        snprintf(rank, sizeof(rank), "rank %d (", worst->one->page.rank);
    }
    if (more > 0) {
        snprintf(others, sizeof(others), ", and %u more", more);
    }
    snprintf(text, HEADLINE_LENGTH,
             "%sprocess %ld%s%s) %s%s%s; last traffic %.1f s ago", rank,
             worst->one->pid, (rank[0] != '\0') ? ", " : " (",
             worst->one->page.program, view_does(worst->one), others, waiters,
             worst->idle);
}

/* The processes that poll while nothing moves, of ranks alone if there are any.
 */
static unsigned headline_count_pollers(const view_t *view, int ranks,
                                       double *idle)
{
    headline_process_t process;
    unsigned           next = 0, count = 0;

    *idle = -1;
    while (next < view->pages->count) {
        process = headline_process(view->pages, &next);
        if ((process.state == VIEW_POLLS) &&
            (process.idle > HEADLINE_QUIET) &&
            (!ranks || (process.one->page.rank >= 0))) {
            ++count;
            *idle = ((*idle < 0) || (process.idle < *idle)) ? process.idle :
                                                              *idle;
        }
    }
    return count;
}

static unsigned headline_pollers(const view_t *view)
{
    double idle;

    return headline_count_pollers(view, 0, &idle);
}

/* Nobody waits for the network, and nothing moves. */
static void headline_program(const view_t *view, char *text)
{
    double   idle;
    unsigned count = headline_count_pollers(view, 1, &idle);
    int      ranks = count > 0;
    char     pollers[32];

    if (!ranks) {
        count = headline_count_pollers(view, 0, &idle);
    }
    if (count < 2) {
        return;
    }
    headline_count(pollers, count, ranks);
    snprintf(text, HEADLINE_LENGTH,
             "%s poll, and nothing has moved for %.1f s: what they wait for "
             "was not sent, or not received, by the program", pollers, idle);
}

/* `waits` are room for all waits. */
static void headline_worst(const view_t *view, const view_wait_t **waits,
                           char *text)
{
    headline_process_t process, worst = {NULL, VIEW_POLLS, 0, 0};
    unsigned           count = 0, more = 0, next = 0, i;
    int                order, is_quiet = headline_pollers(view) > 0;
    char               waiters[48], most[48] = "";

    for (i = 0; i < view->wait_count; ++i) {
        if ((view->waits[i].local != NULL) &&
            (view->waits[i].local->pid != view->waits[i].who->pid)) {
            waits[count++] = &view->waits[i];
        }
    }
    qsort(waits, count, sizeof(*waits), headline_compare_waits);
    while (next < view->pages->count) {
        process = headline_process(view->pages, &next);
        if (process.state < VIEW_AWAY) {
            continue;
        }
        process.is_awaited = headline_waiters(waits, count, process.one,
                                              waiters) > 0;
        if ((process.state == VIEW_SLEEPS) &&
            (!process.is_awaited || (process.idle < HEADLINE_IDLE))) {
            continue;
        }
        if ((process.state == VIEW_AWAY) && !process.is_awaited && !is_quiet) {
            continue;
        }
        order = headline_order(&process, &worst);
        more  = (order == 0) ? more + 1 : (order > 0) ? 0 : more;
        if ((order > 0) || ((order == 0) && (process.idle > worst.idle))) {
            worst = process;
            memcpy(most, waiters, sizeof(most));
        }
    }
    if (worst.one != NULL) {
        headline_say(&worst, more, most, text);
    }
}

/* Its receiver does not read, or has no buffers, for most of a second. */
static int headline_is_stalled(const base_top_row_t *row)
{
    return view_is_stalled(row) || (row->refused > BASE_TOP_SHARE / 2);
}

/* Names the host of `most` that stalls so many processes, and why; if a single
 * peer of that host does, also its rank, process and state. */
static void headline_host(const view_t *view, const view_wait_t *most,
                          const char *stalled, char *text)
{
    const view_peer_t *peer = NULL;
    unsigned           peers = 0, i;
    int                used;

    for (i = 0; i < view->peer_count; ++i) {
        if (((view->peers[i].stalls > 0) || (view->peers[i].refused > 0.5)) &&
            !strcmp(view->peers[i].host, most->host)) {
            peer = &view->peers[i];
            ++peers;
        }
    }
    used = snprintf(text, HEADLINE_LENGTH, "%s stalls %s, waiting for %s",
                    most->host, stalled, view_reason(most));
    if (peers != 1) {
        return;
    }
    if (peer->rank >= 0) {
        used += snprintf(text + used, (size_t)(HEADLINE_LENGTH - used),
                         ": its rank %d", peer->rank);
    }
    if (peer->local != NULL) {
        snprintf(text + used, (size_t)(HEADLINE_LENGTH - used),
                 "%s process %ld %s", (peer->rank >= 0) ? "," : ":",
                 peer->local->pid, view_does(peer->local));
    }
}

/* The host that stalls most processes; `stalls` are room for all waits. */
static void headline_stalls(const view_t *view, const view_wait_t **stalls,
                            char *text)
{
    const view_wait_t *most  = NULL;
    unsigned           count = 0, run = 0, best = 0, i;
    int                ranks = 1;
    char               stalled[32];

    for (i = 0; i < view->wait_count; ++i) {
        if (headline_is_stalled(view->waits[i].row)) {
            stalls[count++] = &view->waits[i];
            ranks          &= view->waits[i].who->page.rank >= 0;
        }
    }
    qsort(stalls, count, sizeof(*stalls), headline_compare_stalls);
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
        headline_count(stalled, best, ranks);
        headline_host(view, most, stalled, text);
    }
}

/* By host and rank that do not answer, then by process. */
static int headline_compare_network(const void *first, const void *second)
{
    const view_wait_t *a = *(const view_wait_t *const*)first;
    const view_wait_t *b = *(const view_wait_t *const*)second;
    int                order = strcmp(a->host, b->host);

    if (order == 0) {
        order = (a->rank > b->rank) - (a->rank < b->rank);
    }
    return (order != 0) ? order : headline_by_pid(a->who, b->who);
}

/* The peer that most processes get no answer from; `waits` as above. */
static void headline_network(const view_t *view, const view_wait_t **waits,
                             char *text)
{
    const view_wait_t *most  = NULL, *one;
    unsigned           count = 0, run = 0, best = 0, i;
    double             age   = 0;
    int                ranks = 1;
    char               waiting[32], rank[32] = "";

    for (i = 0; i < view->wait_count; ++i) {
        if (view_is_unanswered(&view->waits[i])) {
            waits[count++] = &view->waits[i];
            ranks         &= view->waits[i].who->page.rank >= 0;
        }
    }
    qsort(waits, count, sizeof(*waits), headline_compare_network);
    for (i = 0; i < count; ++i) {
        one = waits[i];
        if ((i > 0) && !strcmp(one->host, waits[i - 1]->host) &&
            (one->rank == waits[i - 1]->rank)) {
            run += one->who->pid != waits[i - 1]->who->pid;
        } else {
            run = 1;
        }
        age = (one->row->age > age) ? one->row->age : age;
        if (run > best) {
            best = run;
            most = one;
        }
    }
    if (most == NULL) {
        return;
    }
    headline_count(waiting, best, ranks);
    if (most->rank >= 0) {
        snprintf(rank, sizeof(rank), ", rank %d", most->rank);
    }
    snprintf(text, HEADLINE_LENGTH,
             "the network to %s%s does not answer: %s %s waited, up to %.1f s, "
             "for completions; it is cut, or that host is down", most->host,
             rank, waiting, (best == 1) ? "has" : "have", age / 1000);
}

int headline_make(const view_t *view, char text[HEADLINE_LENGTH])
{
    const view_wait_t **waits = calloc(view->wait_count + 1, sizeof(*waits));

    text[0] = '\0';
    if (waits == NULL) {
        return -1;
    }
    headline_worst(view, waits, text);
    if (text[0] == '\0') {
        headline_network(view, waits, text);
    }
    if (text[0] == '\0') {
        headline_stalls(view, waits, text);
    }
    if (text[0] == '\0') {
        headline_program(view, text);
    }
    free(waits);
    return 0;
}
