/* SPDX-License-Identifier: BSD-3-Clause */
#include "detect.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

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

/* A UCX newer than all we know has the symbols of the newest known. */
static int versions_are_newer(const versions_t *v)
{
    return v->has_ucp &&
           ((v->ucp_major > 1) || (v->ucp_minor > DETECT_NEWEST));
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

    if (versions_are_newer(v)) {
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

void ucx_detect(const ucx_found_t *uct, ucx_detected_t *detected)
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
