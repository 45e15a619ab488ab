/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "efa_verbs.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct efa_verbs_symbol {
    const char *name;
    size_t      offset; /* of the pointer in efa_verbs_t */
} efa_verbs_symbol_t;

#define EFA_VERBS_SYMBOL(_name, _symbol) \
    {#_symbol, offsetof(efa_verbs_t, _name)},

static const efa_verbs_symbol_t efa_verbs_ib_symbols[] = {
    EFA_VERBS_TABLE(EFA_VERBS_SYMBOL){NULL, 0}};

static const efa_verbs_symbol_t efa_verbs_efa_symbols[] = {
    EFA_EFADV_TABLE(EFA_VERBS_SYMBOL){NULL, 0}};

static pthread_mutex_t efa_verbs_lock = PTHREAD_MUTEX_INITIALIZER;
static efa_verbs_t     efa_verbs_table;
static int             efa_verbs_ready;

static int efa_verbs_load(void *lib, const char *file,
                          const efa_verbs_symbol_t *symbols, char *why,
                          size_t size)
{
    const efa_verbs_symbol_t *symbol;
    void                     *address;

    for (symbol = symbols; symbol->name != NULL; ++symbol) {
        address = dlsym(lib, symbol->name);
        if (address == NULL) {
            snprintf(why, size,
                     "%s lacks %s: rdma-core is too old, 44 or newer is needed",
                     file, symbol->name);
            return -1;
        }
        *(void**)((char*)&efa_verbs_table + symbol->offset) = address;
    }

    return 0;
}

/* Functions that older libraries lack. */
static void efa_verbs_load_newer(void *ibverbs, void *efa)
{
    efa_verbs_t *table = &efa_verbs_table;

    *(void**)&table->reg_dmabuf_mr = dlsym(ibverbs, "ibv_reg_dmabuf_mr");
    *(void**)&table->is_fork_initialized = dlsym(ibverbs,
                                                 "ibv_is_fork_initialized");
    *(void**)&table->query_port_speed = dlsym(ibverbs, "ibv_query_port_speed");
    *(void**)&table->efa_query_qp_wqs = dlsym(efa, "efadv_query_qp_wqs");
    *(void**)&table->efa_query_cq     = dlsym(efa, "efadv_query_cq");
}

static int efa_verbs_open(char *why, size_t size)
{
    const char *error;
    void       *ibverbs, *efa;

    ibverbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
    if (ibverbs == NULL) {
        snprintf(why, size,
                 "libibverbs cannot be opened (%s): install rdma-core "
                 "(Debian: libibverbs1)",
                 dlerror());
        return -1;
    }

    efa = dlopen("libefa.so.1", RTLD_NOW | RTLD_LOCAL);
    if (efa == NULL) {
        error = dlerror();
        /* A provider names the private version of the libibverbs it is for */
        snprintf(why, size,
                 (strstr(error, "IBVERBS_PRIVATE") != NULL) ?
                         "libefa and libibverbs do not match (%s): install "
                         "both from one rdma-core, and look for a second one "
                         "in LD_LIBRARY_PATH" :
                         "libefa cannot be opened (%s): install rdma-core's "
                         "EFA provider (Debian: ibverbs-providers)",
                 error);
        dlclose(ibverbs);
        return -1;
    }

    if ((efa_verbs_load(ibverbs, "libibverbs", efa_verbs_ib_symbols, why,
                        size) != 0) ||
        (efa_verbs_load(efa, "libefa", efa_verbs_efa_symbols, why, size) !=
         0)) {
        dlclose(efa);
        dlclose(ibverbs);
        return -1;
    }

    efa_verbs_load_newer(ibverbs, efa);
    return 0;
}

const efa_verbs_t *efa_verbs_get(char *why, size_t size)
{
    const efa_verbs_t *verbs = NULL;

    why[0] = '\0';
    pthread_mutex_lock(&efa_verbs_lock);
    if (!efa_verbs_ready && (efa_verbs_open(why, size) == 0)) {
        efa_verbs_ready = 1;
    }
    if (efa_verbs_ready) {
        verbs = &efa_verbs_table;
    }
    pthread_mutex_unlock(&efa_verbs_lock);

    return verbs;
}

enum { EFA_VERBS_OTHERS = 8 };

typedef struct efa_verbs_paths {
    unsigned count;
    char     paths[EFA_VERBS_OTHERS][256];
} efa_verbs_paths_t;

static int
efa_verbs_path_add(struct dl_phdr_info *info, size_t size, void *arg)
{
    efa_verbs_paths_t *paths = arg;
    const char        *file  = strrchr(info->dlpi_name, '/');

    (void)size;
    file = (file == NULL) ? info->dlpi_name : file + 1;
    if ((strncmp(file, "libibverbs", strlen("libibverbs")) == 0) &&
        (strlen(info->dlpi_name) < sizeof(paths->paths[0])) &&
        (paths->count < EFA_VERBS_OTHERS)) {
        strcpy(paths->paths[paths->count++], info->dlpi_name);
    }
    return 0;
}

/* Whether the libibverbs in this file is not ours and lists a device. */
static int efa_verbs_is_other(const char *path)
{
    void                *lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    efa_verbs_t          other;
    struct ibv_device  **list;
    int                  count = 0;

    if (lib == NULL) {
        return 0;
    }
    other.get_device_list  = (__typeof__(other.get_device_list))dlsym(
            lib, "ibv_get_device_list");
    other.free_device_list = (__typeof__(other.free_device_list))dlsym(
            lib, "ibv_free_device_list");
    if ((other.get_device_list != NULL) && (other.free_device_list != NULL) &&
        (other.get_device_list != efa_verbs_table.get_device_list)) {
        list = other.get_device_list(&count);
        if (list != NULL) {
            other.free_device_list(list);
        }
    }
    dlclose(lib);
    return count > 0;
}

int efa_verbs_find_other(char *path, size_t size)
{
    efa_verbs_paths_t paths = {0};
    unsigned          i;

    dl_iterate_phdr(efa_verbs_path_add, &paths);
    for (i = 0; i < paths.count; ++i) {
        if (efa_verbs_is_other(paths.paths[i])) {
            snprintf(path, size, "%s", paths.paths[i]);
            return 1;
        }
    }
    return 0;
}
