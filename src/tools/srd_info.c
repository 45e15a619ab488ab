/* SPDX-License-Identifier: BSD-3-Clause */
/* The command: see the text below, or srd_info --help. */
#define _GNU_SOURCE
#include "info.h"
#include "plan.h"
#include "probe_ucx.h"
#include "selftest/link.h"
#include "selftest/run.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <config.h>

static const char doc[] =
        "Shows the EFA devices of this machine and what UCX makes of them."
        "\vWith --check each line says ok, warn, FAIL or skip, and what to do; "
        "the status is then 0 if nothing failed, 1 if something did. Set the "
        "environment as for the program in question, and put srdrun in front "
        "if the program has it.";

const char *argp_program_version = "srd_info " PACKAGE_VERSION;

enum {
    KEY_SYSROOT = 256,
    KEY_PYTHON,
    KEY_SELFTEST,
    KEY_PEER,
    KEY_LISTEN,
    KEY_JSON,
    KEY_DEVICE,
    KEY_ONLY,
    KEY_FACTS,
    KEY_PLAN,
    KEY_RANKS,
    KEY_HOSTS,
    KEY_DEVICES,
    KEY_PEERS,
    KEY_TABLE,
    KEY_SERVE
};

static const struct argp_option options[] = {
    {"check", 'c', NULL, 0,
     "Walk through everything that makes UCX miss an EFA", 0},
    {"python", KEY_PYTHON, "PYTHON", OPTION_ARG_OPTIONAL,
     "Show the UCX that each package of this Python's environment brings "
     "(python3), and whether it uses this module: status 0 if all do", 0},
    {"selftest", KEY_SELFTEST, NULL, 0,
     "Ask the device each question that docs/EFA-FACTS.md leaves open, on this "
     "host: status 0 if it does all that we assume", 0},
    {"peer", KEY_PEER, "HOST[:PORT]", 0,
     "--selftest with the srd_info on that host, which listens", 0},
    {"listen", KEY_LISTEN, "PORT", OPTION_ARG_OPTIONAL,
     "--selftest: wait for one --peer (TCP port " ST_PORT ")", 0},
    {"json", KEY_JSON, "FILE", 0,
     "--selftest: write what was found as JSON, too; -: only that", 0},
    {"device", KEY_DEVICE, "NAME", 0, "--selftest: the device, not the first",
     0},
    {"only", KEY_ONLY, "PROBE,...", 0,
     "--selftest: these probes alone, and no measurements", 0},
    {"facts", KEY_FACTS, NULL, 0, "--selftest: no measurements", 0},
    {"plan", KEY_PLAN, NULL, 0,
     "Show what a job takes of each host, with this one's limits: status 0 if "
     "it fits", 0},
    {"ranks", KEY_RANKS, "N", 0, "--plan: ranks on each host", 0},
    {"hosts", KEY_HOSTS, "N", 0, "--plan: hosts", 0},
    {"devices", KEY_DEVICES, "N", 0,
     "--plan: EFA devices of a host, not as many as here", 0},
    {"peers", KEY_PEERS, "N", 0,
     "--plan: ranks that each talks to, not all", 0},
    {"table", KEY_TABLE, NULL, 0, "--plan: the table of docs/SCALE.md", 0},
    {"serve", KEY_SERVE, "FD", OPTION_HIDDEN, NULL, 0},
    {"sysroot", KEY_SYSROOT, "DIR", 0,
     "Read /proc, /sys and /etc below DIR, except for verbs (SYSFS_PATH)", 0},
    {NULL, 0, NULL, 0, NULL, 0}
};

typedef struct arguments {
    int        check;
    const char *sysroot;
    const char *python; /* NULL: not asked for */
    int        selftest;
    st_run_args_t test;
    int        plan;
    plan_args_t job;
} arguments_t;

