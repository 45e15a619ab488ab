/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When and where we register: every libuct of the process gets our component
 * before it is asked for its components, or a reason why not.
 *
 * Two ways lead here. Our constructor handles libraries that are loaded
 * already: that serves a libuct that the program links, and UCX's own plugin
 * loader. And uct_query_components(), which libucp calls to learn of the
 * components, is interposed under LD_PRELOAD: that serves a libuct opened
 * later, RTLD_LOCAL or not, and one whose constructor runs after ours. A needed
 * library was tried and rejected: it pulls a second libuct into processes with
 * renamed ones, and no program without UCX would start.
 *
 * Locking: one mutex guards the list of instances, and nothing that calls dl*,
 * logs or runs UCX code beyond adding to its lists happens under it. Instances
 * are never freed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "find.h"
#include "message.h"

/*
 * Which UCX minor is this libuct? Its symbols say it one way, the sizes of its
 * exported data another, and a libucp on top of it a third; they must agree. A
 * module built for one minor and loaded in another crashes, so a libuct whose
 * signs do not agree is refused. UCX_EFA_ABI overrides one thing only: that a
 * libucp newer than all we know is refused although libuct looks like the
 * newest.
 */
typedef struct ucx_detected {
    const ucx_abi_t *abi;  /* NULL: refused */
    char            why[512]; /* then: what was found and what to do */
} ucx_detected_t;

static const struct {
    unsigned        minor;
    const char      *symbol;
    int             stays;
    const ucx_abi_t *abi;
} detect_minors[] = {
#define DETECT_MINOR(_minor, _symbol, _stays) \
    {_minor, _symbol, _stays, &UCX_ABI_NAME(_minor)},
    UCX_MINORS(DETECT_MINOR)
#undef DETECT_MINOR
};

enum {
    DETECT_OLDER = 0,
    DETECT_COUNT = sizeof(detect_minors) / sizeof(detect_minors[0])
};

#define DETECT_OLDEST (detect_minors[0].minor)
#define DETECT_NEWEST (detect_minors[DETECT_COUNT - 1].minor)

/* The newest minor whose symbols are all there; DETECT_OLDER: before the first.
 * A gap in the sequence is no UCX we know: -1. */
static int detect_by_symbols(void *uct)
{
    unsigned minor = DETECT_OLDER, i;
    int ended      = 0;

    for (i = 0; i < DETECT_COUNT; ++i) {
        if (!detect_minors[i].stays) {
            continue;
        } else if (dlsym(uct, detect_minors[i].symbol) == NULL) {
            ended = 1;
        } else if (ended) {
            return -1;
        } else {
            minor = detect_minors[i].minor;
        }
    }
    for (i = 1; i < DETECT_COUNT; ++i) {
        if (!detect_minors[i].stays && (minor == detect_minors[i - 1].minor) &&
            (dlsym(uct, detect_minors[i].symbol) != NULL)) {
            return detect_minors[i].minor;
        }
    }
    return minor;
}

static void __attribute__((format(printf, 2, 3)))
detect_refuse(ucx_detected_t *detected, const char *format, ...)
{
    va_list ap;

    detected->abi = NULL;
    va_start(ap, format);
    vsnprintf(detected->why, sizeof(detected->why), format, ap);
    va_end(ap);
}

static const ucx_abi_t *detect_abi(int minor)
{
    unsigned i;

    for (i = 0; i < DETECT_COUNT; ++i) {
        if ((int)detect_minors[i].minor == minor) {
            return detect_minors[i].abi;
        }
    }
    return NULL;
}

/* The data of this libuct must be as large as the minor has it. */
static void detect_check_sizes(const ucx_found_t *uct, ucx_detected_t *detected)
{
    const ucx_abi_t *abi = detected->abi;
    const struct {
        const char *name;
        size_t     size;
    } checks[] = {
        {"uct_tcp_tl", abi->tl_size},
        {"uct_tcp_component", abi->component_size},
        {"uct_md_config_table", abi->config_field_size},
    };
    unsigned i;

    for (i = 0; i < sizeof(checks) / sizeof(checks[0]); ++i) {
        size_t size = ucx_find_data_size(uct->handle, checks[i].name);

        if (size != checks[i].size) {
            detect_refuse(detected,
                          "looks like UCX 1.%u, but %s has %zu bytes where "
                          "1.%u has %zu, probably a modified build: use a "
                          "release build of UCX", abi->minor, checks[i].name,
                          size, abi->minor, checks[i].size);
            return;
        }
    }
}

