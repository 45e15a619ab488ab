/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD on links that fill: hosts with real cores (timed.h), a fast link out of
 * each host, a slow port with a bounded buffer into each (what does not fit is
 * lost), a delay, and packets that are lost by chance.
 */
#ifndef SIM_LINK_H_
#define SIM_LINK_H_

#include "timed.h"

namespace link_sim {

using timed::Time;
using timed::US;
using timed::MS;

enum {
    HEADERS = 60 /* bytes of a packet on the wire beside its own              */
};

struct Plan {
    unsigned senders = 1;
    double   gbits   = 10;     /* of a port; 0: infinitely fast               */
    double   nic     = 100;    /* Gb/s out of a host                          */
    Time     buffer  = 200000; /* bytes of a port                             */
    Time     rtt     = 20 * US; /* without queues                             */
    Time     jitter  = 0;      /* up to this much more each way               */
    double   loss    = 0;      /* each packet, either way                     */
    unsigned size    = 8900;   /* bytes of a message                          */
    Time     stagger = 0;      /* between the starts of two senders           */
    unsigned both    = 0;      /* 1: the receiver sends to all of them, too   */
    Time     warm    = 20 * MS; /* before it counts                           */
    Time     counted = 100 * MS;
    uint64_t seed    = 1;
};

struct Result {
    double   used;    /* of the port: messages that arrived, once each        */
    double   posts;   /* packets of messages sent for each that arrived       */
    double   jain;    /* fairness of the senders                              */
    double   rate;    /* messages a second                                    */
    uint64_t repeats;
    double   back;    /* messages a second that the senders get               */
};

/* link_network.cc */
Result run_core(const Plan &plan);

} /* namespace link_sim */

#endif
