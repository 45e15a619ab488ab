/* SPDX-License-Identifier: BSD-3-Clause */
/* The same with UCX over srd: stock ucx_perftest, where it is installed. */
#define _GNU_SOURCE
#include "selftest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    UCX_SECONDS  = 20, /* that a measurement may take */
    UCX_TEXT_MAX = 4096,
    UCX_ARGS_MAX = 20
};

typedef struct ucx_run {
    char  self[PATH_MAX]; /* srdrun, beside this program */
    char  port[16];
    int   no_mpi;         /* it wants to be told (-P 0) */
    const char *device;
} ucx_run_t;

/* Starts a command; its output comes out of *out. */
static pid_t ucx_start(char *const *args, int *out, const char *device)
{
    char devices[EFA_DEVICE_NAME_MAX + 8];
    int fds[2], null;
    pid_t child;

    if (pipe2(fds, O_CLOEXEC) != 0) {
        return -1;
    }
    child = fork();
    if (child == 0) {
        null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        snprintf(devices, sizeof(devices), "%s:1", device);
        setenv("UCX_NET_DEVICES", devices, 1);
        setenv("UCX_TLS", "srd,self", 1);
        setenv("UCX_LOG_LEVEL", "warn", 1); /* only numbers are wanted */
        unsetenv("UCX_SELF_DEVICES");
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else ends it */
        execvp(args[0], args);
        _exit(127);
    }
    close(fds[1]);
    *out = fds[0];
    if (child < 0) {
        close(fds[0]);
    }
    return child;
}

/* Reads its output until it ends or time is up; its exit status, -1: none. */
static int ucx_finish(pid_t child, int out, char *text, size_t size,
                      double until)
{
    struct pollfd entry = {out, POLLIN, 0};
    size_t length       = 0;
    int status          = -1;
    ssize_t got         = 1;

    while ((got > 0) && (length + 1 < size) && (probe_seconds() < until)) {
        if (poll(&entry, 1, 100) > 0) {
            got     = read(out, text + length, size - 1 - length);
            length += (got > 0) ? got : 0;
        }
    }
    text[length] = '\0';
    close(out);
    if (got > 0) {
        kill(child, SIGKILL);
    }
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void ucx_args(ucx_run_t *run, char **args, const char *host,
                     const char *test, char *bytes, char *count)
{
    unsigned n = 0;

    args[n++] = run->self;
    args[n++] = "ucx_perftest";
    if (run->no_mpi) {
        args[n++] = "-P";
        args[n++] = "0";
    }
    args[n++] = "-p";
    args[n++] = run->port;
    if (host != NULL) {
        args[n++] = (char*)host;
        args[n++] = "-t";
        args[n++] = (char*)test;
        args[n++] = "-s";
        args[n++] = bytes;
        args[n++] = "-n";
        args[n++] = count;
        args[n++] = "-f";
    }
    args[n] = NULL;
}

/* The numbers of the last line that has some: iterations, then times and
 * rates. 0, or -1. */
static int ucx_numbers(char *text, double numbers[8])
{
    char *line, *rest, *at, *end;
    unsigned n;

    for (line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        at = strstr(line, "Final:") ? strstr(line, "Final:") + 6 : line;
        for (n = 0; n < 8; ++n) {
            numbers[n] = strtod(at, &end);
            if (end == at) {
                break;
            }
            at = end;
        }
        if (n >= 7) {
            return 0;
        }
    }
    return -1;
}

/* One test between two processes. 0, or -1 and why. */
static int ucx_test(ucx_run_t *run, const char *test, size_t bytes,
                    unsigned count, double numbers[8], char *why, size_t size)
{
    char *args[UCX_ARGS_MAX], text[UCX_TEXT_MAX], said[UCX_TEXT_MAX];
    char bytes_text[24], count_text[24];
    double until = probe_seconds() + UCX_SECONDS;
    int server_out, out, status, tries;
    pid_t server, client;

    snprintf(bytes_text, sizeof(bytes_text), "%zu", bytes);
    snprintf(count_text, sizeof(count_text), "%u", count);
    ucx_args(run, args, NULL, NULL, NULL, NULL);
    server = ucx_start(args, &server_out, run->device);
    if (server < 0) {
        snprintf(why, size, "%s", strerror(errno));
        return -1;
    }
    ucx_args(run, args, "localhost", test, bytes_text, count_text);
    status = -1;
    for (tries = 0; (status != 0) && (tries < 20) && (probe_seconds() < until);
         ++tries) {
        usleep(100000); /* until the server listens */
        client = ucx_start(args, &out, run->device);
        status = (client < 0) ? -1 :
                 ucx_finish(client, out, text, sizeof(text), until);
    }
    kill(server, SIGTERM);
    (void)ucx_finish(server, server_out, said, sizeof(said),
                     probe_seconds() + 2);
    if ((status != 0) || (ucx_numbers(text, numbers) != 0)) {
        snprintf(why, size, "ucx_perftest -t %s ended with status %d", test,
                 status);
        return -1;
    }
    return 0;
}

/* srdrun beside this program; whether ucx_perftest is there, of what kind. */
static int ucx_find(ucx_run_t *run, char *why, size_t size)
{
    char *args[] = {"ucx_perftest", "-h", NULL}, text[UCX_TEXT_MAX * 2];
    ssize_t length = readlink("/proc/self/exe", run->self,
                              sizeof(run->self) - 16);
    int out;
    pid_t child;

    run->self[(length > 0) ? length : 0] = '\0';
    if (strrchr(run->self, '/') != NULL) {
        strcpy(strrchr(run->self, '/'), "/srdrun");
    }
    if (access(run->self, X_OK) != 0) {
        snprintf(why, size, "srdrun is not beside this program");
        return -1;
    }
    child = ucx_start(args, &out, run->device);
    if ((child < 0) ||
        (ucx_finish(child, out, text, sizeof(text), probe_seconds() + 5) ==
         127)) {
        snprintf(why, size, "ucx_perftest is not installed");
        return -1;
    }
    run->no_mpi = strstr(text, " -P ") != NULL;
    return 0;
}

void st_ucx_measure(st_t *st, const char *device, char *why, size_t size)
{
    static const size_t sizes[] = {8, 4096, 65536, 1 << 20};
    static const unsigned counts[] = {2000, 1000, 200, 50};
    ucx_run_t run = {.device = device};
    double numbers[8];
    unsigned i;

    if (ucx_find(&run, why, size) != 0) {
        return;
    }
    for (i = 0; i < 4; ++i) {
        snprintf(run.port, sizeof(run.port), "%d", 20000 + getpid() % 20000);
        if (ucx_test(&run, "tag_lat", sizes[i], counts[i], numbers, why,
                     size) != 0) {
            return;
        }
        st_result_point(st,
                        &(st_point_t){"processes", "UCX over srd: tag latency",
                                      "us", 1, sizes[i], numbers[1], 0});
        if (ucx_test(&run, "tag_bw", sizes[i], counts[i], numbers, why,
                     size) != 0) {
            return;
        }
        st_result_point(st, &(st_point_t){"processes",
                                          "UCX over srd: tag bandwidth", "MB/s",
                                          1, sizes[i], numbers[4], 0});
    }
}
