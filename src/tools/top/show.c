/* SPDX-License-Identifier: BSD-3-Clause */
#include "show.h"

#include <uct/ib/base/base_counters.h>

#include <stdio.h>
#include <string.h>

#define SHOW_WAITS 20 /* lines of causes and waits, these the oldest first */

static const char *const show_counters[BASE_COUNTER_LAST] = BASE_COUNTER_NAMES;

/* 1234567 as "1.23M"; always the same buffer. */
static const char *show_number(double number, char text[16])
{
    static const char units[] = " KMGTP";
    unsigned          unit    = 0;

    while ((number >= 999.5) && (unit < sizeof(units) - 2)) {
        number /= 1000;
        ++unit;
    }
    if (unit == 0) {
        snprintf(text, 16, "%.0f", number);
    } else {
        snprintf(text, 16, "%.*f%c", (number < 9.995) ? 2 :
                                     (number < 99.95) ? 1 : 0,
                 number, units[unit]);
    }
    return text;
}

static const char *show_rank(int rank, char text[16])
{
    snprintf(text, 16, (rank < 0) ? "-" : "%d", rank);
    return text;
}

static void show_peer(const view_peer_t *peer)
{
    char rank[16], sent[16], received[16], bytes[16];

    printf("%-26.40s %5s %7u %6s %6s %6s %5.0f%% %4.0f%% %5.1f%% %5u %8.1f "
           "%6u\n",
           peer->host, show_rank(peer->rank, rank), peer->row->qpn,
           show_number(peer->sent, sent), show_number(peer->received, received),
           show_number(peer->bytes, bytes), peer->blocked * 100,
           peer->refused * 100, peer->lost * 100, peer->depth, peer->age,
           peer->stalls);
}

static void show_one_wait(const view_wait_t *wait)
{
    char rank[16], other[16], count[32] = "";

    if (wait->count > 1) {
        snprintf(count, sizeof(count), " (%u endpoints)", wait->count);
    }
    printf("rank %s (process %ld) has waited %.1f s for rank %s on %s: for "
           "%s%s\n",
           show_rank(wait->who->page.rank, rank), wait->who->pid,
           (double)wait->row->age / 1000, show_rank(wait->rank, other),
           wait->host, view_reason(wait), count);
}

/* How many of `count` rows fit into `lines` lines (0: no limit), if `used` of
 * them are taken. */
static unsigned show_room(unsigned count, unsigned lines, unsigned used)
{
    if ((lines == 0) || (used + count <= lines)) {
        return count;
    }
    return (lines > used) ? lines - used : 0;
}

/* At most SHOW_WAITS with the causes above. Returns the number of lines. */
static unsigned show_waits(const view_t *view, unsigned causes, unsigned lines,
                           unsigned used)
{
    unsigned most  = SHOW_WAITS - causes;
    unsigned count = (view->wait_count < most) ? view->wait_count : most;
    unsigned part  = show_room(count, lines, used), i;

    for (i = 0; i < part; ++i) {
        show_one_wait(&view->waits[i]);
    }
    if (part == view->wait_count) {
        return part;
    }
    printf("%u more waits\n", view->wait_count - part);
    return part + 1;
}

static void show_process(const pages_one_t *one)
{
    const uint64_t *counters = one->page.counters;
    char            rank[16], sent[16], received[16], stalls[16], refused[16];

    printf("%5s %7ld %-15.15s %-4s %-12.12s %6s %6s %6s %6s  %s, last traffic "
           "%.1f s ago\n",
           show_rank(one->page.rank, rank), one->pid, one->page.program,
           one->page.transport, one->page.device,
           show_number((double)counters[BASE_COUNTER_SENT], sent),
           show_number((double)counters[BASE_COUNTER_RECEIVED], received),
           show_number((double)counters[BASE_COUNTER_STALLS], stalls),
           show_number((double)(counters[BASE_COUNTER_NOT_READY]), refused),
           view_does(one), one->idle);
}

/* The causes, or why there is none. Returns how many lines, more than `lines`
 * (0: no limit) by at most one. */
static unsigned show_causes(const view_t *view, const headline_t *headline,
                            unsigned lines)
{
    unsigned part = show_room(headline->count, lines, 0);
    unsigned more = headline->more + headline->count - part, i;

    for (i = 0; i < part; ++i) {
        printf("%s\n", headline->line[i]);
    }
    if (more > 0) {
        printf("at least %u more causes\n", more);
    }
    if (headline->count > 0) {
        return part + (more > 0);
    }
    puts((view->pages->count == 0) ?
                 "no process of yours uses this module now: it has just "
                 "begun, or ended, or is another user's; or it runs without "
                 "srdrun, or with UCX_EFA_TOP=n" :
         (view->wait_count > 0) ? "no cause is known yet for the waits below" :
                                  "no process is stalled by a peer");
    return 1;
}

