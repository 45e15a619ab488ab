/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "top.h"
#include "headline.h"
#include "keys.h"
#include "show.h"

#include <files/output.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Time until the first useful page: an interface notices its reader within a
 * second, and then writes about the next one (base_top.c). */
#define TOP_SETTLE_MS 2200

/* A file of our own, whatever stood there: in a folder of several users that
 * may be another's link. NULL with errno. */
static FILE *top_create(int folder, const char *name)
{
    int fd;

    if ((unlinkat(folder, name, 0) != 0) && (errno != ENOENT)) {
        return NULL;
    }
    fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return (fd < 0) ? NULL : fdopen(fd, "w");
}

/* As many descriptors as may be had: each page takes one, and two readings
 * overlap. */
static void top_more_files(void)
{
    const rlim_t  enough = 3 * PAGES_MAX;
    struct rlimit files;

    if ((getrlimit(RLIMIT_NOFILE, &files) == 0) && (files.rlim_cur < enough)) {
        files.rlim_cur = (files.rlim_max > enough) ? enough : files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* Writes it beside the file, in whose place it then is at once: no collector
 * ever sees half of it. The status of the program. */
static int top_json_in(int folder, const char *last, const view_t *view,
                       const headline_t *headline, const char *path)
{
    char        name[NAME_MAX + 8];
    struct stat info;
    json_t      json;
    int         status;

    if ((fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW) == 0) &&
        !S_ISREG(info.st_mode)) { /* a device, a pipe or a link */
        fprintf(stderr, "srd_info: --json=%s: it is no file; name another, or "
                "- for standard output\n", path);
        return 1;
    }
    snprintf(name, sizeof(name), "%.*s.new", NAME_MAX, last);
    if (json_open_on(&json, top_create(folder, name), path) != 0) {
        return 1;
    }
    show_json(&json, view, headline);
    status = json_close(&json);
    if ((status == 0) && (renameat(folder, name, folder, last) != 0)) {
        fprintf(stderr, "srd_info: --json=%s: %s\n", path, strerror(errno));
        status = -1;
    }
    if (status != 0) {
        unlinkat(folder, name, 0);
    }
    return status != 0;
}

static int top_json_file(const view_t *view, const headline_t *headline,
                         const char *path)
{
    const char *last;
    int         folder = output_folder(path, &last), status;
    json_t      json;

    if (folder < 0) {
        return json_open_on(&json, NULL, path) != 0;
    }
    status = top_json_in(folder, last, view, headline, path);
    close(folder);
    return status;
}

static int top_json(const view_t *view, const headline_t *headline,
                    const char *path)
{
    json_t json;
    int    fd;

    if (strcmp(path, "-")) {
        return top_json_file(view, headline, path);
    }
    fd = dup(STDOUT_FILENO);
    if (json_open_on(&json, (fd < 0) ? NULL : fdopen(fd, "w"), path) != 0) {
        return 1;
    }
    show_json(&json, view, headline);
    return json_close(&json) != 0;
}

static int top_no_proc(void)
{
    fprintf(stderr, "srd_info: --top: /proc cannot be read: %s; mount it\n",
            strerror(errno));
    return 1;
}

/* Reads all pages and shows them. The status of the program. */
static int top_once(const top_args_t *args, pages_t *before, network_t *network,
                    keys_t *keys)
{
    pages_t    pages;
    view_t     view;
    headline_t headline;
    int        status = 0;

    if (pages_read(&pages, before) != 0) {
        return top_no_proc();
    }
    *before = pages;
    network_read(network);
    if ((view_make(&view, before, network) != 0) ||
        (headline_make(&view, &headline) != 0)) {
        fprintf(stderr, "srd_info: --top: out of memory\n");
        view_free(&view);
        return 1;
    }
    view_sort(&view, keys->order);
    if (args->json != NULL) {
        status = top_json(&view, &headline, args->json);
    } else {
        view_merge(&view);
        keys_page(keys);
        show_text(&view, &headline, keys_lines(keys));
        status = (fflush(stdout) != 0) || ferror(stdout);
        if ((status != 0) && (errno != EPIPE)) {
            fprintf(stderr, "srd_info: --top: not all was printed: %s; make "
                    "room, or print elsewhere\n", strerror(errno));
        }
    }
    view_free(&view);
    return status;
}

/* The interval in seconds; 0: the argument is wrong. */
static double top_interval(const top_args_t *args)
{
    double interval = 1;
    char  *end;

    if (args->interval != NULL) {
        interval = strtod(args->interval, &end);
        if ((end == args->interval) || (*end != '\0') ||
            !(interval >= 0.1) || !(interval <= 86400)) {
            fprintf(stderr, "srd_info: --interval=%s: seconds from 0.1 to "
                    "86400 are allowed\n", args->interval);
            return 0;
        }
    }
    return interval;
}

/* Shows page after page until the end. */
static int top_loop(const top_args_t *args, pages_t *pages, int ms)
{
    int       once  = args->once ||
                      ((args->interval == NULL) &&
                       ((args->json != NULL) || !isatty(STDOUT_FILENO)));
    int       found = pages->count > 0, status = 0;
    network_t network;
    keys_t    keys;

    memset(&network, 0, sizeof(network));
    network_read(&network);
    keys_open(&keys, !once && (args->json == NULL));
    if (found) {
        keys_wait(&keys, TOP_SETTLE_MS);
    }
    while (!keys.quit) {
        status = top_once(args, pages, &network, &keys);
        found |= pages->count > 0;
        if (once || (status != 0)) {
            break;
        }
        keys_wait(&keys, ms);
    }
    keys_close(&keys);
    return ((status == 0) && !found) ? 1 : status;
}

int top_run(const top_args_t *args)
{
    double  interval = top_interval(args);
    pages_t pages, none;
    int     status;

    if (interval == 0) {
        return 2;
    }
    memset(&none, 0, sizeof(none));
    signal(SIGXFSZ, SIG_IGN); /* writes fail instead */
    top_more_files();
    if (pages_read(&pages, &none) != 0) {
        return top_no_proc();
    }
    status = top_loop(args, &pages, (int)(interval * 1000));
    pages_release(&pages);
    return status;
}
