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
 * A delay is taken for a queue until the way itself has been measured, behind
 * drains (drain.c), or is so long that no queue explains it. A flow that is
 * alone at its receiver and its host is not shrunk by delay below a floor while
 * nothing is lost.
 * DESIGN.md decision 19 has the alternatives that were tried.
 */
#include "flow/drain_priv.h"
#include "flow/path_priv.h"

#define PATH_NS(_ns) ((_ns) >> FLOW_STAMP_SHIFT)

enum {
    PATH_ONE     = FLOW_PATH_ONE,
    PATH_FIRST   = 4 * PATH_ONE,
    PATH_MOST    = FLOW_WINDOW_MAX * PATH_ONE,
    PATH_LEAST   = PATH_ONE / 8,
    PATH_SHRUNK  = 2 * PATH_ONE,      /* when nothing arrives any more        */
    PATH_SOME    = 4 * PATH_ONE,      /* no less by loss without a queue      */
    PATH_FLOOR   = 16 * PATH_ONE,     /* no less by delay alone ...           */
    PATH_SHARE   = 256,               /* ... of one that has all of these     */
    PATH_ALL     = UINT16_MAX / 2,    /* counted at a time                    */
    PATH_CALM    = 1024,              /* ... and one for so many since a loss */
    PATH_NEAR    = PATH_NS(20000),    /* a way that is not known, or no longer
                                         than this: so long                   */
    PATH_USUAL   = PATH_NS(60000),
    PATH_ROUND   = PATH_NS(50000),    /* ns of delay that all put up with ... */
    PATH_STEP    = PATH_NS(12000),    /* ... and for each halving of a window */
    PATH_LONG    = PATH_NS(4900000),  /* a round trip that no queue explains  */
    PATH_TRUST   = 16,                /* round trips until it is believed     */
    PATH_NOISE   = PATH_NS(16000),    /* deviation that queues have           */
    PATH_GAIN    = 16,
    PATH_EPOCH   = PATH_NS(250000000), /* the least is measured anew          */
    PATH_BAD     = PATH_ONE / 4,      /* loss that is heavy                   */
    PATH_LOSSY   = PATH_ONE / 64,     /* loss by which a tail may be lost     */
    PATH_UNDOUBLED = 4,               /* time-outs that are no wonder then    */
    PATH_UNKNOWN = PATH_NS(250000000), /* time-out before any round trip      */
    PATH_REORDER = PATH_NS(50000),
    PATH_PAUSE   = PATH_NS(2000000)   /* and a round trip: longest pause      */
};

_Static_assert(FLOW_WINDOW_MAX <= 64, "so many packets at most change the part "
               "that is lost at a time (bad: /64, /65)");

void flow_path_init(flow_path_t *path, uint64_t seed, unsigned first,
                    flow_psn_t psn)
{
    memset(path, 0, sizeof(*path));
    path->seed     = (uint32_t)(seed ^ (seed >> 32));
    path->window   = first * PATH_ONE;
    path->start    = 1;
    path->in_order = path->spoke_psn = psn;
    path->calm     = PATH_FLOOR / PATH_ONE * PATH_CALM;
    path->reorder  = PATH_REORDER;
}

/* The way's round trip. A short one counts as the usual one, so that errors of
 * the measurement do not tell flows apart. */
static uint32_t flow_path_way(const flow_path_t *path)
{
    if ((path->trust < FLOW_DRAIN_TRUST) || (path->base <= PATH_USUAL)) {
        return PATH_NEAR;
    }
    if (path->base >= 2 * PATH_ROUND) {
        return path->base;
    }
    return PATH_NEAR + (uint32_t)((uint64_t)(2 * PATH_ROUND - PATH_NEAR) *
                                  (path->base - PATH_USUAL) /
                                  (2 * PATH_ROUND - PATH_USUAL));
}

/* The delay that this window puts up with. */
static uint32_t flow_path_target(const flow_path_t *path)
{
    unsigned log      = 31u - (unsigned)__builtin_clz(path->window);
    uint32_t part     = (path->window >> (log - 8)) & 0xff;
    uint32_t halvings = (22u << 8) - (log << 8) - part; /* 64 packets: 0 */

    return flow_path_way(path) + PATH_ROUND - PATH_NEAR +
           (halvings * PATH_STEP >> 8);
}

/* The part of a delay that comes and goes: a busy host's, not a queue's. */
static uint32_t flow_path_noise(const flow_path_t *path)
{
    return path->var + ((path->var > PATH_NOISE) ?
                                2 * (path->var - PATH_NOISE) : 0);
}

