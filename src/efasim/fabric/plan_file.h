/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_FABRIC_PLAN_FILE_H
#define EFASIM_FABRIC_PLAN_FILE_H

#include "efasim/engine/plan.h"

/*
 * Read a plan from a file. Returns it (free() it), or NULL with one line in
 * `err` that names the file, the line, and what is allowed there.
 */
struct sim_plan *fabric_plan_file_read(const char *file, char *err,
                                       size_t err_size);

#endif
