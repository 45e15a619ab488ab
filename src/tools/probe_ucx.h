/* SPDX-License-Identifier: BSD-3-Clause */
/* The child of probe.c: a UCP program of a few calls, which opens UCX at run
 * time so that srd_info starts without one. */
#ifndef SRD_INFO_PROBE_UCX_H_
#define SRD_INFO_PROBE_UCX_H_

#define PROBE_MARK '\001'

/* Prints lines MARK KEY SPACE VALUE to stdout: version, ucp, plugin, srd,
 * types, lane, message, error; see probe_t. */
void probe_ucx(const char *module, int message);

/* The file of libucp that probes open from here on, kept by the caller; at
 * first the one that the loader finds. */
void probe_ucx_choose(const char *ucp);

/* The module's path if it is in this process, else NULL. */
const char *probe_ucx_module(void);

#endif