/* The version that libucp tells, if there is one, beside libuct's symbols. */
typedef struct versions {
    int      minor; /* by symbols */
    int      has_ucp;
    unsigned ucp_major, ucp_minor;
    const char *ucp_path;
    char     supported[32]; /* a range of minors */
} versions_t;

static int versions_refuse_older(const versions_t *v, ucx_detected_t *detected)
{
    if (v->has_ucp && (v->ucp_minor >= DETECT_OLDEST)) {
        detect_refuse(detected,
                      "it is older than UCX 1.%u, and %s says UCX %u.%u: two "
                      "installations are mixed: look at LD_LIBRARY_PATH",
                      DETECT_OLDEST, v->ucp_path, v->ucp_major, v->ucp_minor);
    } else if (v->has_ucp) {
        detect_refuse(detected,
                      "UCX %u.%u is too old (supported: UCX %s): update UCX",
                      v->ucp_major, v->ucp_minor, v->supported);
    } else {
        detect_refuse(detected,
                      "UCX older than 1.%u (supported: UCX %s): update UCX",
                      DETECT_OLDEST, v->supported);
    }
    return 1;
}

/* 0 if UCX_EFA_ABI names the version that this newer UCX looks like. */
static int versions_refuse_newer(const versions_t *v, ucx_detected_t *detected)
{
    const char *text;
    int abi = ucx_global_abi(&text);

    if (detect_abi(v->minor) == NULL) {
        detect_refuse(detected,
                      "UCX %u.%u is newer than what this module knows (UCX "
                      "%s), and looks like none of these: update the module, "
                      "or use an older UCX", v->ucp_major, v->ucp_minor,
                      v->supported);
    } else if (abi == v->minor) {
        return 0;
    } else if (abi != 0) {
        detect_refuse(detected,
                      "UCX %u.%u is newer than what this module knows, and "
                      "UCX_EFA_ABI=%.32s is not the version it looks like: "
                      "1.%d is allowed", v->ucp_major, v->ucp_minor, text,
                      v->minor);
    } else {
        detect_refuse(detected,
                      "UCX %u.%u is newer than what this module knows (UCX "
                      "%s): update the module, or use an older UCX; "
                      "UCX_EFA_ABI=1.%d tries it nevertheless, at your own "
                      "risk", v->ucp_major, v->ucp_minor, v->supported,
                      v->minor);
    }
    return 1;
}

/* Nonzero if the versions do not go together, or are none we drive. */
static int versions_refuse(const versions_t *v, ucx_detected_t *detected)
{
    const char *text;

    /* a UCX newer than all we know has the symbols of the newest known */
    if (v->has_ucp && ((v->ucp_major > 1) || (v->ucp_minor > DETECT_NEWEST))) {
        return versions_refuse_newer(v, detected);
    } else if (ucx_global_abi(&text) < 0) {
        detect_refuse(detected,
                      "UCX_EFA_ABI=%.32s: allowed is a version of UCX such as "
                      "1.%d, and this UCX needs none: unset it", text,
                      DETECT_NEWEST);
    } else if (v->minor < 0) {
        detect_refuse(detected,
                      "the exported symbols match no UCX release, probably a "
                      "development build: use UCX %s", v->supported);
    } else if (v->minor == DETECT_OLDER) {
        return versions_refuse_older(v, detected);
    } else if (v->has_ucp && ((int)v->ucp_minor != v->minor)) {
        detect_refuse(detected,
                      "its symbols say UCX 1.%d, and %s says UCX %u.%u: two "
                      "installations are mixed: look at LD_LIBRARY_PATH",
                      v->minor, v->ucp_path, v->ucp_major, v->ucp_minor);
    } else {
        return 0;
    }
    return 1;
}

