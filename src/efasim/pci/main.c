/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * efapci: emulated EFA devices as PCI functions for virtual machines, one UNIX
 * socket for each. All of them, whichever machines have them, reach each other.
 */
#include "region.h"
#include "server.h"

#include <config.h>

#include "efasim/fabric/clock.h"
#include "efasim/fabric/plan_file.h"
#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    MAIN_BUSY_NS  = 50000,     /* sleep between two turns, with work pending */
    MAIN_IDLE_NS  = 100000000, /* sleep between two turns, without */
    MAIN_TURN_NS  = 500000,    /* progress between two polls of the sockets */
    MAIN_ALARM_US = 100000,    /* a blocked system call ends after this time */
};

struct main_state {
    struct pci_world  world;
    struct sim_knobs  knobs;
    struct sim_plan  *plan;
    struct pci_func  *func[SIM_HOSTS];
    struct pci_server server[SIM_HOSTS];
    unsigned          num;
};

static volatile sig_atomic_t main_ended;

static void main_end(int sig)
{
    main_ended = sig;
}

static void main_beat(int sig)
{
    (void)sig;
}

/* Options of the device, in lines of at most 80 columns. */
static void main_help_knobs(FILE *out)
{
    const struct sim_knob *knob;
    char option[64];
    size_t column = 0;

    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        if ((knob->scope == SIM_SCOPE_ANY) || (knob->scope == SIM_SCOPE_OPEN)) {
            sim_knob_option(knob, option, sizeof(option));
            if (column + strlen(option) + 2 > 80) {
                column = 0;
            }
            column += fprintf(out, "%s  %s", (column == 0) ? "\n" : "",
                              option) - (column == 0);
        }
    }
    fprintf(out, "\n");
}

static void main_help(FILE *out)
{
    fprintf(out, "Usage: efapci [OPTION]... GENERATION:SOCKET...\n\n"
            "Emulates EFA devices of a GENERATION (efa0 to efa%d) for virtual "
            "machines. Each is\na PCI function that a QEMU (10.1 or newer, "
            "device vfio-user-pci) attaches by\nSOCKET, a path that efapci "
            "makes. At most %d; in a plan the first is host 0.\n"
            "Runs until SIGTERM or Ctrl-C. efapci(1) has the QEMU command.\n\n"
            "  --plan FILE          settings and faults at given times; "
            "efasim(1), PLANS,\n                       has the format\n"
            "  --trace FILE         write a line for each packet and "
            "completion\n"
            "  --counters           print each function's counters at the "
            "end\n"
            "  --help, --version\n\n"
            "and these options of the device, which efasim run --help=all "
            "explains:\n",
            SIM_PROFILES - 1, SIM_HOSTS);
    main_help_knobs(out);
}

static int main_knob(struct main_state *state, const char *name,
                     const char *value)
{
    const struct sim_knob *knob = sim_knob_find(name);
    char err[512], label[80];

    if ((knob == NULL) && !strncmp(name, "no-", 3)) {
        knob  = sim_knob_find(name + 3);
        value = "0";
    }
    if ((knob == NULL) || ((knob->scope != SIM_SCOPE_ANY) &&
                           (knob->scope != SIM_SCOPE_OPEN))) {
        fprintf(stderr, "efapci: unknown option '--%.64s': see efapci --help\n",
                name);
        return -1;
    }

    snprintf(label, sizeof(label), "--%s", knob->name);
    if (sim_knob_set(&state->knobs, knob, label, value ? value : "1", err,
                     sizeof(err)) != 0) {
        fprintf(stderr, "efapci: %s\n", err);
        return -1;
    }
    return 0;
}

static int main_file(struct main_state *state, const char *name,
                     const char *file)
{
    char err[600];

    if (!strcmp(name, "plan")) {
        state->plan = fabric_plan_file_read(file, err, sizeof(err));
        if (state->plan == NULL) {
            fprintf(stderr, "efapci: %s\n", err);
            return -1;
        }
        return 0;
    }

    state->world.trace_fd = output_open(file, O_TRUNC | O_APPEND);
    if (state->world.trace_fd < 0) {
        fprintf(stderr, "efapci: --trace=%s: %s\n", file,
                output_error(errno));
        return -1;
    }
    return 0;
}

/* --NAME=VALUE, --NAME VALUE of options that have one, or --NAME. Returns the
 * index of what follows; -1 after a line. */
static int main_option(struct main_state *state, int argc, char **argv, int i)
{
    char name[64]        = "";
    const char *text     = argv[i] + 2;
    const char *value    = strchr(text, '=');
    size_t length        = value ? (size_t)(value - text) : strlen(text);
    const struct sim_knob *knob;
    int is_file;

    snprintf(name, sizeof(name), "%.*s", (int)length, text);
    knob    = sim_knob_find(name);
    is_file = !strcmp(name, "plan") || !strcmp(name, "trace");
    if (value != NULL) {
        ++value;
    } else if ((is_file || ((knob != NULL) && (knob->arg != NULL)))) {
        if (++i >= argc) {
            fprintf(stderr, "efapci: --%s needs a value\n", name);
            return -1;
        }
        value = argv[i];
    }

    return (is_file ? main_file(state, name, value) :
                      main_knob(state, name, value)) ? -1 : i + 1;
}

