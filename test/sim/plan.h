/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of a plan. Times in ns, probabilities 0 .. 1. */
#ifndef SIM_PLAN_H_
#define SIM_PLAN_H_

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "flow/flow.h"
}

namespace sim {

typedef uint64_t Time;

static const Time US = 1000, MS = 1000 * US, SEC = 1000 * MS;

struct Plan {
    std::string name;
    flow_profile_t profile = FLOW_SRD;

    /* who talks to whom */
    unsigned nodes       = 4;
    bool     all_to_all  = true;   /* else pairs: 0 and 1, 2 and 3 ...        */
    bool     incast      = false;  /* all send to node 0                      */
    bool     both_ways   = true;
    unsigned endpoints   = 1;      /* per pair and direction                  */
    unsigned messages    = 300;    /* of each endpoint                        */
    bool     churn       = false;  /* close and reopen all the time ...       */
    unsigned reopens     = 400;    /* ... until a node opened so many         */
    bool     flat        = false;  /* and no memory is taken after the first
                                      tenth of them (P5); UD: half, for what
                                      is closed rests a while                 */

    bool     star        = false;  /* node 0 opens to all, node 1 to it       */
    unsigned hot         = 0;      /* star: messages of node 0 to node 1; how
                                      long they take is compared with a run
                                      without absent nodes                    */

    /* resources */
    unsigned buffers     = 512;    /* receive buffers of each node            */
    unsigned reserve     = 64;
    unsigned sq_depth    = 128;    /* send slots of each node                 */
    unsigned reserve_slots = 0;    /* more of them, for those who get through
                                      (flow/reserve.h): then an operation has
                                      its slot until it is over               */
    unsigned ctl_slots   = 0;      /* for control packets; 0: the default     */
    unsigned rma_peers   = UINT_MAX; /* peers a node can keep handles for     */
    double   rma         = 0.0;    /* endpoints that want RMA from the first, or
                                      after the first message: each must get it
                                      or be refused                           */
    unsigned tries       = 0;      /* UD: time-outs until a peer is dead;
                                      0: the default                          */
    flow_psn_t first_psn = 0;
    uint16_t   lap       = FLOW_LAP; /* of flow_params_t                      */

    /* the network */
    Time     delay       = 5 * US; /* of every packet                         */
    Time     jitter      = 5 * US; /* up to this much more                    */
    double   late        = 0.0;    /* chance of being very late               */
    Time     late_by     = MS;
    Time     hello_late  = 0;      /* extra for control packets, at random    */
    double   clog        = 0.0;    /* chance that a pair clogs, per packet    */
    Time     clog_for    = 2 * MS;
    Time     linkdown    = 0;      /* one pair cut for this long              */
    double   noise       = 0.0;    /* garbage injected per packet             */
    double   strangers   = 0.0;    /* per packet: data of a made-up flow      */
    unsigned strangers_max = 0;    /* that are kept; 0: the default           */
    double   replay      = 0.0;    /* an old packet once more (SRD: of a dead
                                      sender)                                 */
    double   loss        = 0.0;    /* UD, as the following                    */
    double   dup         = 0.0;
    double   corrupt     = 0.0;    /* a CRC drops it                          */
    Time     partition   = 0;      /* two halves apart for this long          */
    double   unheard     = 0.0;    /* SRD: no answer to a packet, which came or
                                      did not, while both live (status 13)    */

    unsigned absent      = 0;      /* the last nodes' hosts take and answer
                                      nothing ...                             */
    Time     absent_from = 0;      /* ... from this time on; what is sent to
                                      them ends with status 13 after 3 s      */

    /* nodes */
    unsigned sleepers    = 0;      /* nodes that do not poll in the faults    */
    Time     poll_every  = 0;      /* slow receivers: gap between polls       */
    double   quiet       = 0.0;    /* UD: polls of the thread that delivers
                                      nothing                                 */
    unsigned kills       = 0;      /* nodes that die in the fault phase       */
    bool     rebirth     = false;  /* ... and come back with the same QPN     */
    bool     same_qkey   = false;  /* ... and, against all odds, QKEY         */
    double   chaos       = 0.0;    /* per poll: something a user may do       */
    double   own_errors  = 0.0;    /* our device refuses a message (one that
                                      refuses control packets is broken, and
                                      nobody can be told)                     */

    Time     faults_end  = 20 * MS;
    Time     deadline    = 20 * SEC; /* virtual: all must be done             */

    /* what must not happen */
    bool     no_rnr      = false;
    bool     no_resend   = false;  /* UD: of more than one message in 100     */
    /* May a flow between two that live fail? */
    bool     living_fail = false;
};

/* All plans. */
std::vector<Plan> plans();

} /* namespace sim */

#endif
