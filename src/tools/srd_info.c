/* SPDX-License-Identifier: BSD-3-Clause */
/* The command: see the text below, or srd_info --help. */
#define _GNU_SOURCE
#include "info.h"
#include "plan.h"
#include "probe_ucx.h"
#include "selftest/link.h"
#include "selftest/run.h"
#include "top/top.h"

#include <argp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <config.h>

static const char doc[] =
        "Shows the EFA devices of this host, the UCX that programs find, and "
        "the transports that this UCX uses to other hosts."
        "\vSet the environment as for the program in question, and put srdrun "
        "in front of srd_info if the program has it. Status 0 if all is well, "
        "1 if something is missing or fails, 2 for a wrong option.";

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
    KEY_ALL,
    KEY_SERVE,
    KEY_TOP,
    KEY_ONCE,
    KEY_INTERVAL
};

/* The option that chooses a report comes first in the help: the others of its
 * title are in the next group. */
static const struct argp_option options[] = {
    {"check", 'c', NULL, 0,
     "Check everything that can make UCX miss an EFA: a line for each thing, "
     "ok, warn, FAIL or skip, with the remedy; status 0 if nothing failed", 0},
    {"all", KEY_ALL, NULL, 0,
     "Show more: each lane as UCX names it; with --selftest also the "
     "assumptions that hold, and the measurements", 0},
    {"json", KEY_JSON, "FILE", 0,
     "Write the result of any report to FILE as JSON, too; -: JSON alone, "
     "to standard output",
     0},
    {"sysroot", KEY_SYSROOT, "DIR", 0,
     "Read DIR/proc, DIR/sys and DIR/etc, such as the host's in a container "
     "(default: /; for libibverbs set SYSFS_PATH=DIR/sys, too)", 0},

    {NULL, 0, NULL, 0, "UCX of Python packages:", 1},
    {"python", KEY_PYTHON, "PYTHON", OPTION_ARG_OPTIONAL,
     "List each package in this Python's environment (default: python3) "
     "that brings a UCX, and whether its UCX uses this module; status 0 if "
     "all do", 1},

    {NULL, 0, NULL, 0, "Resources that a job needs on each host:", 2},
    {"plan", KEY_PLAN, NULL, 0,
     "Compare the needs of a job of --ranks and --hosts (both have to be "
     "given) with the limits of this host; status 0 if it fits", 2},
    {"ranks", KEY_RANKS, "N", 0, "Ranks on each host", 3},
    {"hosts", KEY_HOSTS, "N", 0, "Hosts of the job", 3},
    {"devices", KEY_DEVICES, "N", 0,
     "EFA devices per host (default: as many as this host has)", 3},
    {"peers", KEY_PEERS, "N", 0,
     "Ranks on other hosts that a rank talks to (default: all)", 3},
    {"table", KEY_TABLE, NULL, 0,
     "Print the needs of usual jobs on an EFA of the second generation "
     "instead", 3},

    {NULL, 0, NULL, 0, "Test of the module's assumptions about the device:", 4},
    {"selftest", KEY_SELFTEST, NULL, 0,
     "Test each assumption of docs/EFA-FACTS.md on this host's device; status "
     "0 if all hold", 4},
    {"listen", KEY_LISTEN, "PORT", OPTION_ARG_OPTIONAL,
     "Serve one \"--selftest --peer\" of another host (default: TCP port "
     ST_PORT ")", 5},
    {"peer", KEY_PEER, "HOST[:PORT]", 0,
     "Test between this host and HOST, where srd_info --selftest --listen "
     "runs (default: port " ST_PORT ")", 5},
    {"device", KEY_DEVICE, "NAME", 0, "Device to test (default: the first)",
     5},
    {"only", KEY_ONLY, "PROBE,...", 0,
     "Run these probes only, without measurements; --selftest --all names "
     "them", 5},
    {"facts", KEY_FACTS, NULL, 0,
     "Test the assumptions only, without measurements", 5},
    {"serve", KEY_SERVE, "FD", OPTION_HIDDEN, NULL, 5},

    {NULL, 0, NULL, 0, "Live view of peers that stall processes:", 6},
    {"top", KEY_TOP, NULL, 0,
     "Show, live, this user's processes on this host: which process waits for "
     "which peer, how long, for what, and the traffic with each peer. Keys "
     "sort the peers: s stalls, o oldest, b bytes, m messages, "
     "r receiver-not-ready, l lost, d depth; q quits", 6},
    {"once", KEY_ONCE, NULL, 0,
     "Show one page, after about 2 s, and end", 7},
    {"interval", KEY_INTERVAL, "SECONDS", 0,
     "Time between two pages (default: 1); with --json, FILE is replaced each "
     "time (without --interval it is written once)", 7},
    {NULL, 0, NULL, 0, NULL, 0}
};