/* Calls dl*. Fills @detected. */
static void ucx_detect(const ucx_found_t *uct, ucx_detected_t *detected)
{
    versions_t v = {0};

    snprintf(v.supported, sizeof(v.supported), "1.%u to 1.%u", DETECT_OLDEST,
             DETECT_NEWEST);
    v.has_ucp = ucx_find_ucp_version(uct, &v.ucp_major, &v.ucp_minor,
                                     &v.ucp_path) == 0;
    v.minor   = detect_by_symbols(uct->handle);

    if (!versions_refuse(&v, detected)) {
        detected->abi    = detect_abi(v.minor);
        detected->why[0] = '\0';
        detect_check_sizes(uct, detected);
    }
}

enum { INSTANCES_SEEN_MAX = 16 }; /* of libuct at once, by the constructor */

typedef struct instance {
    struct instance *next;
    void            *base; /* load address of libuct */
    char            *path;
    int             refused;  /* no UCX that we drive */
    ucx_host_t      host;
    ucx_calls_t     calls;
    ucx_tables_t    *tables;
} instance_t;

static pthread_mutex_t instances_lock = PTHREAD_MUTEX_INITIALIZER;
static instance_t *instances;

/* A refused libuct is not pinned, so another file may come to its address. */
static instance_t *instance_find_locked(const ucx_found_t *found)
{
    instance_t *it;

    for (it = instances; it != NULL; it = it->next) {
        if ((it->base == found->base) && !strcmp(it->path, found->path)) {
            return it;
        }
    }
    return NULL;
}

static instance_t *instance_find(const ucx_found_t *found)
{
    instance_t *it;

    pthread_mutex_lock(&instances_lock);
    it = instance_find_locked(found);
    pthread_mutex_unlock(&instances_lock);
    return it;
}

static void instance_free(instance_t *it)
{
    if (it->tables != NULL) {
        it->calls.abi->tables_free(it->tables, &it->calls.global);
    }
    free(it->path);
    free(it);
}

static void instance_refuse(instance_t *it, char *why, size_t max,
                            const char *what, const char *name)
{
    it->refused = 1;
    snprintf(why, max, "%s%s", what, name);
}

/* The layouts we rely on, read from this very libuct. */
static int instance_layout_is_known(const instance_t *it)
{
    const ucx_calls_t *calls = &it->calls;

    return (calls->iface_class->size <= UCX_BASE_IFACE_ROOM) &&
           (calls->iface_class->size >= sizeof(uct_iface_t)) &&
           (calls->ep_class->size <= UCX_BASE_EP_ROOM) &&
           (calls->ep_class->size >= sizeof(uct_ep_t)) &&
           !strncmp(calls->global_opts->name, "UCX", sizeof("UCX"));
}

/* All that needs dl*: look everything up, build the tables. */
static void instance_prepare(instance_t *it, const ucx_found_t *found,
                             char *why, size_t max)
{
    ucx_detected_t detected;
    const char *missing;

    ucx_detect(found, &detected);
    if (detected.abi == NULL) {
        instance_refuse(it, why, max, detected.why, "");
        return;
    }

    it->calls.abi     = detected.abi;
    it->host.minor    = detected.abi->minor;
    it->host.uct_path = it->path;
    missing = ucx_calls_resolve(&it->calls, &it->host, found->handle);
    if (missing != NULL) {
        instance_refuse(it, why, max, "probably a stripped or modified build: "
                        "missing symbol ", missing);
        return;
    }
    if (!instance_layout_is_known(it)) {
        instance_refuse(it, why, max, "probably a modified build: the base "
                        "classes have an unknown size", "");
        return;
    }

    it->tables = detected.abi->tables_build(&it->host, &missing);
    if (it->tables == NULL) {
        instance_refuse(it, why, max,
                        (missing != NULL) ? "missing configuration parser " :
                        "out of memory", (missing != NULL) ? missing : "");
        return;
    }
    it->calls.component = it->tables; /* its first member */
    detected.abi->tables_parse(&it->host, it->tables, &it->calls.global);
}

