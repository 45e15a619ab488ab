/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UD_PEER_H_
#define UD_PEER_H_

/* A process of its own with an interface, to be killed, stopped, or told to
 * compute. It is this program again, in a test that is no test. */

#include "uct_entity.h"

#include <sys/types.h>

namespace uct_test {

/* Counts of its receives: messages, and how many of those had their number. */
struct PeerCount {
    uint64_t all, in_order;
};

class UdPeer {
public:
    /* Its interface opens with UCX_EFA_UD_TRIES=`tries`; it has an endpoint to
     * `entity`. */
    explicit UdPeer(const Entity &entity, const char *tries = "64");
    ~UdPeer();
    UdPeer(const UdPeer &) = delete;

    /* To be connected to, in place of an Entity's. */
    Bytes device_addr, iface_addr;
    pid_t pid() const
    {
        return m_pid;
    }

    /* They begin, and come back at once. */
    void progress(unsigned ms); /* calls progress for so long */
    void take(unsigned count);  /* the same until it has so many messages */
    void compute(unsigned ms);  /* does not */
    void send(unsigned count);  /* that many messages, until all are flushed */

    /* Waits for the end of those. */
    PeerCount count();
    void signal(int number);

private:
    void tell(char what, unsigned number);

    pid_t m_pid = -1;
    int m_to = -1, m_from = -1;
};

} // namespace uct_test

#endif
