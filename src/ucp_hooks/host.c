/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "abi.h"
#include "calls.h"
#include "global.h"
#include "provider.h"

#define HOST_LOG_COMPONENT "EFA"

enum {
    HOST_LINE_MAX           = 1024,
    HOST_FILE_LINE_MAX      = 256,
    HOST_UNMAP_PRIORITY     = 1000, /* as UCX's registration caches */
    HOST_UNMAP_EVENTS       = UCM_EVENT_VM_UNMAPPED | UCM_EVENT_MEM_TYPE_FREE,
    /* the calls, for which UCX has installed its hooks then */
    HOST_CALL_EVENTS        = UCM_EVENT_MMAP | UCM_EVENT_MUNMAP |
                              UCM_EVENT_MREMAP | UCM_EVENT_SHMAT |
                              UCM_EVENT_SHMDT | UCM_EVENT_SBRK |
                              UCM_EVENT_BRK | UCM_EVENT_MADVISE,
    HOST_TOPO_NAME_PRIORITY = 10,
    HOST_RAILS              = 2 /* UCX_MAX_RNDV_RAILS by default */
};

static unsigned host_errors; /* lines at level error or above */

unsigned ucx_host_error_count(void)
{
    return __atomic_load_n(&host_errors, __ATOMIC_RELAXED);
}

void ucx_host_log(const ucx_host_t *host, const char *file, unsigned line,
                  const char *function, ucs_log_level_t level,
                  const char *format, ...)
{
    ucx_log_component_t component = {
        .level       = *host->log_level,
        .name        = HOST_LOG_COMPONENT,
        .file_filter = host->calls->global_opts->file_filter
    };
    char text[HOST_LINE_MAX];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    if (level <= UCS_LOG_LEVEL_ERROR) {
        __atomic_fetch_add(&host_errors, 1, __ATOMIC_RELAXED);
    }
    host->calls->log_dispatch(file, line, function, level, &component, "%s",
                              text);
}

ucs_sys_device_t ucx_host_sys_device(const ucx_host_t *host, const char *bdf,
                                     const char *name)
{
    ucs_sys_device_t device = UCS_SYS_DEVICE_ID_UNKNOWN;
    unsigned domain = 0, bus, slot, function;
    ucs_sys_bus_id_t id;
    char end;

    if ((bdf == NULL) ||
        ((sscanf(bdf, "%4x:%2x:%2x.%1x%c", &domain, &bus, &slot, &function,
                 &end) != 4) &&
         ((domain = 0),
          sscanf(bdf, "%2x:%2x.%1x%c", &bus, &slot, &function, &end) != 3))) {
        return UCS_SYS_DEVICE_ID_UNKNOWN;
    }

    id.domain   = domain;
    id.bus      = bus;
    id.slot     = slot;
    id.function = function;
    if (host->calls->topo_find(&id, &device) != UCS_OK) {
        return UCS_SYS_DEVICE_ID_UNKNOWN;
    }
    if ((name != NULL) && (host->calls->topo_set_name != NULL)) {
        (void)host->calls->topo_set_name(device, name, HOST_TOPO_NAME_PRIORITY);
    }
    return device;
}

/* ---- files ---- */

ucs_status_t ucx_vfs_add_file(const ucx_host_t *host, void *object,
                              const char *path, ucx_vfs_read_cb_t read,
                              void *arg, uint64_t number)
{
    ucs_status_t status;

    if ((host->calls->vfs_add_file == NULL) ||
        (host->calls->text_append == NULL)) {
        return UCS_ERR_UNSUPPORTED;
    }
    status = host->calls->vfs_add_file(object, read, arg, number, "%s", path);
    return (status == UCS_ERR_ALREADY_EXISTS) ? UCS_OK : status;
}

void ucx_vfs_print(const ucx_host_t *host, struct ucs_string_buffer *text,
                   const char *format, ...)
{
    char line[HOST_FILE_LINE_MAX];
    va_list ap;

    va_start(ap, format);
    vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    host->calls->text_append(text, "%s", line);
}

/* ---- statistics ---- */

