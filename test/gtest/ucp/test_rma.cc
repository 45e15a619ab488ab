/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <cstring>
#include <sys/mman.h>

class Rma : public UcpTest, public testing::WithParamInterface<size_t> {
protected:
    /* Open @len bytes of @owner to the endpoint of another. */
    void map(Entity &owner, ucp_ep_h ep, size_t len)
    {
        memory_ = Buffer(len);
        open(region_, owner, ep, memory_.data(), len);
    }

    uint64_t remote()
    {
        return reinterpret_cast<uint64_t>(memory_.data());
    }

    void put(ucp_ep_h ep, const void *data, size_t len, size_t at, Op &op)
    {
        auto param = op.send_param();
        op.started(ucp_put_nbx(ep, data, len, remote() + at, region_.rkey,
                               &param));
    }

    void get(ucp_ep_h ep, void *data, size_t len, size_t at, Op &op)
    {
        auto param = op.send_param();
        op.started(ucp_get_nbx(ep, data, len, remote() + at, region_.rkey,
                               &param));
    }

    Buffer memory_;
    Region region_;
};

/* A get brings the bytes that were put and flushed, again and again, and none
 * beside them. */
TEST_P(Rma, put_flush_get)
{
    ucp_ep_h ep = connect(a, b);
    size_t len  = GetParam();

    map(b, ep, len + 2);
    for (unsigned i = 0; i < 6; ++i) {
        Buffer out(len, key(i)), in(len + 2);
        Op put_op, get_op;
        put(ep, out.data(), len, 1, put_op);
        (i % 2) ? flush(ep) : flush(a);
        EXPECT_EQ(1, put_op.done) << "flush was done before the put";
        finish(put_op, "put");
        get(ep, in.data() + 1, len, 1, get_op);
        finish(get_op, "get");
        for (uint8_t *bytes : {memory_.data(), in.data()}) {
            EXPECT_LT(fill_diff(bytes + 1, len, key(i), 0), 0);
            EXPECT_EQ(0xa5, bytes[0]);
            EXPECT_EQ(0xa5, bytes[len + 1]);
        }
    }
    close(region_);
}

/* Sizes around what a packet, a fragment and a protocol switch holds. */
static const size_t edge_sizes[] = {
    0,    1,    2,    7,     8,     13,    16,     24,
    31,   32,   33,   63,    64,    65,    100,    255,
    256,  1000, 1024, 4085,  4096,  8191,  8192,   8871,
    8879, 8880, 8888, 8892,  8899,  8900,  8901,   8919,
    8920, 8927, 8928, 8929,  9000,  17800, 17856,  26701,
    65535, 65536, 65537, 262145, 1048576, 4194303, 16777216
};

INSTANTIATE_TEST_SUITE_P(sizes, Rma, testing::ValuesIn(edge_sizes),
                         testing::PrintToStringParamName());

/* Memory of which a part is read-only is open to a peer as a whole, and UCX
 * keeps that registration: it puts into the rest, which is opened later. Before
 * 1.16 UCX does not tell of which bytes it wants a key. */
TEST_F(Rma, put_beside_read_only_memory)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    if (minor < 16) {
        GTEST_SKIP() << "UCX 1." << minor;
    }
    const size_t part = 1 << 20;
    void *memory      = mmap(nullptr, 2 * part, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, memory);
    auto rest = static_cast<uint8_t*>(memory) + part;
    ASSERT_EQ(0, mprotect(memory, part, PROT_READ));
    ucp_ep_h ep = connect(a, b);
    Buffer in(2 * part), out(part, key(1));
    Region second;
    Op get_op, put_op;
    auto param = get_op.send_param();

    open(region_, b, ep, memory, 2 * part);
    get_op.started(ucp_get_nbx(ep, in.data(), 2 * part,
                               reinterpret_cast<uint64_t>(memory),
                               region_.rkey, &param));
    finish(get_op, "get");
    EXPECT_EQ(0, memcmp(memory, in.data(), 2 * part));
    open(second, b, ep, rest, part);
    param = put_op.send_param();
    put_op.started(ucp_put_nbx(ep, out.data(), part,
                               reinterpret_cast<uint64_t>(rest), second.rkey,
                               &param));
    flush(ep);
    finish(put_op, "put");
    EXPECT_LT(fill_diff(rest, part, key(1), 0), 0);
    close(second);
    close(region_);
    munmap(memory, 2 * part);
}
