/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_test.h"

namespace {

/* Two hosts under a plan; what it does is looked at from host 0. */
struct Planned : public Pair {
    explicit Planned(const char *plan, unsigned flags = 0) :
        Pair("", flags, 64, 7, plan)
    {
    }

    /* With a receive for it. */
    void send(uint16_t id, uint32_t length = 100)
    {
        recv(id, length + 40);
        Pair::send(id, length);
    }

    void read(uint16_t id)
    {
        Pair::read(id, 100);
    }

    /* Let so much time pass, in small steps. */
    void pass(unsigned ms)
    {
        for (unsigned i = 0; i < ms; ++i) {
            rig.now += MS;
            rig.progress(0);
            rig.progress(1);
        }
        rig.settle();
    }
};

std::string plan_error(const char *plan)
{
    return Rig({0}).set_plan(plan);
}

} // namespace

/* A bad line is named, with what stands there and what is allowed. */
TEST(engine_plan, errors)
{
    static const struct {
        const char *plan, *want;
    } cases[] = {
        { "nonsense 1", "line 1: 'nonsense'" },
        { "# fine\n\nreorder 2", "line 3: reorder=2" },
        { "at 5 kill", "line 1: '5': allowed is a time" },
        { "at 5m kill", "a time such as" },
        { "at", "'end of line'" },
        { "after x kill", "'x': allowed is a number of requests" },
        { "on 9 kill", "'9': allowed is hosts" },
        { "on 0, kill", "allowed is hosts" },
        { "on 0.32 kill", "'0.32': allowed is hosts" },
        { "on 0. kill", "'0.': allowed is hosts" },
        { "on 0.1.2 kill", "'0.1.2': allowed is hosts" },
        { "devices 2", "other than device" },
        { "partition 0", "'end of line': allowed is hosts" },
        { "at 1s on 0 partition 0 1", "'partition': allowed is an action of" },
        { "on 0 clog 0 1", "'clog': allowed is an action of those hosts" },
        { "at 1s on 0 heal", "'heal': allowed is an action of those hosts" },
        { "kill now", "'now': allowed is nothing more" },
        { "at 1s max-ah 5", "must be known at the start" },
        { "device efa2", "other than device" },
        { "at 99999999999999999999s kill", "a time" },
        { "inject send:999", "line 1: inject=send:999" },
        { "fail-command dance:1", "line 1: fail-command" },
    };

    for (auto &one : cases) {
        std::string err = plan_error(one.plan);

        EXPECT_NE(std::string::npos, err.find(one.want)) << err;
        EXPECT_EQ(std::string::npos, err.find('\n')) << err;
    }
    std::string many;
    for (unsigned i = 0; i < 257; ++i) {
        many += "heal\n";
    }
    EXPECT_NE(std::string::npos, plan_error(many.c_str()).find("256 rules"));
}

/* A partition is silence: what is sent waits, and times out; or it heals. */
TEST(engine_plan, partition)
{
    Planned cut("timeout-ms 100\nat 10ms partition 0 1");
    Planned healed("at 10ms partition 0 1\nat 500ms heal");

    for (Planned *pair : {&cut, &healed}) {
        pair->send(1);
        EXPECT_EQ(0, pair->outcome());
        EXPECT_EQ(0, pair->received());
        pair->pass(10);
        pair->send(2);
        pair->read(3);
        pair->pass(50);
        EXPECT_EQ(-1, pair->sent());
        EXPECT_EQ(-1, pair->received());
    }
    cut.pass(80);
    EXPECT_EQ(2u, cut.ended(13));
    EXPECT_EQ(-1, cut.received());
    healed.pass(350);
    EXPECT_EQ(-1, healed.sent());
    healed.pass(100);
    EXPECT_EQ(2u, healed.ended(0));
    EXPECT_EQ(0, healed.received());
}

/* The device sends what nobody answers again, ever more seldom, also while it
 * waits; a read has no payload to send. The peer's device is impaired once. */
