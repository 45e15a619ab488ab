/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes that send each other messages of up to 1.5 MB, both ways at
 * once, for minutes, while what is under them changes: send and receive buffers
 * are unmapped and mapped again, at the same address and elsewhere, children are
 * forked, endpoints and workers come and go, and whoever runs this stops and
 * kills processes and cuts the network. Every byte is compared.
 *
 * A session is one endpoint each way and some messages; it ends well, or breaks
 * when an endpoint fails or the other process dies, and another one begins.
 */
#ifndef TEST_APPS_SOAK_H
#define TEST_APPS_SOAK_H

#include "node.h"

enum {
    SOAK_SLOTS = 4,       /* messages in flight, each way                     */
    SOAK_ROOM  = 2 << 20, /* bytes mapped for one of them                     */
    SOAK_GUARD = 64,      /* bytes around it that stay as they are            */
    SOAK_WAIT  = 5,       /* seconds without progress, which are told         */
    SOAK_GONE  = -1,      /* in place of the peer's byte: it died             */
    SOAK_NONE  = 0,       /* ... it has not said anything yet                 */
    SOAK_DONE  = 'b',     /* the peer: my messages of this session are done   */
    SOAK_BROKE = 'e',     /* the peer: my endpoint failed                     */
    SOAK_CLOSED = 'c'     /* the peer: my endpoint is closed                  */
};

/* A message in flight, or nothing. */
typedef struct soak_slot {
    op_t     op;
    int      used;
    uint8_t *room; /* SOAK_ROOM bytes, NULL: not mapped */
    size_t   at;   /* in room, of `size` bytes named `key` */
    size_t   size;
    uint64_t key;
} soak_slot_t;

typedef struct soak {
    node_t        node;
    node_params_t params;
    uint64_t      seed, rand;
    double        until;    /* of the client: when to end */
    uint32_t      session;
    uint32_t      messages; /* of this session, each way */
    uint32_t      sent, received; /* of them posted */
    uint32_t      tx_done, rx_done;
    int           word;     /* of the peer: SOAK_* */
    ucs_status_t  status;   /* what its error callback said of the endpoint */
    soak_slot_t   tx[SOAK_SLOTS], rx[SOAK_SLOTS];
    uint64_t      sessions, broken, moved, bytes, maps, forks; /* in all */
    uint64_t      children; /* not ended yet */
} soak_t;

/* soak_traffic.c: posts what may be posted, checks what is complete. @return 0,
 * -1 with a line: a byte is wrong, or a message ended with an error although
 * neither its endpoint nor its peer did. */
int soak_traffic_round(soak_t *s);

/* 1: all messages of the session are done. */
int soak_traffic_is_done(const soak_t *s);

/* The session broke: receives are cancelled, all that is in flight must end,
 * whatever its status. The endpoint is closed, or being closed by force. */
void soak_traffic_drain(soak_t *s);

/* Ends what is mapped and forked. @return 0, -1: a child died. */
int soak_traffic_end(soak_t *s);

/* soak_report.c: a line with the time of day, to standard output at once. */
void soak_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Progress. A time of SOAK_WAIT seconds in which nothing completed is told,
 * with what is in flight, and its end with its length. */
void soak_report_progress(soak_t *s);

/* Something completed, or a wait for something new begins. */
void soak_report_moved(void);

/* Seconds of day. */
double soak_report_now(void);

#endif
