/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * path.c, for the core alone: a UD sending flow's knowledge of the way to its
 * receiver. Functions of one record; times are stamps.
 */
#ifndef FLOW_PATH_PRIV_H_
#define FLOW_PATH_PRIV_H_

#include "flow/state_priv.h"

/* A packet of flow_path_t.window. */
#define FLOW_PATH_ONE (1 << 16)

/* Messages of the other direction that count as one where flows are told how
 * much others send: acknowledgements stand in queues behind them. */
#define FLOW_PATH_OTHER_WAY 16

/* A stamp is a time in units of 2^FLOW_STAMP_SHIFT ns, in 32 bits that wrap:
 * two that are compared are less than two minutes apart. */
static inline uint32_t flow_path_stamp(flow_time_t time)
{
    return (uint32_t)(time >> FLOW_STAMP_SHIFT);
}

static inline flow_time_t flow_path_ns(uint32_t stamps)
{
    return (flow_time_t)stamps << FLOW_STAMP_SHIFT;
}

/* Was the packet psn, sent last at `sent`, sent before the newest that
 * arrived? */
static inline int flow_path_is_older(const flow_path_t *path, uint32_t sent,
                                     flow_psn_t psn)
{
    return ((int32_t)(sent - path->newest) < 0) ||
           ((sent == path->newest) && flow_psn_lt(psn, path->newest_psn));
}

/* Nothing is known, the window has so many packets, and psn is the first one.
 * Other seeds have other pauses. */
void flow_path_init(flow_path_t *path, uint64_t seed, unsigned first,
                    flow_psn_t psn);
/* 0 .. 2^16 - 1, another number after each packet that is sent. */
static inline uint32_t flow_path_random(const flow_path_t *path)
{
    uint32_t x = (path->sent ^ path->seed) * 2654435761u;

    x ^= x >> 15;
    x *= 2246822519u;
    return x >> 16;
}

/* An acknowledgement tells the receiver's clock, 0 by one that knows of none,
 * how many messages of all senders it has delivered, and which it has not
 * received of this one. local: what of that kind goes through our own host, all
 * that this function returned included. Returns how many more of this flow it
 * has received. */
unsigned flow_path_told(flow_path_t *path, uint32_t clock, uint16_t heard,
                        flow_psn_t ack, uint16_t local, uint32_t now);
/* A round trip took so long. */
void flow_path_sample(flow_path_t *path, uint32_t rtt, uint32_t now);
/* One that was overtaken arrived so long after it had been sent. */
void flow_path_overtaken(flow_path_t *path, uint32_t age);
/* `count` packets were acknowledged; out: how many had been out. */
void flow_path_acked(flow_path_t *path, unsigned count, unsigned out,
                     uint32_t now);
/* `count` packets count as lost. */
void flow_path_lost(flow_path_t *path, unsigned count, uint32_t now);
/* `count` of those arrived after all. When all did, the window is as before
 * (RFC 4015: a response to spurious time-outs). */
void flow_path_came_late(flow_path_t *path, unsigned count);
/* Nothing was acknowledged for one more time-out. */
void flow_path_silent(flow_path_t *path, uint32_t now);
/* That was so for so many, and for so long. */
int flow_path_is_dead(const flow_path_t *path, unsigned tries, uint32_t least,
                      uint32_t now);

/* How many packets may be sent now while so many are out. */
unsigned flow_path_room(const flow_path_t *path, unsigned out, uint32_t now);
/* How long until that grows by itself; 0: it does not. */
uint32_t flow_path_pause(const flow_path_t *path, unsigned out, uint32_t now);
/* A packet that was sent so long ago, and before one that arrived, is lost. */
uint32_t flow_path_late(const flow_path_t *path);
/* How often the time-out was doubled since something was acknowledged. */
unsigned flow_path_doubled(const flow_path_t *path);
/* How long nothing need arrive after a packet was sent: at least `least` more
 * than a round trip, unless the oldest that is out was sent again already. */
uint32_t flow_path_time_out(const flow_path_t *path, int again,
                            uint32_t least);

#endif