/* GENERATION:SOCKET */
static int main_function(struct main_state *state, const char *text)
{
    const char *colon      = strchr(text, ':');
    struct sim_knobs knobs = state->knobs;
    struct pci_func *func;
    char name[16];
    int ret;

    snprintf(name, sizeof(name), "%.*s", colon ? (int)(colon - text) : 0,
             text);
    knobs.device = sim_profile_find(name);
    if ((knobs.device == 0) || (state->num == SIM_HOSTS)) {
        fprintf(stderr, "efapci: '%s': name 1 to %d functions as efaN:SOCKET, "
                "with N from 0 to %d\n", text, SIM_HOSTS, SIM_PROFILES - 1);
        return -1;
    }

    if (state->plan != NULL) {
        sim_plan_knobs(state->plan, dir_nic_of(state->num, 0), &knobs);
    }
    func = calloc(1, sizeof(*func));
    ret  = (func == NULL) ? -ENOMEM :
           pci_func_open(func, &state->world, state->num, &knobs, state->plan);
    ret  = ret ? ret : pci_server_open(&state->server[state->num], func,
                                       colon + 1);
    if (ret != 0) {
        fprintf(stderr, "efapci: %s: %s%s\n", text, (ret == -EEXIST) ?
                "the file exists and is no socket of this user: remove it, or "
                "name another path" : strerror(-ret), (ret == -EEXIST) ? "" :
                ": SOCKET is a path of at most 107 bytes, which efapci makes "
                "in a folder that exists and can be written");
        return -1;
    }

    state->func[state->num++] = func;
    return 0;
}

static unsigned main_progress(struct main_state *state, int *busy)
{
    unsigned i, done = 0;

    *busy = 0;
    for (i = 0; i < state->num; ++i) {
        done  += pci_func_progress(state->func[i]);
        *busy |= pci_func_is_busy(state->func[i]);
    }
    return done;
}

static void main_loop(struct main_state *state)
{
    struct pollfd fds[SIM_HOSTS];
    struct timespec wait = { 0 };
    uint64_t end;
    unsigned i, done;
    int busy;

    while (!main_ended) {
        for (i = 0; i < state->num; ++i) {
            fds[i] = (struct pollfd){ 0 };
            pci_server_wait(&state->server[i], &fds[i]);
        }
        if (ppoll(fds, state->num, &wait, NULL) > 0) {
            for (i = 0; i < state->num; ++i) {
                if (fds[i].revents != 0) {
                    pci_server_serve(&state->server[i]);
                }
            }
        }

        end = fabric_clock() + MAIN_TURN_NS;
        do {
            done = main_progress(state, &busy);
        } while ((done > 0) && (fabric_clock() < end));
        wait.tv_nsec = (done > 0) ? 0 : busy ? MAIN_BUSY_NS : MAIN_IDLE_NS;
    }
}

/* A write to a descriptor of a machine's waits at most until the alarm,
 * whatever the machine does with it. */
static void main_signals(void)
{
    struct sigaction end      = { .sa_handler = main_end };
    struct sigaction beat     = { .sa_handler = main_beat };
    struct itimerval interval = { { 0, MAIN_ALARM_US }, { 0, MAIN_ALARM_US } };

    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGALRM, &beat, NULL);
    signal(SIGPIPE, SIG_IGN);
    pci_region_catch();
    setitimer(ITIMER_REAL, &interval, NULL);
}

/* Machines send descriptors, and may not use up those of others. */
static void main_limits(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

static void main_counters(const struct main_state *state)
{
    unsigned i, counter;

    for (i = 0; i < state->num; ++i) {
        printf("function=%u", i);
        for (counter = 0; counter < DIR_COUNTERS; ++counter) {
            printf(" %s=%llu", dir_counter_names[counter],
                   (unsigned long long)dir_counter(state->world.dir,
                                                   dir_nic_of(i, 0), counter));
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static struct main_state state;
    int i = 1, ret = 0, counters = 0;
    unsigned n;

    sim_knobs_init(&state.knobs);
    if (pci_world_open(&state.world) != 0) {
        fprintf(stderr, "efapci: out of memory for the fabric's directory\n");
        return 1;
    }
    while ((i < argc) && (i > 0) && !strncmp(argv[i], "--", 2)) {
        if (!strcmp(argv[i], "--help")) {
            main_help(stdout);
            return 0;
        }
        if (!strcmp(argv[i], "--version")) {
            puts("efapci " PACKAGE_VERSION);
            return 0;
        }
        if (!strcmp(argv[i], "--counters")) {
            counters = 1;
            ++i;
        } else {
            i = main_option(&state, argc, argv, i);
        }
    }
    if ((i < 0) || (i >= argc)) {
        if (i >= argc) {
            main_help(stderr);
        }
        return 2;
    }

    for (; (i < argc) && (ret == 0); ++i) {
        ret = main_function(&state, argv[i]);
    }
    if (ret == 0) {
        main_signals();
        main_limits();
        main_loop(&state);
        if (counters) {
            main_counters(&state);
        }
    }
    for (n = 0; n < state.num; ++n) {
        pci_server_close(&state.server[n]);
        pci_func_close(state.func[n]);
        free(state.func[n]);
    }
    pci_world_close(&state.world);
    free(state.plan);
    return ret ? 1 : 0;
}
