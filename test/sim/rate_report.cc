/* SPDX-License-Identifier: BSD-3-Clause */
#include "rate_report.h"

namespace rate {

enum {
    RNR_RETRY    = 3,      /* tries of the device before it says so ...       */
    RNR_INTERVAL = 100000, /* ... at this distance (efasim's)                 */
    ONE_WAY      = 10000,  /* ns                                              */
    JITTER       = 500     /* of it, at random: packets overtake              */
};

World::World(unsigned hosts, unsigned ample, uint64_t seed) :
    timed::World(hosts, FLOW_SRD, ample, seed), m_hosts(hosts)
{
}

void World::transmit(const timed::PacketRef &packet, Time when)
{
    ++packets;
    control += packet->ctl && (packet->from != 1) && (packet->to != 1);
    at(when + ONE_WAY + random.next() % JITTER,
       [this, packet]() { arrive(packet, RNR_RETRY); });
}

void World::arrive(const timed::PacketRef &packet, unsigned tries)
{
    bool taken = host(packet->to).device_receive(packet);

    if (!taken && (tries != 0)) {
        at(now + 2 * ONE_WAY + RNR_INTERVAL,
           [this, packet, tries]() { arrive(packet, tries - 1); });
        return;
    }
    at(now + ONE_WAY, [this, packet, taken]() {
        host(packet->from).device_complete(packet, taken ? FLOW_SEND_OK :
                                                           FLOW_SEND_RNR);
    });
}

uint64_t World::rnr()
{
    uint64_t sum = 0;

    for (unsigned number = 0; number < m_hosts; ++number) {
        sum += host(number).refused;
    }
    return sum;
}

bool full, failed;

void within(const char *what, double value, double least, double most)
{
    bool good = (value >= least) && (value <= most);

    printf("  %-38s %8.3f  ", what, value);
    if (least > 0) {
        printf(">= %.2f ", least);
    }
    if (most < 1e9) {
        printf("<= %.2f", most);
    }
    printf("%s\n", good ? "" : "  FAIL");
    failed = failed || !good;
}

void stuck(const char *what)
{
    printf("  %s: not done in time  FAIL\n", what);
    failed = true;
}

void warm_up(World &world, unsigned first, unsigned last)
{
    uint64_t want = world.got + uint64_t(FLOW_WINDOW_MAX) * (last - first);

    for (unsigned i = first; i < last; ++i) {
        world.host(i).add(0, FLOW_WINDOW_MAX);
        world.run(world.now + 2 * US);
    }
    world.run_until_got(want, 10000 * MS);
    if (world.got != want) {
        stuck("warming up");
    }
    world.run(world.now + 5 * MS);
}

} /* namespace rate */
