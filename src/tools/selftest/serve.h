/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The far side of the self-test: it does what lines of text ask for, each
 * answered by a line, "ok ..." or "error WHY". Nothing a line says can do more
 * than that: numbers are checked, and memory is this side's own.
 *
 *   hello                          ok VERSION GID CAPS MAX_MSG
 *   open DEPTH RECEIVES BYTES QKEY RNR   ok QPN ADDR RKEY: a queue pair with
 *                                  receives
 *   again 0|1                      whether receives are posted again
 *   post N                         N receives more
 *   know GID, forget               a handle for the requester, or none
 *   echo GID QPN QKEY              each message is answered; echo -: no more
 *   fill BYTE LENGTH               of the memory at ADDR
 *   look BYTE LENGTH               ok N: bytes that are something else
 *   arrived                        ok COUNT TWICE BAD MOST B0 ... B15
 *   close
 *   bye                            (no answer) the last one
 *   die                            SIGKILL, where that is allowed
 */
#ifndef SRD_SELFTEST_SERVE_H_
#define SRD_SELFTEST_SERVE_H_

#include "qp.h"

enum {
    ST_LINE_MAX  = 512, /* bytes of a line, with its end */
    ST_SEQ_MAX   = 65536, /* numbers of messages */
    ST_BUCKETS   = 16,
    ST_VERSION   = 1,
    ST_HEAD      = 8 /* bytes of a message's number, before its pattern */
};

typedef struct st_serve {
    const efa_device_t *device;
    st_mem_t            mem;  /* half for arrivals, half for RDMA */
    st_qp_t             qp;   /* qp.qp NULL: none */
    unsigned            depth, slots, next, again;
    size_t              slot;
    struct ibv_ah      *known; /* a handle for the requester, NULL: none */
    st_dest_t           echo;  /* ah NULL: none */
    int                 may_die;
    char               *answer; /* to the line that is served, room bytes */
    size_t              room;

    unsigned            count, twice, bad, most, highest;
    unsigned            bucket[ST_BUCKETS]; /* by how many overtook */
    uint8_t             seen[ST_SEQ_MAX];
} st_serve_t;

/* 0, or an errno. */
int  st_serve_open(st_serve_t *serve, const efa_device_t *device);
void st_serve_close(st_serve_t *serve);

/* One line, without its end. */
void st_serve_line(st_serve_t *serve, const char *line, char *answer,
                   size_t size);

/* Takes what arrived. Returns how many messages. */
unsigned st_serve_progress(st_serve_t *serve);

/* A message's bytes: number and pattern. */
void st_serve_message(uint8_t *bytes, size_t length, uint32_t number);

/* 16 bytes as 32 digits, and back: 0, or -1. */
void st_serve_gid_print(const uint8_t gid[16], char text[33]);
int  st_serve_gid_parse(const char *text, uint8_t gid[16]);

#endif
