/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of flow_rate's tables: bounds, and peers that were there
 * before. */
#ifndef SIM_RATE_REPORT_H_
#define SIM_RATE_REPORT_H_

#include "rate.h"

namespace rate {

extern bool full, failed;

/* Print a value beside its bound; beyond it the run has failed. */
void within(const char *what, double value, double least, double most);
/* Something did not end: failed. */
void stuck(const char *what);
/* All from `first` on send host 0 64 messages each, one after the other; then
 * 5 ms of silence. */
void warm_up(World &world, unsigned first, unsigned last);

/* rate_trickle.cc: peers that send a little. */
void table_trickle();
void table_turns();
void table_pingpong();
void table_halves();
/* rate_phases.cc: all at once. */
void table_phases();
void table_fresh();

} /* namespace rate */

#endif
