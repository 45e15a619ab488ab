/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * efapci: emulated EFA devices as PCI functions for virtual machines, one UNIX
 * socket for each. All of them, whichever machines have them, reach each other.
 */
#include "server.h"

#include "command/options.h"
#include "efasim/cli/rows.h"
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
    int               counters; /* --counters */
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

static int main_plan(struct main_state *state, const char *file)
{
    char err[600];

    state->plan = fabric_plan_file_read(file, err, sizeof(err));
    if (state->plan == NULL) {
        options_error("%s", err);
        return -1;
    }
    return 0;
}

static int main_trace(struct main_state *state, const char *file)
{
    state->world.trace_fd = output_open(file, O_TRUNC | O_APPEND);
    if (state->world.trace_fd < 0) {
        options_error("--trace=%s: %s", file, output_error(errno));
        return -1;
    }
    return 0;
}

/* `of` rows that are no knob */
static const char main_own[] = "";

static int main_take(void *to, const option_row_t *row, const char *value)
{
    struct main_state *state = to;

    if (row->of != main_own) {
        return (rows_set(&state->knobs, row, value) == NULL) ? -1 : 0;
    }
    return strcmp(row->name, "plan") ? main_trace(state, value) :
                                       main_plan(state, value);
}

static const option_row_t main_rows[] = {
    { .name = "plan", .arg = "FILE", .of = main_own,
      .help = "settings and faults at given times; efasim(1), PLANS, has the "
              "format" },
    { .name = "trace", .arg = "FILE", .of = main_own,
      .help = "write a line for each packet and completion" },
    { .name = "counters", .at = offsetof(struct main_state, counters),
      .help = "print each function's counters at the end" },
};

/* The index of the first function, of which there is one. */
static int main_parse(struct main_state *state, int argc, char **argv)
{
    static option_row_t rows[ROWS_MAX];
    const options_t command = {
        .program = "efapci",
        .usage   = "[OPTION]... GENERATION:SOCKET...",
        .about   = "Emulates EFA devices of a GENERATION (efa0 to efa4) for "
                   "virtual machines. Each is\na PCI function that a QEMU "
                   "(10.1 or newer, device vfio-user-pci) attaches by\n"
                   "SOCKET, a path that efapci makes; in a plan the first is "
                   "host 0. Runs until\nSIGTERM or Ctrl-C. efapci(1) has the "
                   "QEMU command.\n",
        .rows    = rows,
        .count   = rows_of_knobs(rows, sizeof(main_rows) /
                                       sizeof(main_rows[0]), 1),
        .take    = main_take,
    };
    int first;

    memcpy(rows, main_rows, sizeof(main_rows));
    first = options_parse(&command, state, argc, argv);
    if (first == argc) {
        options_error("no function is named: give GENERATION:SOCKET, as in "
                      "`efapci efa1:/run/efa`");
        exit(OPTIONS_EXIT_USAGE);
    }
    return first;
}

/* GENERATION:SOCKET. The status of the program, if it is not 0. */
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
        options_error("'%s': name 1 to %d functions as efaN:SOCKET, with N "
                      "from 0 to %d", text, SIM_HOSTS, SIM_PROFILES - 1);
        return OPTIONS_EXIT_USAGE;
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
        options_error("%s: %s: SOCKET is a path of at most 107 bytes, its "
                      "name of at most 80, which efapci makes in a folder that "
                      "exists and can be written", text, (ret == -EEXIST) ?
                      "the file exists and is no socket of this user, remove "
                      "it or name another" : output_error(-ret));
        return 1;
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

/* Before there is a socket: who sees one may end us, which takes it away. */
static void main_signals(void)
{
    struct sigaction end  = { .sa_handler = main_end };
    struct sigaction beat = { .sa_handler = main_beat };

    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGALRM, &beat, NULL);
    signal(SIGPIPE, SIG_IGN);
    pci_guest_catch();
}

/* A write to a descriptor of a machine's waits at most until the alarm,
 * whatever the machine does with it. */
static void main_alarm(void)
{
    struct itimerval interval = { { 0, MAIN_ALARM_US }, { 0, MAIN_ALARM_US } };

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
    int i, ret = 0;
    unsigned n;

    sim_knobs_init(&state.knobs);
    if (pci_world_open(&state.world) != 0) {
        fprintf(stderr, "efapci: out of memory for the fabric's directory\n");
        return 1;
    }
    i = main_parse(&state, argc, argv);
    main_signals();
    for (; (i < argc) && (ret == 0); ++i) {
        ret = main_function(&state, argv[i]);
    }
    if (ret == 0) {
        main_alarm();
        main_limits();
        main_loop(&state);
        if (state.counters) {
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
    return ret;
}
