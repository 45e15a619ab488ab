/* SPDX-License-Identifier: BSD-3-Clause */
#include "ends.h"

#include <flow/image.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ENDS_RANGES 8 /* are printed of a flow */

static uint64_t ends_incarnation(const run_t *run, const flow_peer_t *peer)
{
    return flow_peer_addr(run->core, peer).incarnation;
}

int ends_write(FILE *out, const run_t *run, uint32_t file)
{
    ends_flow_t      flow = {.kind = ENDS_INTERFACE, .file = file,
                             .own  = flow_image_incarnation(run->core)};
    const flow_tx_t *tx;
    flow_image_rx_t  rx;
    uint32_t         i;

    fwrite(&flow, sizeof(flow), 1, out);
    flow.kind = ENDS_SENDER;
    for (i = 1; i < flow_image_tx_count(run->core); ++i) {
        tx = flow_image_tx(run->core, i);
        if (tx != NULL) {
            flow.peer = ends_incarnation(run, flow_tx_peer(run->core, tx));
            flow.unanswered = flow_tx_is_unanswered(tx) != 0;
            flow.number     = i;
            flow.ep         = flow_image_tx_ep(tx);
            flow.next       = flow_tx_psn(tx);
            flow.limit      = flow_tx_last_limit(tx);
            fwrite(&flow, sizeof(flow), 1, out);
        }
    }
    flow.kind = ENDS_RECEIVER;
    for (i = 1; i < flow_image_rx_count(run->core); ++i) {
        if (flow_image_rx(run->core, i, &rx)) {
            flow.peer  = ends_incarnation(run, rx.peer);
            flow.ep    = rx.ep;
            flow.next  = rx.next;
            flow.limit = rx.told;
            flow.held  = rx.mask;
            fwrite(&flow, sizeof(flow), 1, out);
        }
    }
    return ((fflush(out) == 0) && !ferror(out)) ? 0 : -1;
}

/* Any order will do, in which flows of the same key are the same. */
static int ends_order(const void *first, const void *second)
{
    return memcmp(first, second, offsetof(ends_flow_t, held));
}

/* Does the receiver have packet psn, which is not before its next one? */
static int ends_holds(const ends_flow_t *rx, flow_psn_t psn)
{
    return ((flow_psn_t)(psn - rx->next) < FLOW_WINDOW_MAX) &&
           ((rx->held & flow_psn_bit(psn)) != 0);
}

/* Prints the packets from rx->next on that were sent and are not there. */
static void ends_print_packets(const ends_flow_t *tx, const ends_flow_t *rx)
{
    const char *before = " sent and not received: ";
    unsigned    ranges = 0;
    flow_psn_t  psn, first;

    for (psn = rx->next; flow_psn_lt(psn, tx->next); ++psn) {
        for (first = psn; flow_psn_lt(psn, tx->next) && !ends_holds(rx, psn);) {
            ++psn;
        }
        if ((psn == first) || (ranges > ENDS_RANGES)) {
            continue;
        }
        if (ranges++ == ENDS_RANGES) {
            fputs(", ...", stdout);
        } else if ((flow_psn_t)(psn - first) == 1) {
            printf("%s%u", before, first);
        } else {
            printf("%s%u-%u", before, first, (flow_psn_t)(psn - 1));
        }
        before = ", ";
    }
}

/* Prints the differences of both ends of a flow. Nonzero: there are some. */
static int ends_compare(const ends_flow_t *tx, const ends_flow_t *rx,
                        char *const *names)
{
    int is_lost  = flow_psn_lt(rx->next, tx->next);
    int is_short = (tx->limit == tx->next) &&
                   flow_psn_lt(tx->limit, rx->limit);

    if (!is_lost && !is_short) {
        return 0;
    }
    printf("%s, flow %u to %s:", names[tx->file], tx->number, names[rx->file]);
    ends_print_packets(tx, rx);
    if (is_short) {
        printf("%s limit %u was sent to it, and it has %u",
               is_lost ? ";" : "", rx->limit, tx->limit);
    }
    fputs("\n", stdout);
    return 1;
}

/* Prints what of a sending flow did not arrive. 0: its other end is not in
 * these recordings; *differ: something did not arrive. */
static int ends_print_flow(const ends_flow_t *flows, size_t all,
                           const ends_flow_t *tx, char *const *names,
                           unsigned *differ)
{
    ends_flow_t        wanted = {.own = tx->peer, .peer = tx->own,
                                 .ep = tx->ep, .kind = ENDS_RECEIVER};
    const ends_flow_t *other;

    other = bsearch(&wanted, flows, all, sizeof(*flows), ends_order);
    if (other != NULL) {
        *differ += (unsigned)ends_compare(tx, other, names);
    } else if (tx->unanswered) {
        wanted = (ends_flow_t){.own = tx->peer, .kind = ENDS_INTERFACE};
        other  = bsearch(&wanted, flows, all, sizeof(*flows), ends_order);
        if (other != NULL) {
            ++*differ;
            printf("%s, flow %u to %s: its hello was not received\n",
                   names[tx->file], tx->number, names[other->file]);
        }
    }
    return other != NULL;
}

static void ends_print_all(ends_flow_t *flows, size_t all, char *const *names)
{
    unsigned between = 0, differ = 0;
    size_t   i;

    qsort(flows, all, sizeof(*flows), ends_order);
    for (i = 0; i < all; ++i) {
        if (flows[i].kind == ENDS_SENDER) {
            between += (unsigned)ends_print_flow(flows, all, &flows[i], names,
                                                 &differ);
        }
    }
    if (between == 0) {
        puts("no flow is open from one of these recordings to another at their "
             "ends: those that were closed in order lost nothing; --until CALL "
             "looks at an earlier moment");
    } else {
        printf("%u flows between these recordings, %u of them with something "
               "that did not arrive\n", between, differ);
    }
}

int ends_print(FILE *in, char *const *names, uint32_t count)
{
    ends_flow_t *flows;
    size_t       all, kept = 0, i;
    long         size;

    if ((fseek(in, 0, SEEK_END) != 0) || ((size = ftell(in)) < 0)) {
        return -1;
    }
    rewind(in);
    all   = (size_t)size / sizeof(*flows);
    flows = calloc(all + 1, sizeof(*flows));
    if ((flows == NULL) || (fread(flows, sizeof(*flows), all, in) != all)) {
        free(flows);
        return -1;
    }
    for (i = 0; i < all; ++i) { /* a damaged recording may write anything */
        if ((flows[i].file < count) && (flows[i].kind <= ENDS_INTERFACE)) {
            flows[kept++] = flows[i];
        }
    }
    ends_print_all(flows, kept, names);
    free(flows);
    return 0;
}
