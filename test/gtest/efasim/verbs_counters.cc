/* SPDX-License-Identifier: BSD-3-Clause */
/* Counter files of a device, as the driver names them: what it sent and
 * received (ports/1/hw_counters), and its commands (hw_counters). */
#include "verbs_test.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace {

int64_t counter(Device &dev, const std::string &file)
{
    std::string path = std::string(dev.ctx->device->ibdev_path) + "/" + file;
    char text[64]    = {};
    int fd           = open(path.c_str(), O_RDONLY);

    EXPECT_GE(fd, 0) << path;
    EXPECT_GT(read(fd, text, sizeof(text) - 1), 0) << path;
    close(fd);
    return atoll(text);
}

int64_t of_port(Device &dev, const std::string &name)
{
    return counter(dev, "ports/1/hw_counters/" + name);
}

} // namespace

TEST(counters, of_messages_and_reads)
{
    const std::vector<const char*> names = {
        "send_wrs", "send_bytes", "recv_wrs", "recv_bytes", "rdma_read_bytes",
        "rx_drops", "unresponsive_remote_events", "retrans_pkts",
        "retrans_bytes", "retrans_timeout_events",
        "impaired_remote_conn_events",
    };
    Two two({}, 8192);
    Address nobody = two.b.address();
    auto added     = [&](const std::function<void()> &by) {
        std::vector<int64_t> change;
        for (auto name : names) {
            change.push_back(-of_port(two.dev, name));
        }
        by();
        for (unsigned i = 0; i < names.size(); ++i) {
            change[i] += of_port(two.dev, names[i]);
        }
        return change;
    };

    nobody.qkey ^= 1;
    EXPECT_EQ((std::vector<int64_t>{7, 700, 7, 700, 0, 0, 0, 0, 0, 0, 0}), added([&] {
        for (unsigned i = 0; i < 7; ++i) {
            two.exchange(100);
        }
    }));
    EXPECT_EQ((std::vector<int64_t>{0, 0, 0, 0, 4096, 0, 0, 0, 0, 0, 0}), added([&] {
        ASSERT_EQ(0, two.a.read(1, two.ah, two.b.address(),
                                two.mem.sge(0, 4096),
                                (uintptr_t)two.mem.data() + 4096,
                                two.mem.mr->rkey));
        ASSERT_EQ(IBV_WC_SUCCESS, poll_one(two.a.scq).status);
    }));
    EXPECT_EQ((std::vector<int64_t>{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}), added([&] {
        ASSERT_EQ(0, two.a.send(9, two.ah, nobody, {two.mem.sge(0, 8)}));
        ASSERT_EQ((uint32_t)ST_BAD_QPN, poll_one(two.a.scq).vendor_err);
    }));
}

/* The network loses each second packet, nobody is told but by these. */
TEST(counters, of_packets_sent_again)
{
    Two two({}, 8192);
    int64_t pkts  = of_port(two.dev, "retrans_pkts");
    int64_t bytes = of_port(two.dev, "retrans_bytes");

    ASSERT_EQ(0, control("loss", "0.5"));
    for (unsigned i = 0; i < 50; ++i) {
        two.exchange(100);
    }
    ASSERT_EQ(0, control("loss", "0"));
    pkts = of_port(two.dev, "retrans_pkts") - pkts;
    EXPECT_GT(pkts, 20);
    EXPECT_EQ(100 * pkts, of_port(two.dev, "retrans_bytes") - bytes);
    EXPECT_EQ(pkts, of_port(two.dev, "retrans_timeout_events"));
    EXPECT_EQ(0, of_port(two.dev, "unresponsive_remote_events"));
    EXPECT_EQ(0, counter(two.dev, "hw_counters/mmap_err"));
}

TEST(counters, of_commands)
{
    Device dev;
    char bytes[64];
    int64_t all    = counter(dev, "hw_counters/submitted_cmds");
    int64_t good   = counter(dev, "hw_counters/completed_cmds");
    int64_t bad    = counter(dev, "hw_counters/cmds_err");
    int64_t bad_mr = counter(dev, "hw_counters/reg_mr_err");
    int64_t bad_qp = counter(dev, "hw_counters/create_qp_err");
    ibv_pd *pd     = ibv_alloc_pd(dev.ctx);

    EXPECT_EQ(nullptr, ibv_reg_mr(pd, bytes, 64, IBV_ACCESS_REMOTE_ATOMIC |
                                                 IBV_ACCESS_LOCAL_WRITE));
    EXPECT_EQ(EOPNOTSUPP, errno);
    EXPECT_EQ(0, ibv_dealloc_pd(pd));
    EXPECT_EQ(3, counter(dev, "hw_counters/submitted_cmds") - all);
    EXPECT_EQ(2, counter(dev, "hw_counters/completed_cmds") - good);
    EXPECT_EQ(1, counter(dev, "hw_counters/cmds_err") - bad);
    EXPECT_EQ(1, counter(dev, "hw_counters/reg_mr_err") - bad_mr);
    EXPECT_EQ(bad_qp, counter(dev, "hw_counters/create_qp_err"));
}
