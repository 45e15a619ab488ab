/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --selftest: what docs/EFA-FACTS.md takes for granted or calls
 * unknown is asked of a device. A probe asks for one fact, and says whether the
 * device does what we assume, or what else. Groups of probes are in files of
 * their own, and know verbs alone: nothing of UCX's data path is in the way.
 *
 * The far side of a probe (selftest_serve.h) takes commands as lines of text.
 * It is in this process, in another one, or on another host: a probe is the
 * same.
 */
#ifndef SRD_SELFTEST_H_
#define SRD_SELFTEST_H_

#include "selftest_link.h"
#include "selftest_qp.h"

enum {
    ST_TEXT_MAX    = 400,
    ST_RESULTS_MAX = 128,
    ST_POINTS_MAX  = 128,
    ST_DEVICES_MAX = 4
};

typedef enum st_verdict {
    ST_NOT_ASKED, /* and why */
    ST_SAME,
    ST_DIFFERS
} st_verdict_t;

typedef struct st_probe st_probe_t;

typedef struct st_result {
    const st_probe_t *probe;
    const char       *between; /* "queue pairs", "processes", "hosts" */
    st_verdict_t      verdict;
    char              seen[ST_TEXT_MAX];
} st_result_t;

/* One measurement. */
typedef struct st_point {
    const char *between, *what; /* "latency, send" */
    const char *unit;
    unsigned    devices;
    size_t      bytes;
    double      value, worst; /* worst: of a latency's 99 % */
} st_point_t;

typedef struct st {
    const efa_verbs_t *verbs;
    efa_device_t      *device;
    struct ibv_pd     *pd;
    st_mem_t           mem;  /* near memory, ST_MEM_BYTES */
    st_link_t         *link; /* the far side */
    const char        *only; /* names of probes, "" for all */
    int                facts; /* no measurements */

    st_result_t        results[ST_RESULTS_MAX];
    unsigned           result_count;
    st_point_t         points[ST_POINTS_MAX];
    unsigned           point_count;
} st_t;

struct st_probe {
    const char *name;
    const char *assumed; /* what we assume, a line */
    const char *depends; /* what depends on it */
    const char *adapt;   /* what to do where it differs */
    void      (*run)(st_t *st, st_result_t *result);
};

/* How a probe ends: with a line on what the device does. */
void st_same(st_result_t *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void st_differs(st_result_t *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void st_not_asked(st_result_t *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Same if `same`, else it differs. */
void st_decide(st_result_t *result, int same, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether the device has a capability; else the probe is not asked. */
int st_has(st_t *st, st_result_t *result, unsigned cap, const char *name);

/* The groups; each ends with a NULL name. `st_limits` needs no far side. */
extern const st_probe_t st_limits[], st_memory[], st_queues[], st_status[],
        st_order[], st_process[], st_speed[];
/* These only when they are named: they might harm others on the device. */
extern const st_probe_t st_harmful[];

/* Latency, rate and bandwidth by size, into st->points. */
void st_measure(st_t *st, const char *between);
void st_measure_devices(st_t *st, char (*names)[EFA_DEVICE_NAME_MAX],
                        unsigned count);
void st_measure_ucx(st_t *st, const char *device, char *why, size_t size);
void st_point(st_t *st, const st_point_t *point);

/* The page of text, and the same as JSON. `ucx`: why UCX was not measured. */
int  st_report_text(const st_t *st, const char *ucx);
int  st_report_json(const st_t *st, const char *ucx, const char *path);

/* What identifies no host: the machine's type, versions; "" where unknown. */
typedef struct st_machine {
    char type[64], kernel[80], driver[32];
} st_machine_t;
void st_machine_get(st_machine_t *machine);

#endif
