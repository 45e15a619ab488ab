/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_FABRIC_CLOCK_H
#define EFASIM_FABRIC_CLOCK_H

#include <stdint.h>

/* Nanoseconds of the monotonic clock. */
uint64_t fabric_clock(void);

#endif
