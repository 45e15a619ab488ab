/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues that are read too late, or that are too small; a device that
 * does not wait for its program. The tests "Overrun" overrun one on purpose;
 * lib.sh fails any other check in which one does. */
#include "verbs_test.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <unistd.h>

namespace {

QpParams small_cq(int depth)
{
    QpParams params;

    params.cq_depth = depth;
    return params;
}

/* Nobody has this QPN: a send to it completes in the call that posts it. */
Address nobody(const Device &dev)
{
    Address address = {};

    address.gid  = dev.gid;
    address.qpn  = 255;
    address.qkey = 1;
    return address;
}

/* Ids of all completions that the queue shows now. */
std::vector<uint64_t> ids_in(ibv_cq *cq)
{
    std::vector<uint64_t> ids;
    ibv_wc wc;

    while (ibv_poll_cq(cq, 1, &wc) == 1) {
        ids.push_back(wc.wr_id);
    }
    return ids;
}

class Sender {
public:
    explicit Sender(int depth) :
        qp(dev, small_cq(depth)), mem(dev, 64), ah(dev.ah(dev.gid))
    {
    }

    /* They are complete, too, if another thread was at the device. */
    void post(unsigned num)
    {
        for (; num > 0; --num) {
            ASSERT_EQ(0, qp.send(++id, ah, nobody(dev), {mem.sge(0, 8)}));
        }
        for (int i = 0; i < 20; ++i) {
            device_progress();
            usleep(500);
        }
    }

    int64_t overruns()
    {
        return stat_counter(0, "cq_overruns") - before;
    }

    Device   dev;
    Qp       qp;
    Memory   mem;
    ibv_ah   *ah;
    uint64_t id    = 0;
    int64_t before = stat_counter(0, "cq_overruns");
};

} // namespace

TEST(Overrun, loses_what_was_not_read)
{
    Sender sender(8);

    ASSERT_EQ(8, sender.qp.scq->cqe);
    sender.post(8);
    EXPECT_EQ(8u, ids_in(sender.qp.scq).size());
    EXPECT_EQ(0, sender.overruns());

    sender.post(12);
    EXPECT_EQ(std::vector<uint64_t>{}, ids_in(sender.qp.scq));
    EXPECT_EQ(4, sender.overruns());
    /* They fill the second round and begin the third, where it looks. */
    sender.post(5);
    EXPECT_EQ(std::vector<uint64_t>{25}, ids_in(sender.qp.scq));
}

