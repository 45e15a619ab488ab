/* SPDX-License-Identifier: BSD-3-Clause */
/* The same with UCX over srd: stock ucx_perftest, where it is installed. */
#define _GNU_SOURCE
#include "selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    UCX_SECONDS  = 20, /* that a measurement may take */
    UCX_NUMBERS  = 8,  /* of a result: iterations, then times and rates */
    UCX_ARGS_MAX = 20
};

typedef struct ucx_run {
    char        self[PATH_MAX]; /* srdrun, beside this program */
    char        port[16];
    int         no_mpi;         /* it wants to be told (-P 0) */
    const char *device;
    const char *args[UCX_ARGS_MAX]; /* of the process that starts next */
    double      numbers[UCX_NUMBERS];
    int         has_numbers;
} ucx_run_t;

static void ucx_child(const void *arg, int fd)
{
    const ucx_run_t *run = arg;
    char devices[EFA_DEVICE_NAME_MAX + 8];

    dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 0);
    dup2(fd, 1);
    dup2(fd, 2);
    snprintf(devices, sizeof(devices), "%s:1", run->device);
    setenv("UCX_NET_DEVICES", devices, 1);
    setenv("UCX_TLS", "srd,self", 1);
    setenv("UCX_LOG_LEVEL", "warn", 1); /* only numbers are wanted */
    unsetenv("UCX_SELF_DEVICES");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else ends it */
    execvp(run->args[0], (char**)run->args);
    _exit(127);
}

/* Takes its lines until it ends or time is up; its exit status, -1: none. */
static int ucx_finish(ucx_run_t *run, pid_t child, int out, double seconds,
                      probe_line_t *take)
{
    int status = -1;

    if (child < 0) {
        return -1;
    }
    if (probe_lines(out, seconds, take, run) != 0) {
        kill(child, SIGKILL);
    }
    close(out);
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The first line with seven numbers or more is the result. */
static int ucx_take_numbers(void *arg, char *line)
{
    ucx_run_t *run = arg;
    char *at       = strstr(line, "Final:"), *end;
    unsigned n;

    at = (at != NULL) ? at + strlen("Final:") : line;
    for (n = 0; !run->has_numbers && (n < UCX_NUMBERS); ++n, at = end) {
        run->numbers[n] = strtod(at, &end);
        if (end == at) {
            break;
        }
    }
    run->has_numbers |= (n >= 7);
    return 0;
}

static int ucx_take_help(void *arg, char *line)
{
    ((ucx_run_t*)arg)->no_mpi |= strstr(line, " -P ") != NULL;
    return 0;
}

static int ucx_take_nothing(void *arg, char *line)
{
    (void)arg, (void)line;
    return 0;
}

/* Starts one side; `more`: the words of the client. */
static pid_t ucx_start(ucx_run_t *run, const char *const *more, int *out)
{
    const char *first[] = {run->self, "ucx_perftest", "-p", run->port, "-P",
                           "0"};
    unsigned count      = run->no_mpi ? 6 : 4, i;

    memcpy(run->args, first, count * sizeof(*first));
    for (i = 0; (more != NULL) && (more[i] != NULL); ++i) {
        run->args[count++] = more[i];
    }
    run->args[count] = NULL;
    return probe_start(ucx_child, run, out);
}

/* One test between two processes. 0, or -1 and why. */
static int ucx_test(ucx_run_t *run, const char *test, size_t bytes,
                    unsigned count, char *why, size_t size)
{
    char bytes_text[24], count_text[24];
    const char *words[] = {"localhost", "-t", test, "-s", bytes_text, "-n",
                           count_text, "-f", NULL};
    double until        = probe_seconds() + UCX_SECONDS;
    int server_out, out, status = -1, tries;
    pid_t server, client;

    snprintf(bytes_text, sizeof(bytes_text), "%zu", bytes);
    snprintf(count_text, sizeof(count_text), "%u", count);
    server = ucx_start(run, NULL, &server_out);
    if (server < 0) {
        snprintf(why, size, "%s", strerror(errno));
        return -1;
    }
    for (tries = 0; (status != 0) && (tries < 20) && (probe_seconds() < until);
         ++tries) {
        usleep(100000); /* until the server listens */
        run->has_numbers = 0;
        client = ucx_start(run, words, &out);
        status = ucx_finish(run, client, out, until - probe_seconds(),
                            ucx_take_numbers);
    }
    kill(server, SIGTERM);
    (void)ucx_finish(run, server, server_out, 2, ucx_take_nothing);
    if ((status != 0) || !run->has_numbers) {
        snprintf(why, size, "ucx_perftest -t %s ended with status %d", test,
                 status);
        return -1;
    }
    return 0;
}

/* srdrun beside this program; whether ucx_perftest is there, of what kind. */
static int ucx_find(ucx_run_t *run, char *why, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", run->self,
                              sizeof(run->self) - 16);
    pid_t child;
    int out;

    run->self[(length > 0) ? length : 0] = '\0';
    if (strrchr(run->self, '/') != NULL) {
        strcpy(strrchr(run->self, '/'), "/srdrun");
    }
    if (access(run->self, X_OK) != 0) {
        snprintf(why, size, "srdrun is not beside this program");
        return -1;
    }
    run->args[0] = "ucx_perftest";
    run->args[1] = "-h";
    child        = probe_start(ucx_child, run, &out);
    if ((child < 0) ||
        (ucx_finish(run, child, out, 5, ucx_take_help) == 127)) {
        snprintf(why, size, "ucx_perftest is not installed");
        return -1;
    }
    return 0;
}

void st_ucx_measure(st_t *st, const char *device, char *why, size_t size)
{
    static const size_t sizes[] = {8, 4096, 65536, 1 << 20};
    static const unsigned counts[] = {2000, 1000, 200, 50};
    static const struct {
        const char *test, *what, *unit;
        unsigned    number;
    } tests[] = {{"tag_lat", "UCX over srd: tag latency", "us", 1},
                 {"tag_bw", "UCX over srd: tag bandwidth", "MB/s", 4}};
    ucx_run_t run = {.device = device};
    unsigned i;

    if (ucx_find(&run, why, size) != 0) {
        return;
    }
    snprintf(run.port, sizeof(run.port), "%d", 20000 + getpid() % 20000);
    for (i = 0; i < 8; ++i) {
        if (ucx_test(&run, tests[i % 2].test, sizes[i / 2], counts[i / 2], why,
                     size) != 0) {
            return;
        }
        st_result_point(st, &(st_point_t){"processes", tests[i % 2].what,
                                          tests[i % 2].unit, 1, sizes[i / 2],
                                          run.numbers[tests[i % 2].number],
                                          0});
    }
}
