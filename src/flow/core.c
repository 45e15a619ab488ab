/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/core.h"
#include "flow/grant_priv.h"

void flow_params_default(flow_params_t *params)
{
    memset(params, 0, sizeof(*params));
    params->profile     = FLOW_SRD;
    params->grant       = FLOW_WINDOW_MAX;
    params->init_window = FLOW_INIT_WINDOW_MAX;
    params->rx_reserve  = 64;
    params->ctl_slots   = 256;
    params->max_linger  = FLOW_INDEX_MAX / 2;
    params->max_strangers  = FLOW_STRANGERS;
    params->stranger_bytes = 64u << 20;
    params->rnr_min     = 20000;    /* 20 us */
    params->rnr_max     = 20000000; /* 20 ms */
    params->first_window = 4;
    params->lap         = FLOW_LAP;
    params->tries       = 64;       /* 31 s by the times of UD */
    params->key[0]      = 0x9e3779b97f4a7c15ull;
    params->key[1]      = 0xff51afd7ed558ccdull;
}

void flow_params_default_ud(flow_params_t *params)
{
    flow_params_default(params);
    params->profile = FLOW_UD;
    params->rnr_min = 2000000;   /* 2 ms */
    params->rnr_max = 512000000; /* 512 ms */
}

size_t flow_core_size(const flow_params_t *params)
{
    (void)params;
    return sizeof(flow_core_t);
}

int flow_params_valid(const flow_params_t *params)
{
    return ((params->profile == FLOW_SRD) || (params->profile == FLOW_UD)) &&
           (params->tries >= 1) && (params->tries <= FLOW_TRIES_MAX) &&
           (params->first_window >= 1) &&
           (params->first_window <= FLOW_WINDOW_MAX) &&
           (params->grant >= 1) &&
           (params->grant <= FLOW_WINDOW_MAX) &&
           (params->init_window >= 1) &&
           (params->init_window <= FLOW_INIT_WINDOW_MAX) &&
           (params->self.incarnation != 0) && (params->key[0] != 0) &&
           (params->key[1] != 0) && (params->rnr_min >= 1) &&
           (params->rnr_min <= params->rnr_max) &&
           (params->rnr_max <= FLOW_BACKOFF_MAX) &&
           (params->lap >= 2) && (params->lap <= FLOW_LAP) &&
           ((params->lap & (params->lap - 1)) == 0) &&
           (params->max_linger >= 1) && (params->ctl_slots >= 4) &&
           (params->max_strangers >= 1) &&
           (params->max_strangers <= FLOW_STRANGERS);
}

static int
flow_core_fits(const void *mem, size_t size, const flow_params_t *params)
{
    return flow_params_valid(params) && (size >= flow_core_size(params)) &&
           (((uintptr_t)mem % FLOW_ALIGN) == 0);
}

flow_core_t *flow_core_init(void *mem, size_t size,
                            const flow_params_t *params)
{
    if (!flow_core_fits(mem, size, params)) {
        return NULL;
    }
    memset(mem, 0, sizeof(flow_core_t));
    return flow_core_init_zeroed(mem, size, params);
}

flow_core_t *flow_core_init_zeroed(void *mem, size_t size,
                                   const flow_params_t *params)
{
    flow_core_t *core = mem;
    unsigned level;

    if (!flow_core_fits(mem, size, params)) {
        return NULL;
    }

    core->params     = *params;
    core->timer_next = FLOW_TIME_NEVER;
    core->prefixes[0].peers = 1; /* our own network is never without room */
    memcpy(&core->prefixes[0].gid, params->self.gid, sizeof(uint64_t));
    core->ctl_open_rx = 1;
    core->ctl_open_tx = 1;
    core->parted_due = FLOW_TIME_NEVER;
    core->tick_due   = FLOW_TIME_NEVER;
    core->random     = params->seed;
    core->scarce_at  = UINT32_MAX;
    for (level = 0; level < FLOW_LEVELS; ++level) {
        core->batch[level].due = FLOW_TIME_NEVER;
    }
    return core;
}

void flow_core_rx_posted(flow_core_t *core, uint32_t count)
{
    core->params.rx_posted = count;
    flow_grant_starved_serve(core);
}

void flow_core_rx_backlog(flow_core_t *core, int more)
{
    core->backlog = more != 0;
}

void flow_core_counters(const flow_core_t *core, flow_counters_t *out)
{
    *out        = core->counters;
    out->active = core->active;
    out->owed   = (uint64_t)core->owed +
                  (uint64_t)(core->granted - core->active) * FLOW_IDLE_WINDOW;
}

void flow_core_set_user(flow_core_t *core, void *user)
{
    core->user = user;
}