TEST(Overrun, knob_makes_queues_small)
{
    Device dev;
    ibv_cq *cq;

    EXPECT_EQ(0, control("cq-divide", "16"));
    cq = ibv_create_cq(dev.ctx, 100, nullptr, nullptr, 0);
    EXPECT_EQ(0, control("cq-divide", "1"));
    ASSERT_NE(nullptr, cq);
    EXPECT_EQ(8, cq->cqe); /* of 128 */
    EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* libefa writes no doorbell when extended polls end with an empty queue: what
 * they read is known all the same. */
TEST(keeps_up, extended_polls)
{
    ibv_cq_init_attr_ex attr  = {};
    ibv_poll_cq_attr poll     = {};
    ibv_qp_attr qp_attr       = {};
    ibv_qp_init_attr qp_init  = {};
    Sender sender(64);
    ibv_cq_ex *cq;
    ibv_qp *qp;

    attr.cqe = 8;
    cq       = ibv_create_cq_ex(sender.dev.ctx, &attr);
    ASSERT_NE(nullptr, cq);
    qp = qp_on(sender.dev, ibv_cq_ex_to_cq(cq));
    ASSERT_EQ(0, ibv_query_qp(qp, &qp_attr, IBV_QP_CAP, &qp_init));
    ASSERT_LE(8u, qp_init.cap.max_send_wr);
    for (unsigned round = 1; round <= 20; ++round) {
        ibv_sge sge      = sender.mem.sge(0, 8);
        ibv_send_wr *bad, wr = send_of(round, &sge, sender.ah,
                                       nobody(sender.dev));
        int64_t end      = now_ms() + WAIT_MS;
        unsigned seen    = 0;
        int ret;

        for (unsigned i = 0; i < 8; ++i) {
            ASSERT_EQ(0, ibv_post_send(qp, &wr, &bad));
        }
        while (seen < 8 && now_ms() < end) {
            ret = ibv_start_poll(cq, &poll);
            if (ret == ENOENT) {
                continue; /* the device is at work in another thread */
            }
            for (; ret == 0; ret = ibv_next_poll(cq)) {
                ++seen;
            }
            EXPECT_EQ(ENOENT, ret);
            ibv_end_poll(cq);
        }
        ASSERT_EQ(8u, seen);
        ASSERT_EQ(0, sender.overruns()) << "round " << round;
    }
    EXPECT_EQ(0, ibv_destroy_qp(qp));
    EXPECT_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

namespace {

/* A program that polls all the time, one completion after the other, works on
 * it, and posts the receive again, while another process sends as fast as it
 * can. A device that leaves the pace to it takes packets when it finds the queue
 * empty, 16 at most. */
class Slow {
public:
    Slow(int depth, unsigned receives) :
        qp(dev, params(depth)), mem(dev, 8 * receives), child(1, "blast")
    {
        for (unsigned i = 0; i < receives; ++i) {
            EXPECT_EQ(0, qp.recv(i, {mem.sge(8 * i, 8)}));
        }
    }

    static QpParams params(int depth)
    {
        QpParams params = small_cq(depth);

        params.recv_wr = 256;
        return params;
    }

    void start(unsigned messages)
    {
        child.put(qp.address());
        child.put(messages);
    }

    /* True if there was one. */
    bool poll()
    {
        int64_t until = now_us() + 50;
        ibv_wc wc;

        if (ibv_poll_cq(qp.rcq, 1, &wc) != 1) {
            return false;
        }
        while (now_us() < until) { /* does something with it */
        }
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(0, qp.recv(wc.wr_id, {mem.sge(8 * wc.wr_id, 8)}));
        return true;
    }

    static int64_t now_us()
    {
        timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
    }

    Device dev;
    Qp     qp;
    Memory mem;
    Child  child;
};

/* The device works whatever the program does, while it exists. */
struct Eager {
    Eager() { EXPECT_EQ(0, control("eager", "1")); }
    ~Eager() { EXPECT_EQ(0, control("eager", "0")); }
};

} // namespace

TEST(DISABLED_Role, blast)
{
    Parent parent;
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 64);
    Address peer      = parent.get<Address>();
    unsigned messages = parent.get<unsigned>();
    ibv_ah *ah        = dev.ah(peer.gid);
    unsigned posted = 0, done = 0;
    ibv_wc wc;

    while (done < messages) {
        while (posted < messages && posted - done < 64) {
            ASSERT_EQ(0, qp.send(++posted, ah, peer, {mem.sge(0, 8)}));
        }
        while (ibv_poll_cq(qp.scq, 1, &wc) == 1) {
            ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
            ++done;
        }
    }
    parent.put<char>('e');
}

/* Bursts find no receive, and come again; the program that polls slowly does not
 * pace them. */
TEST(keeps_up, eager_device_finds_receivers_not_ready)
{
    const unsigned n = 3000;
    Eager eager;
    Slow slow(64, 16);
    int64_t before = count_of("rnr"), end;

    slow.start(n);
    end = now_ms() + WAIT_MS;
    for (unsigned seen = 0; seen < n && now_ms() < end;) {
        seen += slow.poll();
    }
    EXPECT_GT(count_of("rnr"), before + n);
    slow.child.get<char>();
    slow.child.expect_ok();
}

/* 64 receives, and room for the completions of 16: who polls all the time may
 * still be late. */
TEST(Overrun, eager_device_needs_a_deep_queue)
{
    Eager eager;
    Slow slow(16, 64);
    int64_t before = count_of("cq_overruns"), end;

    slow.start(3000);
    end = now_ms() + WAIT_MS;
    while (count_of("cq_overruns") == before && now_ms() < end) {
        slow.poll();
    }
    EXPECT_GT(count_of("cq_overruns"), before);
    slow.child.kill(SIGTERM, slow.child.pid);
}
