/* SPDX-License-Identifier: BSD-3-Clause */
#include "headline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process that sleeps and had traffic within so many seconds waits for events
 * as programs do. */
#define HEADLINE_IDLE 1.0

/* Processes that polled for so many seconds in vain hang, s. */
#define HEADLINE_QUIET 3.0

/* Ranks of a host that are named at most. */
#define HEADLINE_RANKS 4

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
    int                order, is_rank, is_quiet = headline_pollers(view) > 0;
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
        is_rank = process.one->page.rank >= 0;
        if ((process.state == VIEW_SLEEPS) &&
            ((!process.is_awaited && !(is_quiet && is_rank)) ||
             (process.idle < HEADLINE_IDLE))) {
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
static int headline_is_stalled(const view_wait_t *wait)
{
    return view_is_stalled(wait->row) ||
           (wait->row->refused > BASE_TOP_SHARE / 2);
}

static int headline_by_host(const view_wait_t *a, const view_wait_t *b)
{
    return strcmp(a->host, b->host);
}

static int headline_by_peer(const view_wait_t *a, const view_wait_t *b)
{
    int order = headline_by_host(a, b);

    return (order != 0) ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* By the host that a process waits for, then by process. */
static int headline_compare_hosts(const void *first, const void *second)
{
    const view_wait_t *a = *(const view_wait_t *const*)first;
    const view_wait_t *b = *(const view_wait_t *const*)second;
    int                order = headline_by_host(a, b);

    return (order != 0) ? order : headline_by_pid(a->who, b->who);
}

/* By the peer, its host first, then by process. */
static int headline_compare_peers(const void *first, const void *second)
{
    const view_wait_t *a = *(const view_wait_t *const*)first;
    const view_wait_t *b = *(const view_wait_t *const*)second;
    int                order = headline_by_peer(a, b);

    return (order != 0) ? order : headline_by_pid(a->who, b->who);
}

/* Most processes that wait for one subject: how many, "5 ranks", and one of
 * their waits. */
typedef struct headline_most {
    const view_wait_t *wait;
    unsigned           processes;
    char               number[32];
} headline_most_t;

/* `waits` are sorted by subject, then by process. */
static headline_most_t
headline_most(const view_wait_t **waits, unsigned count,
              int (*by_subject)(const view_wait_t*, const view_wait_t*))
{
    headline_most_t most = {NULL, 0, ""};
    unsigned        run  = 0, i;
    int             ranks = 1;

    for (i = 0; i < count; ++i) {
        ranks &= waits[i]->who->page.rank >= 0;
        if ((i == 0) || (by_subject(waits[i - 1], waits[i]) != 0)) {
            run = 1;
        } else {
            run += waits[i]->who->pid != waits[i - 1]->who->pid;
        }
        if (run > most.processes) {
            most.processes = run;
            most.wait      = waits[i];
        }
    }
    headline_count(most.number, most.processes, ranks);
    return most;
}

/* Appends to the line, as far as it has room. */
static __attribute__((format(printf, 2, 3))) void
headline_add(char *text, const char *format, ...)
{
    size_t  used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, HEADLINE_LENGTH - used, format, arguments);
    va_end(arguments);
}

/* "rank 5 on HOST", or the host alone. */
static void headline_add_place(char *text, int rank, const char *host)
{
    if (rank >= 0) {
        headline_add(text, "rank %d on ", rank);
    }
    headline_add(text, "%s", host);
}

/* The host that stalls most processes, why, and its peers that do: their ranks;
 * if it is a single one, also its process and state. */
static void headline_stalls(const view_t *view, const view_wait_t **waits,
                            unsigned count, char *text)
{
    headline_most_t    most = headline_most(waits, count, headline_by_host);
    const view_peer_t *peer = NULL, *one;
    unsigned           peers = 0, named = 0, i;

    if (most.wait == NULL) {
        return;
    }
    headline_add(text, "%s stalls %s, waiting for %s", most.wait->host,
                 most.number, view_reason(most.wait));
    for (i = 0; i < view->peer_count; ++i) {
        one = &view->peers[i];
        if (((one->stalls > 0) || (one->refused > 0.5)) &&
            !strcmp(one->host, most.wait->host)) {
            if ((one->rank >= 0) && (named < HEADLINE_RANKS)) {
                headline_add(text, "%s rank %d", (named++ == 0) ? ":" : ",",
                             one->rank);
            }
            peer = one;
            ++peers;
        }
    }
    if ((named > 0) && (peers > named)) {
        headline_add(text, ", and %u more", peers - named);
    }
    if ((peers == 1) && (peer->local != NULL)) {
        headline_add(text, "%s process %ld %s", (peer->rank < 0) ? ":" : ",",
                     peer->local->pid, view_does(peer->local));
    }
}

/* Do this process and the peer that it waits for wait for each other? */
static int headline_is_mutual(const view_wait_t **waits, unsigned count,
                              const view_wait_t *one)
{
    unsigned i;

    for (i = 0; (one->local != NULL) && (i < count); ++i) {
        if ((waits[i]->who->pid == one->local->pid) &&
            (waits[i]->local != NULL) &&
            (waits[i]->local->pid == one->who->pid)) {
            return 1;
        }
    }
    return 0;
}

/* The peer that most processes get no answer from. */
static void
headline_network(const view_wait_t **waits, unsigned count, char *text)
{
    headline_most_t    most = headline_most(waits, count, headline_by_peer);
    const view_wait_t *one  = most.wait;
    double             age = 0;
    unsigned           i;

    if (one == NULL) {
        return;
    }
    for (i = 0; i < count; ++i) {
        age = (waits[i]->row->age > age) ? waits[i]->row->age : age;
    }
    if ((most.processes == 1) && headline_is_mutual(waits, count, one)) {
        headline_add(text, "the network between ");
        headline_add_place(text, one->who->page.rank, one->who->page.host);
        headline_add(text, " and ");
        headline_add_place(text, one->rank, one->host);
        headline_add(text, " is cut, or one of them is down: both have waited, "
                     "up to %.1f s, for completions", age / 1000);
        return;
    }
    headline_add(text, "the network to ");
    headline_add_place(text, one->rank, one->host);
    headline_add(text, " does not answer: %s %s waited, up to %.1f s, for "
                 "completions; it is cut, or that host is down", most.number,
                 (most.processes == 1) ? "has" : "have", age / 1000);
}

/* Puts those waits into `waits`, sorted, for which `is_one` holds; how many. */
static unsigned headline_pick(const view_t *view, const view_wait_t **waits,
                              int (*is_one)(const view_wait_t*),
                              int (*compare)(const void*, const void*))
{
    unsigned count = 0, i;

    for (i = 0; i < view->wait_count; ++i) {
        if (is_one(&view->waits[i])) {
            waits[count++] = &view->waits[i];
        }
    }
    qsort(waits, count, sizeof(*waits), compare);
    return count;
}

int headline_make(const view_t *view, char text[HEADLINE_LENGTH])
{
    const view_wait_t **waits = calloc(view->wait_count + 1, sizeof(*waits));
    unsigned            count;

    text[0] = '\0';
    if (waits == NULL) {
        return -1;
    }
    headline_worst(view, waits, text);
    if (text[0] == '\0') {
        count = headline_pick(view, waits, view_is_unanswered,
                              headline_compare_peers);
        headline_network(waits, count, text);
    }
    if (text[0] == '\0') {
        count = headline_pick(view, waits, headline_is_stalled,
                              headline_compare_hosts);
        headline_stalls(view, waits, count, text);
    }
    if (text[0] == '\0') {
        headline_program(view, text);
    }
    free(waits);
    return 0;
}