void show_text(const view_t *view, const headline_t *headline, unsigned lines)
{
    unsigned causes = show_causes(view, headline, lines / 4);
    unsigned used   = 3 + causes, part, i;
    char     sent[16], received[16], bytes[16];

    printf("%u interfaces, %u peers: %s messages/s out, %s messages/s in, "
           "%sB/s\n",
           view->pages->count, view->peer_count, show_number(view->sent, sent),
           show_number(view->received, received),
           show_number(view->bytes, bytes));
    if (view->pages->left_out > 0) {
        printf("%u interfaces more are not read: %u of a process and %u in all "
               "are, as far as there are descriptors (ulimit -n); the lines "
               "above know nothing of them\n", view->pages->left_out,
               PAGES_PROCESS, PAGES_MAX);
        ++used;
    }
    if (view->pages->count == 0) {
        return;
    }
    used += network_show(view->network);
    used += show_waits(view, causes, lines / 2, used);
    printf("%-26s %5s %7s %6s %6s %6s %6s %5s %6s %5s %8s %6s\n", "PEER",
           "RANK", "QPN", "OUT/s", "IN/s", "B/s", "BLOCK", "RNR", "LOST",
           "DEPTH", "OLDEST s", "STALLS");
    part = show_room(view->peer_count, lines / 4 * 3, used);
    for (i = 0; i < part; ++i, ++used) {
        show_peer(&view->peers[i]);
    }
    printf("%5s %7s %-15s %-4s %-12s %6s %6s %6s %6s  %s\n", "RANK", "PID",
           "PROGRAM", "", "DEVICE", "OUT", "IN", "STALLS", "RNR", "DOES");
    part = show_room(view->pages->count, lines, used);
    for (i = 0; i < part; ++i, ++used) {
        show_process(&view->pages->list[i]);
    }
}

static void json_rank(json_t *json, const char *name, int rank)
{
    if (rank < 0) {
        json_text(json, name, NULL);
    } else {
        json_count(json, name, (unsigned long)rank);
    }
}

static void show_json_peers(json_t *json, const view_t *view)
{
    const view_peer_t *peer;
    unsigned           i;

    json_array(json, "peers");
    for (i = 0; i < view->peer_count; ++i) {
        peer = &view->peers[i];
        json_object(json, NULL);
        json_text(json, "host", peer->host);
        json_rank(json, "rank", peer->rank);
        json_count(json, "qpn", peer->row->qpn);
        json_number(json, "messages_out_per_second", peer->sent);
        json_number(json, "messages_in_per_second", peer->received);
        json_number(json, "bytes_per_second", peer->bytes);
        json_number(json, "blocked", peer->blocked);
        json_number(json, "receiver_not_ready", peer->refused);
        json_number(json, "lost", peer->lost);
        json_count(json, "reorder_depth", peer->depth);
        json_number(json, "oldest_seconds", peer->age);
        json_count(json, "stalls", peer->stalls);
        json_end_object(json);
    }
    json_end_array(json);
}

static void show_json_waits(json_t *json, const view_t *view)
{
    const view_wait_t *wait;
    unsigned           i;

    json_array(json, "waits");
    for (i = 0; i < view->wait_count; ++i) {
        wait = &view->waits[i];
        json_object(json, NULL);
        json_rank(json, "rank", wait->who->page.rank);
        json_count(json, "pid", (unsigned long)wait->who->pid);
        json_text(json, "for_host", wait->host);
        json_rank(json, "for_rank", wait->rank);
        json_count(json, "for_qpn", wait->row->qpn);
        json_text(json, "wants", view_reason(wait));
        json_truth(json, "stalled", view_is_stalled(wait->row));
        json_number(json, "seconds", (double)wait->row->age / 1000);
        json_end_object(json);
    }
    json_end_array(json);
}

static void show_json_interfaces(json_t *json, const view_t *view)
{
    const pages_one_t *one;
    unsigned           i;

    json_array(json, "interfaces");
    for (i = 0; i < view->pages->count; ++i) {
        one = &view->pages->list[i];
        json_object(json, NULL);
        json_text(json, "host", one->page.host);
        json_rank(json, "rank", one->page.rank);
        json_count(json, "pid", (unsigned long)one->pid);
        json_text(json, "program", one->page.program);
        json_text(json, "transport", one->page.transport);
        json_text(json, "device", one->page.device);
        json_count(json, "qpn", one->page.qpn);
        json_text(json, "does", view_does(one));
        json_number(json, "moved_seconds_ago", one->idle);
        json_count(json, "endpoints", one->page.peers);
        json_count(json, "endpoints_stalled", one->page.stuck);
        json_count(json, "looks", one->page.looks);
        json_counts(json, "counters", show_counters, one->page.counters,
                    BASE_COUNTER_LAST);
        json_end_object(json);
    }
    json_end_array(json);
}

void show_json(json_t *json, const view_t *view, const headline_t *headline)
{
    unsigned i;

    json_text(json, "headline",
              (headline->count > 0) ? headline->line[0] : NULL);
    json_array(json, "causes");
    for (i = 0; i < headline->count; ++i) {
        json_text(json, NULL, headline->line[i]);
    }
    json_end_array(json);
    json_number(json, "messages_out_per_second", view->sent);
    json_number(json, "messages_in_per_second", view->received);
    json_number(json, "bytes_per_second", view->bytes);
    json_count(json, "interfaces_not_read", view->pages->left_out);
    show_json_waits(json, view);
    show_json_peers(json, view);
    show_json_interfaces(json, view);
    network_json(json, view->network);
}
