/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of a new rdma-core alone, looked up at run time, as this program is
 * built with the headers of any: CQs in memory of the program's (59),
 * completion counters (65), interconnects of a registration (50).
 */
#include "verbs_test.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace {

/* As the newer headers declare them */
struct NewCqAttr {
    uint64_t comp_mask, wc_flags, flags;
    uint8_t *buffer;
    uint64_t length, offset;
    int32_t  fd;
    uint8_t  reserved[4];
};

struct NewMrAttr {
    uint64_t comp_mask;
    uint16_t validity, recv_ic, read_ic, rdma_recv_ic;
};

struct NewCntr {
    ibv_context *context;
    uint32_t     handle;
};

struct NewCntrCaps {
    uint64_t max_value;
    uint32_t max_counters, ops;
};

struct NewCntrAttr {
    uint32_t comp_mask, type, flags;
};

struct NewMemory {
    uint8_t *ptr;
    uint64_t offset;
    int32_t  fd;
    uint32_t reserved;
    uint8_t  type; /* 0: an address, 1: a dma-buf */
    uint8_t  reserved2[7];
};

struct NewEfaCntrAttr {
    uint64_t  comp_mask;
    uint32_t  flags, reserved;
    NewMemory comp, err;
};

struct NewAttach {
    uint32_t comp_mask, ops;
};

enum {
    CQ_EXT_MEM = 1 << 0, COUNT_SEND = 1 << 0, COUNT_RECV = 1 << 1,
    COUNT_READ = 1 << 2, COUNT_WRITE = 1 << 4, CAP_EXT_MEM = 1 << 5,
    COUNT_REMOTE_READ = 1 << 3,
};

/* A file of zeros in memory that stands for a dma-buf. */
struct Buffer {
    explicit Buffer(size_t size) : fd(memfd_create("newer", 0)), size(size)
    {
        EXPECT_EQ(0, ftruncate(fd, size));
        data = (uint8_t*)mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_SHARED, fd, 0);
    }
    ~Buffer()
    {
        munmap(data, size);
        close(fd);
    }

    int      fd;
    size_t   size;
    uint8_t *data;
};

ibv_cq_ex *create_cq(Device &dev, const NewCqAttr &attr)
{
    ibv_cq_init_attr_ex init = {};

    init.cqe = 16;
    return symbol<ibv_cq_ex *(*)(ibv_context*, ibv_cq_init_attr_ex*,
                                 const void*, uint32_t)>("efadv_create_cq")(
            dev.ctx, &init, &attr, sizeof(attr));
}

} // namespace

/* The completions are written where the program said: 100 of them, in a ring of
 * 16 behind a part that stays as it was. */