/* Link @it into the list and, if it is not refused, into UCX. 0, or -1 if
 * another thread was first. */
static int instance_add(instance_t *it, const ucx_found_t *found)
{
    int ret = -1, declined;

    pthread_mutex_lock(&instances_lock);
    if (instance_find_locked(found) == NULL) {
        it->next  = instances;
        instances = it;
        if (!it->refused) {
            declined = ucx_collision_find(&it->host).name != NULL;
            it->calls.abi->tables_register(&it->host, it->tables, declined);
        }
        ret = 0;
    }
    pthread_mutex_unlock(&instances_lock);
    return ret;
}

/* Takes over found->handle. */
static void instance_attach(const ucx_found_t *found)
{
    char why[640] = "";
    instance_t *it;
    int kept, close;

    if (instance_find(found) != NULL) {
        dlclose(found->handle);
        return;
    }

    it = calloc(1, sizeof(*it));
    if ((it == NULL) || ((it->path = strdup(found->path)) == NULL)) {
        free(it);
        dlclose(found->handle);
        return; /* not remembered: the next call tries again */
    }
    it->base = found->base;
    instance_prepare(it, found, why, sizeof(why));

    kept = instance_add(it, found) == 0;
    if (kept && it->refused) {
        ucx_message_refused(found->path, why);
    } else if (kept) {
        apart_attach(&it->host);
        /* before this UCX loads its modules: one that has an srd of its own
         * opens libefa for the libibverbs that it knows, in a wheel not the
         * system's */
        if (it->calls.global.claim != UCS_NO) {
            ucx_provider.open_libraries();
        }
        (void)ucx_components_intercept(&it->host);
    }
    close = !kept || it->refused;
    if (!kept) {
        instance_free(it);
    }
    if (close) {
        dlclose(found->handle); /* only a libuct that has our tables is kept */
    }
}

/* A libuct whose constructor has not run has no component yet: it cannot take
 * ours before its own list is set up, so it waits for the interposed call. */
static int uct_is_constructed(const ucx_found_t *found)
{
    const ucs_list_link_t *list = ucx_find_data(found->handle,
                                                "uct_components_list");

    return (list == NULL) || (list->next != list);
}

static pid_t hooks_pid;

static void __attribute__((destructor)) hooks_fini(void)
{
    if (hooks_pid == getpid()) { /* no child that was forked */
        ucx_message_unused();
    }
}

static void __attribute__((constructor)) hooks_init(void)
{
    ucx_found_t found[INSTANCES_SEEN_MAX];
    unsigned i, count = ucx_find_all(found, INSTANCES_SEEN_MAX);

    hooks_pid = getpid();
    for (i = 0; i < count; ++i) {
        if (uct_is_constructed(&found[i])) {
            instance_attach(&found[i]);
        } else {
            dlclose(found[i].handle);
        }
    }
}

/*
 * The one exported function, in front of UCX's of the same name. As the real
 * one, with our component in the list.
 */
__attribute__((visibility("default")))
ucs_status_t uct_query_components(uct_component_h **components_p,
                                  unsigned *num_components_p)
{
    ucs_status_t (*real)(uct_component_h **components_p,
                         unsigned *num_components_p);
    ucx_found_t found;
    instance_t *it;
    ucs_status_t status;
    void *entry;

    if (ucx_find_for_caller(__builtin_return_address(0), &found)) {
        ucx_message_lost_caller();
        return UCS_ERR_NO_ELEM;
    }

    /* Stays valid: the caller's tree holds this libuct. */
    entry = dlsym(found.handle, "uct_query_components");
    memcpy(&real, &entry, sizeof(real));
    instance_attach(&found);
    status = real(components_p, num_components_p);

    /* UCX has loaded its modules meanwhile. found.path outlived the handle. */
    it = (status == UCS_OK) ? instance_find(&found) : NULL;
    if ((it != NULL) && !it->refused) {
        (void)ucx_components_intercept(&it->host);
    }
    return status;
}
