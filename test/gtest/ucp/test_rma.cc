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

/* Two parts of memory; of the first one no more than reading is allowed. */
class RmaReadOnly : public Rma {
protected:
    ~RmaReadOnly() override
    {
        munmap(memory, 2 * part);
    }

    /* A peer puts into the second part, and gets what begins at @from. */
    void use(const Region &region, size_t from, uint64_t fill)
    {
        Buffer in(2 * part - from), out(part, fill);
        Op get_op, put_op;
        auto param = put_op.send_param();

        put_op.started(ucp_put_nbx(ep, out.data(), part, address + part,
                                   region.rkey, &param));
        flush(ep);
        finish(put_op, "put");
        EXPECT_LT(fill_diff(rest, part, fill, 0), 0);
        param = get_op.send_param();
        get_op.started(ucp_get_nbx(ep, in.data(), in.size(), address + from,
                                   region.rkey, &param));
        finish(get_op, "get");
        EXPECT_EQ(0, memcmp(rest + from - part, in.data(), in.size()));
    }

    /* A message of all to the peer, or one from there into the second part; with
     * the handle of both, or none. */
    void message(bool back, ucp_mem_h memh)
    {
        size_t size = back ? 2 * part : part;
        Buffer other(size, key(3));
        Op from, to;
        auto get = to.tag_param(), put = from.send_param();
        auto &mine = back ? put : get;

        mine.op_attr_mask |= (memh != nullptr) ? UCP_OP_ATTR_FIELD_MEMH : 0;
        mine.memh          = memh;
        to.started(ucp_tag_recv_nbx((back ? a : b).worker,
                                    back ? other.data() : rest, size, 1, 1, &get));
        from.started(ucp_tag_send_nbx(back ? connect(b, a) : ep,
                                      back ? memory : other.data(), size, 1, &put));
        finish(from, "send");
        finish(to, "receive");
        EXPECT_EQ(0, memcmp(other.data(), back ? memory : rest, size));
    }

    const size_t part = 1 << 20;
    void *const memory = mmap(nullptr, 2 * part, PROT_READ,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint64_t address = reinterpret_cast<uint64_t>(memory);
    uint8_t *const rest = static_cast<uint8_t*>(memory) + part;
    const ucp_ep_h ep = connect(a, b);
};

/* Memory that was sent, and then opened, as a whole is put into where it may be
 * written; and UCX keeps that registration for the rest alone, opened later. */
TEST_F(RmaReadOnly, in_part__is_put_into_elsewhere)
{
    Region second;

    ASSERT_EQ(0, mprotect(rest, part, PROT_READ | PROT_WRITE));
    message(true, nullptr);
    open(region_, b, ep, memory, 2 * part);
    use(region_, 0, key(1));
    open(second, b, ep, rest, part);
    use(second, part, key(2));
    close(second);
    close(region_);
}

/* The same of memory that was read-only when it was registered. Messages are sent
 * of all of it, and received into the rest, by the same handle. */
TEST_F(RmaReadOnly, until_it_is_written_in_part)
{
    Region later;

    open(region_, b, ep, memory, 2 * part);
    ASSERT_EQ(0, mprotect(rest, part, PROT_READ | PROT_WRITE));
    open(later, b, ep, memory, 2 * part);
    use(later, 0, key(1));
    for (bool back : {false, true}) {
        message(back, later.memh);
    }
    close(later);
    close(region_);
}
