/* SPDX-License-Identifier: BSD-3-Clause */
/* Which UCX there is, how it gets the module, and what it then chooses. */
#include "info.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OLDEST_MINOR = 13, /* that the module has a table for */
    PLUGIN_MINOR = 22, /* from here on UCX loads modules of any name */
    SPARING_MINOR = 18 /* from here on its ib module leaves EFA devices alone */
};

/* Finds a file of UCX and one in another folder in the loader's list of what
 * libucp needs, "NAME => PATH (ADDRESS)". 0: all are of one, or untold. */
static int check_mixed(char one[PATH_MAX], char other[PATH_MAX])
{
    FILE *list = popen("LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$LD_PRELOAD:"
                       "libucp.so.0 exec true 2>&-", "re");
    char  line[PATH_MAX + 64], path[PATH_MAX], *name;
    int   found = 0;

    one[0] = '\0';
    while ((list != NULL) && !found &&
           (fgets(line, sizeof(line), list) != NULL)) {
        name = strstr(line, "=> /");
        if ((strncmp(line, "\tlibuc", 6) != 0) || (name == NULL)) {
            continue;
        }
        name += strlen("=> ");
        name[strcspn(name, " ")] = '\0';
        if (realpath(name, path) == NULL) {
            continue;
        }
        name = strrchr(path, '/');
        if (one[0] == '\0') {
            memcpy(one, path, sizeof(path));
        } else if (strncmp(one, path, (size_t)(name - path) + 1) ||
                   (strchr(one + (name - path) + 1, '/') != NULL)) {
            memcpy(other, path, sizeof(path));
            found = 1;
        }
    }
    if (list != NULL) {
        pclose(list);
    }
    return found;
}

const char *info_no_ucx(const info_t *info, char *text, size_t size)
{
    const char *error = info->direct.error;
    char one[PATH_MAX], other[PATH_MAX];

    if (check_mixed(one, other)) {
        snprintf(text, size, "two UCX are mixed: %s of one, %s of another (%s)",
                 one, other, error);
        return "look at LD_LIBRARY_PATH, and at wheels and environment "
               "modules: all of UCX has to be of one";
    }
    snprintf(text, size, "no UCX can be opened: %s", error);
    return "install UCX (Debian: libucx0), or set LD_LIBRARY_PATH to where it "
           "is";
}

static int check_version(info_t *info)
{
    const probe_t *probe = &info->direct;
    char why[INFO_TEXT_MAX];
    const char *remedy;

    if (probe->major == 0) {
        remedy = info_no_ucx(info, why, sizeof(why));
        info_report(info, INFO_FAIL, "UCX", remedy, "%s", why);
        return -1;
    }
    if (strstr(probe->log, "libuct_srd: not used") != NULL) {
        info_report(info, INFO_FAIL, "UCX", NULL, "%u.%u.%u: %s", probe->major,
                    probe->minor, probe->release, probe->log);
        return -1;
    }
    if ((probe->major == 1) && (probe->minor < OLDEST_MINOR)) {
        info_report(info, INFO_FAIL, "UCX",
                    "a newer UCX, or that of a Python wheel (pip install "
                    "libucx-cu12), with LD_LIBRARY_PATH where it is",
                    "%u.%u.%u in %s is too old: the module serves 1.%u and "
                    "newer", probe->major, probe->minor, probe->release,
                    probe->ucp_path, OLDEST_MINOR);
        return -1;
    }
    info_report(info, INFO_OK, "UCX", NULL, "%u.%u.%u in %s", probe->major,
                probe->minor, probe->release, probe->ucp_path);
    return 0;
}

/* How UCX itself finds the module; NULL if somebody has to help. */
static const char *loading_way(const info_t *info)
{
    const char *plugins = getenv("UCX_PLUGIN_PATH");
    const char *module  = info->chosen.plugin;

    if (module[0] == '\0') {
        return NULL;
    }
    if (strstr(module, "/ucx-efa-srd.d/") != NULL) {
        return "system-wide (srd_systemwide)";
    }
    return ((plugins != NULL) && !strncmp(module, plugins, strlen(plugins))) ?
           "by UCX_PLUGIN_PATH" : "by UCX, from its module folder";
}

static int check_loading(info_t *info)
{
    const char *loaded = probe_ucx_module();
    const char *way    = loading_way(info);

    if (loaded != NULL) {
        info_report(info, INFO_OK, "loading", NULL,
                    "preloaded (srdrun or LD_PRELOAD): %s", loaded);
    } else if (way != NULL) {
        info_report(info, INFO_OK, "loading", NULL, "%s: %s", way,
                    info->chosen.plugin);
    } else if (info->module[0] == '\0') {
        info_report(info, INFO_FAIL, "loading",
                    "install this package whole (make install), or run "
                    "srd_info from where it was built",
                    "libuct_srd.so.0 is not beside this program, and UCX has "
                    "none");
        return -1;
    } else {
        info_report(info, INFO_OK, "loading", NULL,
                    "start programs with srdrun%s; it loads %s%s",
                    (info->direct.minor >= PLUGIN_MINOR) ?
                    ", or set UCX_PLUGIN_PATH" : "", info->module,
                    (info->direct.minor < SPARING_MINOR) ?
                    " (without it UCX's ib module takes the device, and the "
                    "programs end in \"Out of memory\" or the like)" : "");
    }
    return 0;
}

