/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info --python: the UCX that each package of a Python environment brings,
 * tried one after the other, and whether this Python loads the module.
 */
#define _GNU_SOURCE
#include "info.h"

#include <command/options.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PACKAGES_MAX = 64, WORD_MAX = 128, PYTHON_SECONDS = 20 };

typedef struct package {
    char name[WORD_MAX], version[WORD_MAX];
    char path[PROBE_TEXT_MAX]; /* of its libucp */
} package_t;

typedef struct environment {
    char      version[WORD_MAX], program[PROBE_TEXT_MAX];
    char      module[PROBE_TEXT_MAX]; /* that it has loaded; "": none */
    package_t packages[PACKAGES_MAX];
    unsigned  count;
    int       has_ended; /* it told all that it knows */
} environment_t;

/*
 * Run by the Python in question, with a descriptor: what start files print on
 * standard output is none of it. Lines of words between tabs. One libucp of a
 * folder, as a wheel has the same file under several names. It reads the
 * records of packages itself: importlib.metadata came with Python 3.8, and
 * raises for broken ones. Files that no record lists are looked for; conda has
 * them outside. It ends without exit handlers. The folder it is called in,
 * which Python would look in first, may be full of others' modules (/tmp).
 */
static const char script[] =
    "import sys\n"
    "sys.path[:] = filter(None, sys.path)\n"
    "import csv, glob, os, re\n"
    "def say(*words):\n"
    "    os.write(int(sys.argv[1]), b'\\t'.join(map(os.fsencode, words)) + "
    "b'\\n')\n"
    "def text(path):\n"
    "    try:\n"
    "        with open(path, 'rb') as file:\n"
    "            return os.fsdecode(file.read()).replace('\\0', '')\n"
    "    except OSError:\n"
    "        return ''\n"
    "def rows(path):\n"
    "    try:\n"
    "        return sorted(row[0] for row in csv.reader("
    "text(path).splitlines()) if row)\n"
    "    except csv.Error:\n"
    "        return []\n"
    "def package(path, name, version):\n"
    "    path = os.path.realpath(path)\n"
    "    folder, file = os.path.split(path)\n"
    "    if folder not in seen and os.path.isfile(path) and \\\n"
    "       re.match(r'libucp(-[0-9a-f]+)?\\.so(\\.|$)', file):\n"
    "        seen.add(folder)\n"
    "        say('package', name, version, path)\n"
    "seen = set()\n"
    "say('python', sys.version.split()[0], sys.executable)\n"
    "for line in text('/proc/self/maps').splitlines():\n"
    "    if 'libuct_srd.so.0' in line:\n"
    "        say('module', line.split(None, 5)[5])\n"
    "        break\n"
    "folders = [f for f in sys.path if os.path.isdir(f)]\n"
    "for folder in folders:\n"
    "    here = glob.escape(folder)\n"
    "    for info in sorted(glob.glob(here + '/*.dist-info')):\n"
    "        name, _, version = os.path.basename(info)[:-10].partition('-')\n"
    "        told = re.search(r'^Name: *(\\S+)', text(info + '/METADATA'), "
    "re.M)\n"
    "        name = told.group(1) if told else name\n"
    "        for row in rows(info + '/RECORD'):\n"
    "            if 'libucp' in row:\n"
    "                package(os.path.join(folder, row), name, version or '?')\n"
    "for folder in folders:\n"
    "    here = glob.escape(folder)\n"
    "    for path in sorted(glob.glob(here + '/*/libucp*.so*') + "
    "glob.glob(here + '/*/*/libucp*.so*')):\n"
    "        name = os.path.relpath(path, folder).split(os.sep)[0]\n"
    "        package(path, name, '(in no record)')\n"
    "base = os.path.join(sys.prefix, 'conda-meta')\n"
    "if os.path.isdir(base):\n"
    "    for path in glob.glob(glob.escape(sys.prefix) + '/lib/libucp.so*'):\n"
    "        package(path, 'of', 'conda')\n"
    "say('end')\n"
    "sys.stdout.flush()\n"
    "os._exit(0)\n";

/* The next word of *@line, up to a tab. */
static void word_take(char **line, char *to, size_t size)
{
    const char *word = strsep(line, "\t");

    snprintf(to, size, "%s", (word != NULL) ? word : "");
}

/* Returns whether that was the last one. */
static int environment_line(void *arg, char *line)
{
    environment_t *env = arg;
    char key[WORD_MAX];
    package_t *package;

    word_take(&line, key, sizeof(key));
    if (!strcmp(key, "python")) {
        word_take(&line, env->version, sizeof(env->version));
        word_take(&line, env->program, sizeof(env->program));
    } else if (!strcmp(key, "module")) {
        word_take(&line, env->module, sizeof(env->module));
    } else if (!strcmp(key, "end")) {
        env->has_ended = 1;
    } else if (!strcmp(key, "package") && (env->count < PACKAGES_MAX)) {
        package = &env->packages[env->count++];
        word_take(&line, package->name, sizeof(package->name));
        word_take(&line, package->version, sizeof(package->version));
        word_take(&line, package->path, sizeof(package->path));
    }
    return env->has_ended;
}

