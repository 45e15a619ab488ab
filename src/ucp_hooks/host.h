/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Services for the transports of the UCX that hosts them.
 *
 * The module links against no UCX library: every service below is a function
 * looked up in one particular libuct/libucs pair of the process, and
 * ucx_host_t holds them. There is one ucx_host_t per libuct instance; it lives
 * until the process ends, so a pointer to it never dangles. Everything a
 * provider creates (memory domain, interface, endpoint) belongs to exactly one
 * host and must use that host's functions only.
 *
 * Types come from UCX's installed public headers (uct/api/uct.h, tl.h); the
 * parts that are used here have one layout from UCX 1.13 on.
 *
 * Threads: as for the UCX function behind each service; the helpers of this
 * header keep no state of their own.
 */
#ifndef UCX_EFA_HOST_H
#define UCX_EFA_HOST_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <uct/api/uct.h>
#include <uct/api/tl.h>
#include <ucs/async/async_fwd.h>
#include <ucs/config/types.h>
#include <ucs/sys/event_set.h>
#include <ucs/sys/topo/base/topo.h>

BEGIN_C_DECLS

/* See ucx_host_watch_unmap(). */
typedef enum ucx_unmap {
    UCX_UNMAP_BEGIN, /* the range may leave, by this thread's next call */
    UCX_UNMAP_END,   /* that call is over: nothing of this range left by it */
    UCX_UNMAP_FAIL,  /* the same of this range where it is mapped still */
    UCX_UNMAP_DONE   /* whatever was in the range has gone */
} ucx_unmap_t;

typedef void (*ucx_unmap_cb_t)(ucx_unmap_t what, void *address, size_t length,
                               void *arg);

typedef struct ucx_host {
    unsigned   minor;       /* 13 for UCX 1.13.x */
    const char *uct_path;   /* file of this libuct, for messages */
    const int  *log_level;  /* UCX_LOG_LEVEL as parsed (ucs_log_level_t) */

    const char *(*status_string)(ucs_status_t status);

    /* ucs/async: with mode UCS_ASYNC_MODE_THREAD_SPINLOCK or _MUTEX, and async
     * NULL, handlers run in UCX's asynchronous thread. The id of a handler is
     * its descriptor. (UCX's timers keep that thread busy for a millisecond
     * before each expiry: a timerfd does not.) */
    ucs_status_t (*async_set_event_handler)(ucs_async_mode_t mode, int fd,
                                            ucs_event_set_types_t events,
                                            ucs_async_event_cb_t cb, void *arg,
                                            ucs_async_context_t *async);
    ucs_status_t (*async_remove_handler)(int id, int sync);

    /* uct/api: a callback on a worker's progress, safe from any thread. */
    void (*worker_progress_register)(uct_worker_h worker, ucs_callback_t cb,
                                     void *arg, unsigned flags,
                                     uct_worker_cb_id_t *id_p);
    void (*worker_progress_unregister)(uct_worker_h worker,
                                       uct_worker_cb_id_t *id_p);

    const struct ucx_calls *calls; /* for src/ucp_hooks only */
} ucx_host_t;


/*
 * Logging. Lines appear as UCX's own do, under component "EFA"; UCX_LOG_LEVEL,
 * UCX_LOG_FILE and UCX_LOG_FILE_FILTER apply. Off: one load and one compare,
 * arguments are not evaluated. One line per call, no newline at the end.
 */
void ucx_host_log(const ucx_host_t *host, const char *file, unsigned line,
                  const char *function, ucs_log_level_t level,
                  const char *format, ...)
    __attribute__((format(printf, 6, 7), cold));

/* Lines at level error or above that this module has printed in the process. */
unsigned ucx_host_error_count(void);

#define host_log_is_enabled(_host, _level) \
    __builtin_expect((int)(_level) <= *(_host)->log_level, 0)

#define host_log(_host, _level, ...) \
    do { \
        if (host_log_is_enabled(_host, _level)) { \
            ucx_host_log(_host, __FILE__, __LINE__, __func__, _level, \
                         __VA_ARGS__); \
        } \
    } while (0)

