/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening UCP, as tests and measurements do it. */
#ifndef TEST_APPS_UCP_OPEN_H
#define TEST_APPS_UCP_OPEN_H

#include <stdio.h>
#include <string.h>
#include <ucp/api/ucp.h>

/* A status other than UCS_OK is told, and -1 returned. */
static inline int ucp_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
        return -1;
    }
    return 0;
}

/*
 * A context with these features (UCP_FEATURE_*), configured by the environment.
 * @return what ucp_init() returns; UCS_OK: the caller ends it by ucp_cleanup().
 */
static inline ucs_status_t ucp_open(uint64_t features, ucp_context_h *context)
{
    ucp_params_t params;

    memset(&params, 0, sizeof(params));
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features   = features;
    return ucp_init(&params, NULL, context);
}

/*
 * A worker for threads as @mode says. @return what ucp_worker_create() returns;
 * UCS_OK: the caller ends it by ucp_worker_destroy().
 */
static inline ucs_status_t ucp_open_worker(ucp_context_h context,
                                           ucs_thread_mode_t mode,
                                           ucp_worker_h *worker)
{
    ucp_worker_params_t params;

    memset(&params, 0, sizeof(params));
    params.field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = mode;
    return ucp_worker_create(context, &params, worker);
}

#endif
