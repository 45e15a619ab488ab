/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page that an interface shows to srd_info --top: memory without a name in
 * any folder (memfd), found through /proc/PID/fd, so that it is gone with its
 * process, and for the eyes of its own user.
 *
 * A reader holds a shared lock (flock) on it meanwhile: then the interface
 * looks at its peers often, else once a second. It is read as a whole; its hash
 * tells whether it was written meanwhile. Another process may have made it, so
 * a reader believes nothing of it.
 */
#ifndef BASE_TOP_PAGE_H_
#define BASE_TOP_PAGE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BASE_TOP_NAME  "ucx-efa-srd-top"
#define BASE_TOP_MAGIC "EFATOP 1" /* 8 characters, no 0 */

enum {
    BASE_TOP_STUCK    = 32, /* peers that are shown since something waits */
    BASE_TOP_BUSY     = 32, /* ... since much is sent, or came */
    BASE_TOP_ROWS     = BASE_TOP_STUCK + BASE_TOP_BUSY,
    BASE_TOP_COUNTERS = 24, /* room for BASE_COUNTER_LAST */
    BASE_TOP_SHARE    = 1000 /* shares of time are in thousandths */
};

/* An endpoint of the user's; what happened is that of the last second. */
typedef struct base_top_row {
    uint8_t  gid[16]; /* of the peer, with its number */
    uint32_t qpn;
    uint32_t age;      /* ms: its oldest message that waits does so long */
    uint32_t sent;     /* messages a second */
    uint32_t received; /* the same, of the flow that came with it */
    uint64_t bytes;    /* sent, put and got a second, about */
    uint16_t blocked;  /* share of time on its receiver's limit */
    uint16_t refused;  /* ... after receiver-not-ready */
    uint16_t lost;     /* ud: share of the packets, in 1/2^16 */
    uint8_t  depth;    /* how far ahead of its turn a packet came */
    uint8_t  wait;     /* flow_look_wait_t, now */
    uint32_t rma;      /* reads and writes that are out */
    uint32_t reserved;
} base_top_row_t;

typedef struct base_top_page {
    char     magic[8];
    uint64_t hash;    /* of all behind it: base_top_hash */
    uint32_t size;    /* of the page */
    uint32_t pid;     /* as the process knows itself */
    int32_t  rank;    /* of its job; -1: unknown */
    uint32_t qpn;
    uint64_t written; /* CLOCK_MONOTONIC, ns */
    uint64_t moved;   /* when anything was sent, completed or received last */
    uint32_t peers;   /* endpoints */
    uint32_t stuck;   /* of them on a limit for most of the time */
    uint32_t looks;   /* at the endpoints in the last second */
    uint32_t rows;    /* of row[] */
    uint8_t  gid[16];
    char     host[64];
    char     program[32];
    char     device[32];
    char     transport[8];
    uint64_t counters[BASE_TOP_COUNTERS]; /* base_counter_t */
    base_top_row_t row[BASE_TOP_ROWS];
} base_top_page_t;

/* FNV-1a by words. */
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
