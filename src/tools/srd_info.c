/* SPDX-License-Identifier: BSD-3-Clause */
/* The command: see the text below, or srd_info --help. */
#define _GNU_SOURCE
#include "info.h"
#include "selftest/link.h"

#include <command/options.h>
#include <files/output.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct arguments {
    int           check;
    int           all;
    const char    *json; /* NULL: none */
    const char    *sysroot;
    const char    *python; /* NULL: not asked for */
    int           selftest;
    st_run_args_t test;
    const char    *map; /* NULL: not asked for */
    uint64_t      map_ranks;
    const char    *counters; /* NULL: not asked for */
    int           plan;
    plan_args_t   job;
    int           top;
    top_args_t    view;
} arguments_t;

#define AT(_field) offsetof(arguments_t, _field)

/* The option that chooses a report comes first under its title. */
static const option_row_t rows[] = {
    {.name = "check", .letter = 'c', .at = AT(check), .is_report = 1,
     .help = "Check everything that can make UCX miss an EFA: a line for each "
             "thing, ok, warn, FAIL or skip, with the remedy; status 0 if "
             "nothing failed"},
    {.name = "all", .at = AT(all),
     .help = "Show more: each lane as UCX names it; with --selftest also the "
             "assumptions that hold, and the measurements"},
    {.name = "json", .arg = "FILE", .at = AT(json),
     .help = "Write the result of any report to FILE as JSON, too; -: JSON "
             "alone, to standard output"},
    {.name = "sysroot", .arg = "DIR", .at = AT(sysroot),
     .help = "Read DIR/proc, DIR/sys and DIR/etc, such as the host's in a "
             "container (default: /; for libibverbs set SYSFS_PATH=DIR/sys, "
             "too)"},

    {.name = "counters", .arg = "[=SECONDS]", .usual = "1", .at = AT(counters),
     .is_report = 1,
     .help = "Show how many bytes each EFA of this host moved, and its network "
             "retransmitted, within so many seconds, for all programs; 0: "
             "since it is there. --all: each counter"},
    {.name = "map", .arg = "[=export]", .usual = "text", .at = AT(map),
     .is_report = 1,
     .help = "Show the EFAs nearest to each GPU, or else an equal share for "
             "each rank, as UCX_NET_DEVICES and rails; export: the lines of "
             "this rank, for eval"},
    {.name = "map-ranks", .arg = "N", .at = AT(map_ranks), .min = 1,
     .max = PLAN_RANKS_MAX, .needs = "map",
     .help = "Share the EFAs among N ranks of this host, whatever GPUs it "
             "has"},

    {.help = "UCX of Python packages"},
    {.name = "python", .arg = "[=PYTHON]", .usual = "python3",
     .at = AT(python), .is_report = 1,
     .help = "List each package in this Python's environment (default: "
             "python3) that brings a UCX, and whether its UCX uses this "
             "module; status 0 if all do"},

    {.help = "Resources that a job needs on each host"},
    {.name = "plan", .at = AT(plan), .is_report = 1,
     .help = "Compare the needs of a job of --ranks and --hosts (both have to "
             "be given) with the limits of this host; status 0 if it fits"},
    {.name = "ranks", .arg = "N", .at = AT(job.ranks), .needs = "plan",
     .min = 1, .max = PLAN_RANKS_MAX, .help = "Ranks on each host"},
    {.name = "hosts", .arg = "N", .at = AT(job.hosts), .needs = "plan",
     .min = 1, .max = PLAN_HOSTS_MAX, .help = "Hosts of the job"},
    {.name = "devices", .arg = "N", .at = AT(job.devices), .needs = "plan",
     .min = 1, .max = PLAN_DEVICES_MAX,
     .help = "EFA devices per host (default: as many as this host has)"},
    {.name = "peers", .arg = "N", .at = AT(job.peers), .needs = "plan",
     .min = 1, .max = UINT_MAX,
     .help = "Ranks on other hosts that a rank talks to (default: all)"},
    {.name = "table", .at = AT(job.table), .needs = "plan",
     .help = "Print the needs of usual jobs on an EFA of the second "
             "generation instead"},

    {.help = "Test of the module's assumptions about the device"},
    {.name = "selftest", .at = AT(selftest), .is_report = 1,
     .help = "Test each assumption of docs/EFA-FACTS.md on this host's "
             "device; status 0 if all hold"},
    {.name = "listen", .arg = "[=PORT]", .usual = ST_PORT,
     .at = AT(test.listen), .needs = "selftest",
     .help = "Serve one \"--selftest --peer\" of another host (default: TCP "
             "port " ST_PORT ")"},
    {.name = "peer", .arg = "HOST[:PORT]", .at = AT(test.peer),
     .needs = "selftest",
     .help = "Test between this host and HOST, where srd_info --selftest "
             "--listen runs (default: port " ST_PORT ")"},
    {.name = "device", .arg = "NAME", .at = AT(test.device),
     .needs = "selftest", .help = "Device to test (default: the first)"},
    {.name = "only", .arg = "PROBE,...", .at = AT(test.only),
     .needs = "selftest",
     .help = "Run these probes only, without measurements; --selftest --all "
             "names them"},
    {.name = "facts", .at = AT(test.facts), .needs = "selftest",
     .help = "Test the assumptions only, without measurements"},
    {.name = "serve", .arg = "FD", .at = AT(test.serve)},

    {.help = "Live view of peers that stall processes"},
    {.name = "top", .at = AT(top), .is_report = 1,
     .help = "Show, live, this user's processes on this host: which process "
             "waits for which peer, how long, for what, the traffic with each "
             "peer, and how much the network retransmits. Keys sort the "
             "peers: s stalls, o oldest, b bytes, m messages, r receiver-not-"
             "ready, l lost, d depth; q quits"},
    {.name = "once", .at = AT(view.once), .needs = "top",
     .help = "Show one page, after about 2 s, and end, as without --interval "
             "where standard output is no terminal"},
    {.name = "interval", .arg = "SECONDS", .at = AT(view.interval),
     .needs = "top",
     .help = "Time between two pages (default: 1); with --json, FILE is "
             "replaced each time (without --interval it is written once)"},
};

