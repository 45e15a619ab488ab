/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a sending flow (UD): round trip, time-out, congestion window.
 *
 * Round trip and time-out are RFC 6298's; lost packets are found by time, as in
 * RFC 8985 and RFC 9002, with a wait for late packets that is learned.
 *
 * The window follows the delay, as in Swift (Kumar et al., SIGCOMM 2020): the
 * delay that a flow puts up with is the larger the smaller its window is, so
 * flows that meet the same queue come to the same window; and a window below
 * one packet is a pause between two. Swift's increase and decrease by steps is
 * replaced by a steering: each round trip the window moves in proportion to the
 * distance of the delay from the one that it puts up with. Loss shrinks the
 * window where the delay is beyond that, or where it is heavy; other loss is
 * the network's.
 *
 * A delay is taken for a queue unless the least that was seen of late is long:
 * that one may be the way's own, or a host that is slow. A flow that cannot
 * tell lets the queue drain now and then (the least is measured again), and is
 * not shrunk by delay alone below a floor as long as nothing is lost.
 * docs/RATE.md has the alternatives that were tried.
 */
#include "flow/path_priv.h"

#define PATH_NS(_ns) ((_ns) >> FLOW_STAMP_SHIFT)

enum {
    PATH_ONE     = 1 << 16,           /* a packet of a window                 */
    PATH_FIRST   = 4 * PATH_ONE,
    PATH_MOST    = FLOW_WINDOW_MAX * PATH_ONE,
    PATH_LEAST   = PATH_ONE / 8,
    PATH_SHRUNK  = 2 * PATH_ONE,      /* when nothing arrives any more        */
    PATH_SOME    = 4 * PATH_ONE,      /* no less by loss without a queue      */
    PATH_FLOOR   = 16 * PATH_ONE,     /* no less by delay without loss ...    */
    PATH_FLOOR_NEAR = 2 * PATH_ONE,   /* ... the same where a round trip was
                                         short ...                            */
    PATH_CALM    = 1024,              /* ... of so many packets for each one  */
    PATH_ROUND   = PATH_NS(50000),    /* ns of delay that all put up with ... */
    PATH_STEP    = PATH_NS(12000),    /* ... and for each halving of a window */
    PATH_LONG    = PATH_NS(200000),   /* a round trip that no queue explains  */
    PATH_TRUST   = 16,                /* round trips until it is believed     */
    PATH_TINY    = PATH_ONE / 4,      /* a window that makes no queue         */
    PATH_NOISE   = PATH_NS(16000),    /* deviation that queues have           */
    PATH_GAIN    = 16,
    PATH_EPOCH   = PATH_NS(250000000), /* the least is measured anew          */
    PATH_DRAIN   = PATH_NS(10000000), /* between two drains, and so many ...  */
    PATH_DRAINS  = 128,               /* ... round trips                      */
    PATH_BAD     = PATH_ONE / 4,      /* loss that is heavy                   */
    PATH_LOSSY   = PATH_ONE / 64,     /* loss by which a tail may be lost     */
    PATH_UNDOUBLED = 4,               /* time-outs that are no wonder then    */
    PATH_UNKNOWN = PATH_NS(250000000), /* time-out before any round trip      */
    PATH_REORDER = PATH_NS(50000),
    PATH_PAUSE   = PATH_NS(2000000)   /* and a round trip: longest pause      */
};

_Static_assert(FLOW_WINDOW_MAX <= 64, "so many packets at most change the part "
               "that is lost at a time (bad: /64, /65)");

uint32_t flow_path_random(const flow_path_t *path)
{
    uint32_t x = (path->sent ^ path->seed) * 2654435761u;

    x ^= x >> 15;
    x *= 2246822519u;
    return x >> 16;
}

void flow_path_init(flow_path_t *path, uint64_t seed, unsigned first)
{
    memset(path, 0, sizeof(*path));
    path->seed    = (uint32_t)(seed ^ (seed >> 32));
    path->window  = first * PATH_ONE;
    path->start   = 1;
    path->calm    = PATH_FLOOR / PATH_ONE * PATH_CALM;
    path->reorder = PATH_REORDER;
}

/* The delay that this window puts up with. */
static uint32_t flow_path_target(const flow_path_t *path)
{
    unsigned log      = 31u - (unsigned)__builtin_clz(path->window);
    uint32_t part     = (path->window >> (log - 8)) & 0xff;
    uint32_t halvings = (22u << 8) - (log << 8) - part; /* 64 packets: 0 */

    return ((path->known && (path->base > PATH_LONG)) ? path->base :
                                                        PATH_ROUND) +
           (halvings * PATH_STEP >> 8);
}

/* The part of a delay that comes and goes: a busy host's, not a queue's. */
static uint32_t flow_path_noise(const flow_path_t *path)
{
    return path->var + ((path->var > PATH_NOISE) ?
                                2 * (path->var - PATH_NOISE) : 0);
}

