/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --plan. The needs of an interface come from the module's own code
 * (base_sizing.h), with the variables UCX_SRD_* as they are set; the limits,
 * from the device and this host.
 */
#include "info.h"

#include <command/options.h>
#include <uct/ib/base/base_sizing.h>
#include <uct/ib/efa/efa_trial.h>
#include <uct/ib/srd/srd.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    PLAN_OTHER_FILES = 64, /* that a program of UCX has besides */
    PLAN_MIB         = 1 << 20
};

/* Where memory is short. */
#define PLAN_LESS "UCX_SRD_RX_BUFFERS_MAX and UCX_SRD_TX_QUEUE_LEN smaller, " \
                  "or fewer ranks"

typedef struct plan {
    json_t      *json;
    unsigned    ranks, hosts, devices; /* ranks on a host, devices of a host */
    unsigned    peers;                 /* on other hosts, of a rank */
    const char  *source;               /* of the device's figures */
    efa_device_t device;               /* its limits alone */
    unsigned    max_qp, max_cq;
    base_sizing_t need;                  /* of an interface */
    size_t      memlock, memory;       /* bytes; SIZE_MAX: no limit, unknown */
    size_t      files, huge;           /* descriptors; free pages of 2 MB */
    unsigned    short_of, warnings;
} plan_t;

/* Limits of a second-generation EFA (docs/EFA-FACTS.md), for a host without. */
static void plan_reference(plan_t *plan)
{
    efa_device_t *device = &plan->device;

    plan->source        = "an EFA of the second generation, as published";
    plan->max_qp        = 256;
    plan->max_cq        = 512;
    device->max_sq_wr   = 4096;
    device->max_rq_wr   = 32768;
    device->max_cqe     = 32768; /* taken to be enough for a queue */
    device->max_msg     = 8928;
    device->max_ah      = 1024;
    device->inline_size = 32;
}

/* 0, or -1: there is none, or it cannot be opened. */
static int plan_this_device(plan_t *plan, info_t *info)
{
    char why[INFO_TEXT_MAX];
    struct ibv_device_attr attr;
    efa_device_t *device;
    int err;

    info_devices(info, why, sizeof(why));
    if ((info->device_count == 0) ||
        (efa_device_open(&info->host, info->devices[0], &device) != UCS_OK)) {
        return -1;
    }
    memset(&attr, 0, sizeof(attr));
    err = info->verbs->query_device(device->context, &attr);
    if (err == 0) {
        plan->source = "this host's device";
        plan->device = *device;
        plan->max_qp = attr.max_qp;
        plan->max_cq = attr.max_cq;
    }
    efa_device_close(device);
    return err ? -1 : 0;
}

/* A variable of UCX_SRD_*, or its default. 0; or -1 after a line. */
static int plan_variable(const ucx_config_field_t *field, unsigned *value_p)
{
    char name[80];
    const char *text;
    uint64_t value;

    snprintf(name, sizeof(name), "UCX_SRD_%s", field->name);
    text = getenv(name);
    if (options_number(name, (text != NULL) ? text : field->dflt,
                       (uint64_t)field->min, (uint64_t)field->max,
                       &value) != 0) {
        return -1;
    }
    *value_p = (unsigned)value;
    return 0;
}

/* The numbers of an interface's configuration as UCX would make it. 0, or
 * -1. */
static int plan_config(base_config_t *config, const efa_device_t *device)
{
    const ucx_config_field_t *field = base_config_srd.fields;
    const ucx_config_field_t *end   = field + base_config_srd.count;
    unsigned value;

    memset(config, 0, sizeof(*config));
    for (; field < end; ++field) {
        if (field->type != UCX_CONFIG_UINT) {
            continue;
        }
        if (plan_variable(field, &value) != 0) {
            return -1;
        }
        memcpy((char*)config + field->offset, &value, sizeof(value));
    }
    base_config_resolve(config, device);
    return 0;
}

