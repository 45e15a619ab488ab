/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding UCX among the objects the dynamic linker has loaded. All functions
 * call dl*: never under a lock of ours, since a constructor (ours included)
 * already holds the loader's.
 */
#ifndef UCX_EFA_FIND_H
#define UCX_EFA_FIND_H

#include <stddef.h>

/* One libuct. */
typedef struct ucx_found {
    void       *handle; /* from dlopen(); the finder's caller owns it */
    void       *base;   /* load address: its identity while it is loaded */
    const char *path;   /* valid as long as the handle is */
} ucx_found_t;

/*
 * Libraries called libuct... that export uct_query_components themselves, as
 * many as fit into @found[@max]; neither UCX's own modules (libuct_ib, ...) nor
 * this one. Returns their number. Where there is none this costs one walk over
 * the names of loaded objects.
 */
unsigned ucx_find_all(ucx_found_t *found, unsigned max);

/*
 * The uct_query_components() that the code at @caller would have reached had
 * ours not been in front of it, and its library. A libuct outside the caller's
 * own tree is taken only if the caller's tree has none.
 * 0, or -1: there is none (a statically linked UCX does not come by here).
 */
int ucx_find_for_caller(const void *caller, ucx_found_t *found);

/*
 * Version of the libucp that works on @uct: *major and *minor from its
 * ucp_get_version(); *path is its file, valid while it is loaded. 0, or -1: no
 * loaded libucp uses this libuct.
 */
int ucx_find_ucp_version(const ucx_found_t *uct, unsigned *major,
                         unsigned *minor, const char **path);

/*
 * Address of the data object @name as its own library in the tree of @handle
 * sees it, or NULL. That is not what dlsym() says where the main program holds
 * a copy of the object (a copy relocation), or where another library with the
 * same name came first: so the library's own relocation is read.
 */
void *ucx_find_data(void *handle, const char *name);

/* Size of the data object @name in the tree of @handle; 0: not found. */
size_t ucx_find_data_size(void *handle, const char *name);

#endif