void flow_path_sample(flow_path_t *path, uint32_t rtt)
{
    uint32_t off;

    rtt             += rtt == 0;
    path->latest     = rtt;
    path->round_sum += rtt;
    ++path->round_count;
    if (path->rtt == 0) {
        path->rtt   = rtt;
        path->var   = rtt / 2;
        path->least = path->base = path->lately = rtt;
        return;
    }
    off       = (rtt > path->rtt) ? rtt - path->rtt : path->rtt - rtt;
    path->var = path->var - path->var / 4 + off / 4;
    path->rtt = path->rtt - path->rtt / 8 + rtt / 8;
    path->least  = (rtt < path->least) ? rtt : path->least;
    path->base   = (rtt < path->base) ? rtt : path->base;
    path->lately = (rtt < path->lately) ? rtt : path->lately;
}

static void flow_path_set(flow_path_t *path, int64_t window)
{
    path->window = (window > PATH_MOST)  ? PATH_MOST :
                   (window < PATH_LEAST) ? PATH_LEAST :
                                           (uint32_t)window;
}

/* Once in a round trip. */
static void flow_path_halve(flow_path_t *path, uint32_t now)
{
    path->start = 0;
    if (now - path->cut >= path->rtt) {
        path->cut = now;
        flow_path_set(path, path->window / 2);
        path->before /= 2;
    }
}

/* Below this delay alone does not shrink it. */
static int64_t flow_path_floor(const flow_path_t *path)
{
    int64_t floor = (int64_t)path->calm * (PATH_ONE / PATH_CALM), most;

    most = (path->least > PATH_ROUND) ? PATH_FLOOR : PATH_FLOOR_NEAR;
    return (floor > most) ? most : floor;
}

/* A round trip is over. used: as much was out as the window allowed, about. */
static void flow_path_steer(flow_path_t *path, int used)
{
    int64_t w     = path->window;
    int64_t floor = flow_path_floor(path);
    int64_t mean  = (path->round_count != 0) ?
                            path->round_sum / path->round_count : path->latest;
    int64_t over  = mean - flow_path_noise(path) - flow_path_target(path);
    int64_t by    = w * over / (PATH_GAIN * PATH_STEP);

    by = (by > w / 4) ? w / 4 : (by < -w / 4) ? -w / 4 : by;
    if ((by > 0) && (w - by < floor)) {
        by = (w < floor) ? -w / 4 : w - floor;
    }
    if ((by < 0) ? used : (path->round_count != 0)) {
        flow_path_set(path, w - by);
    }
}

/* Whether to let the queue drain: one packet, for three round trips. */
static void flow_path_drain(flow_path_t *path, uint32_t now)
{
    uint32_t passed;

    path->drained = (path->drained != 0) ? path->drained : now; /* not yet */
    passed        = now - path->drained;
    if ((path->least > PATH_ROUND) && (passed >= PATH_DRAIN) &&
        (passed / PATH_DRAINS >= path->rtt)) {
        path->drained = now;
        path->before  = path->window;
        path->full    = path->rtt;
        flow_path_set(path, (path->window > PATH_ONE) ? PATH_ONE :
                                                        path->window);
    }
}

/* The delay is long though the window is so small that no queue is left, or
 * though nothing overflowed for a while: it is the way's own. */
static void flow_path_learn(flow_path_t *path)
{
    path->rounds += path->rounds < PATH_TRUST;
    if (!path->known && (path->base > PATH_LONG) &&
        ((path->window <= PATH_TINY) || (path->rounds == PATH_TRUST))) {
        path->known = 1;
        path->start = 1;
        flow_path_set(path, (path->window < PATH_FIRST) ? PATH_FIRST :
                                                          path->window);
    }
}

static void flow_path_round(flow_path_t *path, int used, uint32_t now)
{
    if (path->before != 0) {
        if (now - path->drained >= 3 * path->rtt) {
            flow_path_set(path, path->before);
            path->before = 0;
            if (path->latest < path->full - path->full / 8) {
                path->calm = 0; /* the delay was a queue, and ours */
            }
        }
    } else if (!path->start) {
        flow_path_steer(path, used);
        flow_path_learn(path);
        flow_path_drain(path, now);
    }
    if (now - path->epoch >= PATH_EPOCH) {
        path->epoch  = now;
        path->base   = path->lately;
        path->lately = UINT32_MAX;
    }
    path->round       = now;
    path->round_sum   = 0;
    path->round_count = 0;
}

void flow_path_acked(flow_path_t *path, unsigned count, unsigned out,
                     uint32_t now)
{
    int used = (uint64_t)out * 2 * PATH_ONE >= path->window;

    path->reorder -= path->reorder * count / 256;
    path->bad     -= (uint16_t)(path->bad * count / 64);
    path->calm    += (path->calm < PATH_FLOOR / PATH_ONE * PATH_CALM) ?
                             (uint16_t)count : 0;
    if (path->start && (path->latest >= flow_path_target(path))) {
        path->start = 0;
    } else if (path->start && used) {
        flow_path_set(path, (int64_t)path->window + count * PATH_ONE);
    }
    if (now - path->round >= path->rtt) {
        flow_path_round(path, used, now);
    }
}