static const options_t options = {
    .program = "srd_info",
    .usage   = "[OPTION]...",
    .about   = "Shows the EFA devices of this host, the UCX that programs "
               "find, and the\ntransports that this UCX uses to other "
               "hosts.\n",
    .end     = "Set the environment as for the program in question, and put "
               "srdrun in front of\nsrd_info if the program has it. Status 0 "
               "if all is well, 1 if something is\nmissing or fails, 2 for a "
               "wrong option.\n",
    .rows    = rows,
    .count   = sizeof(rows) / sizeof(rows[0]),
};

/* 0; or -1 after a line. */
static int arguments_check(arguments_t *arguments, int argc, char **argv)
{
    int next = options_parse(&options, arguments, argc, argv);

    if ((next < argc) && (arguments->python != NULL)) {
        arguments->python = argv[next++]; /* --python PYTHON */
    } else if ((next < argc) && (arguments->counters != NULL)) {
        arguments->counters = argv[next++]; /* --counters SECONDS */
    }
    if (next < argc) {
        options_error("nothing is expected after the options: '%s'; --help "
                      "lists them", argv[next]);
        return -1;
    }
    if ((arguments->sysroot[0] != '\0') &&
        (access(arguments->sysroot, X_OK) != 0)) {
        options_error("--sysroot=%s: %s: name the folder in which the host's "
                      "proc, sys and etc are", arguments->sysroot,
                      strerror(errno));
        return -1;
    }
    if ((arguments->test.peer != NULL) && (arguments->test.listen != NULL)) {
        options_error("--listen and --peer are the two sides of a test: "
                      "--listen on one host, --peer=HOST on the other");
        return -1;
    }
    return 0;
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

/* As srdrun: in a build tree, of the same installation, where that was; that of
 * a copy in /tmp/JOB would be anyone's. */
static void module_find(char *module, size_t size)
{
    static const struct {
        int         beside; /* this program's folder, else of the machine */
        const char *path;
    } places[] = {{1, "/lib/libuct_srd.so.0"},
                  {1, "/lib/ucx/libuct_srd.so.0"},
                  {1, "/lib64/ucx/libuct_srd.so.0"},
                  {0, LIBDIR "/ucx/libuct_srd.so.0"}};
    char self[PATH_MAX / 2], path[PATH_MAX], real[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 4);
    int is_public;
    unsigned i;

    module[0]                       = '\0';
    self[(length > 0) ? length : 0] = '\0';
    if (strrchr(self, '/') != NULL) {
        strcpy(strrchr(self, '/'), "/..");
    }
    is_public = output_is_public(self);
    for (i = 0; (i < sizeof(places) / sizeof(places[0])) && (module[0] == '\0');
         ++i) {
        snprintf(path, sizeof(path), "%s%s", places[i].beside ? self : "",
                 places[i].path);
        if ((!places[i].beside || !is_public) &&
            (realpath(path, real) != NULL)) {
            snprintf(module, size, "%s", real);
        }
    }
}

/* UCX_TLS without those, with which UCX shows the transports that it would take
 * to another host. NULL: unset. */
static const char *tls_between_hosts(char *text, size_t size)
{
    static const char local[] = UCX_TLS_LOCAL;
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
        const char list[] = "," UCX_TLS_LOCAL ",";

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
    uint64_t seconds;

    if (arguments->map != NULL) {
        return map_run(info, arguments->map, (unsigned)arguments->map_ranks);
    }
    if (arguments->counters != NULL) {
        return (options_number("--counters", arguments->counters, 0, 86400,
                               &seconds) != 0) ? OPTIONS_EXIT_USAGE :
               counters_run(info, (unsigned)seconds);
    }

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
    arguments_t arguments = {.sysroot = ""};
    static info_t info;
    int status;

    if (arguments_check(&arguments, argc, argv) != 0) {
        return OPTIONS_EXIT_USAGE;
    }
    module_find(info.module, sizeof(info.module));
    if (arguments.top) {
        arguments.view.json = arguments.json;
        return top_run(&info, &arguments.view);
    }
    info.sysroot = arguments.sysroot;
    host_stub_init(&info.host);
    info.all = arguments.all;
    if (json_open(&info.json, "json", arguments.json) != 0) {
        return 2;
    }
    json_report(&info.json);
    status = run(&info, &arguments);
    return ((json_close(&info.json) != 0) && (status == 0)) ? 1 : status;
}
