/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "message.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <util/nearest.h>

#include "abi.h"
#include "global.h"

enum { UNKNOWN_LENGTH = 64 };

/* The names that a word is compared with. */
typedef struct unknown {
    nearest_t nearest;
    char      name[UNKNOWN_LENGTH]; /* of the nearest one */
} unknown_t;

static void unknown_try(unknown_t *unknown, const char *prefix,
                        const char *name)
{
    char text[UNKNOWN_LENGTH];
    size_t cost = unknown->nearest.cost;

    snprintf(text, sizeof(text), "UCX_%s%s", prefix, name);
    nearest_try(&unknown->nearest, text);
    if (unknown->nearest.cost < cost) {
        memcpy(unknown->name, text, sizeof(text));
    }
}

static void unknown_table(unknown_t *unknown, const ucx_config_table_t *table)
{
    unsigned i;

    for (i = 0; i < table->count; ++i) {
        unknown_try(unknown, table->prefix, table->fields[i].name);
    }
}

/* The variables that UCX itself gives each transport. */
static void unknown_of_ucx(unknown_t *unknown, const ucx_calls_t *calls,
                           const char *prefix)
{
    ucx_abi_field_t field;
    unsigned n;

    for (n = 0; ucx_abi_iface_field(calls, n, &field); ++n) {
        unknown_try(unknown, prefix, field.name);
    }
}

/* A line, if the variable is none of ours. */
static void unknown_say(ucx_host_t *host, const char *variable)
{
    unknown_t unknown = {.name = ""};
    char word[UNKNOWN_LENGTH];
    unsigned i;

    snprintf(word, sizeof(word), "%.*s", (int)strcspn(variable, "="), variable);
    nearest_init(&unknown.nearest, word);
    unknown_table(&unknown, &ucx_global_table);
    unknown_table(&unknown, ucx_provider.md_config);
    for (i = 0; i < ucx_provider.transport_count; ++i) {
        unknown_table(&unknown, ucx_provider.transports[i]->config);
        unknown_of_ucx(&unknown, host->calls,
                       ucx_provider.transports[i]->config->prefix);
    }
    if (!unknown.nearest.is_same) {
        host_warn(host, "%.80s: no variable has this name, so it changes "
                  "nothing:%s%s%s man ucx-efa-srd lists all", variable,
                  unknown.name[0] ? " is " : "", unknown.name,
                  unknown.name[0] ? " meant?" : "");
    }
}

/* A line, if it is one of InfiniBand, and what an EFA has in its place. */
static void unknown_ib(ucx_host_t *host, const char *variable)
{
    const char *remedy = NULL;

    if (!strncmp(variable, "UCX_IB_SL=", 10)) {
        remedy = "set UCX_SRD_SL";
    } else if (!strncmp(variable, "UCX_IB_GID_INDEX=", 17)) {
        remedy = "unset it, as an EFA has one GID";
    } else if (!strncmp(variable, "UCX_UD_", 7) && ucx_user_asked_for("ud")) {
        remedy = "the variables of its ud begin with UCX_EFA_UD_ (man "
                 "ucx-efa-srd)";
    }
    if (remedy != NULL) {
        host_warn(host, "%.80s is for InfiniBand, and changes nothing of an "
                  "EFA: %s", variable, remedy);
    }
}

/* Warns of each UCX_SRD_* and UCX_EFA_* that nobody reads, with the name that
 * is near; where EFAs are the only RDMA devices (@is_alone) also of those of
 * InfiniBand that have another name here. */
static void unknown_variables(ucx_host_t *host, int is_alone)
{
    char **one;

    for (one = environ; *one != NULL; ++one) {
        if (!strncmp(*one, "UCX_SRD_", 8) || !strncmp(*one, "UCX_EFA_", 8)) {
            unknown_say(host, *one);
        } else if (is_alone) {
            unknown_ib(host, *one);
        }
    }
}

enum {
    ABSENCE_MAX = 512,
    NAMES_MAX   = 64,
    NET_MINOR   = 21 /* from here on UCX_NET_DEVICES may begin with ^, and name
                        a device without its port */
};

static pthread_mutex_t absence_lock = PTHREAD_MUTEX_INITIALIZER;
static char absence[ABSENCE_MAX];
static int absence_is_shown;
static int message_said;
static int message_iface_opened; /* of ours, ever */

/* The transport that UCX asks this thread for; NULL: none, or all. (__thread
 * would need more than libc.) */
static pthread_key_t subject_key;
static int subject_has_key;

static void subject_init(void)
{
    subject_has_key = pthread_key_create(&subject_key, NULL) == 0;
}