/* The window before packets that count as lost, as they may be late. */
static void flow_path_keep(flow_path_t *path, unsigned count, uint32_t now)
{
    if (now - path->cut >= path->rtt) {
        path->kept_window = path->window;
        path->kept_calm   = path->calm;
        path->suspects    = 0;
    }
    path->suspects += (uint16_t)count;
}

void flow_path_lost(flow_path_t *path, unsigned count, uint32_t now)
{
    path->bad += (uint16_t)((PATH_ONE - path->bad) * count / 65);
    flow_path_keep(path, count, now);
    if (path->latest > flow_path_target(path) + flow_path_noise(path)) {
        path->calm   = 0;
        path->rounds = 0;
        flow_path_halve(path, now);
    } else if ((path->bad > PATH_BAD) && (path->window > PATH_SOME)) {
        flow_path_halve(path, now);
    }
}

void flow_path_came_late(flow_path_t *path, unsigned count)
{
    path->suspects -= (uint16_t)((count < path->suspects) ? count :
                                                            path->suspects);
    if ((count == 0) || (path->suspects != 0) || (path->kept_window == 0)) {
        return;
    }
    if (path->window < path->kept_window) {
        path->window = path->kept_window;
    }
    if (path->calm < path->kept_calm) {
        path->calm = path->kept_calm;
    }
    path->kept_window = 0;
}

static int flow_path_is_lossy(const flow_path_t *path)
{
    return path->bad > PATH_LOSSY;
}

unsigned flow_path_doubled(const flow_path_t *path)
{
    unsigned free = (path->bad > PATH_BAD / 2) ? PATH_UNDOUBLED : 0;

    return (path->tries > free) ? path->tries - free : 0;
}

void flow_path_silent(flow_path_t *path, uint32_t now)
{
    path->silent = (path->tries == 0) ? now : path->silent;
    path->tries += path->tries < FLOW_TRIES_MAX;
    if ((flow_path_doubled(path) >= 3) && (path->window > PATH_SHRUNK)) {
        path->window = PATH_SHRUNK;
        path->start  = 0;
    }
}

int flow_path_is_dead(const flow_path_t *path, unsigned tries, uint32_t least,
                      uint32_t now)
{
    return (path->tries >= tries) && (now - path->silent >= least);
}

static uint32_t flow_path_interval(const flow_path_t *path)
{
    uint64_t pause = (uint64_t)path->rtt * PATH_ONE / path->window;

    pause = pause - pause / 8 + ((pause * flow_path_random(path)) >> 18);
    return (pause > PATH_PAUSE + path->rtt) ? PATH_PAUSE + path->rtt :
                                              (uint32_t)pause;
}

unsigned flow_path_room(const flow_path_t *path, unsigned out, uint32_t now)
{
    unsigned whole = path->window / PATH_ONE;

    if (whole > 0) {
        return (whole > out) ? whole - out : 0;
    }
    return (out == 0) && (now - path->sent >= flow_path_interval(path));
}

uint32_t flow_path_pause(const flow_path_t *path, unsigned out, uint32_t now)
{
    uint32_t pause, passed = now - path->sent;

    if ((path->window >= PATH_ONE) || (out != 0)) {
        return 0;
    }
    pause = flow_path_interval(path);
    return (passed < pause) ? pause - passed : 0;
}

/* After so long it would have come if none were overtaken. */
static uint32_t flow_path_expected(const flow_path_t *path)
{
    uint32_t rtt = (path->latest > path->rtt) ? path->latest : path->rtt;

    return rtt + rtt / 32;
}

void flow_path_overtaken(flow_path_t *path, uint32_t age)
{
    uint32_t expected = flow_path_expected(path), by;
    uint32_t most     = (path->rtt > PATH_REORDER) ? path->rtt : PATH_REORDER;

    by = (age > expected) ? age - expected : 0;
    by = (2 * by < most) ? 2 * by : most; /* its news may have been late */
    if (by > path->reorder) {
        path->reorder = by;
    }
}

uint32_t flow_path_late(const flow_path_t *path)
{
    return flow_path_expected(path) + path->reorder;
}

uint32_t flow_path_time_out(const flow_path_t *path, int again,
                            uint32_t least)
{
    if (path->rtt == 0) {
        return PATH_UNKNOWN;
    }
    if ((again && (path->tries == 0)) || flow_path_is_lossy(path)) {
        least = path->rtt / 4 + path->reorder; /* likely lost, not late */
    }
    return path->rtt + ((4 * path->var > least) ? 4 * path->var : least);
}