TEST(engine_plan, partition_retransmits)
{
    Planned cut("timeout-ms 100\nat 10ms partition 0 1\nat 500ms heal");
    auto again = [&] {
        return std::vector<uint64_t>{
                cut.rig.counter(0, "retrans_timeout_events"),
                cut.rig.counter(0, "retrans_pkts"),
                cut.rig.counter(0, "retrans_bytes"),
                cut.rig.counter(0, "impaired_remote_conn_events"),
                cut.rig.counter(1, "retrans_pkts")};
    };

    cut.send(1);
    EXPECT_EQ(0, cut.outcome());
    cut.pass(10);
    EXPECT_EQ((std::vector<uint64_t>{0, 0, 0, 0, 0}), again());
    cut.send(2);
    cut.pass(50); /* seen at 50 ms: 0.1, 0.2, 0.4, ... 25.6 ms */
    EXPECT_EQ((std::vector<uint64_t>{9, 9, 900, 1, 0}), again());
    cut.pass(80);
    EXPECT_EQ((std::vector<uint64_t>{10, 10, 1000, 1, 0}), again());
    EXPECT_EQ(13, cut.sent());
    cut.read(3);
    cut.pass(120);
    EXPECT_EQ((std::vector<uint64_t>{20, 20, 1000, 1, 0}), again());
    EXPECT_EQ(13, cut.sent());
}

/* It hides a death: what was sent to the process, and what is sent to it later,
 * waits until the partition ends, or times out. */
TEST(engine_plan, partition_hides_a_death)
{
    Planned cut("timeout-ms 100\nat 10ms partition 0 1");
    Planned healed("at 10ms partition 0 1\nat 500ms heal");

    for (Planned *pair : {&cut, &healed}) {
        pair->send(1);
        EXPECT_EQ(0, pair->outcome());
        pair->pass(10);
        pair->send(2);
        pair->pass(1);
        pair->rig.proc[1].dead = true;
        pair->rig.purge_leaves(1); /* as others found out */
        pair->pass(1);
        pair->send(3);
        pair->read(4);
        pair->pass(80);
        EXPECT_EQ(-1, pair->sent());
    }
    cut.pass(80);
    EXPECT_EQ(3u, cut.ended(13));
    healed.pass(390);
    EXPECT_EQ(-1, healed.sent());
    healed.pass(200);
    EXPECT_EQ(3u, healed.ended(9));
}

/* Datagrams are lost in a partition, and wait in a clog. */
TEST(engine_plan, datagrams)
{
    Planned cut("partition 0 1\nat 50ms heal", RIG_UD);

    cut.pass(1);
    cut.send(1);
    cut.rig.settle();
    EXPECT_EQ(0, cut.sent());
    cut.pass(100);
    EXPECT_EQ(-1, cut.received());
    EXPECT_EQ(1u, cut.rig.counter(0, "lost_pkts"));

    Planned clog("clog 0 1\nat 50ms heal", RIG_UD);
    clog.pass(1);
    clog.send(1);
    clog.rig.settle();
    EXPECT_EQ(-1, clog.received());
    clog.pass(100);
    EXPECT_EQ(0, clog.received());
}

/* A partition of others does not matter. */
TEST(engine_plan, partition_of_others)
{
    Planned pair("partition 2,3 4\nclog 1 5"), absent("timeout-ms 50\non 1 absent");

    for (Planned *one : {&pair, &absent}) {
        one->pass(1);
        one->send(1);
        one->read(2);
        one->pass(100);
    }
    EXPECT_EQ(2u, pair.ended(0));
    EXPECT_GE(absent.sent(), 13);
    EXPECT_GE(absent.sent(), 13);
}

TEST(engine_plan, killed_host)
{
    Planned pair("after 3 on 0 kill");

    for (unsigned i = 0; i < 2; ++i) {
        pair.send(i);
        pair.rig.settle();
        EXPECT_EQ(0, pair.sent());
    }
    EXPECT_EQ(0, pair.rig.proc[0].fatal);
    pair.send(3);
    pair.rig.settle();
    EXPECT_EQ(2, pair.rig.proc[0].fatal);
}

/* Knobs: from the start, later, and on one host only. */
TEST(engine_plan, knobs)
{
    Planned pair("on 0 delay-us 5000\nat 100ms on 0 delay-us 0\n"
                 "on 1 delay-us 900000");

    pair.send(1);
    pair.pass(4);
    EXPECT_EQ(-1, pair.sent());
    pair.pass(3);
    EXPECT_EQ(0, pair.sent());
    pair.pass(100);
    pair.send(2);
    pair.rig.settle();
    EXPECT_EQ(0, pair.sent());
}

