/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_verbs.h"

#include <dlfcn.h>
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
                     "%s lacks %s: rdma-core is too old, 26 or later is needed",
                     file, symbol->name);
            return -1;
        }
        *(void**)((char*)&efa_verbs_table + symbol->offset) = address;
    }

    return 0;
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

    efa_verbs_table.reg_dmabuf_mr =
            (__typeof__(efa_verbs_table.reg_dmabuf_mr))dlsym(
                    ibverbs, "ibv_reg_dmabuf_mr");
    efa_verbs_table.is_fork_initialized =
            (__typeof__(efa_verbs_table.is_fork_initialized))dlsym(
                    ibverbs, "ibv_is_fork_initialized");
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
