/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "link.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINK_ANSWER_S 60   /* seconds that an answer may take */
#define LINK_IDLE_S   0.002 /* without work, until this side sleeps a little */
#define LINK_CONNECT_S 5  /* and a TCP connection */
#define LINK_SILENT_S 600 /* a listener's patience with a silent caller */
#define LINK_CALLERS  64  /* at a time that have not yet said hello */

void st_link_progress(st_link_t *link)
{
    if (link->local != NULL) {
        (void)st_serve_progress(link->local);
    }
}

static int link_failed(st_link_t *link, const char *what, const char *why)
{
    snprintf(link->why, sizeof(link->why), "%s: %s", what, why);
    return -1;
}

/* A later question is answered at once. */
static int link_died(st_link_t *link)
{
    link->is_dead = !link->is_killed;
    return link_failed(link, "the far side", "it does not answer any more");
}

/* A line without its end. 0, or -1: none came in time, or not a line. */
static int link_read(int fd, char *line, size_t size, int seconds)
{
    double until  = probe_seconds() + seconds;
    size_t length = 0;
    struct pollfd entry = {fd, POLLIN, 0};
    int ready;

    while (length + 1 < size) {
        ready = poll(&entry, 1, 100);
        if ((ready == 0) || ((ready < 0) && (errno == EINTR))) {
            if (probe_seconds() > until) {
                return -1;
            }
            continue;
        }
        if ((ready < 0) || (read(fd, line + length, 1) != 1)) {
            return -1;
        }
        if (line[length] == '\n') {
            line[length] = '\0';
            return 0;
        }
        if ((line[length] < ' ') || (line[length] > '~')) {
            return -1;
        }
        ++length;
    }
    return -1;
}

static int link_write(int fd, const char *line)
{
    char text[ST_LINE_MAX + 1];
    int length = snprintf(text, sizeof(text), "%s\n", line);

    return (send(fd, text, length, MSG_NOSIGNAL) == length) ? 0 : -1;
}

int st_link_ask(st_link_t *link, char *answer, size_t size, const char *format,
                ...)
{
    char line[ST_LINE_MAX], reply[ST_LINE_MAX] = "";
    va_list ap;

    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    if (link->is_dead) {
        return -1;
    }
    if (link->local != NULL) {
        st_serve_line(link->local, line, reply, sizeof(reply));
    } else if ((link_write(link->fd, line) != 0) ||
               (link_read(link->fd, reply, sizeof(reply), LINK_ANSWER_S) !=
                0)) {
        return link_died(link);
    }
    if (strncmp(reply, "ok", 2) != 0) {
        return link_failed(link, "the far side", reply);
    }
    if (answer != NULL) {
        snprintf(answer, size, "%s", reply + 2 + (reply[2] == ' '));
    }
    return 0;
}

static int link_hello(st_link_t *link)
{
    static const char other[] = "it does not answer as srd_info does: start "
                                "'srd_info --selftest --listen' there, and "
                                "name its host and port";
    char answer[ST_LINE_MAX], gid[40], text[120];
    int version = -1, count;

    if (st_link_ask(link, answer, sizeof(answer), "hello") != 0) {
        return link_failed(link, "the far side", other);
    }
    count = sscanf(answer, "%d %39s %u %zu", &version, gid, &link->caps,
                   &link->max_msg);
    if ((count >= 1) && (version > 0) && (version != ST_VERSION)) {
        snprintf(text, sizeof(text), "its srd_info is %s: it speaks %d, this "
                 "one %d; install the same on both",
                 (version > ST_VERSION) ? "newer" : "older", version,
                 ST_VERSION);
        return link_failed(link, "the far side", text);
    }
    return ((count == 4) && (version == ST_VERSION) &&
            (st_serve_gid_parse(gid, link->gid) == 0)) ?
           0 : link_failed(link, "the far side", other);
}

int st_link_local(st_link_t *link, const efa_device_t *device)
{
    int err;

    memset(link, 0, sizeof(*link));
    link->between = "queue pairs";
    link->fd      = -1;
    link->local   = malloc(sizeof(*link->local));
    err = (link->local != NULL) ? st_serve_open(link->local, device) : ENOMEM;
    if (err != 0) {
        free(link->local);
        link->local = NULL;
        return link_failed(link, "a second queue pair", strerror(err));
    }
    return link_hello(link);
}

int st_link_child(st_link_t *link, const char *device)
{
    char number[16];
    int fds[2];

    memset(link, 0, sizeof(*link));
    link->between = "processes";
    link->fd      = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
        return link_failed(link, "a second process", strerror(errno));
    }
    link->child = fork();
    if (link->child == 0) {
        close(fds[0]);
        snprintf(number, sizeof(number), "%d", fds[1]);
        execl("/proc/self/exe", "srd_info", "--selftest", "--device", device,
              "--serve", number, (char*)NULL);
        _exit(127);
    }
    close(fds[1]);
    link->fd = fds[0];
    if (link->child < 0) {
        link->child = 0;
        return link_failed(link, "a second process", strerror(errno));
    }
    return link_hello(link);
}