uint64_t *ucx_stats_open(const ucx_host_t *host,
                         const uct_iface_params_t *params,
                         ucx_stats_class_t *cls, const char *name)
{
    void *node = NULL;

    if ((host->calls->stats_alloc == NULL) ||
        (host->calls->stats_free == NULL) ||
        !(params->field_mask & UCT_IFACE_PARAM_FIELD_STATS_ROOT) ||
        (params->stats_root == NULL) ||
        (host->calls->stats_alloc(&node, cls, params->stats_root, "-%s",
                                  name) != UCS_OK) ||
        (node == NULL)) {
        return NULL;
    }
    return (uint64_t*)((char*)node + UCX_STATS_NODE_COUNTERS);
}

void ucx_stats_close(const ucx_host_t *host, uint64_t *counters)
{
    if (counters != NULL) {
        host->calls->stats_free((char*)counters - UCX_STATS_NODE_COUNTERS);
    }
}

/* ---- memory events ---- */

typedef struct watch {
    struct watch     *next;
    const ucx_host_t *host;
    ucx_unmap_cb_t   cb;
    void             *arg;
    time_t           installed; /* UCX looked after its hooks; seconds */
} watch_t;

static pthread_mutex_t watches_lock = PTHREAD_MUTEX_INITIALIZER;
static watch_t *watches;

static uintptr_t host_page_up(uintptr_t address)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    return (address + page - 1) & ~(page - 1);
}

static void host_end(const watch_t *watch, uintptr_t stays, uintptr_t end)
{
    watch->cb(UCX_UNMAP_END, (void*)stays, end - stays, watch->arg);
}

/* Memory came: whatever was there has gone, told or not (dlclose). */
static void host_came(const watch_t *watch, void *address, size_t length)
{
    watch->cb(UCX_UNMAP_DONE, address, length, watch->arg);
}

static void host_remapped(const watch_t *watch, const ucm_event_t *event)
{
    uintptr_t start = (uintptr_t)event->mremap.address;
    uintptr_t end   = host_page_up(start + event->mremap.new_size), stays;

    if (event->mremap.result != event->mremap.address) {
        host_end(watch, 0, 0);
        host_came(watch, event->mremap.result, event->mremap.new_size);
        return;
    }
    stays = host_page_up(start + event->mremap.old_size);
    stays = (stays < end) ? stays : end;
    host_end(watch, start, stays);
    host_came(watch, (void*)stays, end - stays);
}

/* A call that succeeded. */
static void host_called(const watch_t *watch, ucm_event_type_t type,
                        const ucm_event_t *event)
{
    struct shmid_ds shm = {.shm_segsz = 0};

    if (type == UCM_EVENT_MREMAP) {
        host_remapped(watch, event);
    } else if (type == UCM_EVENT_MADVISE) { /* other pages, but memory */
        host_end(watch, 0, UINTPTR_MAX);
    } else if (type == UCM_EVENT_SBRK) {
        host_end(watch, 0, host_page_up((uintptr_t)event->sbrk.result +
                                        (uintptr_t)event->sbrk.increment));
    } else if (type == UCM_EVENT_BRK) {
        host_end(watch, 0, host_page_up((uintptr_t)event->brk.addr));
    } else {
        host_end(watch, 0, 0);
    }
    if (type == UCM_EVENT_MMAP) {
        host_came(watch, event->mmap.result, event->mmap.size);
    } else if (type == UCM_EVENT_SHMAT) {
        (void)shmctl(event->shmat.shmid, IPC_STAT, &shm);
        host_came(watch, event->shmat.result, shm.shm_segsz);
    }
}

/* UCX makes a call between handlers of negative priority and ours: its errno is
 * still to be seen by the program. */
static void host_unmapped(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    const ucm_event_type_t number = UCM_EVENT_MUNMAP | UCM_EVENT_SHMDT |
                                    UCM_EVENT_BRK | UCM_EVENT_MADVISE;
    const watch_t *watch = arg;
    const int before     = errno;

    if (type == UCM_EVENT_VM_UNMAPPED) {
        watch->cb(UCX_UNMAP_BEGIN, event->vm_unmapped.address,
                  event->vm_unmapped.size, watch->arg);
    } else if (type == UCM_EVENT_MEM_TYPE_FREE) {
        /* of 1 byte at most: CUDA or ROCm did not tell UCX how much; it may be
         * anything */
        watch->cb(UCX_UNMAP_DONE,
                  (event->mem_type.size > 1) ? event->mem_type.address : NULL,
                  (event->mem_type.size > 1) ? event->mem_type.size : SIZE_MAX,
                  watch->arg);
    } else if ((type & number) ? (event->munmap.result == -1) :
                                 (event->mmap.result == MAP_FAILED)) {
        /* (results are first in the union) */
        watch->cb(UCX_UNMAP_FAIL, NULL, SIZE_MAX, watch->arg);
    } else {
        host_called(watch, type, event);
    }
    errno = before;
}