static const char *subject_get(void)
{
    return subject_has_key ? pthread_getspecific(subject_key) : NULL;
}

void ucx_message_about(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, subject_init);
    if (subject_has_key) {
        (void)pthread_setspecific(subject_key, name);
    }
}

/* Nonzero if UCX_TLS excludes tcp on a machine with an EFA: without @name UCX
 * then has no way to other hosts, fails, and does not say why. NULL: without
 * any of ours. */
static int message_is_all_there_is(const ucx_host_t *host, const char *name)
{
    const char *first = tls_excludes("tcp") ? tls_first_of_ours(host) : NULL;

    return (first != NULL) && ((name == NULL) || !strcmp(first, name)) &&
           ucx_global_warns() && ucx_provider.device_is_present();
}

/* UCX_LOG_LEVEL as UCX reads it: whole names in any case. */
static ucs_log_level_t message_log_level(void)
{
    static const char *const names[] = {
        "fatal", "error", "warn", "diag", "info", "debug", "trace", "req",
        "data", "async", "func", "poll"
    };
    const char *value = ucx_setting("LOG_LEVEL");
    unsigned i;

    for (i = 0; (value != NULL) && (i < sizeof(names) / sizeof(*names)); ++i) {
        if (!strcasecmp(value, names[i])) {
            return (ucs_log_level_t)i;
        }
    }
    return UCS_LOG_LEVEL_WARN;
}

void ucx_message_refused(const char *path, const char *why)
{
    int efa_idle          = ucx_global_warns() &&
                            ucx_provider.device_is_present();
    ucs_log_level_t level = (tls_asked_for_any() || efa_idle) ?
                            UCS_LOG_LEVEL_WARN : UCS_LOG_LEVEL_DEBUG;

    if (level <= message_log_level()) {
        fprintf(stderr, "[%d] %s libuct_srd: not used with %s: %s\n",
                (int)getpid(),
                (level == UCS_LOG_LEVEL_WARN) ? "WARN " : "DEBUG", path, why);
    }
}

int ucx_user_is_warned(void)
{
    return ucx_global_warns();
}

int ucx_message_is_first(void)
{
    return !__atomic_exchange_n(&message_said, 1, __ATOMIC_RELAXED);
}

void ucx_host_absent(const ucx_host_t *host, const char *file, unsigned line,
                     const char *function, const char *name,
                     const char *format, ...)
{
    ucs_log_level_t level = UCS_LOG_LEVEL_DEBUG;
    char text[ABSENCE_MAX];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    name = (name != NULL) ? name : subject_get();
    if (((name != NULL) ? ucx_user_asked_for(name) : tls_asked_for_any()) ||
        message_is_all_there_is(host, name)) {
        level = ucx_message_is_first() ? UCS_LOG_LEVEL_WARN :
                                         UCS_LOG_LEVEL_DIAG;
    }
    pthread_mutex_lock(&absence_lock);
    memcpy(absence, text, sizeof(absence));
    absence_is_shown = level <= UCS_LOG_LEVEL_WARN;
    pthread_mutex_unlock(&absence_lock);
    if (host_log_is_enabled(host, level)) {
        ucx_host_log(host, file, line, function, level, "%s", text);
    }
}

void ucx_message_absence(char *text, size_t max)
{
    pthread_mutex_lock(&absence_lock);
    snprintf(text, max, "%s", absence);
    pthread_mutex_unlock(&absence_lock);
}

void ucx_host_second_best(const ucx_host_t *host, const char *name,
                          const char *better)
{
    char text[ABSENCE_MAX];

    if (ucx_global_warns() && ucx_message_is_first()) {
        ucx_message_absence(text, sizeof(text));
        host_warn(host, "UCX can use %s on this EFA, but not %s, the better "
                  "one: %s", name, better, text);
    }
}

void ucx_message_iface(const ucx_host_t *host, const char *name,
                       ucs_status_t status, int is_said)
{
    static int said; /* since one was opened */
    char text[ABSENCE_MAX];
    int shown;

    if (status == UCS_OK) {
        __atomic_store_n(&message_iface_opened, 1, __ATOMIC_RELAXED);
    }
    ucx_message_absence(text, sizeof(text));
    /* (where UCX_TLS leaves it out, the caller is a program that opens all) */
    if ((status != UCS_OK) && ucx_user_left_out(host, name)) {
        return;
    }
    pthread_mutex_lock(&absence_lock);
    shown = said || is_said || absence_is_shown;
    said  = status != UCS_OK;
    pthread_mutex_unlock(&absence_lock);
    if ((status != UCS_OK) && !shown) {
        host_error(host, "an EFA interface cannot be opened, and UCX ends its "
                   "worker for that: %s; UCX_TLS=^%s goes without",
                   (text[0] != '\0') ? text : host->status_string(status),
                   name);
    }
}