/* 0, or an errno. A firewall that drops packets costs LINK_CONNECT_S, not the
 * two minutes of the kernel. */
static int link_connect(int fd, const struct addrinfo *at)
{
    static const struct timeval limit = {.tv_sec = LINK_CONNECT_S}, none = {0};
    int err;

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    do { /* (a process that is stopped and continued has EINTR) */
        err = (connect(fd, at->ai_addr, at->ai_addrlen) != 0) ? errno : 0;
    } while (err == EINTR);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
    return ((err == EINPROGRESS) || (err == EALREADY)) ? ETIMEDOUT : err;
}

static void link_no_delay(int fd)
{
    static const int one = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* getaddrinfo() takes 70000 for 4464. */
static int link_is_port(const char *port)
{
    size_t length = strspn(port, "0123456789");

    return (length > 0) && (length < 6) && (port[length] == '\0') &&
           (atoi(port) > 0) && (atoi(port) < 65536);
}

/* HOST or HOST:PORT; an IPv6 address in brackets if a port follows. */
static void link_split(const char *peer, char *host, size_t size,
                       const char **port)
{
    const char *colon = strrchr(peer, ':');
    int one           = (colon != NULL) && (strchr(peer, ':') == colon);
    size_t length     = strlen(peer);

    *port = ST_PORT;
    if ((peer[0] == '[') && (strchr(peer, ']') != NULL)) {
        length = strcspn(++peer, "]");
        *port  = (peer[length + 1] == ':') ? peer + length + 2 : ST_PORT;
    } else if (one) {
        length = colon - peer;
        *port  = colon + 1;
    }
    snprintf(host, size, "%.*s", (int)length, peer);
}

int st_link_tcp(st_link_t *link, const char *peer)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *at;
    char host[256], text[120];
    const char *port;
    int err;

    memset(link, 0, sizeof(*link));
    link->between = "hosts";
    link->fd      = -1;
    link_split(peer, host, sizeof(host), &port);
    if (!link_is_port(port)) {
        snprintf(text, sizeof(text), "port %.40s: allowed is a number from 1 "
                 "to 65535", port);
        return link_failed(link, "--peer", text);
    }
    err = getaddrinfo(host, port, &hints, &list);
    if (err != 0) {
        snprintf(link->why, sizeof(link->why), "--peer=%.80s: %s: name a host "
                 "that this one can resolve, or an address", host,
                 gai_strerror(err));
        return -1;
    }
    for (at = list; (at != NULL) && (link->fd < 0); at = at->ai_next) {
        link->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        err      = (link->fd < 0) ? errno : link_connect(link->fd, at);
        if ((err != 0) && (link->fd >= 0)) {
            close(link->fd);
            link->fd = -1;
        }
    }
    freeaddrinfo(list);
    if (link->fd < 0) {
        snprintf(text, sizeof(text), "--peer=%.80s:%s", host, port);
        link_failed(link, text, strerror(err));
        snprintf(link->why + strlen(link->why),
                 sizeof(link->why) - strlen(link->why),
                 "; start 'srd_info --selftest --listen=%s' there, and let TCP "
                 "port %s through", port, port);
        return -1;
    }
    link_no_delay(link->fd);
    return link_hello(link);
}

void st_link_close(st_link_t *link)
{
    if (link->local != NULL) {
        st_serve_close(link->local);
        free(link->local);
    }
    if (link->fd >= 0) {
        (void)link_write(link->fd, "bye");
        close(link->fd);
    }
    if (link->child > 0) {
        waitpid(link->child, NULL, 0);
    }
    memset(link, 0, sizeof(*link));
    link->fd = -1;
}

/* Whether a line waits; sleeps where nothing has happened for a while. */
static int link_has_line(int fd, const st_serve_t *serve, double last)
{
    struct pollfd entry = {fd, POLLIN, 0};
    int sleepy = (serve->echo.ah == NULL) &&
                 (probe_seconds() - last > LINK_IDLE_S);

    return poll(&entry, 1, sleepy ? 1 : 0) > 0;
}

int st_link_serve(int fd, const efa_device_t *device, int may_die, char *line,
                  const char **why)
{
    char answer[ST_LINE_MAX];
    double last = probe_seconds();
    st_serve_t *serve;

    *why  = "locked memory does not do for 8 MiB; see srd_info --check";
    serve = malloc(sizeof(*serve));
    if ((serve == NULL) || (st_serve_open(serve, device) != 0)) {
        (void)link_write(fd, "error no memory could be registered there");
        free(serve);
        return -1;
    }
    serve->may_die = may_die;
    *why           = "the peer went away before it was done";
    while (probe_seconds() - last < LINK_SILENT_S) {
        if (st_serve_progress(serve) > 0) {
            last = probe_seconds();
        }
        if (line[0] == '\0') {
            if (!link_has_line(fd, serve, last)) {
                continue;
            }
            if (link_read(fd, line, ST_LINE_MAX, LINK_ANSWER_S) != 0) {
                break;
            }
        }
        if (strcmp(line, "bye") == 0) {
            *why = NULL;
            break;
        }
        st_serve_line(serve, line, answer, sizeof(answer));
        if (link_write(fd, answer) != 0) {
            break;
        }
        line[0] = '\0';
        last    = probe_seconds();
    }
    st_serve_close(serve);
    free(serve);
    return (*why == NULL) ? 0 : -1;
}