static error_t parse_plan(int key, const char *value, plan_args_t *job)
{
    switch (key) {
    case KEY_RANKS:
        job->ranks = value;
        return 0;
    case KEY_HOSTS:
        job->hosts = value;
        return 0;
    case KEY_DEVICES:
        job->devices = value;
        return 0;
    case KEY_PEERS:
        job->peers = value;
        return 0;
    case KEY_TABLE:
        job->table = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_selftest(int key, const char *value,
                              st_run_args_t *test)
{
    switch (key) {
    case KEY_PEER:
        test->peer = value;
        return 0;
    case KEY_LISTEN:
        test->listen = (value != NULL) ? value : ST_PORT;
        return 0;
    case KEY_JSON:
        test->json = value;
        return 0;
    case KEY_DEVICE:
        test->device = value;
        return 0;
    case KEY_ONLY:
        test->only = value;
        return 0;
    case KEY_FACTS:
        test->facts = 1;
        return 0;
    case KEY_SERVE:
        test->serve = atoi(value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    arguments_t *arguments = state->input;

    switch (key) {
    case 'c':
        arguments->check = 1;
        return 0;
    case KEY_SYSROOT:
        arguments->sysroot = value;
        return 0;
    case KEY_PYTHON:
        arguments->python = (value != NULL) ? value : "python3";
        return 0;
    case KEY_SELFTEST:
        arguments->selftest = 1;
        return 0;
    case KEY_PLAN:
        arguments->plan = 1;
        return 0;
    case ARGP_KEY_ARG:
        if ((arguments->python != NULL) && (state->arg_num == 0)) {
            arguments->python = value; /* --python PYTHON */
            return 0;
        }
        argp_error(state, "nothing is expected after the options: '%s'", value);
        return 0;
    default:
        return (parse_plan(key, value, &arguments->job) == 0) ?
               0 : parse_selftest(key, value, &arguments->test);
    }
}

/* What the report is about, when UCX was tried as it is set up. */
static void transport_choose(info_t *info)
{
    const char *tls = getenv("UCX_TLS");
    int has_srd     = info_lane(&info->chosen, "srd") != NULL;
    int has_ud      = info_lane(&info->chosen, "ud") != NULL;
    int is_ud       = has_ud ? !has_srd :
                      !has_srd && (tls != NULL) && info_list_has(tls, "ud") &&
                      !info_list_has(tls, "srd");

    info->transport = is_ud ? "ud" : "srd";
    info->spare     = is_ud ? "srd" : "ud";
}

/* As srdrun: in a build tree, of the same installation, where that was. */
static void module_find(char *module, size_t size)
{
    static const struct {
        int         beside; /* of this program, else of the machine */
        const char *path;
    } places[] = {{1, "/../lib/libuct_srd.so.0"},
                  {1, "/../lib/ucx/libuct_srd.so.0"},
                  {1, "/../lib64/ucx/libuct_srd.so.0"},
                  {0, LIBDIR "/ucx/libuct_srd.so.0"}};
    char self[PATH_MAX / 2], path[PATH_MAX], real[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    unsigned i;

    module[0]                       = '\0';
    self[(length > 0) ? length : 0] = '\0';
    if (strrchr(self, '/') != NULL) {
        *strrchr(self, '/') = '\0';
    }
    for (i = 0; (i < sizeof(places) / sizeof(places[0])) && (module[0] == '\0');
         ++i) {
        snprintf(path, sizeof(path), "%s%s", places[i].beside ? self : "",
                 places[i].path);
        if (realpath(path, real) != NULL) {
            snprintf(module, size, "%s", real);
        }
    }
}

/* What stays within a host. */
#define LOCAL_TLS "self,sm,shm,mm,posix,sysv,cma,knem,xpmem"

/* UCX_TLS without that: so UCX shows what it would take to
 * another one. NULL: unset. */
static const char *tls_between_hosts(char *text, size_t size)
{
    static const char local[] = LOCAL_TLS;
    const char *tls           = getenv("UCX_TLS");
    char copy[PROBE_TEXT_MAX], *item, *rest;

    if ((tls == NULL) || !strcmp(tls, "all")) {
        snprintf(text, size, "^%s", local);
        return text;
    }
    if (tls[0] == '^') {
        snprintf(text, size, "%s,%s", tls, local);
        return text;
    }
    snprintf(copy, sizeof(copy), "%s", tls);
    text[0] = '\0';
    for (item = strtok_r(copy, ",", &rest); item != NULL;
         item = strtok_r(NULL, ",", &rest)) {
        char wrapped[128];
        const char list[] = "," LOCAL_TLS ",";

        snprintf(wrapped, sizeof(wrapped), ",%.100s,", item);
        if (strstr(list, wrapped) == NULL) {
            snprintf(text + strlen(text), size - strlen(text), "%s%s",
                     (text[0] != '\0') ? "," : "", item);
        }
    }
    return (text[0] != '\0') ? text : tls;
}

/* UCX in children, before this process opens verbs itself. */
static void probes_run(info_t *info)
{
    char tls[PROBE_TEXT_MAX];
    const char *module = (info->module[0] != '\0') ? info->module : NULL;
    const char *use    = (probe_ucx_module() != NULL) ? NULL : module;

    (void)tls_between_hosts(tls, sizeof(tls));
    (void)probe_run(&info->chosen, tls, NULL, 0);
    if (info->chosen.plugin[0] != '\0') {
        use = NULL; /* UCX finds one by itself */
    } else if (use != NULL) {
        (void)probe_run(&info->chosen, tls, use, 0);
        info->chosen.plugin[0] = '\0';
    }
    transport_choose(info);
    (void)probe_run(&info->direct, info->transport, use, 1);
    (void)probe_run(&info->other, info->spare, use, 0);
}

static int run_check(info_t *info)
{
    check_device(info);
    check_memory(info);
    check_gpu(info);
    check_ucx(info);
    check_mpi(info);
    printf("%u ok, %u warnings, %u failed, %u skipped\n",
           info->counts[INFO_OK], info->counts[INFO_WARN],
           info->counts[INFO_FAIL], info->counts[INFO_SKIP]);
    return (info->counts[INFO_FAIL] > 0) ? 1 : 0;
}

static void show_device(info_t *info, const char *name)
{
    char text[INFO_TEXT_MAX];
    efa_device_t *device;
    unsigned i;

    printf("device %s\n", name);
    if (efa_device_open(&info->host, name, &device) != UCS_OK) {
        printf("  cannot be opened: %s\n", host_stub_message());
        return;
    }
    places_describe(info, device->bdf, text, sizeof(text));
    printf("  place          PCI %s, %s\n",
           (device->bdf[0] != '\0') ? device->bdf : "unknown", text);
    printf("  GID            ");
    for (i = 0; i < sizeof(device->gid.raw); ++i) {
        printf("%s%02x", ((i > 0) && (i % 2 == 0)) ? ":" : "",
               device->gid.raw[i]);
    }
    printf("\n  capabilities  %s%s%s SRD, UD\n",
           (device->caps & EFA_DEVICE_CAP_RDMA_READ) ? " RDMA read," : "",
           (device->caps & EFA_DEVICE_CAP_RDMA_WRITE) ? " RDMA write," : "",
           (device->caps & EFA_DEVICE_CAP_RNR_RETRY) ? " RNR retry," : "");
    printf("  messages       to %zu B, inline %u B; RDMA to %zu B\n",
           device->max_msg, device->inline_size, device->max_rdma);
    printf("  queues         %u sends, %u receives; %u address handles\n",
           device->max_sq_wr, device->max_rq_wr, device->max_ah);
    printf("  link           %.0f Gbit/s\n", device->bandwidth * 8e-9);
    data_path_describe(info, device, text, sizeof(text));
    printf("  data path      %s\n", text);
    efa_device_close(device);
}

static void show_devices(info_t *info)
{
    char why[INFO_TEXT_MAX];
    unsigned i;

    info->verbs = efa_verbs_get(why, sizeof(why));
    if ((info->verbs != NULL) &&
        (efa_device_list(info->verbs, &info->devices, &info->device_count) ==
         UCS_OK) && (info->device_count == 0)) {
        efa_device_explain_none(why, sizeof(why));
    }
    for (i = 0; i < info->device_count; ++i) {
        show_device(info, info->devices[i]);
    }
    if (info->device_count == 0) {
        printf("no device: %s\n", why);
    }
}

static void show_lanes(const info_t *info)
{
    static const struct {
        ucs_memory_type_t type;
        const char        *name;
    } gpus[] = {{UCS_MEMORY_TYPE_CUDA, "CUDA"}, {UCS_MEMORY_TYPE_ROCM, "ROCm"}};
    const probe_t *probe = &info->chosen;
    unsigned i;

    printf("lanes to another host (UCX_TLS=%s)\n", probe->tls);
    for (i = 0; i < probe->lane_count; ++i) {
        printf("  host memory    %s\n", probe->lanes[i]);
    }
    if (probe->lane_count == 0) {
        printf("  none: %s\n", probe->error);
    }
    for (i = 0; i < sizeof(gpus) / sizeof(gpus[0]); ++i) {
        printf("  %s memory    %s\n", gpus[i].name,
               !(probe->ucp_types & UCS_BIT(gpus[i].type)) ?
               "this UCX finds none here" :
               (probe->efa_types & UCS_BIT(gpus[i].type)) ?
               "as host memory: the EFA reaches it" :
               "as host memory, copied through it by UCX");
    }
}

static void show_transport(const char *name, const probe_t *probe)
{
    printf("transport %-3s    %s%s\n", name,
           info_is_usable(probe) ? "UCX can use it" : "cannot be used: ",
           info_is_usable(probe) ? "" : info_reason(probe));
}

static int run_show(info_t *info)
{
    const probe_t *probe = &info->direct;
    const char *loaded   = probe_ucx_module();

    show_devices(info);
    if (probe->major == 0) {
        printf("UCX              none: %s\n", probe->error);
    } else {
        printf("UCX              %u.%u.%u in %s\n", probe->major, probe->minor,
               probe->release, probe->ucp_path);
    }
    printf("module           %s%s\n",
           (loaded != NULL) ? loaded :
           (info->chosen.plugin[0] != '\0') ? info->chosen.plugin :
           (info->module[0] != '\0') ? info->module : "not found",
           (loaded != NULL) ? " (preloaded)" :
           (info->chosen.plugin[0] != '\0') ? " (loaded by UCX)" :
           " (not loaded here; srdrun COMMAND does it)");
    show_transport(info->transport, &info->direct);
    show_transport(info->spare, &info->other);
    show_lanes(info);
    return (info->device_count > 0) ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {options, parse_option, NULL, doc,
                                     NULL, NULL, NULL};
    arguments_t arguments         = {.sysroot = "", .test = {.serve = -1}};
    char tls[PROBE_TEXT_MAX];
    static info_t info;

    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
        return 2;
    }
    info.sysroot = arguments.sysroot;
    host_stub_init(&info.host);
    module_find(info.module, sizeof(info.module));
    if (arguments.python != NULL) {
        return python_run(&info, arguments.python,
                          tls_between_hosts(tls, sizeof(tls)));
    }
    if (arguments.plan) {
        return plan_run(&info, &arguments.job);
    }
    if (arguments.selftest) {
        return st_run(&info, &arguments.test);
    }
    probes_run(&info);
    return arguments.check ? run_check(&info) : run_show(&info);
}
