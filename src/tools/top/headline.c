/* SPDX-License-Identifier: BSD-3-Clause */
#include "headline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process that sleeps and had traffic within so many seconds waits for events
 * as programs do. */
#define HEADLINE_IDLE 1.0

/* Ranks of a host that are named at most. */
#define HEADLINE_RANKS 4

/* A process in a bad state, and those like it that nobody waits for. */
typedef struct headline_process {
    const pages_one_t *one; /* any of its pages */
    unsigned           awaited, more;
    char               waiters[48];
} headline_process_t;

/* Begins a line, which is empty; the last if all are taken. */
static char *headline_line(headline_t *headline)
{
    if (headline->count == HEADLINE_LINES) {
        ++headline->more;
        return NULL;
    }
    headline->line[headline->count][0] = '\0';
    return headline->line[headline->count++];
}

/* Appends to the line, if there is one, as far as it has room. */
static __attribute__((format(printf, 2, 3))) void
headline_add(char *text, const char *format, ...)
{
    size_t  used = (text == NULL) ? 0 : strlen(text);
    va_list arguments;

    if (text == NULL) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text + used, HEADLINE_LENGTH - used, format, arguments);
    va_end(arguments);
}

/* "rank 5 (process 21, a2a)", or "process 21 (a2a)". */
static void headline_add_who(char *text, const pages_one_t *one)
{
    if (one->page.rank >= 0) {
        headline_add(text, "rank %d (process %ld, ", one->page.rank, one->pid);
    } else {
        headline_add(text, "process %ld (", one->pid);
    }
    headline_add(text, "%s)", one->page.program);
}

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

/* Whether its state alone makes others wait. */
static int headline_is_bad(const pages_one_t *one)
{
    view_state_t state = view_state(one);

    return (state >= VIEW_AWAY) &&
           ((state != VIEW_SLEEPS) || (one->quiet > HEADLINE_IDLE));
}

/* The worst first: those that others wait for, by state, by how many wait, by
 * silence. */
static int headline_compare_processes(const void *first, const void *second)
{
    const headline_process_t *a = first, *b = second;
    int                       order = (b->awaited > 0) - (a->awaited > 0);

    if (order == 0) {
        order = (int)view_state(b->one) - (int)view_state(a->one);
    }
    if (order == 0) {
        order = (int)b->awaited - (int)a->awaited;
    }
    return (order != 0) ? order : (a->one->quiet < b->one->quiet) -
                                          (a->one->quiet > b->one->quiet);
}

static void
headline_say(headline_t *headline, const headline_process_t *process)
{
    const pages_one_t *one  = process->one;
    char              *text = headline_line(headline);

    headline_add_who(text, one);
    headline_add(text, " %s", view_does(one));
    if (process->more > 0) {
        headline_add(text, ", and %u more", process->more);
    }
    headline_add(text, "%s; last traffic %.1f s ago", process->waiters,
                 one->quiet);
}

/* The next process behind `one`, NULL first; NULL: there is none. */
static const pages_one_t *
headline_next(const view_t *view, const pages_one_t *one)
{
    const pages_one_t *end  = view->pages->list + view->pages->count;
    const pages_one_t *next = (one == NULL) ? view->pages->list : one + 1;

    while ((one != NULL) && (next < end) && (next->pid == one->pid)) {
        ++next;
    }
    return (next < end) ? next : NULL;
}

/* The processes that poll while nothing moves, of ranks alone if asked for. */
static unsigned
headline_pollers(const view_t *view, int ranks, double *quiet)
{
    const pages_one_t *one   = NULL;
    unsigned           count = 0;

    *quiet = 0;
    while ((one = headline_next(view, one)) != NULL) {
        if ((view_state(one) == VIEW_POLLS) &&
            (!ranks || (one->page.rank >= 0))) {
            *quiet = ((count++ == 0) || (one->quiet < *quiet)) ? one->quiet :
                                                                 *quiet;
        }
    }
    return count;
}

/* Nobody waits for the network, and nothing moves. */
static void headline_program(const view_t *view, headline_t *headline)
{
    double   quiet;
    unsigned count = headline_pollers(view, 1, &quiet);
    int      ranks = count > 0;
    char     pollers[32];

    if (!ranks) {
        count = headline_pollers(view, 0, &quiet);
    }
    if (count >= 2) {
        headline_count(pollers, count, ranks);
        headline_add(headline_line(headline),
                     "%s poll, and nothing has moved for %.1f s: what they "
                     "wait for was not sent, or not received, by the program",
                     pollers, quiet);
    }
}

/* Adds a process; of those that sleep or compute, and that nobody waits for,
 * one stands for all. Returns the new number of processes. */
static unsigned
headline_put(headline_process_t *list, unsigned count,
             const headline_process_t *one)
{
    view_state_t state = view_state(one->one);
    unsigned     i;

    for (i = 0; (one->awaited == 0) && (state <= VIEW_SLEEPS) && (i < count);
         ++i) {
        if ((list[i].awaited == 0) && (view_state(list[i].one) == state)) {
            ++list[i].more;
            if (one->one->quiet > list[i].one->quiet) {
                list[i].one = one->one;
            }
            return count;
        }
    }
    list[count] = *one;
    return count + 1;
}

