/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A slot is the time between two drains of a flow, the phase the time since
 * its last one began, both by the receiver's clock. A slot begins with silence
 * for a round trip; then comes a ramp, in which the window fills at half of its
 * speed from a random instant on, so that packets of many flows do not meet; in
 * the rest of it, which is most, the flow sends as ever. A window of less than
 * a packet whose way is not known sends one in each ramp, which is longer.
 */
#include "flow/drain_priv.h"
#include "flow/path_priv.h"

enum {
    DRAIN_SLOT  = 1 << 17, /* stamps: 8.4 ms, shortest slot                   */
    DRAIN_MOST  = 1u << 30, /* longest: 69 s                                  */
    DRAIN_RTT   = 1u << 26, /* longest round trip that counts: 4.3 s          */
    DRAIN_WAYS  = 64,      /* a slot has so many of the way's round trips ... */
    DRAIN_FIRST = 16,      /* ... and so many until it is known, and always
                              so many of those with a queue                   */
    DRAIN_RAMP  = 2,       /* round trips of a ramp ...                       */
    DRAIN_RAMP_FIRST = 4,  /* ... of a small window, until the way is known   */
    DRAIN_IDLE  = 2,       /* round trips without a packet, or with a window
                              that was not full: no part in a queue           */
    DRAIN_WEIGHT = 4,      /* of a drain for trust ...                        */
    DRAIN_WEIGHT_SMALL = 2 /* ... of a small window: flows are many           */
};

void flow_drain_clock(flow_path_t *path, uint32_t clock, uint32_t now)
{
    path->ahead = clock - now;
    path->told  = 1;
}

static int flow_drain_is_trusted(const flow_path_t *path)
{
    return path->trust >= FLOW_DRAIN_TRUST;
}

static int flow_drain_is_small(const flow_path_t *path)
{
    return path->window < FLOW_PATH_ONE;
}

/* How long the flow is silent. */
static uint32_t flow_drain_silence(const flow_path_t *path)
{
    return (path->rtt < DRAIN_RTT) ? path->rtt : DRAIN_RTT;
}

static uint32_t flow_drain_ramp(const flow_path_t *path)
{
    return flow_drain_silence(path) *
           ((flow_drain_is_trusted(path) || !flow_drain_is_small(path)) ?
                    DRAIN_RAMP : DRAIN_RAMP_FIRST);
}

/* A power of two. */
static uint32_t flow_drain_slot(const flow_path_t *path)
{
    uint64_t ways = (uint64_t)path->base *
                    (flow_drain_is_trusted(path) ? DRAIN_WAYS : DRAIN_FIRST);
    uint64_t slot = (uint64_t)path->rtt * DRAIN_FIRST;

    slot = (slot > ways) ? slot : ways;
    return (slot <= DRAIN_SLOT) ? DRAIN_SLOT :
           (slot >= DRAIN_MOST) ? DRAIN_MOST :
           1u << (32 - __builtin_clz((uint32_t)slot - 1));
}

/* UINT32_MAX: this flow has no drains (yet). */
static uint32_t flow_drain_phase(const flow_path_t *path, uint32_t now)
{
    return (path->told && (path->rtt != 0)) ?
                   (now + path->ahead) & (flow_drain_slot(path) - 1) :
                   UINT32_MAX;
}

static int flow_drain_is_at(const flow_path_t *path, uint32_t phase)
{
    return phase < flow_drain_silence(path) + flow_drain_ramp(path);
}

int flow_drain_is_on(const flow_path_t *path, uint32_t now)
{
    return flow_drain_is_at(path, flow_drain_phase(path, now));
}

static int flow_drain_holds_at(const flow_path_t *path, uint32_t phase,
                               uint32_t now)
{
    uint32_t idle = phase + DRAIN_IDLE * flow_drain_silence(path);

    return flow_drain_is_at(path, phase) && (now - path->pressed < idle) &&
           (now - path->sent < idle);
}

/* How long our own host is silent still, that its receiving flows measure a way
 * without its queue. */
static uint32_t flow_drain_own(const flow_path_t *path, uint32_t now)
{
    uint32_t phase   = now & (DRAIN_SLOT - 1);
    uint32_t silence = flow_drain_silence(path);

    return (path->duplex && (phase < silence) &&
            (now - path->pressed < phase + DRAIN_IDLE * silence)) ?
                   silence - phase : 0;
}

int flow_drain_holds(const flow_path_t *path, uint32_t now)
{
    return flow_drain_holds_at(path, flow_drain_phase(path, now), now) ||
           (flow_drain_own(path, now) != 0);
}

int flow_drain_sample(flow_path_t *path, uint32_t rtt, uint32_t now)
{
    uint32_t phase = flow_drain_phase(path, now);

    if ((phase == UINT32_MAX) || (phase < rtt) ||
        !flow_drain_is_on(path, now - rtt)) {
        return 0;
    }
    if ((path->trust < FLOW_DRAIN_TRUST) &&
        (now - path->behind > flow_drain_silence(path) +
                                      flow_drain_ramp(path))) {
        path->trust += flow_drain_is_small(path) ? DRAIN_WEIGHT_SMALL :
                                                   DRAIN_WEIGHT;
    }
    path->behind = now;
    return 1;
}

uint32_t flow_drain_wait(const flow_path_t *path, unsigned whole, unsigned out,
                         uint32_t now)
{
    uint32_t phase = flow_drain_phase(path, now), at;
    uint32_t own   = flow_drain_own(path, now);

    if (!flow_drain_holds_at(path, phase, now)) {
        return own;
    }
    at = (uint32_t)((uint64_t)flow_drain_ramp(path) *
                    (((out + 1) << 16) - flow_path_random(path)) / whole >> 16);
    at += flow_drain_silence(path);
    at  = (at > phase) ? at - phase : 0;
    return (at > own) ? at : own;
}

uint32_t flow_drain_wait_small(const flow_path_t *path, uint32_t pause,
                               uint32_t now)
{
    uint32_t phase = flow_drain_phase(path, now);
    uint32_t ramp  = flow_drain_ramp(path), at;

    if (!flow_drain_is_at(path, phase) || (now - path->sent < phase)) {
        return pause; /* none now, or this flow has sent one in it */
    }
    at = flow_drain_silence(path) +
         (uint32_t)(((uint64_t)ramp * flow_path_random(path)) >> 16);
    at = (at > phase) ? at - phase : 0;
    return (flow_drain_is_trusted(path) && (pause > at)) ? pause : at;
}
