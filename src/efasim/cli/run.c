/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * efasim run: join or make the fabric, become part of the host, start the
 * command with the device preloaded, wait, pass on its status.
 */
#include "cli.h"
#include "rows.h"

#include "efasim/engine/knobs.h"
#include "efasim/engine/profile.h"
#include "efasim/fabric/folder.h"
#include "efasim/fabric/host.h"
#include "efasim/fabric/plan_file.h"
#include "efasim/fabric/process.h"
#include "efasim/fabric/sysfs.h"
#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_NONE UINT64_MAX

struct run_options {
    uint64_t    node;      /* RUN_NONE: not given */
    uint64_t    per_node;  /* 0: not given */
    const char *fabric;
    int         stat;
    const char *stat_file; /* NULL: stderr */
};

static volatile sig_atomic_t run_child;

/* A bad value in the environment is refused here, where a user reads it. */
static int run_check_environment(void)
{
    const struct sim_knob *knob;
    struct sim_knobs scratch;
    char name[64], err[512];
    const char *value;
    uint64_t number;

    sim_knobs_init(&scratch);
    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        sim_knob_variable(knob, name, sizeof(name));
        value = getenv(name);
        if ((value != NULL) && (*value != '\0') &&
            (sim_knob_set(&scratch, knob, name, value, err,
                          sizeof(err)) != 0)) {
            options_error("%s", err);
            return -1;
        }
    }

    value = getenv("EFASIM_NODE");
    return (value == NULL) ? 0 :
           options_number("EFASIM_NODE", value, 0, SIM_HOSTS - 1, &number);
}

/* A program may change its folder: it gets the file's full path. A link stays
 * one: /dev/stdout is each program's own. */
static int run_set_path(const char *variable, const char *option,
                        const char *file)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];

    if (*file == '/') {
        return setenv(variable, file, 1);
    }
    if (getcwd(folder, sizeof(folder)) == NULL) {
        options_error("%s=%.200s: %s", option, file, strerror(errno));
        return -1;
    }
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return setenv(variable, path, 1);
}

static int run_plan(const char *file)
{
    char err[600];
    struct sim_plan *plan = fabric_plan_file_read(file, err, sizeof(err));

    if (plan == NULL) {
        options_error("%s", err);
        return -1;
    }

    free(plan);
    return run_set_path("EFASIM_PLAN", "--plan", file);
}

/* Made here, empty; every program of the fabric appends to it. */
static int run_trace(const char *file)
{
    int fd = output_open(file, O_TRUNC);

    if (fd < 0) {
        options_error("--trace=%.200s: %s: name a file that can be written",
                      file, output_error(errno));
        return -1;
    }

    close(fd);
    return run_set_path("EFASIM_TRACE", "--trace", file);
}

/* A knob is a variable of the program. */
static int run_knob(const option_row_t *row, const char *value)
{
    struct sim_knobs scratch;
    char name[64];

    sim_knobs_init(&scratch);
    value = rows_set(&scratch, row, value);
    if (value == NULL) {
        return -1;
    }
    sim_knob_variable(row->of, name, sizeof(name));
    setenv(name, value, 1);
    return 0;
}

/* `of` rows that run_take() takes and that are no knob */
static const char run_own[] = "";

/* Options without a field of their own: a file, --stat, or a knob. */
static int run_take(void *to, const option_row_t *row, const char *value)
{
    struct run_options *options = to;

    if (row->of != run_own) {
        return run_knob(row, value);
    }
    if (!strcmp(row->name, "plan")) {
        return run_plan(value);
    }
    if (!strcmp(row->name, "stat")) {
        options->stat      = 1;
        options->stat_file = value;
        return 0;
    }
    return run_trace(value);
}

#define AT(_field) offsetof(struct run_options, _field)

static const option_row_t run_rows[] = {
    { .help = "Host, fabric, and reports" },
    { .name = "node", .arg = "N", .at = AT(node), .max = SIM_HOSTS - 1,
      .help = "be host N of the fabric, 0 to 7 (default 0)" },
    { .name = "per-node", .arg = "K", .at = AT(per_node), .min = 1,
      .max = SIM_SLOTS,
      .help = "before mpirun or srun, or what it starts: ranks 0 to K-1 on "
              "host 0, the next on 1, ..." },
    { .name = "fabric", .arg = "NAME", .at = AT(fabric),
      .help = "network to join or make (default: \"default\")" },
    { .name = "stat", .arg = "[=FILE]", .of = run_own,
      .help = "write counters to stderr, or FILE, at the end" },
    { .name = "trace", .arg = "FILE", .of = run_own,
      .help = "a line in FILE for each command and packet" },
    { .name = "plan", .arg = "FILE", .of = run_own,
      .help = "faults by time or count: efasim(1), PLANS" },
};

