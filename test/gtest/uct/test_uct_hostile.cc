/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that speaks the protocol, and then does with its queue pair what no
 * interface of ours does. It is the core over bare verbs. */
#include "uct_entity.h"
#include "vfs_files.h"

#include "../../driver/driver.h"
#include "../efasim/verbs_test.h"

using uct_test::AM_ID;
using uct_test::Bytes;
using uct_test::Entity;
using uct_test::UctTest;

namespace {

constexpr size_t PACKET = 256;   /* bytes of a buffer for packets */
constexpr size_t LARGE  = 20000; /* more than a receive buffer of ours has */
constexpr unsigned RECEIVES = 64;

/* Its device and memory; a queue pair known to the victim, and a strange one. */
struct HostileQueues {
    explicit HostileQueues(bool writes) : known(dev, with(writes)), strange(dev)
    {
        for (unsigned i = 0; i < RECEIVES; ++i) {
            EXPECT_EQ(0, known.recv(i, {in.sge(i * PACKET, PACKET)}));
        }
    }

    static QpParams with(bool writes)
    {
        QpParams params;

        params.write = writes;
        return params;
    }

    Device dev;
    ::Memory in{dev, RECEIVES * PACKET}, out{dev, LARGE};
    Qp known, strange;
};

class Hostile : HostileQueues, public flow_test::Driver {
public:
    Hostile(const Entity &victim, bool writes)
        : HostileQueues(writes), Driver(params_of(known))
    {
        const uint8_t *iface = victim.iface_addr.data();
        flow_addr_t addr     = {};

        memcpy(addr.gid, victim.device_addr.data() + 4, sizeof(addr.gid));
        memcpy(&addr.qpn, iface, 3);
        memcpy(&addr.qkey, iface + 4, sizeof(addr.qkey));
        memcpy(&addr.incarnation, iface + 8, sizeof(addr.incarnation));
        memcpy(m_to.gid.raw, addr.gid, sizeof(addr.gid));
        m_to.qpn  = addr.qpn;
        m_to.qkey = addr.qkey;
        m_ah      = dev.ah(m_to.gid);
        m_tx      = open(addr, this);
    }

    /* As an interface does; true once its header is the short one. */
    bool progress()
    {
        ibv_wc wc;

        pull_events();
        pull_control();
        while (ibv_poll_cq(known.rcq, 1, &wc) == 1) {
            const uint8_t *packet = &in.data()[wc.wr_id * PACKET];
            receive({packet, packet + wc.byte_len},
                    flow_src(wc.slid, wc.src_qp));
            known.recv(wc.wr_id, {in.sge(wc.wr_id * PACKET, PACKET)});
        }
        return flow_tx_header_len(m_tx) == FLOW_SHORT_HDR;
    }

    /* The next message of its flow, number `seed`, into `out`; its piece. */
    ibv_sge next(uint32_t seed)
    {
        Bytes message = uct_test::make_message(seed, 100);
        size_t length = flow_tx_header(core, m_tx, AM_ID, out.data());

        std::copy(message.begin(), message.end(), out.data() + length);
        return out.sge(0, length + message.size());
    }

    void send(ibv_sge piece)
    {
        post(known.send(0, m_ah, m_to, {piece}), known);
        flow_tx_done(core, m_tx, flow_tx_commit(m_tx));
    }

    void send_strange(ibv_sge piece)
    {
        post(strange.send(0, m_ah, m_to, {piece}), strange);
    }

    void send_immediate(ibv_sge piece)
    {
        uint32_t immediate = 1;

        post(known.send(0, m_ah, m_to, {piece}, IBV_SEND_SIGNALED, &immediate),
             known);
    }

