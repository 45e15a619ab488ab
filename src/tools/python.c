/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --python: the UCX that each package of a Python environment brings,
 * tried one after the other, and whether this Python loads the module.
 */
#define _GNU_SOURCE
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PACKAGES_MAX = 16, WORD_MAX = 128 };

typedef struct package {
    char name[WORD_MAX], version[WORD_MAX];
    char path[PROBE_TEXT_MAX]; /* of its libucp */
} package_t;

typedef struct environment {
    char      version[WORD_MAX], program[PROBE_TEXT_MAX];
    char      module[PROBE_TEXT_MAX]; /* that it has loaded; "": none */
    package_t packages[PACKAGES_MAX];
    unsigned  count;
} environment_t;

/* One libucp of a folder: a wheel has the same file under several names. */
static const char script[] =
    "import os, re, sys\n"
    "import importlib.metadata as m\n"
    "print('python', sys.version.split()[0], sys.executable)\n"
    "for line in open('/proc/self/maps'):\n"
    "    if 'libuct_srd.so.0' in line:\n"
    "        print('module', line.split()[-1])\n"
    "        break\n"
    "seen = set()\n"
    "for d in m.distributions():\n"
    "    for f in sorted(d.files or []):\n"
    "        path = os.path.realpath(d.locate_file(f))\n"
    "        if re.match(r'libucp(-[0-9a-f]+)?\\.so(\\.|$)', f.name) and \\\n"
    "           os.path.dirname(path) not in seen and os.path.exists(path):\n"
    "            seen.add(os.path.dirname(path))\n"
    "            print('package', d.metadata['Name'], d.version, path)\n";

static void environment_line(environment_t *env, const char *line)
{
    package_t *package = &env->packages[env->count];

    if (sscanf(line, "python %127s %767[^\n]", env->version,
               env->program) == 2) {
        return;
    }
    if (sscanf(line, "module %767[^\n]", env->module) == 1) {
        return;
    }
    if ((env->count < PACKAGES_MAX) &&
        (sscanf(line, "package %127s %127s %767[^\n]", package->name,
                package->version, package->path) == 3)) {
        ++env->count;
    }
}

/* 0, or -1: no such Python, and it, or the shell, said why. */
static int environment_read(environment_t *env, const char *python)
{
    char line[2 * PROBE_TEXT_MAX];
    int fds[2], status = 0;
    FILE *stream;
    pid_t pid;

    if (pipe(fds) != 0) {
        return -1;
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        execlp(python, python, "-c", script, (char*)NULL);
        fprintf(stderr, "srd_info: %s cannot be started: %m\n", python);
        _exit(127);
    }
    close(fds[1]);
    stream = fdopen(fds[0], "r");
    while ((stream != NULL) && (fgets(line, sizeof(line), stream) != NULL)) {
        environment_line(env, line);
    }
    if (stream != NULL) {
        fclose(stream);
    }
    if ((pid < 0) || (waitpid(pid, &status, 0) != pid) || (status != 0) ||
        (env->version[0] == '\0')) {
        return -1;
    }
    return 0;
}

/* The transport between hosts that UCX would take. */
static const char *lane_of(const probe_t *probe)
{
    const char *lane = info_lane(probe, "srd");

    lane = (lane != NULL) ? lane : info_lane(probe, "ud");
    lane = (lane != NULL) ? lane :
           (probe->lane_count > 0) ? probe->lanes[0] : NULL;
    return lane;
}

static int is_ours(const probe_t *probe)
{
    return probe->has_efa && ((info_lane(probe, "srd") != NULL) ||
                              (info_lane(probe, "ud") != NULL));
}

/* Nonzero if ours is used, as this Python is started. */
static int show_package(const environment_t *env, const char *module,
                        const char *tls, const char *path)
{
    const char *use = (probe_loaded_module() != NULL) ? NULL : module;
    int loads       = (env->module[0] != '\0') || (use == NULL);
    const char *lane;
    probe_t with, now;

    probe_choose(path);
    (void)probe_run(&with, "srd", use, 0);
    (void)probe_run(&now, tls, loads ? use : NULL, 0);
    if (with.major == 0) {
        printf("  UCX            cannot be opened: %s\n", with.error);
        return 0;
    }
    printf("  UCX            %u.%u.%u in %s\n", with.major, with.minor,
           with.release, with.ucp_path);
    printf("  module         %s%s\n",
           info_is_usable(&with) ? "serves it" : "cannot serve it: ",
           info_is_usable(&with) ? "" : info_reason(&with));
    lane = lane_of(&now);
    printf("  to other hosts %s%s\n", (lane != NULL) ? lane : now.error,
           (!loads && (info_lane(&now, "srd") != NULL)) ?
           " (a srd of UCX's own)" : "");
    return loads && is_ours(&now);
}

int run_python(info_t *info, const char *python, const char *tls)
{
    static const char advice[] =
        "put srdrun in front of python, or the folder of sitecustomize into "
        "PYTHONPATH";
    static environment_t env;
    unsigned i, ours = 0;

    if (environment_read(&env, python) != 0) {
        fprintf(stderr, "srd_info: %s tells nothing of its packages\n", python);
        return 2;
    }
    printf("python           %s in %s\n", env.version, env.program);
    printf("module           %s\n",
           (env.module[0] != '\0') ? env.module : "not loaded by this python");
    for (i = 0; i < env.count; ++i) {
        printf("package %s %s\n", env.packages[i].name,
               env.packages[i].version);
        ours += show_package(&env, info->module, tls, env.packages[i].path);
    }
    if (env.count == 0) {
        printf("no package of this environment brings a UCX; the system's:\n");
        ours += show_package(&env, info->module, tls, "libucp.so.0");
        i     = 1;
    }
    printf("%u of %u over the EFA by this module%s%s\n", ours, i,
           (env.module[0] == '\0') ? ": " : "",
           (env.module[0] == '\0') ? advice : "");
    return (ours == i) ? 0 : 1;
}
