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
    Device dev;
    Qp a(dev), b(dev);
    Memory mem(dev, 1 << 20);
    ibv_ah *ah   = dev.ah(dev.gid);
    int64_t wrs  = of_port(dev, "send_wrs"), lost, silent;
    int64_t sent = of_port(dev, "send_bytes");
    int64_t got  = of_port(dev, "recv_wrs");
    int64_t read = of_port(dev, "rdma_read_bytes");

    for (unsigned i = 0; i < 7; ++i) {
        ASSERT_EQ(0, b.recv(i, {mem.sge(0, 100)}));
        ASSERT_EQ(0, a.send(i, ah, b.address(), {mem.sge(200, 100)}));
        ASSERT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
        ASSERT_EQ(IBV_WC_SUCCESS, poll_one(b.rcq).status);
    }
    EXPECT_EQ(7, of_port(dev, "send_wrs") - wrs);
    EXPECT_EQ(700, of_port(dev, "send_bytes") - sent);
    EXPECT_EQ(7, of_port(dev, "recv_wrs") - got);
    ASSERT_EQ(0, a.read(1, ah, b.address(), mem.sge(0, 4096),
                        (uintptr_t)mem.data() + 8192, mem.mr->rkey));
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(7, of_port(dev, "send_wrs") - wrs) << "a read is no send";
    EXPECT_EQ(4096, of_port(dev, "rdma_read_bytes") - read);

    Address nobody = b.address();
    lost   = of_port(dev, "rx_drops");
    silent = of_port(dev, "unresponsive_remote_events");
    nobody.qkey ^= 1;
    ASSERT_EQ(0, a.send(9, ah, nobody, {mem.sge(0, 8)}));
    ASSERT_EQ((uint32_t)ST_BAD_QPN, poll_one(a.scq).vendor_err);
    EXPECT_EQ(1, of_port(dev, "rx_drops") - lost);
    EXPECT_EQ(silent, of_port(dev, "unresponsive_remote_events"));
    EXPECT_EQ(7, of_port(dev, "send_wrs") - wrs) << "a failed send";
    EXPECT_EQ(0, ibv_destroy_ah(ah));
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
