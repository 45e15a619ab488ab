/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "soak.h"
#include "fill.h"
#include "watchdog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRAFFIC_GUARD 0x5a
#define TRAFFIC_PAGE  4096u

/* ------------------------------------------------------------ memory */

static void *traffic_map(void *where)
{
    void *room = mmap(where, SOAK_ROOM, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED : 0), -1,
                      0);

    if (room == MAP_FAILED) {
        perror("FAIL: mmap");
        exit(1);
    }
    return room;
}

/* Other pages below the same addresses, or other addresses, or half of them, or
 * nothing at all: the slot is not in use. */
static void traffic_remap(soak_t *s, soak_slot_t *slot)
{
    uint8_t *room = slot->room, *old;

    if (room == NULL) {
        slot->room = traffic_map(NULL);
        return;
    }
    ++s->maps;
    switch (fill_rand(&s->rand) % 8) {
    case 0: /* the same place */
        munmap(room, SOAK_ROOM);
        slot->room = traffic_map(room);
        break;
    case 1: /* wherever the kernel likes */
        munmap(room, SOAK_ROOM);
        slot->room = traffic_map(NULL);
        break;
    case 2: /* new pages, without unmapping first */
        slot->room = traffic_map(room);
        break;
    case 3: /* half of it */
        munmap(room + SOAK_ROOM / 2, SOAK_ROOM / 2);
        if (mmap(room + SOAK_ROOM / 2, SOAK_ROOM / 2, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED) {
            perror("FAIL: mmap");
            exit(1);
        }
        break;
    case 4: /* its pages move, and new ones come to their place */
        old        = traffic_map(NULL);
        slot->room = mremap(room, SOAK_ROOM, SOAK_ROOM,
                            MREMAP_MAYMOVE | MREMAP_FIXED, old);
        munmap(slot->room, SOAK_ROOM);
        slot->room = traffic_map(room);
        break;
    case 5: /* its pages are given back */
        madvise(room, SOAK_ROOM, MADV_DONTNEED);
        break;
    default:
        --s->maps;
    }
}

/* Some children end at once, some hold their copies for a while; all write to
 * what this process has in flight, each to a copy of its own. */
static void traffic_fork(soak_t *s)
{
    const soak_slot_t *slots[] = {s->tx, s->rx};
    unsigned i, j;
    size_t at;
    pid_t pid = fork();

    if (pid < 0) {
        perror("FAIL: fork");
        exit(1);
    }
    if (pid > 0) {
        ++s->forks;
        ++s->children;
        return;
    }
    for (i = 0; i < 2; ++i) {
        for (j = 0; j < SOAK_SLOTS; ++j) {
            for (at = 0; slots[i][j].room && at < SOAK_ROOM;
                 at += TRAFFIC_PAGE) {
                slots[i][j].room[at] = 0xee;
            }
        }
    }
    usleep((useconds_t)(fill_rand(&s->rand) % 3 * 5000));
    _exit(0);
}

/* @return 0, -1: one did not end well. */
static int traffic_reap(soak_t *s, int flags)
{
    int status;
    pid_t pid;

    while (s->children > 0 && (pid = waitpid(-1, &status, flags)) > 0) {
        --s->children;
        if (status != 0) {
            soak_report("FAIL: child %d ended with %#x", (int)pid, status);
            return -1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------ messages */

/* Small ones, or what goes by rendezvous. Between them UCX 1.13 sends eager
 * fragments, and never ends the receive of a message that a dead peer left
 * half sent. */
static size_t traffic_size(uint64_t key)
{
    uint64_t mixed = fill_mix(key);

    switch (mixed % 4) {
    case 0:
        return 1 + mixed / 4 % 4000;
    case 1:
        return 1 << 20;
    default:
        return (64 << 10) + mixed / 4 % (1436 << 10);
    }
}

static void traffic_name(const soak_t *s, soak_slot_t *slot, int by_client,
                         uint32_t index)
{
    slot->key  = fill_key(s->seed, (uint64_t)s->session << 1 | by_client, index);
    slot->size = traffic_size(slot->key);
}

static ucp_tag_t traffic_tag(const soak_t *s, uint32_t index)
{
    return (uint64_t)s->session << 32 | index;
}

static void traffic_begin(soak_t *s, soak_slot_t *slot, int by_client,
                          uint32_t index)
{
    traffic_remap(s, slot);
    traffic_name(s, slot, by_client, index);
    slot->at   = SOAK_GUARD + fill_rand(&s->rand) % TRAFFIC_PAGE;
    slot->used = 1;
    memset(&slot->op, 0, sizeof(slot->op));
    memset(slot->room + slot->at - SOAK_GUARD, TRAFFIC_GUARD, SOAK_GUARD);
    memset(slot->room + slot->at + slot->size, TRAFFIC_GUARD, SOAK_GUARD);
}

static void traffic_send(soak_t *s, soak_slot_t *slot)
{
    ucp_request_param_t param = op_param_send(&slot->op);

    traffic_begin(s, slot, s->node.client, s->sent);
    fill_bytes(slot->room + slot->at, slot->size, slot->key, 0);
    op_started(&slot->op,
               ucp_tag_send_nbx(s->node.ep, slot->room + slot->at, slot->size,
                                traffic_tag(s, s->sent++), &param));
}

static void traffic_receive(soak_t *s, soak_slot_t *slot)
{
    ucp_request_param_t param = op_param_tag_recv(&slot->op);

    traffic_begin(s, slot, !s->node.client, s->received);
    op_started(&slot->op,
               ucp_tag_recv_nbx(s->node.worker, slot->room + slot->at,
                                slot->size, traffic_tag(s, s->received++),
                                ~(ucp_tag_t)0, &param));
}

static int traffic_guards_differ(const soak_slot_t *slot)
{
    const uint8_t *before = slot->room + slot->at - SOAK_GUARD;
    const uint8_t *after  = slot->room + slot->at + slot->size;
    int i;

    for (i = 0; i < SOAK_GUARD; ++i) {
        if (before[i] != TRAFFIC_GUARD || after[i] != TRAFFIC_GUARD) {
            return 1;
        }
    }
    return 0;
}

/* Bytes of a send are compared, too: they must be as they were. */
static int traffic_compare(soak_t *s, const soak_slot_t *slot, int is_rx)
{
    ptrdiff_t differs = fill_diff(slot->room + slot->at, slot->size, slot->key,
                                  0);

    if (is_rx && slot->op.got != slot->size) {
        soak_report("FAIL: %zu of %zu bytes came", slot->op.got, slot->size);
        return -1;
    }
    if (differs >= 0 || traffic_guards_differ(slot)) {
        soak_report("FAIL: session %u: a %s of %zu bytes at %p differs at %td "
                    "(-1: around it)", s->session, is_rx ? "receive" : "send",
                    slot->size, (void*)(slot->room + slot->at), differs);
        return -1;
    }
    s->bytes += is_rx ? slot->size : 0;
    return 0;
}

/* Its memory is often gone at once, while others are in flight. */
static void traffic_free(soak_t *s, soak_slot_t *slot)
{
    if (slot->op.request != NULL) {
        ucp_request_free(slot->op.request);
        slot->op.request = NULL;
    }
    slot->used = 0;
    if (fill_rand(&s->rand) % 4 == 0) {
        munmap(slot->room, SOAK_ROOM);
        slot->room = NULL;
        ++s->maps;
    }
}

/* @return 1: complete and well; 0: not yet; -1: wrong. */
static int traffic_finish(soak_t *s, soak_slot_t *slot, int is_rx)
{
    int ok = slot->op.status == UCS_OK;

    if (!slot->used || !slot->op.done) {
        return 0;
    }
    if (!ok && s->status == UCS_OK) {
        /* the error callback comes a little later, or the peer's word does */
        s->status = slot->op.status;
        soak_report("a %s ended with: %s", is_rx ? "receive" : "send",
                    ucs_status_string(slot->op.status));
    }
    if (ok && traffic_compare(s, slot, is_rx)) {
        return -1;
    }
    traffic_free(s, slot);
    s->moved += ok;
    if (ok && s->moved % 24 == 0) {
        traffic_fork(s);
    }
    return ok;
}

int soak_traffic_round(soak_t *s)
{
    unsigned i;
    int rx, tx;

    for (i = 0; i < SOAK_SLOTS && s->status == UCS_OK; ++i) {
        if (!s->rx[i].used && s->received < s->messages) {
            traffic_receive(s, &s->rx[i]);
        }
        if (!s->tx[i].used && s->sent < s->messages) {
            traffic_send(s, &s->tx[i]);
        }
        rx = traffic_finish(s, &s->rx[i], 1);
        tx = traffic_finish(s, &s->tx[i], 0);
        if (rx < 0 || tx < 0) {
            return -1;
        }
        s->rx_done += rx;
        s->tx_done += tx;
    }
    return traffic_reap(s, WNOHANG);
}

int soak_traffic_is_done(const soak_t *s)
{
    return s->tx_done == s->messages && s->rx_done == s->messages;
}

static void traffic_drain_slot(soak_t *s, soak_slot_t *slot, int is_rx)
{
    if (!slot->used) {
        return;
    }
    if (is_rx && !slot->op.done) {
        ucp_request_cancel(s->node.worker, slot->op.request);
    }
    while (!slot->op.done) {
        soak_report_progress(s);
    }
    traffic_free(s, slot);
}

void soak_traffic_drain(soak_t *s)
{
    unsigned i;

    watchdog_kick("session %u: what was in flight when it broke", s->session);
    for (i = 0; i < SOAK_SLOTS; ++i) {
        traffic_drain_slot(s, &s->rx[i], 1);
        traffic_drain_slot(s, &s->tx[i], 0);
    }
}

int soak_traffic_end(soak_t *s)
{
    unsigned i;

    for (i = 0; i < SOAK_SLOTS; ++i) {
        if (s->rx[i].room != NULL) {
            munmap(s->rx[i].room, SOAK_ROOM);
        }
        if (s->tx[i].room != NULL) {
            munmap(s->tx[i].room, SOAK_ROOM);
        }
    }
    return traffic_reap(s, 0);
}