/* A number that the kernel tells of its huge pages of 2 MB, or 0. */
static size_t plan_pages(const info_t *info, const char *name)
{
    char path[80], text[32];

    snprintf(path, sizeof(path),
             "/sys/kernel/mm/hugepages/hugepages-2048kB/%s", name);
    return (info_read(info, path, text, sizeof(text)) == 0) ?
                   strtoul(text, NULL, 10) : 0;
}

static void plan_host(plan_t *plan, const info_t *info)
{
    size_t reserved = plan_pages(info, "resv_hugepages");
    struct rlimit limit;
    char text[4096];
    const char *line;

    plan->memlock = SIZE_MAX;
    plan->memory  = SIZE_MAX;
    plan->files   = SIZE_MAX;
    plan->huge    = plan_pages(info, "free_hugepages");
    plan->huge   -= (reserved < plan->huge) ? reserved : plan->huge;
    if ((getrlimit(RLIMIT_MEMLOCK, &limit) == 0) &&
        (limit.rlim_cur != RLIM_INFINITY)) {
        plan->memlock = limit.rlim_cur;
    }
    if ((getrlimit(RLIMIT_NOFILE, &limit) == 0) &&
        (limit.rlim_cur != RLIM_INFINITY)) {
        plan->files = limit.rlim_cur;
    }
    if (info_read(info, "/proc/meminfo", text, sizeof(text)) == 0) {
        line = strstr(text, "MemAvailable:");
        if (line != NULL) {
            plan->memory = strtoull(line + 13, NULL, 10) * 1024;
        }
    }
}

/* The needs of a job of that many ranks and hosts; 0, or -1. */
static int plan_make(plan_t *plan, unsigned peers)
{
    unsigned long all = (unsigned long)plan->ranks * (plan->hosts - 1);
    base_config_t config;

    if (plan_config(&config, &plan->device) != 0) {
        return -1;
    }
    plan->peers = ((peers > 0) && (peers < all)) ? peers : all;
    base_sizing_get(&plan->need, &config, plan->device.max_msg,
                    plan->devices, plan->peers,
                    efa_at_most(plan->hosts, plan->peers + 1) * plan->devices);
    return 0;
}

typedef enum plan_word {
    PLAN_OK,
    PLAN_WARN,
    PLAN_SHORT
} plan_word_t;

static plan_word_t plan_compare(size_t need, size_t has, plan_word_t word)
{
    return (need <= has) ? PLAN_OK : word;
}

/* One line; `what` is to be done where it is not ok. */
static void plan_line(plan_t *plan, plan_word_t word, const char *name,
                      const char *rank, const char *host, const char *has,
                      const char *what)
{
    static const char *const words[] = {"ok", "warn", "SHORT"};

    plan->warnings += (word == PLAN_WARN);
    plan->short_of += (word == PLAN_SHORT);
    printf("%-6s %-24s %12s %12s   %s\n", words[word], name, rank, host, has);
    if (word != PLAN_OK) {
        printf("       %-24s %s\n", "", what);
    }
    json_object(plan->json, NULL);
    json_text(plan->json, "level", words[word]);
    json_text(plan->json, "name", name);
    json_text(plan->json, "rank", rank);
    json_text(plan->json, "host", host);
    json_text(plan->json, "there_is", has);
    json_text(plan->json, "remedy", (word == PLAN_OK) ? NULL : what);
    json_end_object(plan->json);
}

/* The same of whole numbers; a host has them for each rank. */
static void plan_number(plan_t *plan, plan_word_t word, const char *name,
                        size_t rank, size_t has, const char *of,
                        const char *what)
{
    char texts[3][48];

    snprintf(texts[0], sizeof(texts[0]), "%zu", rank);
    snprintf(texts[1], sizeof(texts[1]), "%zu", rank * plan->ranks);
    snprintf(texts[2], sizeof(texts[2]), (has == SIZE_MAX) ?
             "no limit known" : "%zu %s", has, of);
    plan_line(plan, word, name, texts[0], texts[1], texts[2], what);
}

/* A rank's, at most, until it has a peer. The trials come before the
 * interfaces, one after the other. */