    void write_immediate(uct_test::Memory &to)
    {
        const uint32_t immediate = 1;

        m_to.buf  = reinterpret_cast<uintptr_t>(to.data());
        m_to.rkey = to.rkey();
        post(known.write(0, m_ah, m_to, out.sge(0, LARGE), &immediate), known);
    }

protected:
    void on_deliver(const flow_test::Bytes &) override {}
    void on_broken(const char *what) override
    {
        ADD_FAILURE() << what;
    }
    bool on_repost(flow_op_t *, bool) override
    {
        return true;
    }
    bool on_control(const flow_ctl_t &ctl) override
    {
        memcpy(out.data(), ctl.data, ctl.len);
        post(known.send(0, m_ah, m_to, {out.sge(0, ctl.len)}), known);
        flow_ctl_done(core, ctl.cookie, FLOW_SEND_OK, now);
        return true;
    }

private:
    static flow_params_t params_of(const Qp &qp)
    {
        flow_params_t params;
        Address self = qp.address();

        flow_params_default(&params);
        memcpy(params.self.gid, self.gid.raw, sizeof(params.self.gid));
        params.self.qpn         = self.qpn;
        params.self.qkey        = self.qkey;
        params.self.incarnation = 0xbad;
        params.rx_posted        = RECEIVES;
        return params;
    }

    static void post(int err, const Qp &qp)
    {
        EXPECT_EQ(0, err);
        ibv_wc wc = poll_one(qp.scq);
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status) << "status " << wc.vendor_err;
    }

    Address m_to = {};
    ibv_ah *m_ah = nullptr;
    flow_tx_t *m_tx = nullptr;
};

} // namespace

class UctHostile : public UctTest {
protected:
    void SetUp() override
    {
        SRD_ONLY("a UD queue pair takes no writes");
        auto before = vfs_test::interfaces();

        b      = new Entity({{"RX_QUEUE_LEN", "128"},
                             {"RX_BUFFERS_MAX", "256"}});
        m_path = vfs_test::newest(before);
        writes = (b->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY) != 0;
        peer.reset(new Hostile(*b, writes));
        ASSERT_TRUE(wait_b([&] { return peer->progress(); }));
    }

    void TearDown() override
    {
        peer.reset();
        UctTest::TearDown();
    }

    bool wait_b(const std::function<bool()> &done)
    {
        for (double end = ran() + 60; !done(); b->progress()) {
            if (ran() > end) {
                return false;
            }
        }
        return true;
    }

    uint64_t drops()
    {
        return vfs_test::number(m_path, "packets_dropped");
    }

    /* All receive buffers of b begin with the header of the peer's next
     * message, which nobody sent: it was not the flow's queue pair. */
    void stale_headers()
    {
        for (uint64_t i = 1, before = drops(); i <= 2 * 256; ++i) {
            peer->send_strange(peer->next(9));
            ASSERT_TRUE(wait_b([&] { return drops() == before + i; }));
        }
        ASSERT_EQ(0u, b->count);
    }

    /* One more packet was dropped, no message came, and the next does. */
    void expect_dropped(uint64_t before)
    {
        ASSERT_TRUE(wait_b([&] {
            return (b->count > 0) || (drops() > before);
        }));
        ASSERT_EQ(0u, b->count) << b->received[0].size() << " B";
        EXPECT_EQ(before + 1, drops());
        peer->send(peer->next(7));
        ASSERT_TRUE(wait_b([&] { return b->count > 0; }));
        ASSERT_EQ(1u, b->count);
        EXPECT_EQ(uct_test::make_message(7, 100), b->received[0]);
        EXPECT_EQ(before + 1, drops());
    }

    std::unique_ptr<Hostile> peer;
    bool writes = false;

private:
    std::string m_path;
};

/* It takes a receive, into which nothing is placed, and its completion has the
 * length of what was written elsewhere. */
TEST_F(UctHostile, write_with_immediate)
{
    if (!writes) {
        ASSERT_EQ(nullptr, getenv("NEED_PUT")) << "writes were expected";
        GTEST_SKIP() << "this rdma-core or device has no RDMA write";
    }
    uct_test::Memory memory(*b, LARGE, 1);

    stale_headers();
    uint64_t before = drops();
    peer->write_immediate(memory);
    expect_dropped(before);
}

TEST_F(UctHostile, message_with_immediate)
{
    uint64_t before = drops();

    peer->send_immediate(peer->next(8));
    expect_dropped(before);
}
