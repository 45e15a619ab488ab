/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A UCX of this machine, tried in a child process: UCX cannot be unloaded, may
 * log, and may abort, and none of that shall end the report.
 */
#ifndef SRD_INFO_PROBE_H_
#define SRD_INFO_PROBE_H_

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum {
    PROBE_TEXT_MAX  = 768,
    PROBE_LANES_MAX = 16,
    PROBE_LANE_MAX  = 192
};

typedef struct probe {
    unsigned major, minor, release; /* of libucp; 0.0.0: none found */
    char     ucp_path[PROBE_TEXT_MAX];
    char     plugin[PROBE_TEXT_MAX]; /* path of the module UCX has, "" none */
    int      has_efa;     /* component efa offers a device */
    uint64_t efa_types;   /* memory types it registers (UCS_BIT) */
    uint64_t ucp_types;   /* memory types that this UCX knows here */
    char     tls[PROBE_TEXT_MAX]; /* UCX_TLS that was used */
    char     lanes[PROBE_LANES_MAX][PROBE_LANE_MAX]; /* "srd/rdmap0s6:1 am" */
    unsigned lane_count;
    int      message_ok;  /* a message to itself arrived as it was */
    char     error[PROBE_TEXT_MAX]; /* "" or what went wrong, UCX's words */
    char     log[PROBE_TEXT_MAX];   /* the first warning of ours or UCX's */
} probe_t;

/*
 * Open a UCP worker and an endpoint to itself with UCX_TLS=@tls (NULL: unset),
 * the module @module opened first if it is not NULL; then say what there is.
 * With @message also send one, over any device. Takes at most 20 seconds.
 * 0, or -1: no process could be made (then *probe is zeroed).
 */
int probe_run(probe_t *probe, const char *tls, const char *module, int message);

/* The work of a child process: it writes to @fd, and never returns. */
typedef void probe_child_t(const void *arg, int fd);

/* Start a child process that runs @child(@arg). Its output is read from *@out,
 * which the caller closes. Returns its id; -1: there is none, *@out is closed.
 */
pid_t probe_start(probe_child_t *child, const void *arg, int *out);

/* A line without its end. Nonzero: no more are wanted. */
typedef int probe_line_t(void *arg, char *line);

/* Lines from @fd, which stays open, until its end or until no more are wanted.
 * 0, or -1: @seconds are over. */
int probe_lines(int fd, double seconds, probe_line_t *take, void *arg);

/* Seconds of the monotonic clock. */
static inline double probe_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* The child of probe.c: a UCP program of a few calls, which opens UCX at run
 * time so that srd_info starts without one. */
#define PROBE_MARK '\001'

/* Prints lines MARK KEY SPACE VALUE to stdout: version, ucp, plugin, srd,
 * types, lane, message, error; see probe_t. */
void probe_ucx(const char *module, int message);

/* The file of libucp that probes open from here on, kept by the caller; at
 * first the one that the loader finds. */
void probe_ucx_choose(const char *ucp);

/* The module's path if it is in this process, else NULL. */
const char *probe_ucx_module(void);

#endif
