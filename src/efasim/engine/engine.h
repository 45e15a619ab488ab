/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: one EFA device of one process. Queues, address handles,
 * registrations, packets, statuses. Pure: memory, clock, signalling and the
 * other processes are reached through struct sim_env_ops; no system call, no
 * thread, no lock. The caller serialises all calls on one device.
 *
 * Errors are negative errno values, as the kernel's driver would return them.
 *
 * These are the headers of the engine that others use. Parts that they call
 * "engine-internal", and all other headers, are for the engine alone.
 */
#ifndef EFASIM_ENGINE_ENGINE_H
#define EFASIM_ENGINE_ENGINE_H

#include "cntr.h"
#include "cq.h"
#include "dev.h"
#include "fault.h"
#include "log.h"
#include "mr.h"
#include "pd.h"
#include "qp.h"

#endif
