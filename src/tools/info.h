/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * srd_info: the obstacles between a program and the EFA of this machine. It
 * asks the module's own code (src/uct/ib/efa) about the device, so what it says
 * is what UCX would be told, and a stock UCX in a process of its own about the
 * rest.
 */
#ifndef SRD_INFO_H_
#define SRD_INFO_H_

#include <limits.h>
#include <stddef.h>

#include <command/json.h>
#include <uct/ib/efa/efa_device.h>

#include "probe.h"

enum {
    INFO_TEXT_MAX    = 768, /* bytes of one line of a report */
    INFO_DEVICES_MAX = 64
};

typedef enum {
    INFO_OK,
    INFO_WARN, /* it works, not as well as it could */
    INFO_FAIL, /* UCX does without the EFA */
    INFO_SKIP, /* cannot be told, as an earlier check failed */
    INFO_LEVELS
} info_level_t;

typedef struct info {
    const char    *sysroot; /* "" or where /proc, /sys and /etc are read */
    char          module[4096]; /* path of the module, "" if there is none */
    unsigned      counts[INFO_LEVELS];
    json_t        json;     /* open with --json */
    int           all;      /* --all */

    /* The EFA devices that libibverbs lists. */
    const efa_verbs_t *verbs;
    char          (*devices)[EFA_DEVICE_NAME_MAX];
    unsigned      device_count;

    ucx_host_t    host;      /* info.c: keeps the last message */
    probe_t       chosen;    /* UCX as the environment has it */
    const char    *transport; /* "ud" if that is chosen or wished, else "srd" */
    const char    *spare;     /* the other one */
    probe_t       direct;    /* UCX with `transport` alone, and a message */
    probe_t       other;     /* UCX with `spare` alone */
} info_t;

/* One line of the check; the remedy, if not NULL, on a second one. */
void info_report(info_t *info, info_level_t level, const char *name,
                 const char *remedy, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* sysroot + @path, of /sys/ what SYSFS_PATH names if sysroot is "". */
void info_path(const info_t *info, const char *path, char full[PATH_MAX]);

/* The same of @path in /sys where libibverbs looks: below SYSFS_PATH, and below
 * sysroot only without that. */
void info_device_path(const info_t *info, const char *path,
                      char full[PATH_MAX]);

/* Reads the first bytes of the file at info_path() as text, without the newline
 * at the end. 0, or -1. */
int info_read(const info_t *info, const char *path, char *text, size_t size);

/* Lists the devices; of none, @why. */
void info_devices(info_t *info, char *why, size_t size);

/* Nonzero if UCX can use the transport that alone was pinged. */
static inline int info_is_usable(const probe_t *probe)
{
    return probe->has_efa && (probe->lane_count > 0);
}

/* Nonzero if @name is one of the list's items, with commas between them. */
int info_list_has(const char *list, const char *name);

/* Nonzero if variable @name says yes (@yes nonzero) or no, as UCX reads it. */
int info_wishes(const char *name, int yes);

/* "srd on rdmap0s6", of a lane as UCX names it: "srd/rdmap0s6:1.0 am". */
void info_lane_words(const char *lane, char *text, size_t size);

/* The first lane over @transport, as UCX names it; NULL: there is none. */
const char *info_lane(const probe_t *probe, const char *transport);

/* Why it cannot. */
static inline const char *info_reason(const probe_t *probe)
{
    return (probe->major == 0) ? "no UCX was opened" :
           (probe->log[0] != '\0') ? probe->log : probe->error;
}

/* Nonzero if there is something at info_path(). */
int info_exists(const info_t *info, const char *path);

/* A ucx_host_t for the module's code outside of UCX, and the last
 * message that code had for the user ("" if none). */
void host_stub_init(ucx_host_t *host);
const char *host_stub_message(void);

/* check_*.c: each makes the lines of its subject. They run in this order. */
void check_device(info_t *info);
void check_memory(info_t *info);
void check_gpu(info_t *info);
void check_ucx(info_t *info);
void check_mpi(info_t *info);

/* check_ucx.c: @text: why no UCX can be opened. Returns the remedy. */
const char *info_no_ucx(const info_t *info, char *text, size_t size);

/* show.c: devices, UCX, its transports, those to other hosts. The status
 * of the program: 1 if there is no device, or no UCX. */
int show_run(info_t *info);

/*
 * python.c: what each package of the environment of @python brings, with
 * UCX_TLS=@tls. The status of the program: 0 if each UCX there uses this
 * module, as that Python is started; 1 if one does not; 2 without that Python.
 */
int python_run(info_t *info, const char *python, const char *tls);

/* map.c: which EFAs a rank or GPU of this host uses, for UCX_NET_DEVICES.
 * @ranks: on this host; 0: as many as devices. @what "export": the lines of
 * this process, for a shell. The status of the program. */
int map_run(info_t *info, const char *what, unsigned ranks);

/* top.c: this user's interfaces, once or until the user quits. */
typedef struct top_args {
    int         once;
    const char *interval; /* seconds, as the user wrote them; NULL: one */
    const char *json;     /* a file, replaced each time; "-": standard output;
                             NULL: text */
} top_args_t;

/* The status of the program: 1 if there is nothing to show or the output cannot
 * be written; 2 for a wrong argument. */
int top_run(const info_t *info, const top_args_t *args);

/* counters.c: the traffic of each EFA within @seconds; 0: since it is there.
 * The status of the program. */
int counters_run(info_t *info, unsigned seconds);

/* places.c: a GPU, and how many steps up the tree of PCI it meets each device:
 * the nearest has the fewest; UINT_MAX: unknown. */
typedef struct places_gpu {
    char     bdf[32];
    unsigned steps[INFO_DEVICES_MAX];
} places_gpu_t;

/* The GPUs of this host, @max of them at most; 0 also where srd_info has no
 * hwloc. @bdfs: PCI addresses of @count devices, "" if unknown. */
unsigned places_gpus(char (*const bdfs)[32], unsigned count,
                     places_gpu_t *gpus, unsigned max);

/* places.c: "NUMA node 0, CPUs 0-7, near GPU 0000:10:1c.0" for the device with
 * PCI address @bdf ("" if unknown). */
void places_describe(const info_t *info, const char *bdf, char *text,
                     size_t size);

enum {
    PLAN_RANKS_MAX   = 4096,
    PLAN_HOSTS_MAX   = 100000,
    PLAN_DEVICES_MAX = 64
};

/* 0: not told. */
typedef struct plan_args {
    uint64_t ranks, hosts, devices, peers;
    int      table;
} plan_args_t;

/* srd_info --plan: the needs of a job on a host, and whether this one has them.
 * The exit status: 0, 1 if something is short, 2 for a bad number. */
int plan_run(info_t *info, const plan_args_t *args);

/* srd_info --selftest */
typedef struct st_run_args {
    const char *peer;   /* HOST or HOST:PORT; NULL: this host alone */
    const char *listen; /* port; NULL: no */
    const char *device; /* NULL: the first one */
    const char *only;   /* names of probes; NULL: all */
    int         facts;  /* no measurements */
    const char *serve;  /* a descriptor, of a child of ours; NULL: no */
} st_run_args_t;

/* The exit status: 0, or 1 if something differs or could not be asked. */
int st_run(info_t *info, const st_run_args_t *args);

#endif