/* A listening socket of one family. -1, and errno. */
static int link_bind_family(const char *port, int family)
{
    static const int one = 1, zero = 0;
    union {
        struct sockaddr     any;
        struct sockaddr_in  v4;
        struct sockaddr_in6 v6;
    } at = {.v6 = {.sin6_family = family, .sin6_port = htons(atoi(port))}};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

    if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
        if ((bind(fd, &at.any, sizeof(at)) != 0) ||
            (listen(fd, SOMAXCONN) != 0)) {
            err = errno;
            close(fd);
            fd    = -1;
            errno = err;
        }
    }
    return fd;
}

/* Both families by one socket; where the kernel has no IPv6, the other one. */
static int link_bind(const char *port)
{
    int fd = link_bind_family(port, AF_INET6);

    return ((fd < 0) && (errno != EADDRINUSE)) ?
           link_bind_family(port, AF_INET) : fd;
}

/* Callers that have not said all of hello, behind the listener, oldest first.
 */
typedef struct link_callers {
    struct pollfd at[1 + LINK_CALLERS];
    size_t        said[1 + LINK_CALLERS]; /* characters of it */
    nfds_t        count;
} link_callers_t;

static void link_drop(link_callers_t *callers, nfds_t i)
{
    size_t behind = --callers->count - i;

    close(callers->at[i].fd);
    memmove(&callers->at[i], &callers->at[i + 1],
            behind * sizeof(callers->at[0]));
    memmove(&callers->said[i], &callers->said[i + 1],
            behind * sizeof(callers->said[0]));
}

/* The caller that has now said hello, which stays open; -1: none yet. Another,
 * a scanner of ports or a probe of health, is told off. */
static int link_hears(link_callers_t *callers)
{
    static const char hello[] = "hello\n";
    char text[sizeof(hello)];
    ssize_t got;
    nfds_t i;
    int fd;

    for (i = callers->count; i-- > 1;) {
        if (callers->at[i].revents == 0) {
            continue;
        }
        fd  = callers->at[i].fd;
        got = read(fd, text, strlen(hello) - callers->said[i]);
        if ((got <= 0) || memcmp(text, hello + callers->said[i], got)) {
            (void)link_write(fd, "error hello is expected");
            link_drop(callers, i);
            fprintf(stderr, "srd_info: --listen: who connected is no srd_info "
                    "--selftest --peer; waiting on\n");
            continue;
        }
        callers->said[i] += got;
        if (callers->said[i] == strlen(hello)) {
            callers->at[i].fd = -1; /* not closed with the others */
            return fd;
        }
    }
    return -1;
}

/* The next caller that says hello, as every srd_info does first. Those that say
 * nothing keep nobody waiting. A descriptor, or -1. */
static int link_accept(int listener)
{
    link_callers_t callers = {.at = {{listener, POLLIN, 0}}, .count = 1};
    int fd, peer = -1;

    while (peer < 0) {
        if (poll(callers.at, callers.count, -1) < 0) {
            continue;
        }
        peer = link_hears(&callers);
        if (callers.at[0].revents == 0) {
            continue;
        }
        fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            link_no_delay(fd);
            if (callers.count == 1 + LINK_CALLERS) {
                link_drop(&callers, 1);
            }
            callers.at[callers.count]     = (struct pollfd){fd, POLLIN, 0};
            callers.said[callers.count++] = 0;
        } else if ((errno != EINTR) && (errno != ECONNABORTED) &&
                   (errno != EAGAIN)) {
            fprintf(stderr, "srd_info: --listen: %s\n", strerror(errno));
            break;
        }
    }
    while (callers.count > 1) {
        link_drop(&callers, callers.count - 1);
    }
    return peer;
}

int st_link_listen(const char *port, const efa_device_t *device)
{
    char line[ST_LINE_MAX] = "hello"; /* was said */
    int listener, fd, err;
    const char *why;

    if (!link_is_port(port)) {
        fprintf(stderr, "srd_info: --listen: port %.40s: allowed is a number "
                "from 1 to 65535\n", port);
        return -1;
    }
    listener = link_bind(port);
    if (listener < 0) {
        fprintf(stderr, "srd_info: --listen=%s: %s; name another port: "
                "--listen=PORT here, --peer=HOST:PORT there\n", port,
                strerror(errno));
        return -1;
    }
    printf("waiting for srd_info --selftest --peer on TCP port %s\n", port);
    fflush(stdout);
    fd = link_accept(listener);
    close(listener);
    if (fd < 0) {
        return -1;
    }
    err = st_link_serve(fd, device, 0, line, &why);
    close(fd);
    if (err != 0) {
        fprintf(stderr, "srd_info: --listen: %s\n", why);
    }
    return err;
}