/* Its receiver does not read, or has no buffers, for most of a second, which no
 * line on a process or the network tells. */
static int headline_is_stalled(const view_wait_t *wait)
{
    return view_is_stalled(wait->row) && !view_is_unanswered(wait) &&
           !headline_is_bad(wait->who) &&
           ((wait->local == NULL) || !headline_is_bad(wait->local));
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
 * their waits; of a peer on this host also how often it waits itself. */
typedef struct headline_most {
    const view_wait_t *wait;
    unsigned           processes, own;
    char               number[32];
} headline_most_t;

/* How often this process waits; NULL: 0. */
static unsigned headline_own(const view_wait_t **waits, unsigned count,
                             const pages_one_t *one)
{
    unsigned own = 0, i;

    for (i = 0; (one != NULL) && (i < count); ++i) {
        own += waits[i]->who->pid == one->pid;
    }
    return own;
}

/* `waits` are sorted by subject, then by process. */
static headline_most_t
headline_most(const view_wait_t **waits, unsigned count,
              int (*by_subject)(const view_wait_t*, const view_wait_t*))
{
    headline_most_t most = {NULL, 0, 0, ""};
    unsigned        run  = 0, own = 0, i;
    int             ranks = 1;

    for (i = 0; i < count; ++i) {
        ranks &= waits[i]->who->page.rank >= 0;
        if ((i == 0) || (by_subject(waits[i - 1], waits[i]) != 0)) {
            run = 1;
            own = (by_subject == headline_by_peer) ?
                          headline_own(waits, count, waits[i]->local) : 0;
        } else {
            run += waits[i]->who->pid != waits[i - 1]->who->pid;
        }
        if (run + own > most.processes + most.own) {
            most.processes = run;
            most.own       = own;
            most.wait      = waits[i];
        }
    }
    headline_count(most.number, most.processes, ranks);
    return most;
}

/* "rank 5 (process 21, a2a) on HOST", or the host alone, of one on another. */
static void headline_add_place(char *text, const pages_one_t *one,
                               const char *host)
{
    if (one != NULL) {
        headline_add_who(text, one);
        headline_add(text, " on ");
    }
    headline_add(text, "%s", host);
}

/* Takes the waits out that this one explains: those for the same subject and
 * those of the peer itself. Returns how many are left. */
static unsigned
headline_explain(const view_wait_t **waits, unsigned count,
                 int (*by_subject)(const view_wait_t*, const view_wait_t*),
                 const view_wait_t *one)
{
    unsigned left = 0, i;

    for (i = 0; i < count; ++i) {
        if ((by_subject(waits[i], one) != 0) &&
            ((one->local == NULL) || (waits[i]->who->pid != one->local->pid))) {
            waits[left++] = waits[i];
        }
    }
    return left;
}

/* A host that stalls processes, why, and its peers that do: their ranks; if it
 * is a single one, also its process and state. */
static void headline_stalls(const view_t *view, const headline_most_t *most,
                            char *text)
{
    const view_peer_t *peer = NULL, *one;
    unsigned           peers = 0, named = 0, i;

    headline_add(text, "%s stalls %s, waiting for %s", most->wait->host,
                 most->number, view_reason(most->wait));
    for (i = 0; i < view->peer_count; ++i) {
        one = &view->peers[i];
        if ((one->stalls > 0) && !strcmp(one->host, most->wait->host) &&
            ((one->local == NULL) || !headline_is_bad(one->local))) {
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

/* A peer that processes get no answer from. */
static void headline_network(const view_wait_t **waits, unsigned count,
                             const headline_most_t *most, char *text)
{
    const view_wait_t *one = most->wait;
    double             age = 0;
    unsigned           i;

    for (i = 0; i < count; ++i) {
        if (headline_by_peer(waits[i], one) == 0) {
            age = (waits[i]->row->age > age) ? waits[i]->row->age : age;
        }
    }
    if ((most->processes == 1) && (most->own == 1) &&
        headline_is_mutual(waits, count, one)) {
        headline_add(text, "the network between ");
        headline_add_place(text, one->who, one->who->page.host);
        headline_add(text, " and ");
        headline_add_place(text, one->local, one->host);
        headline_add(text, " is cut, or one of them is down: both have waited, "
                     "up to %.1f s, for completions", age / 1000);
        return;
    }
    headline_add(text, "the network to ");
    headline_add_place(text, one->local, one->host);
    headline_add(text, " does not answer: ");
    headline_add_who(text, one->who);
    if (most->processes > 1) {
        headline_add(text, " and %u more have", most->processes - 1);
    } else {
        headline_add(text, " has");
    }
    headline_add(text, " waited, up to %.1f s, for completions; it is cut, or "
                 "that host is down", age / 1000);
}

/* How often this process waits; 0 if a peer refused it, since its own network
 * is not cut then. */
static unsigned headline_own_cut(const view_wait_t **waits, unsigned count,
                                 const pages_one_t *one)
{
    unsigned i;

    for (i = 0; i < one->page.rows; ++i) {
        if (one->page.row[i].refused > 0) {
            return 0;
        }
    }
    return headline_own(waits, count, one);
}

/* A process that waits for more peers than wait for any, if there is one: takes
 * its waits out, and tells of it. Returns how many waits are left. */
static unsigned headline_alone(const view_wait_t **waits, unsigned count,
                               const headline_most_t *most,
                               headline_t *headline)
{
    const pages_one_t *one = NULL;
    unsigned           own = 0, left = 0, i, next;
    double             age = 0;
    char              *text;

    for (i = 0; i < count; ++i) {
        next = headline_own_cut(waits, count, waits[i]->who);
        if (next > own) {
            own = next;
            one = waits[i]->who;
        }
    }
    if (own <= most->processes + most->own) {
        return count;
    }
    for (i = 0; i < count; ++i) {
        if (waits[i]->who->pid == one->pid) {
            age = (waits[i]->row->age > age) ? waits[i]->row->age : age;
        } else {
            waits[left++] = waits[i];
        }
    }
    text = headline_line(headline);
    headline_add(text, "the network of ");
    headline_add_place(text, one, one->page.host);
    headline_add(text, " is cut, or its peers are down: it has waited up to "
                 "%.1f s for completions of %u endpoints", age / 1000, own);
    return left;
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

/* A wait of one process of this host for another. */
static int headline_is_local(const view_wait_t *wait)
{
    return (wait->local != NULL) && (wait->local->pid != wait->who->pid);
}

/* Processes that get no answer; `waits` is room for all. */
static void headline_cuts(const view_t *view, const view_wait_t **waits,
                          headline_t *headline)
{
    headline_most_t most;
    unsigned        count = headline_pick(view, waits, view_is_unanswered,
                                          headline_compare_peers);
    unsigned        left;

    while ((count > 0) && (headline->more == 0)) {
        most = headline_most(waits, count, headline_by_peer);
        left = headline_alone(waits, count, &most, headline);
        if (left == count) {
            headline_network(waits, count, &most, headline_line(headline));
            left = headline_explain(waits, count, headline_by_peer, most.wait);
        }
        count = left;
    }
}

/* Processes in a bad state, and what does not answer between those that do not
 * answer either and those that sleep or compute. -1: out of memory. */
static int headline_processes(const view_t *view, const view_wait_t **waits,
                              headline_t *headline)
{
    headline_process_t *list = calloc(view->pages->count + 1, sizeof(*list));
    headline_process_t  process = {NULL, 0, 0, ""};
    double              quiet;
    unsigned            count = 0, waits_len, i;
    int                 in_vain = headline_pollers(view, 0, &quiet) > 0;

    if (list == NULL) {
        return -1;
    }
    waits_len = headline_pick(view, waits, headline_is_local,
                              headline_compare_waits);
    while ((process.one = headline_next(view, process.one)) != NULL) {
        process.awaited = headline_waiters(waits, waits_len, process.one,
                                           process.waiters);
        if (headline_is_bad(process.one) &&
            ((process.awaited > 0) ||
             (view_state(process.one) > VIEW_SLEEPS) ||
             (in_vain && ((process.one->page.rank >= 0) ||
                          (view_state(process.one) < VIEW_SLEEPS))))) {
            count = headline_put(list, count, &process);
        }
    }
    qsort(list, count, sizeof(*list), headline_compare_processes);
    for (i = 0; (i < count) && (view_state(list[i].one) > VIEW_SLEEPS); ++i) {
        headline_say(headline, &list[i]);
    }
    headline_cuts(view, waits, headline);
    for (; i < count; ++i) {
        headline_say(headline, &list[i]);
    }
    free(list);
    return 0;
}

static int headline_fill(const view_t *view, const view_wait_t **waits,
                         headline_t *headline)
{
    headline_most_t most;
    unsigned        count;

    if (headline_processes(view, waits, headline) != 0) {
        return -1;
    }
    count = headline_pick(view, waits, headline_is_stalled,
                          headline_compare_hosts);
    while ((count > 0) && (headline->more == 0)) {
        most = headline_most(waits, count, headline_by_host);
        headline_stalls(view, &most, headline_line(headline));
        count = headline_explain(waits, count, headline_by_host, most.wait);
    }
    if (headline->count == 0) {
        headline_program(view, headline);
    }
    return 0;
}

int headline_make(const view_t *view, headline_t *headline)
{
    const view_wait_t **waits = calloc(view->wait_count + 1, sizeof(*waits));
    int                 status;

    headline->count = headline->more = 0;
    if (waits == NULL) {
        return -1;
    }
    status = headline_fill(view, waits, headline);
    free(waits);
    return status;
}