#define host_error(_host, ...) host_log(_host, UCS_LOG_LEVEL_ERROR, __VA_ARGS__)
#define host_warn(_host, ...)  host_log(_host, UCS_LOG_LEVEL_WARN, __VA_ARGS__)
#define host_info(_host, ...)  host_log(_host, UCS_LOG_LEVEL_INFO, __VA_ARGS__)
#define host_debug(_host, ...) host_log(_host, UCS_LOG_LEVEL_DEBUG, __VA_ARGS__)

/* A failed mem_reg: UCX probes and falls back when flags say HIDE_ERRORS. */
#define host_reg_level(_flags) \
    (((_flags) & UCT_MD_MEM_FLAG_HIDE_ERRORS) ? UCS_LOG_LEVEL_DIAG : \
                                                UCS_LOG_LEVEL_ERROR)

/* Transports of UCX within a host, but for those of GPUs. */
#define UCX_TLS_LOCAL "self,sm,shm,mm,posix,sysv,cma,knem,xpmem"

/*
 * Nonzero when the user asked for transport @name of ours by name: it stands in
 * the list of UCX_TLS (also as name:aux or \name), which is not a negated one
 * ("^..."). "ud" is also UCX's alias for transports of InfiniBand, and means
 * ours only where there is an EFA; "\ud" always does. Reads the environment
 * each time, and what UCX found in files; for set-up paths only.
 */
int ucx_user_asked_for(const char *name);

/*
 * Nonzero when UCX_TLS says that transport @name is not to be used: a list
 * without it, or a negated one with it, its alias counted (tls.h). In the same
 * way.
 */
int ucx_user_left_out(const ucx_host_t *host, const char *name);

/*
 * Nonzero when UCP takes its new protocols (UCX_PROTO_ENABLE, or the default of
 * this minor). As the functions above: what a program sets by
 * ucp_config_modify() is not seen.
 */
int ucx_has_new_protocols(const ucx_host_t *host);

/*
 * Bytes per second that UCP expects of memcpy() when it compares protocols: a
 * UCX_BCOPY_BW that it can parse, or what this minor has for this processor's
 * maker. Above 0. In the same way.
 */
double ucx_copy_rate(const ucx_host_t *host);

/* Devices among which UCP divides what it reads or writes, at most: by
 * UCX_MAX_RNDV_RAILS, UCX_NET_DEVICES and this host's. 1 and more. */
unsigned ucx_rails(void);

/* Zero if UCX_EFA_WARN_FALLBACK=n: no warning of another way than the best. */
int ucx_user_is_warned(void);

/*
 * Why a device or transport is absent: what happened, why, what to do next. A
 * warning if the user asked for transport @name by name, or excluded tcp and
 * has an EFA, the first time in the process; to everyone else level debug, and
 * it is kept: if UCX then takes another transport to another host, that warning
 * has it (fallback.h). @name NULL: of the transport that UCX asks for at this
 * moment, or of all of ours.
 */
void ucx_host_absent(const ucx_host_t *host, const char *file, unsigned line,
                     const char *function, const char *name,
                     const char *format, ...)
    __attribute__((format(printf, 6, 7), cold));

/* UCX is offered transport @name, and not @better, for which it was to be used
 * as well: a warning, with why, unless the user was told already or
 * UCX_EFA_WARN_FALLBACK=n. */
void ucx_host_second_best(const ucx_host_t *host, const char *name,
                          const char *better);

#define host_report_absent(_host, _name, ...) \
    ucx_host_absent(_host, __FILE__, __LINE__, __func__, _name, __VA_ARGS__)


/*
 * System device (PCI function) of UCX's topology for @bdf, "0000:00:06.0" or
 * "00:06.0". UCS_SYS_DEVICE_ID_UNKNOWN when @bdf is NULL or malformed, or when
 * UCX's table is full. @name (may be NULL) is what ucx_info shows for it.
 */
ucs_sys_device_t ucx_host_sys_device(const ucx_host_t *host, const char *bdf,
                                     const char *name);

/* Seconds of a clock that only goes on. */
time_t ucx_host_seconds(void);

