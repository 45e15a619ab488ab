/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "probe.h"

#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

enum { MESSAGE_SIZE = 4096, MESSAGE_TAG = 0x5244, MESSAGE_SECONDS = 8 };

/* The functions of UCX that are used, by dlsym(). */
#define UCX_CALLS(X) \
    X(ucp_get_version) X(ucp_config_read) X(ucp_config_release) \
    X(ucp_init_version) X(ucp_context_query) X(ucp_worker_create) \
    X(ucp_worker_get_address) X(ucp_ep_create) X(ucp_ep_print_info) \
    X(ucp_tag_send_nbx) X(ucp_tag_recv_nbx) X(ucp_worker_progress) \
    X(ucp_request_check_status) X(ucs_status_string) \
    X(uct_query_components) X(uct_component_query) X(uct_md_config_read) \
    X(uct_md_open) X(uct_md_query) X(uct_config_release)

static struct {
#define UCX_FIELD(_name) __typeof__(&_name) _name;
    UCX_CALLS(UCX_FIELD)
#undef UCX_FIELD
} ucx;

/* UCT_MD_FLAG_REG_DMABUF, which headers before UCX 1.14 have not */
#define PROBE_MD_FLAG_REG_DMABUF UCS_BIT(10)

static const char *chosen_ucp = "libucp.so.0";

typedef struct worker {
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
} worker_t;

static int module_find(struct dl_phdr_info *object, size_t size, void *arg)
{
    const char **path = arg;

    (void)size;
    if (strstr(object->dlpi_name, "/libuct_srd.so.0") == NULL) {
        return 0;
    }
    *path = object->dlpi_name;
    return 1;
}

const char *probe_ucx_module(void)
{
    const char *path = NULL;

    (void)dl_iterate_phdr(module_find, &path);
    return path;
}

void probe_ucx_choose(const char *ucp)
{
    chosen_ucp = ucp;
}

static void __attribute__((format(printf, 2, 3)))
say(const char *key, const char *format, ...)
{
    va_list ap;

    printf("%c%s ", PROBE_MARK, key);
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
}

static int failed(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        say("error", "%s: %s", what, ucx.ucs_status_string(status));
    }
    return status != UCS_OK;
}

/* 0, or -1 and an error line. */
static int ucx_open(void)
{
    static const struct {
        const char *name;
        size_t     offset;
    } symbols[] = {
#define UCX_SYMBOL(_name) {#_name, offsetof(__typeof__(ucx), _name)},
        UCX_CALLS(UCX_SYMBOL)
#undef UCX_SYMBOL
    };
    void *ucp = dlopen(chosen_ucp, RTLD_NOW | RTLD_GLOBAL);
    unsigned i, major, minor, release;
    Dl_info info;

    if (ucp == NULL) {
        say("error", "%s", dlerror());
        return -1;
    }
    for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); ++i) {
        void *symbol = dlsym(ucp, symbols[i].name);

        if (symbol == NULL) {
            say("error", "%s", dlerror());
            return -1;
        }
        memcpy((char*)&ucx + symbols[i].offset, &symbol, sizeof(symbol));
    }
    ucx.ucp_get_version(&major, &minor, &release);
    say("version", "%u.%u.%u", major, minor, release);
    if (dladdr((void*)ucx.ucp_get_version, &info) != 0) {
        say("ucp", "%s", info.dli_fname);
    }
    return 0;
}

static int worker_open(worker_t *w)
{
    ucp_params_t params               = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG | UCP_FEATURE_RMA
    };
    ucp_worker_params_t worker_params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE
    };
    ucp_ep_params_t ep_params         = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
    };
    ucp_address_t *address;
    ucp_config_t *config;
    size_t length;
    ucs_status_t status;

    if (failed(ucx.ucp_config_read(NULL, NULL, &config), "ucp_config_read")) {
        return -1;
    }
    status = ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config,
                                  &w->context);
    ucx.ucp_config_release(config);
    if (failed(status, "ucp_init") ||
        failed(ucx.ucp_worker_create(w->context, &worker_params, &w->worker),
               "ucp_worker_create") ||
        failed(ucx.ucp_worker_get_address(w->worker, &address, &length),
               "ucp_worker_get_address")) {
        return -1;
    }
    ep_params.address = address;
    return failed(ucx.ucp_ep_create(w->worker, &ep_params, &w->ep),
                  "ucp_ep_create") ? -1 : 0;
}

/* "  lane[0]:  0:srd/rdmap0s6:1.0 md[0]  -> md[0]/... rma_bw#0 am": the
 * transport and what it is for. */