static size_t plan_locked_open(const plan_t *plan)
{
    size_t bytes = plan->need.locked_open * plan->devices;

    return (bytes > EFA_TRIAL_BYTES) ? bytes : EFA_TRIAL_BYTES;
}

/* Room on all devices, which the trials ask of a limit on locked memory. */
static size_t plan_trials(const plan_t *plan)
{
    return (size_t)EFA_TRIAL_BYTES * plan->devices;
}

/* `least`: the limit of a process below which it does not start. */
static void plan_memory(plan_t *plan, const char *name, size_t rank,
                        size_t least, plan_word_t word)
{
    size_t host = rank * plan->ranks;
    char texts[3][64];

    snprintf(texts[0], sizeof(texts[0]), "%.1f MiB", (double)rank / PLAN_MIB);
    snprintf(texts[1], sizeof(texts[1]), "%.1f MiB", (double)host / PLAN_MIB);
    if (plan->memlock == SIZE_MAX) {
        snprintf(texts[2], sizeof(texts[2]), "no limit");
    } else {
        snprintf(texts[2], sizeof(texts[2]), "%.1f MiB a process",
                 (double)plan->memlock / PLAN_MIB);
    }
    if (plan->memory != SIZE_MAX) {
        snprintf(texts[2] + strlen(texts[2]),
                 sizeof(texts[2]) - strlen(texts[2]), ", %.0f MiB free",
                 (double)plan->memory / PLAN_MIB);
    }
    plan_line(plan, ((least > plan->memlock) || (host > plan->memory)) ? word :
              PLAN_OK, name, texts[0], texts[1], texts[2],
              (least > plan->memlock) ?
              "'ulimit -l unlimited', or memlock in limits.conf, or "
              "LimitMEMLOCK of the launcher's service" : PLAN_LESS);
}

/* Memory that is not locked, and all of it. */
static void plan_heap(plan_t *plan)
{
    const base_sizing_t *need = &plan->need;
    size_t rank = need->heap * plan->devices, host = rank * plan->ranks;
    size_t all  = host + need->locked * plan->devices * plan->ranks;
    char texts[3][64];

    snprintf(texts[0], sizeof(texts[0]), "%.1f MiB", (double)rank / PLAN_MIB);
    snprintf(texts[1], sizeof(texts[1]), "%.1f MiB", (double)host / PLAN_MIB);
    snprintf(texts[2], sizeof(texts[2]), "%.1f MiB at first",
             (double)need->heap_open * plan->devices / PLAN_MIB);
    if (plan->memory != SIZE_MAX) {
        snprintf(texts[2], sizeof(texts[2]),
                 "with locked: %.0f of %.0f MiB free", (double)all / PLAN_MIB,
                 (double)plan->memory / PLAN_MIB);
    }
    plan_line(plan, plan_compare(all, plan->memory, PLAN_WARN),
              "records, with all peers", texts[0], texts[1], texts[2],
              PLAN_LESS);
}

static void plan_show_queues(plan_t *plan)
{
    const base_sizing_t *need = &plan->need;
    unsigned ranks          = plan->ranks;

    plan_number(plan, plan_compare(ranks * need->queue_pairs, plan->max_qp,
                                   PLAN_SHORT), "queue pairs, a device",
                need->queue_pairs, plan->max_qp, "of a device",
                "ranks beyond that go without the EFA: fewer, or each with "
                "one device (UCX_NET_DEVICES)");
    plan_number(plan, plan_compare(ranks * need->queues, plan->max_cq,
                                   PLAN_SHORT), "completion queues",
                need->queues, plan->max_cq, "of a device", "as above");
    plan_number(plan, plan_compare(need->sends, plan->device.max_sq_wr,
                                   PLAN_SHORT), "sends of a queue pair",
                need->sends, plan->device.max_sq_wr, "of a queue pair",
                "UCX_SRD_TX_QUEUE_LEN smaller");
    plan_number(plan, plan_compare(need->receives, plan->device.max_rq_wr,
                                   PLAN_SHORT), "receives of a queue pair",
                need->receives, plan->device.max_rq_wr, "of a queue pair",
                "UCX_SRD_RX_BUFFERS_MAX smaller");
    plan_number(plan, plan_compare((size_t)need->handles * ranks,
                                   plan->device.max_ah, PLAN_WARN),
                "address handles, a device", need->handles,
                plan->device.max_ah,
                "of a device, or a process",
                "which of the two is not public; where they run short, hosts "
                "that no RMA needs give theirs to others");
}