/*
 * Call @cb before and after calls by which memory leaves the address space
 * (munmap, mremap, shmdt, sbrk, MADV_DONTNEED and the like), in the thread that
 * does it; and when a GPU's is freed, or other memory came to its place: a
 * cache must stop handing out registrations that touch the range. A program
 * that tells UCX by ucm_vm_munmap() makes UCX_UNMAP_BEGIN alone. @cb
 * must not allocate, free or unmap memory, and may take only locks under which
 * nobody else does.
 *   UCS_OK               events will be delivered
 *   UCS_ERR_UNSUPPORTED  libucm is absent or its hooks are off (UCX_MEM_EVENTS
 *                        =n): nothing may be cached
 *   another error        ucm's own
 */
ucs_status_t ucx_host_watch_unmap(const ucx_host_t *host, ucx_unmap_cb_t cb,
                                  void *arg);

/* Undo it, with the same @cb and @arg; not from within @cb. On return no call
 * of @cb is running, and none will. */
void ucx_host_unwatch_unmap(const ucx_host_t *host, ucx_unmap_cb_t cb,
                            void *arg);


/*
 * Files that UCX shows of its objects (VFS: ucx_vfs mounts them, and
 * ucs_vfs_path_read_file reads them in a program). @read is called at each
 * reading, in any thread: it has to find out by itself whether @object, which
 * may be on its way out, still is; its text goes to ucx_vfs_print. A file is
 * below @object until uct_iface_close or uct_ep_destroy takes that away.
 *   UCS_OK                 also when there is such a file
 *   UCS_ERR_UNSUPPORTED    this UCX has no VFS
 *   another error          UCX's own
 */
struct ucs_string_buffer;
typedef void (*ucx_vfs_read_cb_t)(void *object, struct ucs_string_buffer *text,
                                  void *arg, uint64_t number);

ucs_status_t ucx_vfs_add_file(const ucx_host_t *host, void *object,
                              const char *path, ucx_vfs_read_cb_t read,
                              void *arg, uint64_t number);

/* Appends at most 255 characters to the file that is being read. */
void ucx_vfs_print(const ucx_host_t *host, struct ucs_string_buffer *text,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));


/*
 * Statistics, which only UCX builds made with --enable-stats have, and show
 * where UCX_STATS_DEST and the like ask for it. Counters named by @cls, a node
 * called after it and @name below that of the worker in @params. @cls has
 * static life and is UCX's from now on. Returns the counters, all 0, to be
 * written at any time; NULL where there are no statistics or no memory.
 */
typedef struct ucx_stats_class {
    const char *name;
    unsigned   count;
    unsigned   id;      /* UCX's */
    const char *names[];
} ucx_stats_class_t;

uint64_t *ucx_stats_open(const ucx_host_t *host,
                         const uct_iface_params_t *params,
                         ucx_stats_class_t *cls, const char *name);

/* The counters are UCX's last word on them. @counters may be NULL. */
void ucx_stats_close(const ucx_host_t *host, uint64_t *counters);


/*
 * UCT's own numbers of every interface and endpoint, which the same builds
 * have. They lie in UCX's part of both, whose size tells of them, and are found
 * there by their names. In other builds, or where nobody asked for statistics,
 * counting does nothing.
 */
typedef enum {
    UCX_EP_AM, UCX_EP_PUT, UCX_EP_GET,
    UCX_EP_BYTES_SHORT, UCX_EP_BYTES_BCOPY, UCX_EP_BYTES_ZCOPY,
    UCX_EP_NO_RES, UCX_EP_FLUSH, UCX_EP_FLUSH_WAIT, UCX_EP_PENDING,
    UCX_EP_FENCE, UCX_EP_COUNTER_LAST
} ucx_ep_counter_t;

typedef enum {
    UCX_IFACE_RX_AM, UCX_IFACE_RX_AM_BYTES, UCX_IFACE_FLUSH,
    UCX_IFACE_FLUSH_WAIT, UCX_IFACE_FENCE, UCX_IFACE_COUNTER_LAST
} ucx_iface_counter_t;

/* Does UCX check parameters (--enable-params-check), as Debian's does? Asks by
 * @md, a domain of ours. */
int  ucx_host_checks_params(const ucx_host_t *host, uct_md_h md);

/* Nonzero in builds that have them: those are made by and for developers. */
int  ucx_host_has_counters(const ucx_host_t *host);
void ucx_ep_count(uct_ep_h ep, ucx_ep_counter_t counter, uint64_t n);
void ucx_iface_count(uct_iface_h iface, ucx_iface_counter_t counter,
                     uint64_t n);