/* Returns the index of the command, or -1 after an error line. */
static int run_parse(int argc, char **argv, struct run_options *options)
{
    static option_row_t rows[ROWS_MAX];
    const options_t run = {
        .program = "efasim run",
        .usage   = "[OPTION]... -- COMMAND [ARG]...",
        .about   = "Gives COMMAND an EFA device, rdmap0s6, under the real "
                   "libibverbs. Options of\nwhich no default is told are 0, "
                   "or off.\n",
        .end     = "Each option outside the first group is also a variable, "
                   "for one process alone:\nEFASIM_TIMEOUT_MS=250 is "
                   "--timeout-ms 250, EFASIM_EAGER=1 --eager,\n"
                   "EFASIM_DMABUF=0 --no-dmabuf. With EFASIM_STAT=FILE each "
                   "run appends its\ncounters to FILE.\n",
        .rows    = rows,
        .count   = rows_of_knobs(rows, sizeof(run_rows) / sizeof(run_rows[0]),
                                 0),
        .is_wrapper = 1,
        .take       = run_take,
    };
    int command;

    memcpy(rows, run_rows, sizeof(run_rows));
    command = options_parse(&run, options, argc, argv);
    if (command >= argc) {
        options_error("no command is given: name one, as in `efasim run -- "
                      "ibv_devinfo`");
        return -1;
    }
    if ((options->node != RUN_NONE) && (options->per_node > 0)) {
        options_error("--node names the host of one program, --per-node "
                      "spreads those of a launcher: give one of the two");
        return -1;
    }
    return command;
}

/* libefasim.so lies in ../lib beside us, or where it was installed, or where
 * all of that was moved to; that of a copy in /tmp/JOB would be anyone's. */
static int run_find_library(char *library, size_t size)
{
    static const char *const places[] = {
        "../lib/libefasim.so", "../lib/efasim/libefasim.so",
        "../lib64/efasim/libefasim.so",
    };
    char self[PATH_MAX], resolved[PATH_MAX], *slash;
    ssize_t length;
    int is_public;
    unsigned i;

    length = readlink("/proc/self/exe", self, sizeof(self) - 64);
    if (length <= 0) {
        options_error("/proc/self/exe tells where efasim lies, and cannot be "
                      "read (%s): mount /proc", strerror(errno));
        return -1;
    }
    self[length] = '\0';
    slash        = strrchr(self, '/') + 1;
    strcpy(slash, "..");
    is_public = output_is_public(self);
    for (i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
        snprintf(slash, 64, "%s", places[i]);
        if (!is_public && (realpath(self, resolved) != NULL) &&
            (strlen(resolved) < size)) {
            strcpy(library, resolved);
            return 0;
        }
    }

    if ((access(SIMDIR "/libefasim.so", R_OK) == 0) &&
        (sizeof(SIMDIR "/libefasim.so") <= size)) {
        strcpy(library, SIMDIR "/libefasim.so");
        return 0;
    }

    *slash = '\0';
    options_error("the device, libefasim.so, is neither in %s%s nor in " SIMDIR
              ": run 'make' in the build, or install the package whole", self,
              "../lib");
    return -1;
}

/* Ours first, the caller's behind it; an older copy of ours goes. */
static int run_set_preload(const char *library)
{
    const char *old = getenv("LD_PRELOAD");
    const char *start, *end;
    char *value, *at;

    if (strpbrk(library, ": ") != NULL) {
        options_error("%s: LD_PRELOAD cannot hold a path with a blank or a "
                      "colon; move the build elsewhere", library);
        return -1;
    }

    value = malloc(strlen(library) + (old ? strlen(old) : 0) + 2);
    if (value == NULL) {
        options_error("out of memory");
        return -1;
    }

    at = stpcpy(value, library);
    for (start = old; (start != NULL) && (*start != '\0'); start = end) {
        start += strspn(start, ": ");
        end    = start + strcspn(start, ": ");
        if ((end > start) &&
            !((size_t)(end - start) >= sizeof("libefasim.so") - 1 &&
              !strncmp(end - (sizeof("libefasim.so") - 1), "libefasim.so",
                       sizeof("libefasim.so") - 1))) {
            *at++ = ':';
            memcpy(at, start, end - start);
            at += end - start;
        }
    }
    *at = '\0';
    setenv("LD_PRELOAD", value, 1);
    free(value);
    return 0;
}

