/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "soak.h"
#include "watchdog.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double   report_last;  /* when something completed */
static double   report_delay; /* of the CPU, then */
static uint64_t report_count; /* watchdog.completed, then */
static int      report_told;  /* of the wait that goes on */

double soak_report_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

void soak_report(const char *fmt, ...)
{
    va_list ap;

    printf("%.3f %d ", soak_report_now(), (int)getpid());
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    putchar('\n');
    fflush(stdout);
}

/* Seconds that this process could have run and had no CPU. */
static double report_cpu_delay(void)
{
    FILE *file = fopen("/proc/self/schedstat", "r");
    unsigned long long ran, waited = 0;

    if (file != NULL) {
        if (fscanf(file, "%llu %llu", &ran, &waited) != 2) {
            waited = 0;
        }
        fclose(file);
    }
    return waited * 1e-9;
}

/* UCX's tree of objects as files (UCX_VFS), without its file system: of libucs,
 * whose version this program does not know. */
typedef struct report_vfs {
    ucs_status_t (*list)(const char *path, void (*cb)(const char*, void*),
                         void *arg);
    ucs_status_t (*read)(const char *path, void *text);
    void         (*init)(void *text);
    const char  *(*cstr)(void *text);
    void         (*cleanup)(void *text);
    unsigned     files; /* printed */
} report_vfs_t;

static void report_file(report_vfs_t *vfs, const char *path)
{
    uint64_t text[32] = {0}; /* a ucs_string_buffer_t of any version */

    vfs->init(text);
    if (vfs->read(path, text) == UCS_OK) {
        printf("  %s: %s", path, vfs->cstr(text));
        ++vfs->files;
    }
    vfs->cleanup(text);
}

/* Names of a folder: UCX lists under a lock, which reading takes, too. */
typedef struct report_names {
    char     name[64][64];
    unsigned count;
} report_names_t;

static void report_take(const char *name, void *arg)
{
    report_names_t *names = arg;

    if (names->count < 64) {
        snprintf(names->name[names->count++], sizeof(names->name[0]), "%s",
                 name);
    }
}

/* /uct/worker/W/iface/I/srd/FILE: all files of the last folder. */
static void report_folder(report_vfs_t *vfs, const char *path, unsigned depth)
{
    static const char *const want[] = {"worker", NULL, "iface", NULL};
    report_names_t names            = {.count = 0};
    char below[512];
    unsigned i;

    vfs->list(path, report_take, &names);
    for (i = 0; i < names.count; ++i) {
        snprintf(below, sizeof(below), "%s/%s", path, names.name[i]);
        if (depth == 5) {
            report_file(vfs, below);
        } else if ((depth == 4) ? (!strcmp(names.name[i], "srd") ||
                                   !strcmp(names.name[i], "ud")) :
                                  ((want[depth] == NULL) ||
                                   !strcmp(names.name[i], want[depth]))) {
            report_folder(vfs, below, depth + 1);
        }
    }
}

static void report_vfs(void)
{
    report_vfs_t vfs = {0};

    *(void**)&vfs.list    = dlsym(RTLD_DEFAULT, "ucs_vfs_path_list_dir");
    *(void**)&vfs.read    = dlsym(RTLD_DEFAULT, "ucs_vfs_path_read_file");
    *(void**)&vfs.init    = dlsym(RTLD_DEFAULT, "ucs_string_buffer_init");
    *(void**)&vfs.cstr    = dlsym(RTLD_DEFAULT, "ucs_string_buffer_cstr");
    *(void**)&vfs.cleanup = dlsym(RTLD_DEFAULT, "ucs_string_buffer_cleanup");
    if (!vfs.list || !vfs.read || !vfs.init || !vfs.cstr || !vfs.cleanup) {
        soak_report("record: this UCX has no such files");
        return;
    }
    report_folder(&vfs, "/uct", 0);
    soak_report("record: %u files", vfs.files);
}

static void report_slots(const char *name, const soak_slot_t *slots)
{
    unsigned i;

    for (i = 0; i < SOAK_SLOTS; ++i) {
        if (slots[i].used) {
            printf("  %s %u: %zu bytes at %p, done %d\n", name, i,
                   slots[i].size, (void*)(slots[i].room + slots[i].at),
                   slots[i].op.done);
        }
    }
}

/* All that is known here of who waits for whom. */
static void report_record(const soak_t *s)
{
    soak_report("record of a wait: in %s; session %u, of %u messages %u sent, "
                "%u received; the peer said %d", watchdog.place, s->session,
                s->messages, s->tx_done, s->rx_done, s->word);
    report_slots("send", s->tx);
    report_slots("receive", s->rx);
    report_vfs();
}

void soak_report_moved(void)
{
    double now = soak_report_now();

    if (report_last != 0 && now - report_last > SOAK_WAIT) {
        soak_report("wait %.3f s, of them %.3f without a CPU, in %s",
                    now - report_last, report_cpu_delay() - report_delay,
                    watchdog.place);
    }
    report_last  = now;
    report_delay = report_cpu_delay();
    report_count = watchdog.completed;
    report_told  = 0;
}

void soak_report_progress(soak_t *s)
{
    node_progress(&s->node);
    if (report_count != watchdog.completed) {
        watchdog_kick("session %u", s->session);
        soak_report_moved();
    } else if (!report_told && soak_report_now() - report_last > SOAK_WAIT) {
        report_told = 1;
        report_record(s);
    }
}