/* A device alone may be named; host 0 has the first one of it. */
TEST(engine_plan, one_device_of_a_host)
{
    Planned other("on 1.1 delay-us 5000"), same("on 0.0,1.3 delay-us 5000");

    other.send(1);
    EXPECT_EQ(0, other.outcome());
    same.send(1);
    EXPECT_EQ(-1, same.outcome());
    same.pass(5);
    EXPECT_EQ(0, same.sent());

    Planned cut("at 0ms partition 0.1,0.2 1\nat 5ms partition 0.0 1.0");
    cut.send(1);
    EXPECT_EQ(0, cut.outcome()) << "other devices' partition";
    cut.pass(6);
    cut.send(2);
    cut.pass(6);
    EXPECT_EQ(-1, cut.sent());
}

/* Datagrams to one device have a rate of their own. One that does not fit into
 * the buffer before that rate is lost; its sender is told at once that it has
 * left. */
TEST(engine_plan, rate_of_datagrams)
{
    Planned ud("ud-rate-mbps 8", RIG_UD); /* a byte a microsecond */
    Planned full("ud-rate-mbps 8\nud-buffer 5000", RIG_UD);
    Planned srd("ud-rate-mbps 8");

    srd.send(1, 4000);
    EXPECT_EQ(0, srd.outcome());
    for (unsigned i = 0; i < 3; ++i) {
        ud.send(i, 2000);
        full.send(i, 2000);
    }
    EXPECT_EQ(-1, ud.outcome());
    ud.pass(1);
    EXPECT_EQ(0u, ud.ended(0));
    ud.pass(1);
    EXPECT_EQ(1u, ud.ended(0));
    ud.pass(4);
    EXPECT_EQ(2u, ud.ended(0));

    full.rig.settle();
    EXPECT_EQ(1u, full.ended(0)) << "the third is lost";
    full.pass(4);
    EXPECT_EQ(2u, full.ended(0));
}

TEST(engine_plan, rate_of_the_link)
{
    Planned pair("rate-mbps 80"); /* 10 bytes a microsecond */

    for (unsigned i = 0; i < 50; ++i) {
        pair.send(i, 8000); /* 0.8 ms each */
    }
    pair.pass(30);
    EXPECT_NEAR(pair.ended(0), 37, 2);
    pair.pass(13);
    EXPECT_NEAR(pair.ended(0), 13, 2);
}

TEST(engine_plan, jitter_is_within_its_bounds)
{
    Planned pair("jitter-us 10000");

    for (unsigned i = 0; i < 60; ++i) {
        pair.send(i);
    }
    pair.pass(5);
    unsigned early = pair.ended(0);
    EXPECT_NEAR(early, 30, 19);
    pair.pass(6);
    EXPECT_EQ(60u, early + pair.ended(0));
}

/* A slow receiver stops nobody, and takes one packet in its time. */
TEST(engine_plan, slow_receiver)
{
    Planned pair("on 1 receive-us 1000");

    for (unsigned i = 0; i < 20; ++i) {
        pair.send(i);
    }
    pair.rig.settle();
    EXPECT_EQ(1u, pair.ended(0));
    pair.pass(10);
    unsigned some = pair.ended(0);
    EXPECT_NEAR(some, 10, 1);
    pair.pass(10);
    EXPECT_EQ(19u, some + pair.ended(0));
}

TEST(engine_plan, status_by_chance)
{
    Planned pair("inject send:7:0.2");
    unsigned failed = 0, status;

    for (unsigned i = 0; i < 200; ++i) { /* a failed one leaves its receive */
        pair.send(i % 64);
        pair.rig.settle();
        status = pair.sent();
        ASSERT_TRUE(status == 0 || status == 7);
        failed += status == 7;
        if (status == 0) {
            pair.received();
        }
    }
    EXPECT_GT(failed, 20u);
    EXPECT_LT(failed, 60u);
}

TEST(engine_plan, trace)
{
    Planned pair("reorder 0");

    pair.send(7);
    unsigned lines = pair.rig.traced;
    pair.rig.settle();
    EXPECT_EQ("done qp=1 id=7 op=0 status=0", pair.rig.trace);
    EXPECT_EQ(lines + 5, pair.rig.traced); /* of each plan, tx, rx, done */
}
