#define _GNU_SOURCE
#include "find.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char find_entry[] = "uct_query_components";

enum { FIND_NAMES_MAX = 64 };

typedef struct names {
    const char *part; /* wanted in the file name */
    unsigned   count;
    char       *paths[FIND_NAMES_MAX];
} names_t;

static int names_add(struct dl_phdr_info *info, size_t size, void *arg)
{
    names_t *names   = arg;
    const char *path = info->dlpi_name;
    const char *file = strrchr(path, '/');

    (void)size;
    file = (file != NULL) ? file + 1 : path;
    if ((names->count < FIND_NAMES_MAX) && (*path != '\0') &&
        (strstr(file, names->part) == file)) {
        names->paths[names->count] = strdup(path);
        names->count              += names->paths[names->count] != NULL;
    }
    return 0;
}

static void names_free(names_t *names)
{
    while (names->count > 0) {
        free(names->paths[--names->count]);
    }
}

/* Load address and path of the object that @address lies in. */
static int object_of(const void *address, void **base_p, char *path,
                     size_t max)
{
    Dl_info info;

    if (!dladdr(address, &info) || (info.dli_fbase == NULL)) {
        return -1;
    }
    *base_p = info.dli_fbase;
    snprintf(path, max, "%s", (info.dli_fname != NULL) ? info.dli_fname : "");
    return 0;
}

static void *own_base(void)
{
    void *base = NULL;
    char path[2];

    (void)object_of(find_entry, &base, path, sizeof(path));
    return base;
}

unsigned ucx_find_all(ucx_found_t *found, unsigned max)
{
    names_t names = {.part = "libuct"};
    unsigned i, j, count = 0;

    dl_iterate_phdr(names_add, &names);
    for (i = 0; (i < names.count) && (count < max); ++i) {
        ucx_found_t *f = &found[count];
        void *entry;

        if (strstr(names.paths[i], "libuct_") != NULL) {
            continue;
        }
        f->handle = dlopen(names.paths[i], RTLD_LAZY | RTLD_NOLOAD);
        if (f->handle == NULL) {
            continue;
        }
        entry = dlsym(f->handle, find_entry);
        if ((entry == NULL) ||
            object_of(entry, &f->base, f->path, sizeof(f->path)) ||
            (f->base == own_base())) {
            dlclose(f->handle);
            continue;
        }
        for (j = 0; (j < count) && (found[j].base != f->base); ++j) {
        }
        if (j < count) {
            dlclose(f->handle);
            continue;
        }
        ++count;
    }
    names_free(&names);
    return count;
}

/* The entry point as the object of @caller sees it without us, or NULL. */
static void *entry_of_caller(const void *caller)
{
    struct link_map *map = NULL;
    void *handle, *entry;
    Dl_info info;

    if (!dladdr1(caller, &info, (void**)&map, RTLD_DL_LINKMAP) ||
        (map == NULL) || (map->l_name == NULL) || (*map->l_name == '\0')) {
        return NULL; /* the main program: its scope is the global one */
    }
    handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) {
        return NULL;
    }
    entry = dlsym(handle, find_entry);
    dlclose(handle);
    return entry;
}

static int found_by_entry(void *entry, ucx_found_t *found)
{
    if ((entry == NULL) ||
        object_of(entry, &found->base, found->path, sizeof(found->path)) ||
        (found->base == own_base())) {
        return -1;
    }
    found->handle = dlopen(found->path, RTLD_LAZY | RTLD_NOLOAD);
    return (found->handle == NULL) ? -1 : 0;
}

int ucx_find_for_caller(const void *caller, ucx_found_t *found)
{
    if (found_by_entry(entry_of_caller(caller), found) == 0) {
        return 0;
    }
    if (found_by_entry(dlsym(RTLD_NEXT, find_entry), found) == 0) {
        return 0;
    }
    return (ucx_find_all(found, 1) == 1) ? 0 : -1;
}

static int same_uct(void *handle, const ucx_found_t *uct)
{
    void *entry = dlsym(handle, find_entry);
    void *base;
    char path[2];

    return (entry != NULL) &&
           (object_of(entry, &base, path, sizeof(path)) == 0) &&
           (base == uct->base);
}

int ucx_find_ucp_version(const ucx_found_t *uct, unsigned *major,
                         unsigned *minor)
{
    names_t names = {.part = "libucp"};
    void (*get_version)(unsigned *major, unsigned *minor, unsigned *release);
    unsigned i, release;
    int ret = -1;

    dl_iterate_phdr(names_add, &names);
    for (i = 0; (i < names.count) && (ret != 0); ++i) {
        void *handle = dlopen(names.paths[i], RTLD_LAZY | RTLD_NOLOAD);
        void *symbol;

        if (handle == NULL) {
            continue;
        }
        symbol = dlsym(handle, "ucp_get_version");
        if ((symbol != NULL) && same_uct(handle, uct)) {
            memcpy(&get_version, &symbol, sizeof(get_version));
            get_version(major, minor, &release);
            ret = 0;
        }
        dlclose(handle);
    }
    names_free(&names);
    return ret;
}

size_t ucx_find_data_size(void *handle, const char *name)
{
    void *address         = dlsym(handle, name);
    const ElfW(Sym) *sym  = NULL;
    Dl_info info;

    if ((address == NULL) ||
        !dladdr1(address, &info, (void**)&sym, RTLD_DL_SYMENT) ||
        (sym == NULL) || (info.dli_saddr != address)) {
        return 0;
    }
    return sym->st_size;
}