time_t ucx_host_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

/*
 * UCX tries all its hooks each time that it is told of a watch, by mapping and
 * unmapping memory; a host opens 32 domains at once. Returns flags for the new
 * watch: not again within a second.
 */
static int host_watch_flags(watch_t *watch)
{
    const watch_t *last;

    watch->installed = ucx_host_seconds();
    pthread_mutex_lock(&watches_lock);
    for (last = watches; (last != NULL) && (last->host != watch->host);
         last = last->next) {
    }
    if ((last != NULL) && (watch->installed - last->installed > 1)) {
        last = NULL;
    }
    if (last != NULL) {
        watch->installed = last->installed;
    }
    pthread_mutex_unlock(&watches_lock);
    return (last != NULL) ? UCM_EVENT_FLAG_NO_INSTALL : 0;
}

static void host_unwatch(watch_t *watch)
{
    watch->host->calls->ucm_unset_handler(HOST_UNMAP_EVENTS | HOST_CALL_EVENTS,
                                          host_unmapped, watch);
    free(watch);
}

ucs_status_t ucx_host_watch_unmap(const ucx_host_t *host, ucx_unmap_cb_t cb,
                                  void *arg)
{
    watch_t *watch;
    ucs_status_t status;

    if ((host->calls->ucm_set_handler == NULL) ||
        (host->calls->ucm_unset_handler == NULL)) {
        return UCS_ERR_UNSUPPORTED;
    }
    watch = malloc(sizeof(*watch));
    if (watch == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    watch->host = host;
    watch->cb   = cb;
    watch->arg  = arg;

    status = host->calls->ucm_set_handler(HOST_UNMAP_EVENTS |
                                                  host_watch_flags(watch),
                                          HOST_UNMAP_PRIORITY, host_unmapped,
                                          watch);
    if (status == UCS_OK) {
        status = host->calls->ucm_set_handler(HOST_CALL_EVENTS |
                                                      UCM_EVENT_FLAG_NO_INSTALL,
                                              HOST_UNMAP_PRIORITY,
                                              host_unmapped, watch);
    }
    if (status != UCS_OK) {
        host_unwatch(watch);
        return status;
    }
    pthread_mutex_lock(&watches_lock);
    watch->next = watches;
    watches     = watch;
    pthread_mutex_unlock(&watches_lock);
    return UCS_OK;
}

void ucx_host_unwatch_unmap(const ucx_host_t *host, ucx_unmap_cb_t cb,
                            void *arg)
{
    watch_t **link, *watch = NULL;

    pthread_mutex_lock(&watches_lock);
    for (link = &watches; *link != NULL; link = &(*link)->next) {
        if (((*link)->host == host) && ((*link)->cb == cb) &&
            ((*link)->arg == arg)) {
            watch = *link;
            *link = watch->next;
            break;
        }
    }
    pthread_mutex_unlock(&watches_lock);
    if (watch != NULL) {
        host_unwatch(watch);
    }
}

unsigned ucx_rails(void)
{
    static unsigned devices; /* all of this host's */
    const char *most = ucx_setting("MAX_RNDV_RAILS");
    const char *net  = ucx_setting("NET_DEVICES");
    unsigned rails, named;

    most = (most != NULL) ? most : ucx_setting("MAX_RNDV_LANES"); /* too */

    if (devices == 0) {
        devices = ucx_provider.count_rdma();
    }
    rails = ((most != NULL) && (atoi(most) > 0)) ? (unsigned)atoi(most) :
                                                   HOST_RAILS;
    rails = (devices < rails) ? devices : rails;
    if ((net != NULL) && strcasecmp(net, "all") && (*net != '^')) {
        for (named = 1; (net = strchr(net, ',')) != NULL; ++net) {
            ++named;
        }
        rails = (named < rails) ? named : rails;
    }
    return (rails > 0) ? rails : 1;
}
