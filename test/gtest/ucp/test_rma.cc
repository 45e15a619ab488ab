/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <cstring>
#include <sys/mman.h>

/* Two parts of memory; of the first one no more than reading is allowed. */
class RmaReadOnly : public UcpTest {
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
    Region whole, second;

    ASSERT_EQ(0, mprotect(rest, part, PROT_READ | PROT_WRITE));
    message(true, nullptr);
    open(whole, b, ep, memory, 2 * part);
    use(whole, 0, key(1));
    open(second, b, ep, rest, part);
    use(second, part, key(2));
    close(second);
    close(whole);
}

/* The same of memory that was read-only when it was registered. Messages are sent
 * of all of it, and received into the rest, by the same handle. */
TEST_F(RmaReadOnly, until_it_is_written_in_part)
{
    Region whole, later;

    open(whole, b, ep, memory, 2 * part);
    ASSERT_EQ(0, mprotect(rest, part, PROT_READ | PROT_WRITE));
    open(later, b, ep, memory, 2 * part);
    use(later, 0, key(1));
    for (bool back : {false, true}) {
        message(back, later.memh);
    }
    close(later);
    close(whole);
}