/* Words on a list in which UCX takes one of these characters for a part of a
 * name. Nonzero if there are any. */
static int message_wrong_list(const char *variable, const char *list,
                              const char *wrong, const char *example,
                              char *text, size_t max)
{
    size_t at = strcspn(list, wrong);

    return (list[at] != '\0') &&
           snprintf(text, max, "%s=%.64s: UCX takes each '%c' for a part of "
                    "the name beside it, which then is none: write whole names "
                    "with commas alone between them, as in %s=%s", variable,
                    list, list[at], variable, example);
}

/* Words on a UCX_TLS of which UCX makes another thing than was meant. Nonzero
 * if there are any. */
static int message_wrong_tls(const ucx_host_t *host, unsigned devices,
                             char *text, size_t max)
{
    static const char *const others[] = {"ib", "rc", "rc_v", "rc_verbs", "rc_x",
                                         "rc_mlx5", "dc", "dc_x", "dc_mlx5"};
    const char *tls = ucx_setting("TLS"), *name = tls_in_capitals();
    unsigned i;

    if (tls == NULL) {
        return 0;
    }
    if (message_wrong_list("UCX_TLS", tls, " \t;'\"", "srd,sm,self", text,
                           max)) {
        return 1;
    }
    if (name != NULL) {
        return snprintf(text, max, "UCX_TLS=%.64s: UCX knows the names of "
                        "transports in small letters alone: write %s, as in "
                        "UCX_TLS=srd,sm,self", tls, name);
    }
    if (ucx_user_asked_for("efa")) {
        return snprintf(text, max, "UCX_TLS=%.64s: efa is no transport's name: "
                        "those of an EFA are srd and ud, as in "
                        "UCX_TLS=srd,sm,self", tls);
    }
    if ((tls_first_of_ours(host) != NULL) ||
        (ucx_provider.count_rdma() > devices)) {
        return 0;
    }
    for (i = 0; i < sizeof(others) / sizeof(*others); ++i) {
        if (ucx_user_asked_for(others[i])) {
            return snprintf(text, max, "UCX_TLS=%.64s: %s is InfiniBand's, and "
                            "this host has EFAs alone: name srd, as in "
                            "UCX_TLS=srd,sm,self", tls, others[i]);
        }
    }
    return 0;
}

/* The text behind @name in the first item of the list that names it, with a
 * port (":") or without one; NULL: none does. */
