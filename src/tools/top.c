/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --top: starts the viewer, which is a program in Python (top/). As
 * JSON, by a pipe, it gets what is known here alone: the page's layout, and the
 * names of what the page has by number.
 */
#define _GNU_SOURCE
#include "info.h"

#include <command/options.h>
#include <files/output.h>
#include <flow/limits.h>
#include <flow/look.h>
#include <uct/ib/base/base_counters.h>
#include <uct/ib/base/base_top_page.h>
#include <uct/ib/efa/efa_network.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct top_field {
    const char *name;
    size_t      at, size;
    char        code; /* of Python's struct */
} top_field_t;

#define TOP_OF(_struct, _name) (((const _struct*)0)->_name)
#define TOP_FIELD(_struct, _name)                                  \
    {#_name, offsetof(_struct, _name), sizeof(TOP_OF(_struct, _name)), \
     _Generic(TOP_OF(_struct, _name), uint8_t: 'B', uint16_t: 'H',     \
              uint32_t: 'I', int32_t: 'i', uint64_t: 'Q', default: 's')}
#define PAGE(_name) TOP_FIELD(base_top_page_t, _name)
#define ROW(_name)  TOP_FIELD(base_top_row_t, _name)

static const top_field_t top_page[] = {
        PAGE(magic), PAGE(hash), PAGE(size), PAGE(pid), PAGE(rank), PAGE(qpn),
        PAGE(written), PAGE(moved), PAGE(progressed), PAGE(peers), PAGE(stuck),
        PAGE(looks), PAGE(rows), PAGE(gid), PAGE(host), PAGE(program),
        PAGE(device), PAGE(transport), PAGE(counters), PAGE(row)};

static const top_field_t top_row[] = {
        ROW(gid), ROW(qpn), ROW(age), ROW(sent), ROW(received), ROW(bytes),
        ROW(blocked), ROW(refused), ROW(lost), ROW(depth), ROW(wait), ROW(rma),
        ROW(reserved)};

#define WAIT(_name) [FLOW_LOOK_##_name] = #_name

static const char *const top_waits[FLOW_LOOK_WAITS] = {
        WAIT(FREE), WAIT(HELLO), WAIT(LIMIT),
        WAIT(RNR),  WAIT(SENT),  WAIT(FAILED)};

#define TOP_COUNT(_list) (sizeof(_list) / sizeof((_list)[0]))

static void top_names(json_t *json, const char *name, const char *const *names,
                      unsigned count)
{
    unsigned i;

    json_array(json, name);
    for (i = 0; i < count; ++i) {
        json_text(json, NULL, names[i]);
    }
    json_end_array(json);
}

/* Names and formats of the fields, which are in order: a gap in front, "4x", is
 * part of a format. */
static void top_layout(json_t *json, const char *name, const top_field_t *field,
                       size_t count)
{
    char   format[64];
    size_t end = 0, i;

    json_object(json, name);
    for (i = 0; i < count; ++i) {
        snprintf(format, sizeof(format), "%zux%zu%c", field[i].at - end,
                 (field[i].code == 's') ? field[i].size : 1, field[i].code);
        json_text(json, field[i].name, format);
        end = field[i].at + field[i].size;
    }
    json_end_object(json);
}

/* All that the viewer has to know; `folder` is that of the file for --json. */
static void top_tell(json_t *json, int folder)
{
    static const char *const counters[] = BASE_COUNTER_NAMES;

    json_report(json); /* which begins the viewer's, too */
    json_count(json, "folder", (unsigned long)folder);
    json_text(json, "name", BASE_TOP_NAME);
    json_text(json, "magic", BASE_TOP_MAGIC);
    json_count(json, "share", BASE_TOP_SHARE);
    json_count(json, "window", FLOW_WINDOW_MAX);
    top_layout(json, "page", top_page, TOP_COUNT(top_page));
    top_layout(json, "row", top_row, TOP_COUNT(top_row));
    top_names(json, "counters", counters, BASE_COUNTER_LAST);
    top_names(json, "waits", top_waits, FLOW_LOOK_WAITS);
    top_names(json, "network", efa_network_names, EFA_NETWORK_COUNT);
    top_names(json, "events", efa_network_events, EFA_NETWORK_COUNT);
}

/* Becomes the viewer, unless there is no Python. Root's is the system's,
 * whatever PATH says, and its library is found by argv[0]. */
static void top_become(char **argv)
{
    char    *pythons[] = {"/usr/bin/python3", "/usr/local/bin/python3",
                          "python3"};
    unsigned count     = (geteuid() == 0) ? 2 : 3, i;

    for (i = 0; i < count; ++i) {
        argv[0] = pythons[i];
        execvp(argv[0], argv);
    }
    options_error("--top: there is no /usr/bin/python3: install python3");
}

/* The descriptor from which the viewer reads what it has to know; or -1. */
static int top_told(int folder)
{
    int    fds[2];
    FILE  *out = (pipe2(fds, O_NONBLOCK) == 0) ? fdopen(fds[1], "w") : NULL;
    json_t json;

    if (out == NULL) {
        options_error("--top: no pipe: %s", strerror(errno));
        return -1;
    }
    (void)json_open_on(&json, "json", out, "a pipe");
    top_tell(&json, folder);
    return (json_close(&json) != 0) ? -1 : fds[0];
}

int top_run(const info_t *info, const top_args_t *args)
{
    const char *slash = strrchr(info->module, '/'), *last;
    char        viewer[PATH_MAX] = "", number[16];
    /* nothing but Python's own library is loaded, and nothing is written */
    char       *argv[13] = {"", "-I", "-S", "-B", viewer, number};
    char      **next     = argv + 6;
    const char *given[]  = {"--once",     args->once ? "" : NULL,
                            "--interval", args->interval,
                            "--json",     args->json};
    unsigned    i;
    int         folder   = 0, told;
    json_t      json;

    if (slash != NULL) {
        snprintf(viewer, sizeof(viewer), "%.*s/srd_top",
                 (int)(slash - info->module), info->module);
    }
    if (access(viewer, R_OK) != 0) {
        options_error("--top: no srd_top beside the module: install both");
        return 1;
    }
    if ((args->json != NULL) && strcmp(args->json, "-")) {
        folder = output_folder(args->json, &last);
        if (folder < 0) {
            return json_open_on(&json, "json", NULL, args->json) != 0;
        }
        (void)fcntl(folder, F_SETFD, 0); /* stays open for the viewer */
    }
    told = top_told(folder);
    if (told < 0) {
        return 1;
    }
    snprintf(number, sizeof(number), "%d", told);
    for (i = 0; i < TOP_COUNT(given); i += 2) {
        if (given[i + 1] != NULL) {
            *next++ = (char*)given[i];
            *next++ = (char*)given[i + 1];
        }
    }
    top_become(argv);
    return 1;
}