/* A program built with AddressSanitizer wants its runtime first in the list;
 * ours does no harm before it, and this tells it so. */
static void run_set_asan(void)
{
    const char *old = getenv("ASAN_OPTIONS");
    char value[1024];

    if ((old != NULL) && strstr(old, "verify_asan_link_order")) {
        return;
    }
    snprintf(value, sizeof(value), "verify_asan_link_order=0%s%s",
             old ? ":" : "", old ? old : "");
    setenv("ASAN_OPTIONS", value, 1);
}

static int run_environment(const struct run_options *options,
                           const struct fabric *fabric, const char *name,
                           unsigned node)
{
    char library[PATH_MAX], text[FABRIC_PATH_MAX + 32];

    if ((run_find_library(library, sizeof(library)) != 0) ||
        (run_set_preload(library) != 0)) {
        return -1;
    }

    run_set_asan();
    setenv("EFASIM_FABRIC", name, 1);
    snprintf(text, sizeof(text), "%s/node%u", fabric->path, node);
    setenv("SYSFS_PATH", text, 1);
    snprintf(text, sizeof(text), "%u", node);
    setenv("EFASIM_NODE", text, 1);
    if (options->per_node > 0) {
        snprintf(text, sizeof(text), "%u", (unsigned)options->per_node);
        setenv("EFASIM_PER_NODE", text, 1);
    } else if (options->node != RUN_NONE) {
        unsetenv("EFASIM_PER_NODE"); /* of an outer run */
    }
    return 0;
}

static void run_forward(int sig)
{
    if (run_child > 0) {
        kill(run_child, sig);
    }
}

static const int run_signals[] = {
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH,
};

enum {
    RUN_SIGNALS = sizeof(run_signals) / sizeof(run_signals[0]),
};

/* Start and await the command. The terminal sends its signals to the command
 * as well as to us, so those are not passed on a second time. */
static int run_command(char **argv)
{
    struct sigaction forward = { .sa_handler = run_forward };
    sigset_t block, old;
    pid_t pid;
    int status, i;

    sigemptyset(&block);
    for (i = 0; i < RUN_SIGNALS; ++i) {
        sigaddset(&block, run_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &block, &old);

    pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        execvp(argv[0], argv);
        _exit(cli_program_failed(argv[0], errno));
    }
    if (pid < 0) {
        options_error("cannot start %s: %s", argv[0], strerror(errno));
        return CLI_EXIT_FAILED;
    }

    run_child = pid;
    for (i = 0; i < RUN_SIGNALS; ++i) {
        sigaction(run_signals[i], &forward, NULL);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return CLI_EXIT_FAILED;
        }
    }

    run_child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
                                 WEXITSTATUS(status);
}

/* The counters to a file; `option` is how the user named it. */
static void run_stat_file(const struct fabric *fabric, const char *option,
                          const char *file, int flags)
{
    FILE *out = output_file(file, flags);

    if (out == NULL) {
        options_error("%s=%s: %s: no counters are written; name a file that "
                      "can be", option, file, output_error(errno));
        return;
    }

    setvbuf(out, NULL, _IOLBF, 0); /* other runs append their lines, too */
    cli_stat_print(fabric, out);
    if (ferror(out)) {
        options_error("%s=%s: not all counters could be written (%s): make "
                      "room, or name another file", option, file,
                      strerror(errno));
    }
    fclose(out);
}

/* --stat has the counters of this run; EFASIM_STAT collects those of all runs
 * that have it in their environment. */
static void run_stat(const struct run_options *options,
                     const struct fabric *fabric)
{
    const char *all = getenv("EFASIM_STAT");

    if (options->stat_file != NULL) {
        run_stat_file(fabric, "--stat", options->stat_file, O_TRUNC);
    } else if (options->stat) {
        cli_stat_print(fabric, stderr);
    }
    if ((all != NULL) && (*all != '\0')) {
        run_stat_file(fabric, "EFASIM_STAT", all, O_APPEND);
    }
}

