/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_PAGES_H
#define EFASIM_ENGINE_PAGES_H

#include <stddef.h>

/* Zeroed memory in whole pages, for posts and polls. NULL: none. */
void *sim_pages_alloc(size_t size);
void sim_pages_free(void *pages, size_t size);

#endif
