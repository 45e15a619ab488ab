/* SPDX-License-Identifier: BSD-3-Clause */
/* Several devices of a host in one process, and several contexts of one. Run
 * with `efasim run --devices 4`. */
#include "verbs_test.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>
#include <unistd.h>

namespace {

const std::vector<std::string> NAMES = {
    "rdmap0s6", "rdmap16s6", "rdmap32s6", "rdmap48s6",
};

/* A device with a queue pair and memory, ready to talk. */
struct End {
    explicit End(const std::string &name, bool events = false) :
        name(name), dev(name), qp(dev, params(events)),
        mem(dev, 1 << 20, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ) { }

    static QpParams params(bool events)
    {
        QpParams params;

        params.events = events;
        return params;
    }

    std::string name;
    Device dev;
    Qp qp;
    Memory mem;
};

/* One message from @a to @b, each byte compared. */
void exchange(End &a, End &b, uint64_t key)
{
    ibv_ah *ah = a.dev.ah(b.dev.gid);

    ASSERT_NE(nullptr, ah);
    fill_bytes(a.mem.data(), MSG_MAX, key, 0);
    memset(b.mem.data() + MSG_MAX, 0xa5, MSG_MAX);
    ASSERT_EQ(0, b.qp.recv(7, {b.mem.sge(MSG_MAX, MSG_MAX)}));
    ASSERT_EQ(0, a.qp.send(8, ah, b.qp.address(), {a.mem.sge(0, MSG_MAX)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.qp.scq).status);
    ibv_wc wc = poll_one(b.qp.rcq);
    EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    EXPECT_EQ(a.qp.qp->qp_num, wc.src_qp);
    EXPECT_LT(fill_diff(b.mem.data() + MSG_MAX, MSG_MAX, key, 0), 0);
}

/* @a reads the first half of @b's memory into its second; the status. */
uint32_t read_from(End &a, End &b)
{
    ibv_ah *ah      = a.dev.ah(b.dev.gid);
    const size_t at = a.mem.size() / 2;

    b.mem.fill(99);
    EXPECT_EQ(0, a.qp.read(1, ah, b.qp.address(), a.mem.sge(at, at),
                           (uintptr_t)b.mem.data(), b.mem.mr->rkey));
    ibv_wc wc = poll_one(a.qp.scq);
    if (wc.status == IBV_WC_SUCCESS) {
        EXPECT_LT(fill_diff(a.mem.data() + at, at, 99, 0), 0);
    }
    return wc.vendor_err;
}

std::string sysfs_line(Device &dev, const char *file)
{
    std::string path = std::string(dev.ctx->device->ibdev_path) + "/" + file;
    int fd           = open(path.c_str(), O_RDONLY); /* not fopen(): counters */
    char text[256]   = {};

    EXPECT_GE(fd, 0) << path;
    EXPECT_GE(read(fd, text, sizeof(text) - 1), 0);
    close(fd);
    return std::string(text, strcspn(text, "\n"));
}

} // namespace

/* Each has a name, a place on the PCI bus, a GID and a character device. */
TEST(rails, are_listed_and_open)
{
    std::vector<std::string> gids, places;

    for (unsigned i = 0; i < NAMES.size(); ++i) {
        Device dev(NAMES[i]);
        struct stat st;
        char link[4096] = {};

        ASSERT_EQ(0, fstat(dev.ctx->cmd_fd, &st));
        EXPECT_TRUE(S_ISCHR(st.st_mode));
        EXPECT_EQ(192 + i, minor(st.st_rdev));
        EXPECT_EQ("uverbs" + std::to_string(i), dev.ctx->device->dev_name);
        gids.emplace_back((char*)&dev.gid, sizeof(dev.gid));
        std::string pci = dev.ctx->device->ibdev_path;
        ASSERT_NE(nullptr, realpath((pci + "/device").c_str(), link));
        places.emplace_back(link);
        std::string place = strrchr(link, '/') + 1;
        EXPECT_EQ("0000:" + std::to_string(i) + "0:06.0", place);
        EXPECT_EQ("0x1d0f", sysfs_line(dev, "device/vendor"));
        EXPECT_NE("", sysfs_line(dev, "device/numa_node"));
    }
    for (auto list : {gids, places}) {
        std::sort(list.begin(), list.end());
        EXPECT_EQ(list.end(), std::adjacent_find(list.begin(), list.end()));
    }
}

/* Every device reaches every device, itself too, by messages and reads. */
TEST(rails, every_pair_in_one_process)
{
    std::vector<std::unique_ptr<End>> end;

    for (auto &name : NAMES) {
        end.emplace_back(new End(name));
    }
    for (auto &a : end) {
        for (auto &b : end) {
            int64_t tx = stat_counter(0, "tx_bytes", a->name);
            int64_t rx = stat_counter(0, "rx_bytes", b->name);
            exchange(*a, *b, tx + rx);
            EXPECT_EQ(MSG_MAX, stat_counter(0, "tx_bytes", a->name) - tx);
            EXPECT_EQ(MSG_MAX, stat_counter(0, "rx_bytes", b->name) - rx);
            EXPECT_EQ(std::to_string(stat_counter(0, "tx_bytes", a->name)),
                      sysfs_line(a->dev, "ports/1/hw_counters/tx_bytes"));
            b->dev.ah(a->dev.gid); /* the responder's rule */
            EXPECT_EQ((uint32_t)ST_OK, read_from(*a, *b));
        }
    }
}

/* Keys and address handles are of one device alone. */
TEST(rails, keys_and_handles_are_the_devices_own)
{
    End a(NAMES[0]), b(NAMES[1]), c(NAMES[2]);
    ibv_sge foreign = b.mem.sge(0, 8);

    /* b knows c, not a: a's read finds no handle for a */
    b.dev.ah(c.dev.gid);
    EXPECT_EQ((uint32_t)ST_UNKNOWN_PEER, read_from(a, b));
    b.dev.ah(a.dev.gid);
    EXPECT_EQ((uint32_t)ST_OK, read_from(a, b));

    /* b's second registration: no key of a has that number */
    Memory more(b.dev, 4096);
    foreign.lkey = more.mr->lkey;
    ASSERT_EQ(0, a.qp.send(1, a.dev.ah(b.dev.gid), b.qp.address(), {foreign}));
    EXPECT_EQ((uint32_t)ST_BAD_LKEY, poll_one(a.qp.scq).vendor_err);
}

/* Two contexts of one device: objects apart, messages across, and one lives on
 * when the other is closed. */
TEST(rails, contexts_of_one_device)
{
    End stays(NAMES[1]);
    int64_t opened;

    {
        End goes(NAMES[1]);
        ibv_qp_init_attr attr = {};
        EXPECT_EQ(0, memcmp(&stays.dev.gid, &goes.dev.gid, sizeof(ibv_gid)));
        exchange(stays, goes, 1);
        exchange(goes, stays, 2);
        attr.qp_type = IBV_QPT_UD; /* with the other context's CQs */
        attr.send_cq = stays.qp.scq;
        attr.recv_cq = stays.qp.rcq;
        attr.cap     = {16, 16, 1, 1, 0};
        EXPECT_EQ(nullptr, ibv_create_qp(goes.dev.pd, &attr));
        opened = stat_counter(0, "rx_pkts", NAMES[1]);
    }
    exchange(stays, stays, 3);
    EXPECT_EQ(opened + 1, stat_counter(0, "rx_pkts", NAMES[1]));
}

/* Sends one message, a while after it got the address. */
TEST(DISABLED_Role, rails_knock)
{
    Parent parent;
    End end(NAMES[0]);
    Address to = parent.get<Address>();
    ibv_ah *ah = end.dev.ah(to.gid);

    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ASSERT_EQ(0, end.qp.send(2, ah, to, {end.mem.sge(0, 100)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(end.qp.scq).status);
}

/* As the kernel looks for a channel among the files of its context. */
TEST(rails, a_channel_is_its_contexts_own)
{
    Device a(NAMES[0]), b(NAMES[1]), again(NAMES[0]);
    ibv_comp_channel *channel = ibv_create_comp_channel(a.ctx);

    ASSERT_NE(nullptr, channel);
    for (ibv_context *ctx : {b.ctx, again.ctx}) {
        errno = 0;
        EXPECT_EQ(nullptr, ibv_create_cq(ctx, 16, nullptr, channel, 0));
        EXPECT_EQ(EBADF, errno);
    }
    ibv_cq *cq = ibv_create_cq(a.ctx, 16, nullptr, channel, 0);
    ASSERT_NE(nullptr, cq);
    EXPECT_EQ(0, ibv_destroy_cq(cq));
    EXPECT_EQ(0, ibv_destroy_comp_channel(channel));
}

/* The program has slept for a while, on all of its devices, when a message
 * comes to the second one. */
TEST(rails, a_device_that_nobody_polls)
{
    Child child(3, "rails_knock");
    End idle(NAMES[0]), quiet(NAMES[3], true);
    ibv_wc wc;

    ASSERT_EQ(0, quiet.qp.recv(1, {quiet.mem.sge(0, 100)}));
    ASSERT_EQ(0, ibv_req_notify_cq(quiet.qp.rcq, 0));
    child.put(quiet.qp.address());
    EXPECT_EQ(quiet.qp.rcq, next_event(quiet.qp.channel))
            << "nobody woke the backstop";
    EXPECT_EQ(1, ibv_poll_cq(quiet.qp.rcq, 1, &wc));
    child.expect_ok();
}

/* A thread for each device, all at once. */
TEST(rails, a_thread_each)
{
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<End>> end;

    for (auto &name : NAMES) {
        end.emplace_back(new End(name));
    }
    for (auto &one : end) {
        threads.emplace_back([&one] {
            for (unsigned i = 0; i < 500; ++i) {
                exchange(*one, *one, i);
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
}

/* Its second device goes with the first message that it sends. */
TEST(DISABLED_Role, rails_removed)
{
    End first(NAMES[0]), second(NAMES[1]);
    Device again(NAMES[1]);
    ibv_ah *ah = second.dev.ah(second.dev.gid);
    ibv_async_event event;

    exchange(first, first, 1);
    ASSERT_EQ(0, second.qp.send(1, ah, second.qp.address(),
                                {second.mem.sge(0, 8)}));
    EXPECT_EQ((uint32_t)ST_FLUSHED, poll_one(second.qp.scq).vendor_err);
    for (auto ctx : {second.dev.ctx, again.ctx}) { /* both are told */
        ASSERT_EQ(0, ibv_get_async_event(ctx, &event));
        EXPECT_EQ(IBV_EVENT_DEVICE_FATAL, event.event_type);
        ibv_ack_async_event(&event);
        EXPECT_EQ(nullptr, ibv_alloc_pd(ctx));
    }
    exchange(first, first, 2); /* the other one works on */
}

TEST(rails, one_device_is_removed)
{
    char plan[] = "/tmp/rails-plan.XXXXXX";

    close(mkstemp(plan));
    std::ofstream(plan) << "after 1 on 2.1 remove\n";
    Child(2, "rails_removed", {"--devices", "2", "--plan", plan}).expect_ok();
    unlink(plan);
}