/* The program; of a folder, as of a virtual environment, what is in its bin. */
static void python_child(const void *arg, int fd)
{
    const char *python = arg;
    char inside[PROBE_TEXT_MAX], number[16];
    struct stat st;

    if ((stat(python, &st) == 0) && S_ISDIR(st.st_mode)) {
        snprintf(inside, sizeof(inside), "%s/bin/python", python);
        python = inside;
    }
    snprintf(number, sizeof(number), "%d", fd);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    (void)setpgid(0, 0); /* with what it starts it can be ended */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp(python, python, "-c", script, number, (char*)NULL);
    options_error("--python=%s cannot be started: %m; name a Python 3 or the "
                  "folder of a virtual environment", python);
    _exit(127);
}

/* 0, or -1: it told nothing, and why was said by it, the shell or here. */
static int environment_read(environment_t *env, const char *python)
{
    int out, is_late = 0, status = 0;
    pid_t pid = probe_start(python_child, python, &out);

    if (pid > 0) {
        is_late = probe_lines(out, PYTHON_SECONDS, environment_line, env) != 0;
        close(out);
        kill(-pid, SIGKILL); /* it has told all, has ended, or never will */
        (void)waitpid(pid, &status, 0);
    }
    if (is_late) {
        fprintf(stderr,
                "srd_info: %s has not ended after %d s: what it runs at its "
                "start (sitecustomize, .pth files) hangs; python -I -S goes "
                "without\n",
                python, PYTHON_SECONDS);
    } else if (WIFEXITED(status) && (WEXITSTATUS(status) == 127)) {
        return -1; /* it did not start, and that has been said */
    } else if (!env->has_ended) {
        fprintf(stderr,
                "srd_info: %s tells nothing of its packages: it is no Python "
                "3, or cannot run a line\n",
                python);
    }
    return env->has_ended ? 0 : -1;
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

/* UCX libraries that this module serves, and those that use it as this Python
 * is started. */
typedef struct tally {
    unsigned served, ours;
} tally_t;

static void show_ucx(json_t *json, const environment_t *env, const char *module,
                     const char *tls, const char *path, tally_t *tally)
{
    const char *use = (probe_ucx_module() != NULL) ? NULL : module;
    int loads       = (env->module[0] != '\0') || (use == NULL);
    char version[64], takes[PROBE_TEXT_MAX];
    const char *lane;
    probe_t with, now;
    int is_own;

    probe_ucx_choose(path);
    (void)probe_run(&with, "srd", use, 0);
    (void)probe_run(&now, tls, loads ? use : NULL, 0);
    if (with.major == 0) {
        printf("  UCX            cannot be opened: %s\n", with.error);
        json_text(json, "error", with.error);
        return;
    }
    snprintf(version, sizeof(version), "%u.%u.%u", with.major, with.minor,
             with.release);
    printf("  UCX            %s in %s\n", version, with.ucp_path);
    printf("  module         %s%s\n",
           info_is_usable(&with) ? "serves it" : "cannot serve it: ",
           info_is_usable(&with) ? "" : info_reason(&with));
    lane   = lane_of(&now);
    is_own = !loads && (info_lane(&now, "srd") != NULL);
    snprintf(takes, sizeof(takes), "%s", now.error);
    if (lane != NULL) {
        info_lane_words(lane, takes, sizeof(takes));
    }
    printf("  to other hosts %s%s\n", takes,
           is_own ? " (UCX's own srd)" : "");
    json_text(json, "ucx", version);
    json_text(json, "path", with.ucp_path);
    json_truth(json, "served", info_is_usable(&with));
    json_text(json, "to_other_hosts", takes);
    json_truth(json, "by_this_module", loads && is_ours(&now));
    tally->served += info_is_usable(&with) != 0;
    tally->ours   += loads && is_ours(&now);
}

/* The same; @package is NULL for the system's UCX. */
static void show_package(info_t *info, const environment_t *env,
                         const char *tls, const package_t *package,
                         tally_t *tally)
{
    if (package != NULL) {
        printf("package %s %s\n", package->name, package->version);
    }
    json_object(&info->json, NULL);
    json_text(&info->json, "name", (package == NULL) ? NULL : package->name);
    json_text(&info->json, "version",
              (package == NULL) ? NULL : package->version);
    show_ucx(&info->json, env, info->module, tls,
             (package == NULL) ? "libucp.so.0" : package->path, tally);
    json_end_object(&info->json);
}

int python_run(info_t *info, const char *python, const char *tls)
{
    static environment_t env;
    tally_t tally = {0, 0};
    unsigned i;

    if (environment_read(&env, python) != 0) {
        return 2;
    }
    printf("python           %s in %s\n", env.version, env.program);
    printf("module           %s\n",
           (env.module[0] != '\0') ? env.module : "not loaded by this python");
    json_text(&info->json, "python", env.version);
    json_text(&info->json, "module",
              (env.module[0] != '\0') ? env.module : NULL);
    json_array(&info->json, "packages");
    for (i = 0; i < env.count; ++i) {
        show_package(info, &env, tls, &env.packages[i], &tally);
    }
    if (env.count == 0) {
        printf("no package of this environment brings a UCX; the system's:\n");
        show_package(info, &env, tls, NULL, &tally);
        i = 1;
    }
    json_end_array(&info->json);
    json_count(&info->json, "over_the_efa", tally.ours);
    printf("%u of %u over the EFA by this module", tally.ours, i);
    if ((env.module[0] == '\0') && (tally.served > 0) &&
        (info->module[0] != '\0')) {
        printf(": start it as 'srdrun %s', or set PYTHONPATH=%.*s/python",
               env.program, (int)(strrchr(info->module, '/') - info->module),
               info->module);
    } /* else the remedy stands above, with the reason */
    printf("\n");
    return (tally.ours == i) ? 0 : 1;
}
