/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page that an interface shows to srd_info --top: anonymous memory (memfd)
 * that a reader finds through /proc/PID/fd. It ends with its process, and only
 * the same user can read it.
 *
 * A reader holds a shared lock (flock) on the page. Meanwhile the interface
 * looks at its peers up to 100 times a second, else once. A reader copies the
 * whole page and checks its hash, to find out whether the page was being
 * written. Another process may have forged it, so a reader checks each member.
 */
#ifndef BASE_TOP_PAGE_H_
#define BASE_TOP_PAGE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BASE_TOP_NAME  "ucx-efa-srd-top"
#define BASE_TOP_MAGIC "EFATOP 2" /* 8 characters, no 0 */

enum {
    BASE_TOP_STUCK    = 32, /* rows of peers for which a message waits */
    BASE_TOP_BUSY     = 32, /* rows of peers with the most traffic */
    BASE_TOP_ROWS     = BASE_TOP_STUCK + BASE_TOP_BUSY,
    BASE_TOP_COUNTERS = 24, /* room for BASE_COUNTER_LAST */
    BASE_TOP_SHARE    = 1000 /* unit of shares of time: thousandths */
};

/* One endpoint; rates, shares of time and depth are of the last second. */
typedef struct base_top_row {
    uint8_t  gid[16];  /* of the peer */
    uint32_t qpn;      /* of the peer */
    uint32_t age;      /* of the oldest message that waits, ms */
    uint32_t sent;     /* messages per second */
    uint32_t received; /* messages per second */
    uint64_t bytes;    /* sent, put and got per second, an estimate */
    uint16_t blocked;  /* share of time with the window used up */
    uint16_t refused;  /* share of time paused after receiver-not-ready */
    uint16_t lost;     /* ud: share of the packets, in 1/2^16 */
    uint8_t  depth;    /* how far ahead of its turn a packet came, at most */
    uint8_t  wait;     /* flow_look_wait_t at the last look */
    uint32_t rma;      /* outstanding reads and writes */
    uint32_t reserved;
} base_top_row_t;

typedef struct base_top_page {
    char     magic[8];
    uint64_t hash;    /* of everything after this member: base_top_hash */
    uint32_t size;    /* of the page */
    uint32_t pid;     /* in the process's own PID namespace */
    int32_t  rank;    /* in its job; -1: unknown */
    uint32_t qpn;
    uint64_t written; /* CLOCK_MONOTONIC, ns */
    uint64_t moved;   /* last time that anything was posted, completed or
                         received, CLOCK_MONOTONIC, ns */
    uint64_t progressed; /* last time that the program was seen to call
                            progress, likewise */
    uint32_t peers;   /* number of endpoints */
    uint32_t stuck;   /* endpoints with the window used up for more than half
                         of the time */
    uint32_t looks;   /* looks at the endpoints in the last second */
    uint32_t rows;    /* valid rows of row[] */
    uint8_t  gid[16];
    char     host[64];
    char     program[32];
    char     device[32];
    char     transport[8];
    uint64_t counters[BASE_TOP_COUNTERS]; /* base_counter_t */
    base_top_row_t row[BASE_TOP_ROWS];
} base_top_page_t;

/* FNV-1a over 64-bit words. */
static inline uint64_t base_top_hash(const base_top_page_t *page)
{
    size_t   at   = offsetof(base_top_page_t, hash) + sizeof(page->hash);
    uint64_t hash = 0xcbf29ce484222325ull, word;

    for (; at < sizeof(*page); at += sizeof(word)) {
        memcpy(&word, (const char*)page + at, sizeof(word));
        hash = (hash ^ word) * 0x100000001b3ull;
    }
    return hash;
}

_Static_assert(sizeof(base_top_page_t) % sizeof(uint64_t) == 0,
               "a page of whole words");
_Static_assert(sizeof(base_top_row_t) == 56, "a row without gaps");

#endif
