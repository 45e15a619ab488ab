/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --selftest: a device is asked about all that docs/EFA-FACTS.md takes
 * for granted or calls unknown. A probe asks for one fact, and says whether the
 * device does as we assume, or how it differs. Groups of probes are in files of
 * their own, and know verbs alone: nothing of UCX's data path is in the way.
 * Names of this folder begin with st_ and their subject's name.
 *
 * The far side of a probe (serve.h) takes commands as lines of text. It is in
 * this process, in another one, or on another host: a probe is the same.
 */
#ifndef SRD_SELFTEST_H_
#define SRD_SELFTEST_H_

#include <command/json.h>

#include "link.h"
#include "qp.h"

enum {
    ST_TEXT_MAX    = 400,
    ST_WHY_MAX     = 800, /* bytes of a line that says why nothing was asked */
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
typedef struct st_result_point {
    const char *between, *what; /* "latency, send" */
    const char *unit;
    unsigned    devices;
    size_t      bytes;
    double      value, worst; /* worst: of a latency's 99 % */
} st_point_t;

typedef struct st {
    const efa_verbs_t *verbs;
    efa_device_t      *device;
    struct ibv_pd     *pd;   /* that of mem */
    st_mem_t           mem;  /* near memory, ST_MEM_BYTES */
    st_link_t         *link; /* the far side */
    struct st_pair    *pair; /* of the probe that runs and wants one */
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
    unsigned    needs; /* not asked without this EFA_DEVICE_CAP_; 0: none */
    /* One of both is open while it runs, as st->pair; NULL: its own. */
    const struct st_pair_params *pair;
    const st_qp_params_t        *self;
};

/* The groups; each ends with a NULL name. `st_limits` needs no far side. */
extern const st_probe_t st_limits[], st_memory[], st_queues[], st_status[],
        st_order[], st_order_process[], st_speed[];
/* These only when they are named: they might harm others on the device. */
extern const st_probe_t st_queues_harmful[];

/* Latency, rate and bandwidth by size, into st->points. */
void st_speed_measure(st_t *st, const char *between);
void st_speed_devices(st_t *st, char (*names)[EFA_DEVICE_NAME_MAX],
                      unsigned count);
void st_ucx_measure(st_t *st, const char *device, char *why, size_t size);

/* The page of text: the verdict, differences and facts that were not asked;
 * with @all also facts that are as assumed, and the measurements. @ucx: why UCX
 * was not measured. */
void st_report_text(const st_t *st, const char *ucx, int all);
/* How many results have that verdict. */
unsigned st_report_count(const st_t *st, st_verdict_t verdict);
/* All of it as JSON. */
void st_report_json(const st_t *st, const char *ucx, json_t *json);

/* The machine's type and versions, which identify no host; "" where unknown. */
typedef struct st_machine {
    char type[64], kernel[80], driver[32];
} st_machine_t;
void st_report_machine(st_machine_t *machine);

/* Texts of a probe. "status 9"; "success" for 0, "no completion" for -1. */
const char *st_text_status(int status, char text[32]);

/* "12 us", "3.5 ms" */
const char *st_text_time(double seconds, char text[32]);

/* How a probe ends: with a line on what the device does. */
void st_result_set(st_result_t *result, st_verdict_t verdict,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define st_result_same(_result, ...) \
    st_result_set(_result, ST_SAME, __VA_ARGS__)
#define st_result_differs(_result, ...) \
    st_result_set(_result, ST_DIFFERS, __VA_ARGS__)
#define st_result_not_asked(_result, ...) \
    st_result_set(_result, ST_NOT_ASKED, __VA_ARGS__)
/* Same if `_same`, else it differs. */
#define st_result_decide(_result, _same, ...) \
    st_result_set(_result, (_same) ? ST_SAME : ST_DIFFERS, __VA_ARGS__)

/* One more measurement; beyond ST_POINTS_MAX it is left out. */
void st_result_point(st_t *st, const st_point_t *point);

#endif