typedef struct arguments {
    int        check;
    int        all;
    const char *json;    /* NULL: none */
    const char *sysroot;
    const char *python; /* NULL: not asked for */
    int        selftest;
    st_run_args_t test;
    int        plan;
    plan_args_t job;
    top_args_t top;
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

static error_t parse_top(int key, const char *value, top_args_t *top)
{
    switch (key) {
    case KEY_TOP:
        top->is_wanted = 1;
        return 0;
    case KEY_ONCE:
        top->once = 1;
        return 0;
    case KEY_INTERVAL:
        top->interval = value;
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
    case KEY_ALL:
        arguments->all = 1;
        return 0;
    case KEY_JSON:
        arguments->json = value;
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
        if ((parse_plan(key, value, &arguments->job) == 0) ||
            (parse_top(key, value, &arguments->top) == 0)) {
            return 0;
        }
        return parse_selftest(key, value, &arguments->test);
    }
}

/* The reports: one in a run. */
static int arguments_one_report(const arguments_t *arguments)
{
    const struct {
        const char *option;
        int         is_given;
    } reports[] = {
        {"--check", arguments->check},
        {"--python", arguments->python != NULL},
        {"--plan", arguments->plan},
        {"--selftest", arguments->selftest},
        {"--top", arguments->top.is_wanted},
    };
    const char *first = NULL;
    unsigned i;

    for (i = 0; i < sizeof(reports) / sizeof(reports[0]); ++i) {
        if (reports[i].is_given && (first != NULL)) {
            fprintf(stderr, "srd_info: %s and %s are two reports: run srd_info "
                    "once for each\n", first, reports[i].option);
            return -1;
        }
        first = reports[i].is_given ? reports[i].option : first;
    }
    return 0;
}

/* 0; or -1 after a line, where an option would have no effect. */
static int arguments_check(const arguments_t *arguments)
{
    const st_run_args_t *test = &arguments->test;
    const plan_args_t *job    = &arguments->job;
    const top_args_t *top     = &arguments->top;
    const struct {
        const char *option, *report;
        int         is_given, is_used;
    } parts[] = {
        {"--peer", "--selftest", test->peer != NULL, arguments->selftest},
        {"--listen", "--selftest", test->listen != NULL, arguments->selftest},
        {"--device", "--selftest", test->device != NULL, arguments->selftest},
        {"--only", "--selftest", test->only != NULL, arguments->selftest},
        {"--facts", "--selftest", test->facts, arguments->selftest},
        {"--ranks", "--plan", job->ranks != NULL, arguments->plan},
        {"--hosts", "--plan", job->hosts != NULL, arguments->plan},
        {"--devices", "--plan", job->devices != NULL, arguments->plan},
        {"--peers", "--plan", job->peers != NULL, arguments->plan},
        {"--table", "--plan", job->table, arguments->plan},
        {"--once", "--top", top->once, top->is_wanted},
        {"--interval", "--top", top->interval != NULL, top->is_wanted},
    };
    unsigned i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) {
        if (parts[i].is_given && !parts[i].is_used) {
            fprintf(stderr, "srd_info: %s has no effect without %s: add %s\n",
                    parts[i].option, parts[i].report, parts[i].report);
            return -1;
        }
    }
    if ((test->peer != NULL) && (test->listen != NULL)) {
        fprintf(stderr, "srd_info: --listen and --peer are the two sides of a "
                "test: --listen on one host, --peer=HOST on the other\n");
        return -1;
    }
    return arguments_one_report(arguments);
}

/* The transport that the report is about, after UCX was tried as set up. */
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

/* Transports within a host. */
#define LOCAL_TLS "self,sm,shm,mm,posix,sysv,cma,knem,xpmem"

/* UCX_TLS without those, with which UCX shows the transports that it would take
 * to another host. NULL: unset. */
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
    static const char *const words[] = {"ok", "warn", "fail", "skip"};
    unsigned i;

    json_array(&info->json, "checks");
    check_device(info);
    check_memory(info);
    check_gpu(info);
    check_ucx(info);
    check_mpi(info);
    json_end_array(&info->json);
    for (i = 0; i < INFO_LEVELS; ++i) {
        json_count(&info->json, words[i], info->counts[i]);
    }
    printf("%u ok, %u warning%s, %u failed, %u skipped\n",
           info->counts[INFO_OK], info->counts[INFO_WARN],
           (info->counts[INFO_WARN] == 1) ? "" : "s",
           info->counts[INFO_FAIL], info->counts[INFO_SKIP]);
    return (info->counts[INFO_FAIL] > 0) ? 1 : 0;
}

static int run(info_t *info, const arguments_t *arguments)
{
    char tls[PROBE_TEXT_MAX];

    if (arguments->python != NULL) {
        return python_run(info, arguments->python,
                          tls_between_hosts(tls, sizeof(tls)));
    }
    if (arguments->plan) {
        return plan_run(info, &arguments->job);
    }
    if (arguments->selftest) {
        return st_run(info, &arguments->test);
    }
    probes_run(info);
    return arguments->check ? run_check(info) : show_run(info);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {options, parse_option, NULL, doc,
                                     NULL, NULL, NULL};
    arguments_t arguments         = {.sysroot = "", .test = {.serve = -1}};
    static info_t info;
    int status;

    argp_err_exit_status = 2;
    if ((argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) ||
        (arguments_check(&arguments) != 0)) {
        return 2;
    }
    if (arguments.top.is_wanted) {
        arguments.top.json = arguments.json;
        return top_run(&arguments.top);
    }
    info.sysroot = arguments.sysroot;
    host_stub_init(&info.host);
    module_find(info.module, sizeof(info.module));
    info.all = arguments.all;
    if (json_open(&info.json, arguments.json) != 0) {
        return 2;
    }
    status = run(&info, &arguments);
    return ((json_close(&info.json) != 0) && (status == 0)) ? 1 : status;
}