static void lane_say(char *line)
{
    char *start = strstr(line, "lane["), *name, *use;

    if ((start == NULL) || ((name = strchr(start, ':')) == NULL) ||
        ((name = strchr(name + 1, ':')) == NULL)) {
        return;
    }
    ++name;
    use = strstr(line, "->");
    use = (use == NULL) ? NULL : strchr(use + 3, ' ');
    name[strcspn(name, " ")] = '\0';
    say("lane", "%s%s", name, (use == NULL) ? "" : use);
}

static void lanes_say(const worker_t *w)
{
    char *text = NULL, *line, *rest;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (stream == NULL) {
        return;
    }
    ucx.ucp_ep_print_info(w->ep, stream);
    fclose(stream);
    for (line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        lane_say(line);
    }
    free(text);
}

/* Nothing done yet is an error as well. */
static ucs_status_t request_wait(const worker_t *w, void *request, double end)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_RAW_STATUS(request);
    }
    while ((status = ucx.ucp_request_check_status(request)) ==
           UCS_INPROGRESS) {
        if (probe_seconds() > end) {
            return UCS_ERR_TIMED_OUT;
        }
        ucx.ucp_worker_progress(w->worker);
    }
    return status;
}

static void message_say(const worker_t *w)
{
    static char sent[MESSAGE_SIZE], received[MESSAGE_SIZE];
    ucp_request_param_t param = {0};
    double end                = probe_seconds() + MESSAGE_SECONDS;
    ucs_status_ptr_t send, receive;
    unsigned i;

    for (i = 0; i < MESSAGE_SIZE; ++i) {
        sent[i] = (char)(i * 7 + 1);
    }
    receive = ucx.ucp_tag_recv_nbx(w->worker, received, MESSAGE_SIZE,
                                   MESSAGE_TAG, (ucp_tag_t)-1, &param);
    send    = ucx.ucp_tag_send_nbx(w->ep, sent, MESSAGE_SIZE, MESSAGE_TAG,
                                   &param);
    if (!failed(request_wait(w, send, end), "sending") &&
        !failed(request_wait(w, receive, end), "receiving")) {
        if (memcmp(sent, received, MESSAGE_SIZE)) {
            say("error", "the message arrived changed");
        } else {
            say("message", "ok");
        }
    }
}

/* Memory types of the first domain of @component that opens, if it is ours. */
static void component_say(uct_component_h component)
{
    uct_component_attr_t attr = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
    };
    union {
        uct_md_attr_t attr;
        char          room[1024]; /* of another version's */
    } md_attr;
    uct_md_resource_desc_t mds[64];
    uct_md_config_t *config;
    unsigned i = 0;
    uint64_t types;
    uct_md_h md;

    if ((ucx.uct_component_query(component, &attr) != UCS_OK) ||
        strcmp(attr.name, "efa") || (attr.md_resource_count == 0) ||
        (attr.md_resource_count > 64)) {
        return;
    }
    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = mds;
    if ((ucx.uct_component_query(component, &attr) == UCS_OK) &&
        (ucx.uct_md_config_read(component, NULL, NULL, &config) == UCS_OK)) {
        while ((i < attr.md_resource_count) &&
               (ucx.uct_md_open(component, mds[i].md_name, config, &md) !=
                UCS_OK)) {
            ++i;
        }
        if ((i < attr.md_resource_count) &&
            (ucx.uct_md_query(md, &md_attr.attr) == UCS_OK)) {
            types = md_attr.attr.cap.reg_mem_types;
            if (md_attr.attr.cap.flags & PROBE_MD_FLAG_REG_DMABUF) {
                types |= UCS_BIT(UCS_MEMORY_TYPE_CUDA) |
                         UCS_BIT(UCS_MEMORY_TYPE_ROCM);
            }
            say("efa", "%llx", (unsigned long long)types);
        }
        ucx.uct_config_release(config);
    }
}

static void components_say(void)
{
    uct_component_h *components;
    unsigned i, count;

    if (ucx.uct_query_components(&components, &count) == UCS_OK) {
        for (i = 0; i < count; ++i) {
            component_say(components[i]);
        }
    }
}

static void types_say(const worker_t *w)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};

    if (ucx.ucp_context_query(w->context, &attr) == UCS_OK) {
        say("types", "%llx", (unsigned long long)attr.memory_types);
    }
}

void probe_ucx(const char *module, int message)
{
    worker_t w = {NULL, NULL, NULL};
    int opened;

    if ((module != NULL) &&
        (dlopen(module, RTLD_NOW | RTLD_GLOBAL) == NULL)) {
        say("error", "%s", dlerror());
        return;
    }
    if (ucx_open() != 0) {
        return;
    }
    opened = worker_open(&w) == 0;
    if (probe_ucx_module() != NULL) {
        say("plugin", "%s", probe_ucx_module());
    }
    components_say();
    if (opened) {
        types_say(&w);
        lanes_say(&w);
    }
    if (opened && message) {
        message_say(&w);
    }
}
