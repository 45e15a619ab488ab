/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that loses its file: somebody cuts the file off, or its disk fails. An
 * access to a page that is no more raises SIGBUS, which would end the program.
 * Here it is taken for those who expect it; all other SIGBUS go where they went
 * before.
 */
#ifndef FILES_BUS_H_
#define FILES_BUS_H_

#include <stdint.h>

/* In the signal handler, of a fault of the calling thread at `at`. Nonzero: it
 * is mended, and the access is made again. May jump out (siglongjmp) once it
 * has unblocked SIGBUS. */
typedef int (*bus_cb_t)(const uint8_t *at);

/* From then on `cb` is asked, until it was released as often as it was taken.
 * There is room for two. */
void bus_take(bus_cb_t cb);
void bus_release(bus_cb_t cb);

#endif