/* Where srd fits, and ud beside it does not: the module then offers srd alone,
 * to ranks that see it in time. */
static void plan_twice(plan_t *plan, size_t files)
{
    const base_sizing_t *need = &plan->need;
    size_t ranks            = plan->ranks;

    if ((plan->short_of == 0) &&
        ((2 * ranks * need->queue_pairs > plan->max_qp) ||
         (2 * ranks * need->queues > plan->max_cq) ||
         (2 * plan_trials(plan) > plan->memlock) ||
         (2 * files + PLAN_OTHER_FILES > plan->files))) {
        plan_line(plan, PLAN_WARN, "the transport ud, too", "as much again",
                  "", "too little for both", "UCX_TLS=srd,sm,self");
    }
}

/* Nobody must have them; but where some ranks get them and others do not, the
 * ranks differ. */
static void plan_huge(plan_t *plan)
{
    size_t rank = (size_t)plan->need.huge_pages * plan->devices;

    if (info_wishes("UCX_EFA_HUGE_PAGES", 0)) {
        return;
    }
    plan_number(plan, (plan->huge == 0) ? PLAN_OK :
                plan_compare(rank * plan->ranks, plan->huge, PLAN_WARN),
                "huge pages, if any", rank, plan->huge, "free, of 2 MB",
                "not all ranks get theirs, and the others take small pages: "
                "raise vm.nr_hugepages, or UCX_EFA_HUGE_PAGES=n for all");
}

static void plan_show(plan_t *plan)
{
    const base_sizing_t *need = &plan->need;
    const char *tls         = getenv("UCX_TLS");
    size_t files            = (size_t)plan->devices *
                              (need->files + EFA_DEVICE_FILES);

    printf("%u ranks on each of %u hosts, %u device%s each; a rank talks to %u "
           "on other hosts\n", plan->ranks, plan->hosts, plan->devices,
           (plan->devices == 1) ? "" : "s", plan->peers);
    printf("device: %s\n", plan->source);
    json_count(plan->json, "ranks", plan->ranks);
    json_count(plan->json, "hosts", plan->hosts);
    json_count(plan->json, "devices", plan->devices);
    json_count(plan->json, "peers", plan->peers);
    json_text(plan->json, "device", plan->source);
    json_count(plan->json, "records_open", need->heap_open);
    json_count(plan->json, "records", need->heap);
    json_array(plan->json, "needs");
    printf("%-6s %-24s %12s %12s   %s\n", "", "", "a rank", "a host",
           "there is");
    plan_show_queues(plan);
    plan_number(plan, PLAN_OK, "receive buffers, at first",
                (size_t)need->buffers_open * plan->devices, SIZE_MAX, "", "");
    plan_number(plan, PLAN_OK, "when all peers send",
                (size_t)need->buffers * plan->devices, SIZE_MAX, "", "");
    plan_memory(plan, "locked memory, at first", plan_locked_open(plan),
                plan_trials(plan), PLAN_SHORT);
    plan_memory(plan, "when all peers send", need->locked * plan->devices,
                need->locked * plan->devices, PLAN_WARN);
    plan_heap(plan);
    plan_huge(plan);
    plan_number(plan, plan_compare(files + PLAN_OTHER_FILES, plan->files,
                                   PLAN_SHORT), "file descriptors", files,
                plan->files, "of a process", "'ulimit -n' higher");
    plan_number(plan, need->is_short_of_flows ? PLAN_SHORT : PLAN_OK,
                "peers of an interface", plan->peers, FLOW_RX_MAX,
                "of an interface",
                "those beyond it are refused: fewer ranks on a host with more "
                "threads each, or --peers, if a rank talks to fewer");
    if ((tls == NULL) || info_list_has(tls, "ud")) {
        plan_twice(plan, files);
        printf("UCX_TLS %s: UCX opens the transport ud, too, which takes as "
               "much again; with UCX_TLS=srd,sm,self it does not\n",
               (tls == NULL) ? "is not set" : "has ud");
    }
    json_end_array(plan->json);
    json_truth(plan->json, "fits", plan->short_of == 0);
    json_count(plan->json, "short", plan->short_of);
    json_count(plan->json, "warn", plan->warnings);
    printf("%s", plan->short_of ? "it does not fit" : "it fits");
    printf(": %u short, %u to look at\n", plan->short_of, plan->warnings);
}