/* Does UCX have us, whatever it chooses then? */
static int check_transport(info_t *info)
{
    char remedy[INFO_TEXT_MAX];
    int spare = info_is_usable(&info->other);

    if (!info_is_usable(&info->direct)) {
        snprintf(remedy, sizeof(remedy), "%s%s%sthe lines above say what is "
                 "missing; else UCX_LOG_LEVEL=debug shows more",
                 spare ? "UCX_TLS=" : "", spare ? info->spare : "",
                 spare ? ",sm,self takes the one that works; or " : "");
        info_report(info, INFO_FAIL, "transport", remedy,
                    "UCX cannot use %s: %s", info->transport,
                    info_reason(&info->direct));
        return -1;
    }
    info_report(info, INFO_OK, "transport", NULL, "UCX has %s%s%s%s from %s",
                info->transport, spare ? " and " : ", and cannot use ",
                info->spare, spare ? "," : "", info->direct.plugin);
    return 0;
}

/* Over srd or ud. */
static void check_selection_ok(info_t *info)
{
    const char *tls = getenv("UCX_TLS");
    const char *net = getenv("UCX_NET_DEVICES");
    char words[PROBE_LANE_MAX + 8];

    info_lane_words(info_lane(&info->chosen, info->transport), words,
                    sizeof(words));
    info_report(info, INFO_OK, "selection", NULL,
                "UCX_TLS=%s, UCX_NET_DEVICES=%s: to other hosts UCX takes "
                "%s%s",
                (tls != NULL) ? tls : "(not set)",
                (net != NULL) ? net : "(not set)",
                words,
                strcmp(info->transport, "ud") ? "" :
                "; where srd works it is the faster: UCX_TLS=srd,sm,self");
}

/* UCX_TLS and UCX_NET_DEVICES. */
static void check_selection(info_t *info)
{
    const probe_t *probe = &info->chosen;
    const char *tls      = getenv("UCX_TLS");
    const char *net      = getenv("UCX_NET_DEVICES");
    char words[INFO_TEXT_MAX + 16];

    if (info_lane(probe, info->transport) != NULL) {
        check_selection_ok(info);
    } else if (!strncmp(probe->log, "UCX_", 4)) { /* the module on a variable */
        info_report(info, INFO_FAIL, "selection", NULL, "%s", probe->log);
    } else if ((net != NULL) && (strstr(net, info->devices[0]) == NULL) &&
               strcmp(net, "all")) {
        info_report(info, INFO_FAIL, "selection",
                    "unset it, or add the EFA with its port, e.g. "
                    "UCX_NET_DEVICES=rdmap0s6:1",
                    "UCX_NET_DEVICES=%s leaves out %s", net, info->devices[0]);
    } else {
        snprintf(words, sizeof(words), "nothing (%s)", probe->error);
        if (probe->lane_count > 0) {
            info_lane_words(probe->lanes[0], words, sizeof(words));
        }
        info_report(info, INFO_FAIL, "selection", "UCX_TLS=srd,sm,self",
                    "UCX_TLS=%s leaves srd and ud out; to other hosts UCX "
                    "takes %s", (tls != NULL) ? tls : "(not set)", words);
    }
}

static void check_message(info_t *info)
{
    const probe_t *probe = &info->direct;
    int is_ud            = !strcmp(info->transport, "ud");

    if (probe->message_ok) {
        info_report(info, INFO_OK, "message", NULL,
                    "4 KiB through the device to itself, over %s, arrived "
                    "intact", info->transport);
    } else {
        info_report(info, INFO_FAIL, "message",
                    is_ud ? "a security group that allows all traffic from and "
                    "to itself, on every EFA interface; all of them in one "
                    "subnet (UD does not tell what was lost on the way: see "
                    "whether UCX_TLS=srd, which does, says more)" :
                    "a security group that allows all traffic from and to "
                    "itself, on every EFA interface; all of them in one subnet",
                    "a message through the device to itself, over %s, failed: "
                    "%s%s%s", info->transport, probe->error,
                    (probe->log[0] != '\0') ? "; " : "", probe->log);
    }
}

void check_ucx(info_t *info)
{
    static const char after[] = "an earlier check failed";
    int usable                = info->counts[INFO_FAIL] == 0;

    if (check_version(info) != 0) {
        info_report(info, INFO_SKIP, "loading", NULL, "no UCX to load it");
        info_report(info, INFO_SKIP, "transport", NULL, after);
    } else if ((check_loading(info) == 0) && usable) {
        if (check_transport(info) == 0) {
            check_selection(info);
            check_message(info);
            return;
        }
    } else {
        info_report(info, INFO_SKIP, "transport", NULL, after);
    }
    info_report(info, INFO_SKIP, "selection", NULL, after);
    info_report(info, INFO_SKIP, "message", NULL, after);
}