/* The level that packets are logged at: UCX's own for them, TRACE_DATA, or in
 * builds that print nothing above DEBUG, which most users have, that one. */
ucs_log_level_t ucx_host_packet_level(const ucx_host_t *host);


/*
 * Interfaces. A transport's interface structure begins with ucx_iface_base_t,
 * its endpoint with ucx_ep_base_t. The storage is UCX's (uct_base_iface_t,
 * uct_base_ep_t); its real size is checked when the host is set up, and more
 * is reserved than any known build needs.
 */
enum {
    UCX_BASE_IFACE_ROOM = 1536, /* uct_base_iface_t is 1280, 1288 with stats */
    UCX_BASE_IFACE_AM   = 424,  /* offset of its table of AM handlers */
    UCX_BASE_EP_ROOM    = 16    /* uct_base_ep_t is 8, 16 with stats */
};

typedef struct ucx_am_handler {
    uct_am_callback_t cb;
    void              *arg;
    uint32_t          flags;
} ucx_am_handler_t;

struct ucx_iface_vops; /* provider.h */
struct ucx_md;

typedef struct ucx_iface_base {
    union {
        uct_iface_t super;
        struct {
            char             head[UCX_BASE_IFACE_AM];
            ucx_am_handler_t am[UCT_AM_ID_MAX];
        };
        char        room[UCX_BASE_IFACE_ROOM];
    };
    ucx_host_t                  *host;
    const struct ucx_iface_vops *vops;
    ucs_status_t                (*query)(uct_iface_h iface,
                                         uct_iface_attr_t *attr);
    struct ucx_use              *use; /* fallback.h */
    ucs_log_level_t              failure_level; /* UCX_*_FAILURE */
} ucx_iface_base_t;

typedef struct ucx_ep_base {
    union {
        uct_ep_t super;
        char     room[UCX_BASE_EP_ROOM];
    };
} ucx_ep_base_t;

/*
 * Construct UCX's part of an interface: to be called first in iface_open, with
 * zeroed memory. The transport's own members stand behind ucx_iface_base_t.
 *
 * @ops     the transport's public operations; copied. These must be set, or
 *          UCX asserts or calls them all the same:
 *          ep_flush ep_fence ep_destroy ep_create ep_check ep_pending_add
 *          ep_pending_purge iface_flush iface_fence iface_progress_enable
 *          iface_progress_disable iface_progress iface_close iface_query
 *          iface_get_device_address. UCX calls what capability flags announce
 *          without a check. iface_is_reachable may be NULL: vops serves it.
 * @vops    kept by reference, constant.
 * @md, @worker, @params, @config  as iface_open has them (@config is the
 *          transport's own struct, which begins with ucx_iface_config_t).
 *
 *   UCS_OK                 ucx_iface_cleanup() is owed
 *   UCS_ERR_INVALID_PARAM  UCX found @params wrong
 *   UCS_ERR_NO_MEMORY      statistics builds only
 * On error nothing is owed.
 */
ucs_status_t ucx_iface_init(ucx_iface_base_t *self, const uct_iface_ops_t *ops,
                            const struct ucx_iface_vops *vops,
                            struct ucx_md *md, uct_worker_h worker,
                            const uct_iface_params_t *params,
                            const void *config);

/* Undo it; progress must be disabled before (ucx_iface_progress_disable with
 * UCT_PROGRESS_SEND | UCT_PROGRESS_RECV). Does not free @self. */
void ucx_iface_cleanup(ucx_iface_base_t *self);

/* For iface_progress_enable/_disable of the operations table, or to be called
 * by the transport's own: add iface_progress to the worker and remove it. */
void ucx_iface_progress_enable(uct_iface_h iface, unsigned flags);
void ucx_iface_progress_disable(uct_iface_h iface, unsigned flags);

/* Zero @attr, then the members that UCX's base class knows (max_num_eps,
 * dev_num_paths): the first call of iface_query. */
void ucx_iface_attr_init(ucx_iface_base_t *self, uct_iface_attr_t *attr);

/* UCX's device API, by which kernels of a GPU use endpoints, in two forms; and
 * the part of iface_query's answer that says so of an interface that serves it,
 * with keys for memory at both ends. */
