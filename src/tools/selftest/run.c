/* SPDX-License-Identifier: BSD-3-Clause */
/* srd_info --selftest: which probes are run where. */
#include "pair.h"

#include <tools/info.h>

#include <command/options.h>
#include <util/efa_status.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REACH_WAIT_S 5 /* a device that retries answers in less, or never */

/* Whether the other host can be reached at all, before probes wait for it.
 * Sends one message over st->link and waits up to 5 s for its completion. 0:
 * the network carries packets to @peer, the name that the user gave (how well
 * is up to the probes). -1: none arrives; @why says so, and the remedy. */
static int reach_try(st_t *st, const char *peer, char *why, size_t size)
{
    st_pair_params_t params = {.rnr_retry = 7};
    st_result_t result      = {0};
    st_pair_t pair;
    double took;
    int status;

    if (st_pair_open(&pair, st, &result, &params) != 0) {
        snprintf(why, size, "%s", result.seen);
        return -1;
    }
    status = st_pair_status(&pair, REACH_WAIT_S, &took);
    st_pair_close(&pair);
    if ((status >= 0) && (status != EFA_STATUS_REMOTE_STOPPED) &&
        (status != EFA_STATUS_REMOTE_UNREACHED)) {
        return 0; /* statuses other than silence are the probes' affair */
    }
    snprintf(why, size, "no packet reaches %.*s, tried for %.1f s: the "
             "security group must allow all traffic from and to itself, and "
             "both EFA interfaces must be in it and in the same subnet; no "
             "probe was run", (int)strcspn(peer, "\n"), peer, took);
    return -1;
}

/* Which probe runs: on a terminal one line that is overwritten, at last by
 * nothing (@name is NULL). */
static void run_progress(const char *name, const char *between)
{
    if (!isatty(STDERR_FILENO)) {
        if (name != NULL) {
            fprintf(stderr, "srd_info: %s, between %s\n", name, between);
        }
        return;
    }
    fprintf(stderr, "\r\033[K");
    if (name != NULL) {
        fprintf(stderr, "srd_info: %s, between %s", name, between);
    }
}

/* With what its row says, or not at all. */
static void run_probe(st_t *st, const st_probe_t *probe, st_result_t *result)
{
    st_pair_t pair;

    st->pair = &pair;
    if (probe->needs & ~st->device->caps) {
        st_result_not_asked(
            result, "no %s: the device or this rdma-core has none",
            (probe->needs == EFA_DEVICE_CAP_RDMA_READ)  ? "RDMA read" :
            (probe->needs == EFA_DEVICE_CAP_RDMA_WRITE) ? "RDMA write" :
                                                          "RNR retry");
    } else if ((probe->pair == NULL) && (probe->self == NULL)) {
        probe->run(st, result);
    } else if (((probe->pair != NULL) ?
                st_pair_open(&pair, st, result, probe->pair) :
                st_self_open(&pair, st, result, probe->self)) == 0) {
        probe->run(st, result);
        st_pair_close(&pair);
    }
}

static void run_group(st_t *st, const st_probe_t *probes,
                      const char *between)
{
    int was_dead = st->link->is_dead;
    st_result_t *result;

    for (; probes->name != NULL; ++probes) {
        if (((st->only[0] != '\0') && !info_list_has(st->only, probes->name)) ||
            (st->result_count == ST_RESULTS_MAX)) {
            continue;
        }
        result          = &st->results[st->result_count++];
        result->probe   = probes;
        result->between = between;
        run_progress(probes->name, between);
        run_probe(st, probes, result);
        run_progress(NULL, NULL);
        if ((st->link->is_dead) && !was_dead) { /* no fault of the device's */
            st_result_not_asked(result, "%s", st->link->why);
            fprintf(stderr, "srd_info: %s\n", st->link->why);
        }
        was_dead = st->link->is_dead;
    }
}

static int run_near(st_t *st)
{
    st_link_t link;

    if (st_link_local(&link, st->device) != 0) {
        char limit[64];

        (void)efa_memlock_text(limit, sizeof(limit));
        fprintf(stderr, "srd_info: no self-test: %s; it locks 12288 KiB of "
                "memory, the limit is %s: raise that with 'ulimit -l' "
                "(srd_info --check tells how)\n", link.why, limit);
        st_link_close(&link);
        return -1;
    }
    st->link = &link;
    run_group(st, st_limits, link.between);
    run_group(st, st_memory, link.between);
    run_group(st, st_queues, link.between);
    run_group(st, st_status, link.between);
    run_group(st, st_order, link.between);
    run_group(st, st_speed, link.between);
    if (!st->facts) {
        st_speed_measure(st, link.between);
    }
    if (st->only[0] != '\0') {
        run_group(st, st_queues_harmful, link.between);
    }
    st_link_close(&link);
    st->link = NULL;
    return 0;
}

static void run_far_groups(st_t *st, int is_host)
{
    const char *between = st->link->between;

    if (is_host) {
        run_group(st, st_status, between);
        run_group(st, st_speed, between);
    }
    run_group(st, st_order, between);
    if (!st->facts) {
        st_speed_measure(st, between);
    }
    if (!is_host) {
        run_group(st, st_order_process, between);
    }
}

/* With another process, which is killed in the end; or with another host, if
 * a message reaches it. 0; or -1 after a line, which is in @why, too. */
