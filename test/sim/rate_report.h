/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of flow_rate's tables: a network of a fixed delay, bounds and
 * peers that were there before. No faults: what is measured is what the rules
 * of grant.c cost.
 */
#ifndef SIM_RATE_REPORT_H_
#define SIM_RATE_REPORT_H_

#include <cstdio>

#include "timed.h"

namespace rate {

using timed::Time;
using timed::US;
using timed::MS;

/* ample: receive buffers of each host; 0: as the transport sizes the queue. */
class World : public timed::World {
public:
    World(unsigned hosts, unsigned ample, uint64_t seed);
    void transmit(const timed::PacketRef &packet, Time when) override;
    uint64_t rnr();

    uint64_t packets = 0; /* posted, control packets and repeats included     */
    uint64_t control = 0; /* control packets but of host 1 and to it          */

private:
    void arrive(const timed::PacketRef &packet, unsigned tries);

    unsigned m_hosts;
};

extern bool full, failed;

/* Print a value beside its bound; beyond it the run has failed. */
void within(const char *what, double value, double least, double most);
/* Something did not end: failed. */
void stuck(const char *what);
/* All from `first` on send host 0 64 messages each, one after the other; then
 * 5 ms of silence. */
void warm_up(World &world, unsigned first, unsigned last);

/* rate_trickle.cc: peers that send a little. */
void table_trickle();
void table_turns();
void table_pingpong();
void table_halves();
/* rate_phases.cc: all at once. */
void table_phases();
void table_fresh();

} /* namespace rate */

#endif