TEST(Newer, cq_in_the_programs_memory)
{
    Device dev;

    if (!(device_caps(dev) & CAP_EXT_MEM)) {
        GTEST_SKIP() << "no CQ with external memory: an older device or "
                        "rdma-core";
    }
    Buffer buffer(12288);
    NewCqAttr attr = {};
    attr.flags     = CQ_EXT_MEM;
    attr.buffer    = buffer.data + 4096;
    attr.offset    = 4096;
    attr.fd        = buffer.fd;
    attr.length    = 4095;
    EXPECT_EQ(nullptr, create_cq(dev, attr));
    EXPECT_EQ(EINVAL, errno) << "less than a page";
    attr.length = 12288; /* from 4096 */
    EXPECT_EQ(nullptr, create_cq(dev, attr)) << "longer than the buffer";
    attr.length = 8192;
    attr.fd     = -1;
    EXPECT_EQ(nullptr, create_cq(dev, attr));
    attr.fd       = buffer.fd;
    ibv_cq_ex *cq = create_cq(dev, attr);
    ASSERT_NE(nullptr, cq) << strerror(errno);

    ibv_qp *qp = qp_on(dev, ibv_cq_ex_to_cq(cq));
    ibv_ah *ah = dev.ah(dev.gid);
    Memory memory(dev, 64);
    for (unsigned i = 0; i < 100; ++i) {
        ibv_sge sge    = memory.sge(0, 64);
        ibv_recv_wr rr = {i, nullptr, &sge, 1}, *bad_recv;
        ibv_send_wr wr = send_of(1000 + i, &sge, ah, {}), *bad;
        ASSERT_EQ(0, ibv_post_recv(qp, &rr, &bad_recv));
        wr.wr.ud = {ah, qp->qp_num, 7};
        ASSERT_EQ(0, ibv_post_send(qp, &wr, &bad));
        for (unsigned k = 0; k < 2; ++k) {
            ibv_wc wc = poll_one(ibv_cq_ex_to_cq(cq));
            ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
            ASSERT_EQ(i, wc.wr_id % 1000);
        }
    }
    EXPECT_EQ(4096, std::count(buffer.data, buffer.data + 4096, 0));
    EXPECT_GE(16 * 32, std::count_if(buffer.data + 4096, buffer.data + 12288,
                                     [](uint8_t byte) { return byte != 0; }));
    EXPECT_LT(16, std::count_if(buffer.data + 4096, buffer.data + 4608,
                                [](uint8_t byte) { return byte != 0; }));
    EXPECT_EQ(0, ibv_destroy_qp(qp));
    EXPECT_EQ(0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* Completion counters: one in words of the program's, one by address and one in
 * a dma-buf; another in the library's. */
class Counters : public testing::Test {
protected:
    void SetUp() override
    {
        auto caps_of = symbol<int (*)(ibv_context*, NewCntrCaps*, size_t)>(
                "_ibv_query_comp_cntr_caps");
        auto create  = symbol<NewCntr *(*)(ibv_context*, NewCntrAttr*,
                                           NewEfaCntrAttr*, uint32_t)>(
                "efadv_create_comp_cntr");

        if (create == nullptr || caps_of == nullptr ||
            caps_of(dev.ctx, &caps, sizeof(caps)) != 0 ||
            caps.max_counters == 0) {
            GTEST_SKIP() << "no completion counters: an older device or "
                            "rdma-core";
        }
        NewCntrAttr attr   = {};
        NewEfaCntrAttr efa = {}, plain = {};
        efa.flags          = 3; /* both words are the program's */
        efa.comp.ptr       = words.data + 64;
        efa.err.type       = 1;
        efa.err.fd         = words.fd;
        efa.err.offset     = 128;
        efa.err.ptr        = words.data + 128;
        sends              = create(dev.ctx, &attr, &efa, sizeof(efa));
        receives           = create(dev.ctx, &attr, &plain, sizeof(plain));
        ASSERT_NE(nullptr, sends) << strerror(errno);
        ASSERT_NE(nullptr, receives) << strerror(errno);
        ah = dev.ah(dev.gid);
    }

    void TearDown() override
    {
        if (ah != nullptr) {
            EXPECT_EQ(0, destroy(sends));
            EXPECT_EQ(0, destroy(receives));
        }
    }

    int attach(Qp &qp, NewCntr *to, uint32_t ops)
    {
        NewAttach what = {0, ops};

        return symbol<int (*)(ibv_qp*, NewCntr*, NewAttach*)>(
                "ibv_qp_attach_comp_cntr")(qp.qp, to, &what);
    }

    uint64_t value(NewCntr *of, const char *call = "ibv_read_comp_cntr")
    {
        uint64_t n = 99999;

        EXPECT_EQ(0, symbol<int (*)(NewCntr*, uint64_t*)>(call)(of, &n));
        return n;
    }

    uint64_t sent() { return *(volatile uint64_t*)(words.data + 64); }
    uint64_t failed() { return *(volatile uint64_t*)(words.data + 128); }

    int (*destroy)(NewCntr*) = symbol<int (*)(NewCntr*)>(
            "ibv_destroy_comp_cntr");
    NewCntrCaps caps = {};
    NewCntr *sends = nullptr, *receives = nullptr;
    Device dev;
    Buffer words{4096};
    ibv_ah *ah = nullptr;
};

TEST_F(Counters, count_what_they_are_attached_for)
{
    Qp a(dev), b(dev);
    Memory memory(dev, 256);

    EXPECT_EQ(512u, caps.max_counters);
    EXPECT_EQ((unsigned)(COUNT_SEND | COUNT_RECV | COUNT_READ | COUNT_WRITE),
              caps.ops);
    ASSERT_EQ(0, attach(a, sends, COUNT_SEND | COUNT_READ));
    ASSERT_EQ(0, attach(b, receives, COUNT_RECV));
    for (unsigned i = 0; i < 5; ++i) {
        ASSERT_EQ(0, b.recv(i, {memory.sge(0, 64)}));
        ASSERT_EQ(0, a.send(i, ah, b.address(), {memory.sge(64, 64)}));
        ASSERT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
        ASSERT_EQ(IBV_WC_SUCCESS, poll_one(b.rcq).status);
    }
    EXPECT_EQ(5u, sent());
    EXPECT_EQ(5u, value(receives));
    ASSERT_EQ(0, a.read(1, ah, b.address(), memory.sge(0, 64),
                        (uintptr_t)memory.data() + 64, memory.mr->rkey));
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(6u, sent());
    ASSERT_EQ(0, a.read(2, ah, b.address(), memory.sge(0, 64), 1, 1));
    ASSERT_NE(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(6u, sent());
    EXPECT_EQ(1u, failed());
    EXPECT_EQ(0u, value(receives, "ibv_read_err_comp_cntr"));
}

TEST_F(Counters, refusals_and_setting)
{
    Qp a(dev);

    ASSERT_EQ(0, attach(a, sends, COUNT_SEND));
    EXPECT_NE(0, attach(a, receives, COUNT_SEND)) << "it is counted already";
    EXPECT_NE(0, attach(a, receives, COUNT_REMOTE_READ)) << "not counted here";
    EXPECT_NE(0, attach(a, receives, 0));
    EXPECT_NE(0, destroy(sends)) << "a QP uses it";
    EXPECT_EQ(0, symbol<int (*)(NewCntr*, uint64_t)>(
                         "ibv_set_comp_cntr")(sends, 100));
    EXPECT_EQ(0, symbol<int (*)(NewCntr*, uint64_t)>(
                         "ibv_inc_comp_cntr")(sends, 11));
    EXPECT_EQ(111u, sent());
    EXPECT_EQ(0u, failed());
}

/* Behind the largest value comes 0. libfabric takes a counter whose largest is
 * that of 64 bits for one of its own. */
TEST_F(Counters, wrap)
{
    Qp a(dev);
    Memory memory(dev, 128);

    EXPECT_EQ(0x7fffffffu, caps.max_value);
    ASSERT_EQ(0, attach(a, sends, COUNT_SEND));
    EXPECT_EQ(0, symbol<int (*)(NewCntr*, uint64_t)>(
                         "ibv_set_comp_cntr")(sends, caps.max_value));
    EXPECT_EQ(caps.max_value, sent());
    ASSERT_EQ(0, a.recv(1, {memory.sge(0, 64)}));
    ASSERT_EQ(0, a.send(1, ah, a.address(), {memory.sge(64, 64)}));
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(0u, sent());
    EXPECT_EQ(0u, failed());
    EXPECT_EQ(0, symbol<int (*)(NewCntr*, uint64_t)>(
                         "ibv_inc_comp_cntr")(sends, caps.max_value + 3));
    EXPECT_EQ(2u, sent());
}

/* --ic-id 5 */
TEST(Newer, interconnect_of_a_registration)
{
    auto query = symbol<int (*)(ibv_mr*, NewMrAttr*, uint32_t)>(
            "efadv_query_mr");
    const char *id = getenv("EFASIM_IC_ID");
    uint16_t want  = id ? atoi(id) : 0;
    Device dev;
    Memory memory(dev, 4096);
    NewMrAttr attr = {};

    if (query == nullptr) {
        GTEST_SKIP() << "this rdma-core has no efadv_query_mr";
    }
    ASSERT_EQ(0, query(memory.mr, &attr, sizeof(attr)));
    EXPECT_EQ(want ? 7 : 0, attr.validity);
    EXPECT_EQ(want, attr.recv_ic);
    EXPECT_EQ(want, attr.read_ic);
    EXPECT_EQ(want, attr.rdma_recv_ic);
}

/* --device efa4 */
TEST(Newer, queues_and_port_of_efa4)
{
    auto query = symbol<int (*)(ibv_context*, uint32_t, uint64_t*)>(
            "ibv_query_port_speed");
    Device dev;
    ibv_device_attr attr  = {};
    efadv_device_attr efa = {};
    uint64_t speed        = 0; /* in 100 Mb/s */
    QpParams deep;

    ASSERT_EQ(0, ibv_query_device(dev.ctx, &attr));
    if (attr.vendor_part_id != 0xefa4) {
        GTEST_SKIP() << "another generation";
    }
    ASSERT_EQ(0, efadv_query_device(dev.ctx, &efa, sizeof(efa)));
    EXPECT_EQ(2048u, efa.max_sq_wr);
    EXPECT_EQ(2048, attr.max_qp_wr);
    ASSERT_EQ(0, query(dev.ctx, 1, &speed));
    EXPECT_EQ(8000u, speed);
    deep.send_wr = 2048;
    Qp qp(dev, deep);
}