void flow_path_sample(flow_path_t *path, uint32_t rtt, uint32_t now)
{
    uint32_t off;

    rtt         += rtt == 0;
    path->latest = rtt;
    if (path->rtt == 0) {
        path->rtt   = rtt;
        path->var   = rtt / 2;
        path->least = path->base = path->lately = rtt;
        return;
    }
    path->least  = (rtt < path->least) ? rtt : path->least;
    path->base   = (rtt < path->base) ? rtt : path->base;
    path->lately = (rtt < path->lately) ? rtt : path->lately;
    if (flow_drain_sample(path, rtt, now)) {
        return; /* without the queue that there is else */
    }
    path->round_sum += rtt;
    ++path->round_count;
    off       = (rtt > path->rtt) ? rtt - path->rtt : path->rtt - rtt;
    path->var = path->var - path->var / 4 + off / 4;
    path->rtt = path->rtt - path->rtt / 8 + rtt / 8;
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
    }
}

/* Is this flow alone at its receiver and at its own host, as far as is known?
 * One that shares a port with a window of PATH_FLOOR, and has the least window,
 * has more than a part in PATH_SHARE of what arrives. Acknowledgements share
 * the host's link with all that it sends, so what it receives counts, too. */
static int flow_path_is_alone(const flow_path_t *path)
{
    int others = path->all - path->own;

    return path->told && (others * PATH_SHARE <= path->all);
}

/* Below this delay alone does not shrink it: a receiver that is late to look
 * seems to have a queue. */
static int64_t flow_path_floor(const flow_path_t *path)
{
    return flow_path_is_alone(path) ?
                   (int64_t)path->calm * (PATH_ONE / PATH_CALM) : 0;
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

/* The delay is so long, for a while without an overflow, that no queue explains
 * it. */
static void flow_path_learn(flow_path_t *path)
{
    path->rounds += path->rounds < PATH_TRUST;
    if ((path->trust < FLOW_DRAIN_TRUST) && (path->base > PATH_LONG) &&
        (path->rounds == PATH_TRUST)) {
        path->trust = FLOW_DRAIN_TRUST;
        path->start = 1;
        flow_path_set(path, (path->window < PATH_FIRST) ? PATH_FIRST :
                                                          path->window);
    }
}

static void flow_path_round(flow_path_t *path, int used, uint32_t now)
{
    if (!path->start && !flow_drain_is_on(path, now)) {
        flow_path_steer(path, used);
        flow_path_learn(path);
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

unsigned flow_path_told(flow_path_t *path, uint32_t clock, uint16_t heard,
                        flow_psn_t ack, uint16_t local, uint32_t now)
{
    flow_psn_t own = ack - path->in_order;
    unsigned all   = (uint16_t)(heard - path->heard) +
                     (unsigned)(uint16_t)(local - path->local);

    if (clock == 0) {
        return 0; /* of a module that does not tell */
    }
    if (flow_psn_lt(ack, path->in_order)) {
        return 0; /* overtaken */
    }
    all = path->told ? all : own;
    flow_drain_clock(path, clock, now);
    path->own     += own;
    path->all     += (all < PATH_ALL) ? (uint16_t)all : PATH_ALL;
    path->heard    = heard;
    path->duplex   = (uint16_t)(local - path->local) != 0;
    path->local    = local + own;
    path->in_order = ack;
    for (; path->all > 4 * PATH_SHARE; path->all /= 2) {
        path->own /= 2;
    }
    return own;
}

void flow_path_acked(flow_path_t *path, unsigned count, unsigned out,
                     uint32_t now)
{
    int used = (uint64_t)out * 2 * PATH_ONE >= path->window;

    if ((uint64_t)(out + 1) * PATH_ONE > path->window) {
        path->pressed = now; /* the whole window was in use */
    }
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

/* How long until one more may be sent; UINT32_MAX: until one arrives. */
static uint32_t flow_path_wait(const flow_path_t *path, unsigned out,
                               uint32_t now)
{
    unsigned whole  = path->window / PATH_ONE;
    uint32_t passed = now - path->sent, pause;

    if (whole > out) {
        return flow_drain_wait(path, whole, out, now);
    }
    if ((whole > 0) || (out > 0)) {
        return UINT32_MAX;
    }
    pause = flow_path_interval(path);
    return flow_drain_wait_small(path, (passed < pause) ? pause - passed : 0,
                                 now);
}

unsigned flow_path_room(const flow_path_t *path, unsigned out, uint32_t now)
{
    unsigned whole = path->window / PATH_ONE;

    if ((whole == 0) || flow_drain_holds(path, now)) {
        return flow_path_wait(path, out, now) == 0;
    }
    return (whole > out) ? whole - out : 0;
}

uint32_t flow_path_pause(const flow_path_t *path, unsigned out, uint32_t now)
{
    uint32_t wait = flow_path_wait(path, out, now);

    return (wait != UINT32_MAX) ? wait : 0;
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