static const char *message_after(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (*list != '\0') {
        if (!strncmp(list, name, length) &&
            ((list[length] == '\0') || strspn(list + length, ":,"))) {
            return list + length;
        }
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return NULL;
}

/* The same of UCX_NET_DEVICES. */
static int message_wrong_net(const ucx_host_t *host,
                             char (*names)[UCT_MD_NAME_MAX], unsigned count,
                             char *text, size_t max)
{
    const char *list = ucx_setting("NET_DEVICES"), *port;
    char example[UCT_MD_NAME_MAX + 2];
    unsigned i;

    if ((list == NULL) || (tls_first_of_ours(host) == NULL)) {
        return 0;
    }
    snprintf(example, sizeof(example), "%.*s:1", UCT_MD_NAME_MAX - 1, names[0]);
    if (message_wrong_list("UCX_NET_DEVICES", list, " \t;'\"*?[", example, text,
                           max)) {
        return 1;
    }
    if ((*list == '^') && (host->minor < NET_MINOR)) {
        return snprintf(text, max, "UCX_NET_DEVICES=%.64s: UCX before 1.%d "
                        "takes the ^ for a part of the name: name the devices "
                        "that are to be used, as %s", list, NET_MINOR, example);
    }
    for (i = 0; i < count; ++i) {
        port = message_after(list + (*list == '^'), names[i]);
        if (port == NULL) {
            continue;
        }
        if ((*port != ':') && (host->minor < NET_MINOR)) {
            return snprintf(text, max, "UCX_NET_DEVICES=%.64s: UCX before "
                            "1.%d wants the port in the name: %s:1", list,
                            NET_MINOR, names[i]);
        }
        if ((*port == ':') && (strspn(port + 1, "023456789") > 0)) {
            return snprintf(text, max, "UCX_NET_DEVICES=%.64s: an EFA has one "
                            "port, which is 1: name %s:1", list, names[i]);
        }
    }
    return 0;
}

/* The same of both together. */
static int message_no_device(char (*names)[UCT_MD_NAME_MAX], unsigned count,
                             char *text, size_t max)
{
    const char *list = ucx_setting("NET_DEVICES");
    unsigned i;

    for (i = 0; i < count; ++i) {
        if (tls_may_use_md(names[i])) {
            return 0;
        }
    }
    return (list != NULL) && tls_asks_only_for_ours(1) &&
           snprintf(text, max, "UCX_NET_DEVICES=%.64s leaves no EFA device of "
                    "this host, and UCX_TLS=%.64s no other way to other hosts, "
                    "hence UCX finds none: name %s:1%s, or unset "
                    "UCX_NET_DEVICES", list, ucx_setting("TLS"), names[0],
                    (count > 1) ? " or another that 'srd_info' lists" : "");
}

void ucx_message_devices(ucx_host_t *host)
{
    static int asked;
    char (*names)[UCT_MD_NAME_MAX] = NULL;
    char text[ABSENCE_MAX];
    unsigned count = 0;

    if (__atomic_exchange_n(&asked, 1, __ATOMIC_RELAXED) ||
        (ucx_provider.query_mds(host, &names, &count) != UCS_OK)) {
        return;
    }
    if (count > 0) {
        unknown_variables(host, ucx_provider.count_rdma() <= count);
    }
    if ((count > 0) &&
        (message_wrong_tls(host, count, text, sizeof(text)) ||
         message_wrong_net(host, names, count, text, sizeof(text)) ||
         message_no_device(names, count, text, sizeof(text))) &&
        ucx_message_is_first()) {
        host_warn(host, "%s", text);
    }
    free(names);
}

/* The file that this address is of. */
static const char *message_file_of(const void *address)
{
    Dl_info info;

    return (dladdr(address, &info) != 0) && (info.dli_fname != NULL) ?
                   info.dli_fname : "an unknown file";
}

void ucx_message_collision(const ucx_host_t *host,
                           const ucx_collision_t *collision)
{
    static const ucx_host_t *said; /* UCX asks for the same list repeatedly */
    char names[NAMES_MAX];

    if (__atomic_exchange_n(&said, host, __ATOMIC_RELAXED) == host) {
        return;
    }
    tls_names_of_ours(NULL, " and ", names, sizeof(names));
    if (collision->is_copy) {
        host_report_absent(host, NULL,
                           "the module is loaded twice: %s serves %s, and %s "
                           "stays idle; keep one of LD_PRELOAD, "
                           "UCX_PLUGIN_PATH and the Python package",
                           message_file_of(collision->code), names,
                           message_file_of(&said));
        return;
    }
    host_report_absent(host, NULL,
                       "transport %s of this module is left out: UCX's own %s "
                       "in %s is preferred by UCX_EFA_CLAIM=n; to use this "
                       "one: unset UCX_EFA_CLAIM, on all hosts",
                       names, collision->name, host->uct_path);
}

/* Nonzero in rank 0 of an MPI job, whose lines stand for all. */
static int message_is_rank_0(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK"};
    const char *rank = NULL;
    unsigned i;

    for (i = 0; (i < sizeof(names) / sizeof(*names)) && (rank == NULL); ++i) {
        rank = getenv(names[i]);
    }
    return (rank != NULL) && !strcmp(rank, "0") &&
           (dlsym(RTLD_DEFAULT, "MPI_Init") != NULL);
}

void ucx_message_unused(void)
{
    if (__atomic_load_n(&message_iface_opened, __ATOMIC_RELAXED) ||
        !tls_asked_for_any() || !message_is_rank_0() || !ucx_global_warns() ||
        (message_log_level() < UCS_LOG_LEVEL_WARN) || !ucx_message_is_first()) {
        return;
    }
    fprintf(stderr, "[%d] WARN  libuct_srd: UCX_TLS=%s, but this MPI did not "
            "use UCX, so nothing of it went over the EFA: %s (docs/MPI.md)\n",
            (int)getpid(), ucx_setting("TLS"),
            (dlsym(RTLD_DEFAULT, "ompi_mpi_init") != NULL) ?
                    "for Open MPI add --mca pml ucx --mca pml_ucx_tls any "
                    "--mca pml_ucx_devices any" :
                    "choose UCX by its own options; it must be built with UCX");
}

void ucx_message_lost_caller(void)
{
    if (message_log_level() >= UCS_LOG_LEVEL_ERROR) {
        fprintf(stderr, "[%d] ERROR libuct_srd: uct_query_components() was "
                "called, but no libuct is loaded, probably a program that was "
                "linked to this module by mistake: load the module by "
                "LD_PRELOAD only\n", (int)getpid());
    }
}