/* The host: as told, else that of an outer run, else 0. */
static int run_node(const struct run_options *options)
{
    const char *outer = getenv("EFASIM_NODE");
    int node;

    if (options->node != RUN_NONE) {
        return (int)options->node;
    }
    if ((options->per_node > 0) || (outer == NULL) ||
        (getenv("EFASIM_FABRIC") == NULL)) {
        return 0;
    }

    node = atoi(outer);
    return ((node >= 0) && (node < SIM_HOSTS)) ? node : 0;
}

/* An `efasim run --per-node` that a launcher starts once per rank knows its
 * rank: it is the same as --node, and the namespace is entered here. */
static void run_place_rank(struct run_options *options)
{
    static const char *const ranks[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
        "SLURM_LOCALID",
    };
    const char *rank;
    unsigned i;
    int node;

    for (i = 0; (options->per_node > 0) &&
                (i < sizeof(ranks) / sizeof(ranks[0])); ++i) {
        rank = getenv(ranks[i]);
        if (rank != NULL) {
            node = atoi(rank) / (int)options->per_node;
            options->node     = (node < 0) ? 0 :
                                (node < SIM_HOSTS) ? node : SIM_HOSTS - 1;
            options->per_node = 0;
        }
    }
}

/* Attached to the fabric, with the host's devices there; NULL after a line.
 * The values in the environment have been checked. */
static struct fabric *run_fabric(const char *path, int node)
{
    const char *device    = getenv("EFASIM_DEVICE");
    const char *devices   = getenv("EFASIM_DEVICES");
    const char *gpus      = getenv("EFASIM_GPUS");
    const char *peer      = getenv("EFASIM_PEER_MEMORY");
    unsigned profile      = device ? sim_profile_find(device) : 0;
    struct fabric *fabric = fabric_open(path, FABRIC_CREATE, node);
    const struct dir_host *host;

    if ((fabric != NULL) &&
        (fabric_sysfs_create(fabric, node, profile,
                             devices ? atoi(devices) : 0) == 0) &&
        (fabric_sysfs_gpus(fabric, node, gpus ? atoi(gpus) : 0,
                           peer && (*peer == '1')) == 0)) {
        return fabric;
    }

    if (errno == EPERM) {
        options_error("%s", fabric_folder_say(path));
    } else if (errno == EEXIST) {
        host = &fabric->dir->host[node];
        options_error("host %d has --devices=%u --device=%s already, this "
                      "run asks for --devices=%s --device=%s: all programs "
                      "of a host share its devices; end them, or use another "
                      "--node or --fabric", node, atomic_load(&host->devices),
                      sim_profile_get(atomic_load(&host->profile))->name,
                      devices ? devices : "any", device ? device : "any");
    } else {
        options_error("cannot make the fabric %s: %s%s", path, strerror(errno),
                      fabric_process_advice(errno));
    }
    if (fabric != NULL) {
        fabric_close(fabric);
    }
    return NULL;
}

/* Nonzero if a run of this fabric has started this one. */
static int run_is_inner(const char *name)
{
    const char *outer = getenv("EFASIM_FABRIC");

    return (outer != NULL) && !strcmp(outer, name) &&
           (getenv("EFASIM_NODE") != NULL);
}

int cli_run(int argc, char **argv)
{
    struct run_options options = { .node = RUN_NONE };
    char path[FABRIC_PATH_MAX], err[512];
    struct fabric *fabric;
    const char *name;
    int command, node, ret;
    unsigned removed, live;

    command = run_parse(argc, argv, &options);
    name    = (command < 0) ? NULL : cli_fabric_name(options.fabric);
    if ((name == NULL) || (run_check_environment() != 0)) {
        return OPTIONS_EXIT_USAGE;
    }

    run_place_rank(&options);
    node = run_node(&options);
    fabric_clean(NULL, &removed, &live); /* leftovers of killed runs */
    fabric_path(name, path);
    fabric = run_fabric(path, node);
    if (fabric == NULL) {
        return CLI_EXIT_FAILED;
    }
    cli_join_say(fabric, name, run_is_inner(name));
    if (!run_is_inner(name)) {
        cli_unknown_variables();
    }

    if ((options.per_node == 0) && (getenv("EFASIM_PER_NODE") == NULL ||
                                    options.node != RUN_NONE) &&
        (fabric_host_enter(fabric, node, err, sizeof(err)) != 0)) {
        options_error("%s", err);
    }

    ret = run_environment(&options, fabric, name, node);
    cli_program_say(argv[command]);
    ret = (ret == 0) ? run_command(argv + command) : CLI_EXIT_FAILED;
    run_stat(&options, fabric);
    fabric_close(fabric);
    return ret;
}