typedef enum ucx_device_api {
    UCX_DEVICE_API_NONE,
    UCX_DEVICE_API_EP,   /* 1.22.0: an endpoint names its ring */
    UCX_DEVICE_API_IFACE /* 1.22.1 and newer: it names its interface's rings */
} ucx_device_api_t;

ucx_device_api_t ucx_host_device_api(const ucx_host_t *host);

/* Whether some library in the process, or the program, calls that API to make
 * lists of remote memory. For set-up paths. */
int  ucx_host_uses_device_api(void);

void ucx_iface_attr_device(const ucx_iface_base_t *self,
                           uct_iface_attr_t *attr);

/*
 * Tell UCX that @ep failed with @status: calls the user's error handler, if
 * any. The handler may destroy @ep and any other endpoint. To be called from
 * progress only, once per endpoint.
 *   UCS_OK          the user took note
 *   @status         there is no handler: log it if nobody else will
 *   another error   the handler's own
 */
ucs_status_t ucx_iface_handle_ep_err(ucx_iface_base_t *self, uct_ep_h ep,
                                     ucs_status_t status);

/*
 * The level at which a failure with @status is to be logged, as UCX's own
 * transports have it: where nobody handled it (@handled is not UCS_OK)
 * UCS_LOG_LEVEL_FATAL, which ends the process; that of UCX_*_FAILURE where the
 * peer or the network failed; else UCS_LOG_LEVEL_ERROR.
 */
ucs_log_level_t ucx_iface_failure_level(const ucx_iface_base_t *self,
                                        ucs_status_t handled,
                                        ucs_status_t status);

/* Does UCP answer UCS_OK also where the program has no handler? It does from
 * UCX 1.21 on: a failure ends no process there. */
int ucx_host_hides_unhandled(const ucx_host_t *host);

/* The text of the user's tracer (uct_iface_set_am_tracer) for a message with
 * @id and @data, into @buffer of @max bytes; "" without a tracer. */
void ucx_iface_dump_am(ucx_iface_base_t *self, uct_am_trace_type_t type,
                       uint8_t id, const void *data, size_t length,
                       char *buffer, size_t max);

/* Construct UCX's part of an endpoint (zeroed memory). UCS_OK, or on
 * statistics builds UCS_ERR_NO_MEMORY; then nothing is owed. */
ucs_status_t ucx_ep_init(ucx_ep_base_t *ep, ucx_iface_base_t *iface);

/* Undo it: UCX forgets error callbacks queued for @ep. Does not free @ep. */
void ucx_ep_cleanup(ucx_ep_base_t *ep);


/* The message by which UCP connects an endpoint: UCP_AM_ID_WIREUP, from 1.13 on
 * (src/ucp/core/ucp_types.h); always by am_bcopy. */
#define UCX_AM_ID_WIREUP 1

/*
 * Hand a received active message to UCP. @id < UCT_AM_ID_MAX is the caller's
 * duty: it comes from a peer.
 *   UCS_OK          the buffer is the caller's again
 *   UCS_INPROGRESS  only if @flags has UCT_CB_PARAM_FLAG_DESC: UCP keeps the
 *                   descriptor and will call its uct_recv_desc_t::cb
 */
static inline ucs_status_t
ucx_iface_invoke_am(ucx_iface_base_t *self, uint8_t id, void *data,
                    unsigned length, unsigned flags)
{
    const ucx_am_handler_t *handler = &self->am[id];

    return handler->cb(handler->arg, data, length, flags);
}

/* One of @comp's operations is done. The first error sticks; the callback runs
 * at the last one and may free @comp. @comp may be NULL. */
static inline void ucx_completion_done(uct_completion_t *comp,
                                       ucs_status_t status)
{
    if (comp == NULL) {
        return;
    }
    if ((status != UCS_OK) && (comp->status == UCS_OK)) {
        comp->status = status;
    }
    if (--comp->count == 0) {
        comp->func(comp);
    }
}

static_assert(offsetof(ucx_iface_base_t, am) == UCX_BASE_IFACE_AM,
              "AM table where uct_base_iface_t has it");
static_assert(sizeof(ucx_am_handler_t) == 24, "stride of the AM table");

END_C_DECLS

#endif
