/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROBE_SECONDS = 20 };

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

/* A line of UCX's log; what is before the level is of no interest. */
static void add_log(probe_t *probe, const char *line)
{
    const char *text = strstr(line, " WARN ");

    text = (text != NULL) ? text : strstr(line, " ERROR ");
    if ((text == NULL) || (probe->log[0] != '\0')) {
        return;
    }
    text += strcspn(text + 1, " ") + 1;
    copy_text(probe->log, sizeof(probe->log), text + strspn(text, " "));
}

/* A line of the child: KEY VALUE after a mark, or UCX's own output. 0. */
static int probe_take(void *arg, char *line)
{
    probe_t *probe    = arg;
    const char *value = strchr(line, ' ');
    size_t length;

    if ((line[0] != PROBE_MARK) || (value == NULL)) {
        add_log(probe, line);
        return 0;
    }
    length = value++ - ++line;
#define IS(_key) ((length == strlen(_key)) && !strncmp(line, _key, length))
    if (IS("version")) {
        (void)sscanf(value, "%u.%u.%u", &probe->major, &probe->minor,
                     &probe->release);
    } else if (IS("ucp")) {
        copy_text(probe->ucp_path, sizeof(probe->ucp_path), value);
    } else if (IS("plugin")) {
        copy_text(probe->plugin, sizeof(probe->plugin), value);
    } else if (IS("efa")) {
        probe->has_efa   = 1;
        probe->efa_types = strtoull(value, NULL, 16);
    } else if (IS("types")) {
        probe->ucp_types = strtoull(value, NULL, 16);
    } else if (IS("lane") && (probe->lane_count < PROBE_LANES_MAX)) {
        copy_text(probe->lanes[probe->lane_count++], PROBE_LANE_MAX, value);
    } else if (IS("message")) {
        probe->message_ok = 1;
    } else if (IS("error")) {
        copy_text(probe->error, sizeof(probe->error), value);
    }
#undef IS
    return 0;
}

int probe_lines(int fd, double seconds, probe_line_t *take, void *arg)
{
    double end = probe_seconds() + seconds;
    char line[4 * PROBE_TEXT_MAX];
    size_t used = 0;

    for (;;) {
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        int left          = (int)((end - probe_seconds()) * 1000);
        int ready         = (left > 0) ? poll(&pfd, 1, left) : 0;
        char *newline;
        ssize_t got;

        if ((ready < 0) && (errno == EINTR)) {
            continue;
        }
        if (ready <= 0) {
            return -1;
        }
        got = read(fd, line + used, sizeof(line) - 1 - used);
        if (got <= 0) {
            return 0;
        }
        used      += got;
        line[used] = '\0';
        while ((newline = strchr(line, '\n')) != NULL) {
            *newline = '\0';
            if (take(arg, line) != 0) {
                return 0;
            }
            used -= newline + 1 - line;
            memmove(line, newline + 1, used + 1);
        }
        if (used == sizeof(line) - 1) {
            used = 0; /* no line of ours is that long */
        }
    }
}

pid_t probe_start(probe_child_t *child, const void *arg, int *out)
{
    int fds[2];
    pid_t pid;

    if (pipe(fds) != 0) {
        return -1;
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(fds[0]);
        child(arg, fds[1]);
    }
    close(fds[1]);
    *out = fds[0];
    if (pid < 0) {
        close(fds[0]);
    }
    return pid;
}

typedef struct probe_wish {
    const char *tls, *module; /* NULL: none */
    int        message;
} probe_wish_t;

static void probe_child(const void *arg, int fd)
{
    const probe_wish_t *wish = arg;

    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (wish->tls != NULL) {
        setenv("UCX_TLS", wish->tls, 1);
    } else {
        unsetenv("UCX_TLS");
    }
    if (wish->message) {
        unsetenv("UCX_NET_DEVICES");
    }
    setenv("UCX_LOG_LEVEL", "warn", 1);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
    unsetenv("UCX_LOG_FILE");
    probe_ucx(wish->module, wish->message);
    fflush(NULL);
    _exit(0); /* without UCX's destructors */
}

int probe_run(probe_t *probe, const char *tls, const char *module, int message)
{
    probe_wish_t wish = {tls, module, message};
    int out, status = 0;
    pid_t pid;

    memset(probe, 0, sizeof(*probe));
    copy_text(probe->tls, sizeof(probe->tls), (tls != NULL) ? tls : "");
    pid = probe_start(probe_child, &wish, &out);
    if (pid < 0) {
        return -1;
    }
    if (probe_lines(out, PROBE_SECONDS, probe_take, probe) != 0) {
        kill(pid, SIGKILL);
        copy_text(probe->error, sizeof(probe->error), "no end after 20 s");
    }
    while ((waitpid(pid, &status, 0) < 0) && (errno == EINTR)) {
    }
    if ((probe->error[0] == '\0') && WIFSIGNALED(status)) {
        snprintf(probe->error, sizeof(probe->error), "ended by signal %d",
                 WTERMSIG(status));
    }
    close(out);
    return 0;
}