static int run_far(st_t *st, const char *peer, char *why, size_t size)
{
    st_link_t link;
    int err = (peer != NULL) ? st_link_tcp(&link, peer) :
                               st_link_child(&link, st->device->name);

    st->link = &link;
    why[0]   = '\0';
    if (err != 0) {
        snprintf(why, size, "%s", link.why);
    } else if (peer != NULL) {
        err = reach_try(st, peer, why, size);
    }
    if (err != 0) {
        fprintf(stderr, "srd_info: %s\n", why);
    } else {
        if ((peer != NULL) && !memcmp(link.gid, st->device->gid.raw,
                                      sizeof(link.gid))) {
            options_error("--peer=%s is this host's own EFA, so nothing of "
                          "the network is tested: name another host, where "
                          "srd_info --selftest --listen runs", peer);
        }
        run_far_groups(st, peer != NULL);
        err = link.is_dead ? -1 : 0;
    }
    st_link_close(&link);
    st->link = NULL;
    return err;
}

/* Everything that a probe needs of the device. 0, or -1 after a line. */
static int run_open(st_t *st, efa_device_t *device)
{
    int err = st_qp_mem_open(&st->mem, device, ST_MEM_BYTES);

    st->device = device;
    st->verbs  = device->verbs;
    st->pd     = st->mem.pd;
    if (err != 0) {
        fprintf(stderr, "srd_info: 4 MiB cannot be registered: %s; see "
                "srd_info --check\n", strerror(err));
    }
    return err ? -1 : 0;
}

/* Why nothing was asked: a line, unless @why has been said; and as JSON. */
static void run_nothing(info_t *info, const st_t *st, const char *why)
{
    if (why[0] == '\0') {
        why = (st->only[0] != '\0') ? "no probe was run; see --only" :
              "no probe was run";
        fprintf(stderr, "srd_info: %s\n", why);
    }
    json_text(&info->json, "error", why);
}

static int run_device(info_t *info, efa_device_t *device,
                      const st_run_args_t *args)
{
    char ucx[200]  = "", why[ST_WHY_MAX];
    static st_t st = {0};
    int err;

    st.only  = (args->only != NULL) ? args->only : "";
    st.facts = args->facts || (args->only != NULL);
    if (run_open(&st, device) != 0) {
        return 1;
    }
    if (args->peer == NULL) {
        err  = run_near(&st);
        err |= run_far(&st, NULL, why, sizeof(why));
        if (!st.facts) {
            st_speed_devices(&st, info->devices, info->device_count);
            st_ucx_measure(&st, device->name, ucx, sizeof(ucx));
        }
    } else {
        err = run_far(&st, args->peer, why, sizeof(why));
        snprintf(ucx, sizeof(ucx), "with --peer it is not");
    }
    if (st.facts) {
        snprintf(ucx, sizeof(ucx), "not asked for");
    }
    st_qp_mem_close(&st.mem, device);
    if (st.result_count == 0) {
        run_nothing(info, &st, why);
        return 1;
    }
    st_report_text(&st, ucx, info->all);
    st_report_json(&st, ucx, &info->json);
    return ((err != 0) || (st_report_count(&st, ST_DIFFERS) > 0)) ? 1 : 0;
}

/* 0; or -1 after a line, where --only names no probe. */
static int run_only_check(const char *only)
{
    static const st_probe_t *const groups[] = {
        st_limits, st_memory, st_queues, st_status, st_order, st_order_process,
        st_speed, st_queues_harmful
    };
    const st_probe_t *probe;
    size_t length;
    unsigned i;
    int known;

    for (; *only != '\0'; only += length + (only[length] == ',')) {
        length = strcspn(only, ",");
        known  = 0;
        for (i = 0; i < sizeof(groups) / sizeof(groups[0]); ++i) {
            for (probe = groups[i]; probe->name != NULL; ++probe) {
                known |= (strlen(probe->name) == length) &&
                         !strncmp(probe->name, only, length);
            }
        }
        if (!known) {
            fprintf(stderr, "srd_info: --only: no probe is named '%.*s'; "
                    "'srd_info --selftest --all' names all of them\n",
                    (int)length, only);
            return -1;
        }
    }
    return 0;
}

static int run_has_device(const info_t *info, const char *name)
{
    unsigned i;

    for (i = 0; i < info->device_count; ++i) {
        if (strcmp(info->devices[i], name) == 0) {
            return 1;
        }
    }
    fprintf(stderr, "srd_info: --device=%.40s: there is none of that name; "
            "name one, there are:", name);
    for (i = 0; i < info->device_count; ++i) {
        fprintf(stderr, " %s", info->devices[i]);
    }
    fprintf(stderr, "\n");
    return 0;
}

int st_run(info_t *info, const st_run_args_t *args)
{
    char why[INFO_TEXT_MAX] = "";
    const char *name        = args->device;
    efa_device_t *device;
    char line[ST_LINE_MAX] = "";
    const char *no;
    int err = 0;

    if ((args->only != NULL) && (run_only_check(args->only) != 0)) {
        return 2;
    }
    info_devices(info, why, sizeof(why));
    if (info->device_count == 0) {
        options_error("no self-test: %s", why);
        return 1;
    }
    name = (name != NULL) ? name : info->devices[0];
    if (!run_has_device(info, name)) {
        return 1;
    }
    if (efa_device_open(&info->host, name, &device) != UCS_OK) {
        fprintf(stderr, "srd_info: %s cannot be opened: %s\n", name,
                host_stub_message());
        return 1;
    }
    if (args->serve != NULL) {
        err = st_link_serve(atoi(args->serve), device, 1, line, &no) ? 1 : 0;
    } else if (args->listen != NULL) {
        err = st_link_listen(args->listen, device) ? 1 : 0;
    } else {
        err = run_device(info, device, args);
    }
    efa_device_close(device);
    return err;
}
