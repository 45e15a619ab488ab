/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_GPU_THREAD_H_
#define SRD_GPU_THREAD_H_

#include "srd_gpu.h"

/*
 * With a thread of its own an interface goes on while UCP makes no progress, as
 * programs do whose kernels run for long. It has one from the first endpoint on
 * that is shown to kernels, or from a peer's first increment on. Then every
 * call of UCT's runs under the interface's lock, and the callbacks that UCP
 * handed in are made by UCP's own progress, without the lock: they would meet
 * UCP's state, and its locks, in a thread that it does not know.
 */

/* Operations of UCT's under the lock, in place of those in `ops`. */
void srd_gpu_thread_ops(uct_iface_ops_t *ops);

ucs_status_t srd_gpu_thread_invalidate(uct_ep_h ep);
ucs_status_t srd_gpu_thread_get_device_ep(uct_ep_h ep, void **device_ep_p);

/* An interface that was opened with err_handler NULL, or srd_gpu_thread_failed,
 * gets its lock, and is to call UCP's own. */
void srd_gpu_thread_init(srd_gpu_iface_t *iface,
                         const uct_iface_params_t *params, double idle);
ucs_status_t
srd_gpu_thread_failed(void *arg, uct_ep_h ep, ucs_status_t status);

void srd_gpu_thread_stop(srd_gpu_iface_t *iface);

#endif
