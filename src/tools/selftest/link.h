/* SPDX-License-Identifier: BSD-3-Clause */
/* The way to the far side of the self-test: a call, a pipe or TCP. */
#ifndef SRD_SELFTEST_LINK_H_
#define SRD_SELFTEST_LINK_H_

#include "serve.h"

#include <sys/types.h>

#define ST_PORT "18650"

typedef struct st_link {
    const char *between; /* "queue pairs", "processes", "hosts" */
    st_serve_t *local;   /* NULL: behind fd */
    int         fd;
    pid_t       child;   /* 0: none */
    uint8_t     gid[16];
    unsigned    caps;
    size_t      max_msg;
    int         is_killed; /* on purpose */
    int         is_dead;   /* it answers no more: so says `why` */
    char        why[ST_LINE_MAX + 40]; /* of the last failure */
} st_link_t;

/* Each says hello. 0, or -1 with link->why. */
int st_link_local(st_link_t *link, const efa_device_t *device);
int st_link_child(st_link_t *link, const char *device);
int st_link_tcp(st_link_t *link, const char *peer);
void st_link_close(st_link_t *link);

/* One line, and its answer behind "ok". 0, or -1 with link->why. */
int st_link_ask(st_link_t *link, char *answer, size_t size, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* A far side in this process works now. */
void st_link_progress(st_link_t *link);

/* Serves who is behind `fd`, `line` first unless it is empty, until a bye:
 * 0; or -1 and why. */
int st_link_serve(int fd, const efa_device_t *device, int may_die, char *line,
                  const char **why);

/* Waits for a srd_info that connects, and serves it. 0, or -1 after a line. */
int st_link_listen(const char *port, const efa_device_t *device);

#endif
