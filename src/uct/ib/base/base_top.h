/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TOP_H_
#define BASE_TOP_H_

#include "base_top_look.h"

/*
 * UCX_EFA_TOP: the page of an interface that srd_info --top reads
 * (base_top_page.h). At each tick of a timer UCX's asynchronous thread looks at
 * the endpoints, under base_vfs_lock, and about once a second it writes the
 * page. A process that makes no progress is therefore visible, too, and the
 * data path has no code for it. The thread reads data while another thread
 * writes it: each number may be a moment old.
 */
typedef struct base_top {
    base_iface_t     *iface;
    int               page_fd, timer_fd;
    base_top_page_t  *page;  /* the mapped page */
    base_top_page_t   next;  /* its next contents */
    base_top_second_t second;
    base_top_bytes_t  bytes;
    flow_time_t       pace;  /* ns between two looks */
    uint64_t          posted; /* operations posted until the last look */
} base_top_t;

#define BASE_TOP_FILES 2 /* file descriptors per interface: page and timer */

/* Makes the page of an open interface, unless UCX_EFA_TOP=n. If that fails the
 * interface works without a page. */
void base_top_open(base_iface_t *iface);

/* Removes timer and page; to be called before the interface is closed. */
void base_top_close(base_iface_t *iface);

#endif
