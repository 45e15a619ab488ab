/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "find.h"
#include "host.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
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
        !strncmp(file, names->part, strlen(names->part))) {
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
static int object_of(const void *address, void **base_p, const char **path_p)
{
    Dl_info info;

    if ((address == NULL) || !dladdr(address, &info) ||
        (info.dli_fbase == NULL) || (info.dli_fname == NULL)) {
        return -1;
    }
    *base_p = info.dli_fbase;
    *path_p = info.dli_fname;
    return 0;
}

/*
 * Fill @found from an entry point. A libuct has the function that frees the
 * answer beside it; this module, in any copy, has not.
 * 0, or -1: @entry is no libuct's.
 */
static int found_by_entry(void *entry, ucx_found_t *found)
{
    const char *path;
    void *release, *base;

    if (object_of(entry, &found->base, &found->path)) {
        return -1;
    }
    found->handle = dlopen(found->path, RTLD_LAZY | RTLD_NOLOAD);
    if (found->handle == NULL) {
        return -1;
    }
    release = dlsym(found->handle, "uct_release_component_list");
    if (object_of(release, &base, &path) || (base != found->base)) {
        dlclose(found->handle);
        return -1;
    }
    return 0;
}

static int found_contains(const ucx_found_t *found, unsigned count, void *base)
{
    unsigned i;

    for (i = 0; (i < count) && (found[i].base != base); ++i) {
    }
    return i < count;
}

unsigned ucx_find_all(ucx_found_t *found, unsigned max)
{
    names_t names = {.part = "libuct"};
    unsigned i, count = 0;
    void *handle;

    dl_iterate_phdr(names_add, &names);
    for (i = 0; (i < names.count) && (count < max); ++i) {
        if (strstr(names.paths[i], "libuct_") != NULL) {
            continue;
        }
        handle = dlopen(names.paths[i], RTLD_LAZY | RTLD_NOLOAD);
        if (handle == NULL) {
            continue;
        }
        if (found_by_entry(dlsym(handle, find_entry), &found[count]) == 0) {
            if (found_contains(found, count, found[count].base)) {
                dlclose(found[count].handle);
            } else {
                ++count;
            }
        }
        dlclose(handle);
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
    const char *path;
    void *base;

    return (object_of(entry, &base, &path) == 0) && (base == uct->base);
}

int ucx_find_ucp_version(const ucx_found_t *uct, unsigned *major,
                         unsigned *minor, const char **path)
{
    names_t names = {.part = "libucp"};
    void (*get_version)(unsigned *major, unsigned *minor, unsigned *release);
    unsigned i, release;
    int ret = -1;

    dl_iterate_phdr(names_add, &names);
    for (i = 0; (i < names.count) && (ret != 0); ++i) {
        void *handle = dlopen(names.paths[i], RTLD_LAZY | RTLD_NOLOAD);
        void *symbol, *base;

        if (handle == NULL) {
            continue;
        }
        symbol = dlsym(handle, "ucp_get_version");
        if ((object_of(symbol, &base, path) == 0) && same_uct(handle, uct)) {
            memcpy(&get_version, &symbol, sizeof(get_version));
            get_version(major, minor, &release);
            ret = 0;
        }
        dlclose(handle);
    }
    names_free(&names);
    return ret;
}

/* A value of the dynamic section; glibc has added the load address to it. */
static uintptr_t dynamic_value(const struct link_map *map, ElfW(Sxword) tag)
{
    const ElfW(Dyn) *dyn;

    for (dyn = map->l_ld; dyn->d_tag != DT_NULL; ++dyn) {
        if (dyn->d_tag == tag) {
            return dyn->d_un.d_ptr;
        }
    }
    return 0;
}

static int relocation_is_address(unsigned long type)
{
#if defined(__x86_64__)
    return (type == R_X86_64_GLOB_DAT) || (type == R_X86_64_64);
#elif defined(__aarch64__)
    return (type == R_AARCH64_GLOB_DAT) || (type == R_AARCH64_ABS64);
#else
#error "name the relocations that hold a symbol's address here"
#endif
}

void *ucx_find_data(void *handle, const char *name)
{
    void *address              = dlsym(handle, name);
    const struct link_map *map = NULL;
    const ElfW(Rela) *rela, *end;
    const ElfW(Sym) *symbols;
    const char *strings;
    Dl_info info;

    if ((address == NULL) ||
        !dladdr1(address, &info, (void**)&map, RTLD_DL_LINKMAP) ||
        (map == NULL)) {
        return address;
    }

    symbols = (const void*)dynamic_value(map, DT_SYMTAB);
    strings = (const void*)dynamic_value(map, DT_STRTAB);
    rela    = (const void*)dynamic_value(map, DT_RELA);
    if ((symbols == NULL) || (strings == NULL) || (rela == NULL)) {
        return address;
    }
    end = (const void*)((const char*)rela + dynamic_value(map, DT_RELASZ));
    for (; rela < end; ++rela) {
        if (relocation_is_address(ELF64_R_TYPE(rela->r_info)) &&
            (rela->r_addend == 0) &&
            !strcmp(strings + symbols[ELF64_R_SYM(rela->r_info)].st_name,
                    name)) {
            return *(void**)(map->l_addr + rela->r_offset);
        }
    }
    return address;
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

/* ---- who uses UCX's device API ---- */

/* The dynamic section of an object: what it wants, and what asks the loader for
 * that. */
typedef struct object {
    const ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *hash; /* GNU's */
    const ElfW(Rela) *rela[2];
    size_t rela_size[2];
} object_t;

static void object_read(const struct dl_phdr_info *info,
                        const ElfW(Dyn) *dynamic, object_t *object)
{
    memset(object, 0, sizeof(*object));
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
        /* (the loader has added the load address, but not in the vDSO) */
        ElfW(Addr) at = dynamic->d_un.d_ptr +
                        ((dynamic->d_un.d_ptr < info->dlpi_addr) ?
                         info->dlpi_addr : 0);

        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            object->symbols = (const void*)at;
            break;
        case DT_STRTAB:
            object->strings = (const void*)at;
            break;
        case DT_GNU_HASH:
            object->hash = (const void*)at;
            break;
        case DT_JMPREL:
        case DT_RELA:
            object->rela[dynamic->d_tag == DT_RELA] = (const void*)at;
            break;
        case DT_PLTRELSZ:
        case DT_RELASZ:
            object->rela_size[dynamic->d_tag == DT_RELASZ] =
                    dynamic->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static int symbol_is_wanted(const object_t *object, size_t i, const char *name)
{
    return (object->symbols[i].st_shndx == SHN_UNDEF) &&
           !strcmp(object->strings + object->symbols[i].st_name, name);
}

/* Does the object want the function from another one? Ahead of its own symbols,
 * where its GNU hash table begins, stand those that it wants. A program that
 * has none of its own has a table that begins at 1: then its relocations
 * tell. */
static int object_wants(const object_t *object, const char *name)
{
    size_t i, j;
    int wants = 0;

    if ((object->symbols == NULL) || (object->strings == NULL)) {
        return 0;
    }
    if ((object->hash != NULL) && (object->hash[1] > 1)) {
        for (i = 1; i < object->hash[1]; ++i) {
            if (symbol_is_wanted(object, i, name)) {
                return 1;
            }
        }
        return 0;
    }
    for (i = 0; i < 2; ++i) {
        for (j = 0; !wants && (object->rela[i] != NULL) &&
                    (j < object->rela_size[i] / sizeof(ElfW(Rela))); ++j) {
            wants = symbol_is_wanted(object,
                                     ELF64_R_SYM(object->rela[i][j].r_info),
                                     name);
        }
    }
    return wants;
}

/* The last answer: each device of a host asks. */
typedef struct uses {
    unsigned long long loaded, now; /* objects, ever; then and now */
    int found;
} uses_t;

static int object_uses_device_api(struct dl_phdr_info *info, size_t size,
                                  void *arg)
{
    uses_t *uses = arg;
    object_t object;
    unsigned i;

    (void)size;
    if (info->dlpi_adds == uses->loaded) {
        return uses->found; /* nothing was loaded since */
    }
    uses->now = info->dlpi_adds;
    for (i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            object_read(info, (const void*)(info->dlpi_addr +
                                            info->dlpi_phdr[i].p_vaddr),
                        &object);
            return object_wants(&object, "ucp_device_remote_mem_list_create");
        }
    }
    return 0;
}

int ucx_host_uses_device_api(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uses_t last;
    int found;

    pthread_mutex_lock(&lock);
    found       = dl_iterate_phdr(object_uses_device_api, &last);
    last.loaded = last.now;
    last.found  = found;
    pthread_mutex_unlock(&lock);
    return found;
}
