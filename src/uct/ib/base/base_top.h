/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TOP_H_
#define BASE_TOP_H_

#include "base_top_look.h"

/*
 * UCX_EFA_TOP: the page of an interface that srd_info --top reads
 * (base_top_page.h). A timer that UCX's asynchronous thread waits for has it
 * look at the endpoints, under base_vfs_lock, and write the page: so a process
 * that makes no progress shows that, too, and the data path knows nothing of
 * it. The thread reads what another one writes meanwhile; each number is of
 * about this moment.
 */
typedef struct base_top {
    base_iface_t     *iface;
    int               page_fd, timer_fd;
    base_top_page_t  *page;  /* mapped */
    base_top_page_t   next;  /* what is written into it */
    base_top_second_t second;
    base_top_bytes_t  bytes;
    flow_time_t       pace;  /* ns from look to look */
    uint64_t          posted; /* operations, until the last one */
} base_top_t;

#define BASE_TOP_FILES 2 /* descriptors of an interface */

/* Begins, where the user wants it, once the interface is open. Where there is
 * no page to be had the interface goes on without. */
void base_top_open(base_iface_t *iface);

/* Ends, before anything of the interface does. */
void base_top_close(base_iface_t *iface);

#endif