/* The table: of the published device, whatever is here. */
static int plan_table(void)
{
    static const unsigned ranks[] = {8, 16, 32, 64, 96, 128, 192};
    static const unsigned hosts[] = {2, 8, 64, 512, 2000, 10000};
    const base_sizing_t *need;
    plan_t plan;
    unsigned i, k;

    memset(&plan, 0, sizeof(plan));
    plan_reference(&plan);
    plan.devices = 1;
    printf("| ranks | hosts | peers of a rank | QPs | CQs | handles: a rank | "
           "all | buffers: first | most | locked MiB: first | most | a host, "
           "most | not locked, most: MiB | a host | descriptors |\n|%s\n",
           "---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (i = 0; i < sizeof(ranks) / sizeof(ranks[0]); ++i) {
        for (k = 0; k < sizeof(hosts) / sizeof(hosts[0]); ++k) {
            plan.ranks = ranks[i];
            plan.hosts = hosts[k];
            need       = &plan.need;
            if (plan_make(&plan, 0) != 0) {
                return 2;
            }
            printf("| %u | %u | %u%s | %u | %u | %u | %u%s | %u | %u | %.1f | "
                   "%.1f | %.0f | %.1f | %.0f | %u |\n", ranks[i], hosts[k],
                   plan.peers,
                   need->is_short_of_flows ? " (1)" : "", ranks[i],
                   2 * ranks[i], need->handles, need->handles * ranks[i],
                   (need->handles * ranks[i] > plan.device.max_ah) ? " (2)" :
                                                                     "",
                   need->buffers_open, need->buffers,
                   (double)plan_locked_open(&plan) / PLAN_MIB,
                   (double)need->locked / PLAN_MIB,
                   (double)need->locked / PLAN_MIB * ranks[i],
                   (double)need->heap / PLAN_MIB,
                   (double)need->heap / PLAN_MIB * ranks[i],
                   need->files + EFA_DEVICE_FILES);
        }
    }
    return 0;
}

int plan_run(info_t *info, const plan_args_t *args)
{
    static plan_t plan;

    if (args->table && (info->json.out != NULL)) {
        options_error("--json has no effect with --table, which is text alone: "
                      "for JSON name one job by --ranks and --hosts");
        return OPTIONS_EXIT_USAGE;
    }
    if (args->table) {
        return plan_table();
    }
    if ((args->ranks == 0) || (args->hosts == 0)) {
        options_error("--plan needs the size of the job: add --ranks=N (on "
                      "each host) and --hosts=N");
        return OPTIONS_EXIT_USAGE;
    }
    if (plan_this_device(&plan, info) != 0) {
        plan_reference(&plan);
    }
    plan.ranks   = (unsigned)args->ranks;
    plan.hosts   = (unsigned)args->hosts;
    plan.devices = (args->devices > 0) ? (unsigned)args->devices :
                   (info->device_count > 0) ? info->device_count : 1;
    if (plan_make(&plan, (unsigned)args->peers) != 0) {
        return OPTIONS_EXIT_USAGE;
    }
    plan.json = &info->json;
    plan_host(&plan, info);
    plan_show(&plan);
    return (plan.short_of > 0) ? 1 : 0;
}
