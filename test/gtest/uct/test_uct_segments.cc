/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the device takes in several registrations only (efa_rkey.h). */
#include "list_test.h"
#include "mapping.h"
#include "module_clock.h"

#include <uct/ib/efa/efa_rkey.h>

using namespace uct_test;

namespace {

constexpr size_t MB = 1 << 20;

/* The device takes so much at a time, of 300 MB. */
constexpr size_t SEGMENT = 64 * MB, SIZE = 300 * MB;

/* Between the beginnings of two segments. */
constexpr size_t STRIDE = SEGMENT - EFA_OVERLAP;

} // namespace

/* With reads. */
class UctSegments : public UctTest {
protected:
    virtual bool is_put() const
    {
        return false;
    }

    void SetUp() override
    {
        SRD_ONLY("no RMA");
        open();
        if (is_put()) {
            PUT_ONLY();
        }
        limit(SEGMENT);
        ASSERT_TRUE(far.repeat());
        ASSERT_TRUE(near.repeat());
        there.reset(new Memory(*b, far.data() + 1, SIZE));
        here.reset(new Memory(*a, near.data() + 1, SIZE));
        efa_rkey_wire_t wire;
        memcpy(&wire, there->packed().data(), sizeof(wire));
        ASSERT_NE(0u, wire.table) << "one registration";
    }

    void TearDown() override
    {
        limit(0);
        here.reset();
        there.reset();
        UctTest::TearDown();
    }

    static void limit(size_t bytes)
    {
        device("accept", ("registration:" + std::to_string(bytes)).c_str());
    }

    ucs_status_t post(size_t offset, size_t length, Completion *comp)
    {
        uct_iov_t iov = here->iov(offset, length);

        return (is_put() ? uct_ep_put_zcopy : uct_ep_get_zcopy)(
                ep, &iov, 1, there->address() + offset, there->rkey(),
                &comp->uct);
    }

    /* The same bytes at both ends. */
    void move(size_t offset, size_t length)
    {
        Memory &from = is_put() ? *here : *there;
        Memory &to   = is_put() ? *there : *here;
        Completion comp;

        fill(from, offset, length, ++seed);
        memset(to.data() + offset, 0, length);
        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
            return post(offset, length, &comp);
        }));
        ASSERT_EQ(UCS_OK, end_of(comp)) << offset << " " << length;
        ASSERT_EQ(0, memcmp(from.data() + offset, to.data() + offset, length));
    }

    static void fill(Memory &memory, size_t offset, size_t length, uint32_t seed)
    {
        Bytes bytes = make_message(seed, std::min<size_t>(length, 1009));

        for (size_t i = 0; i < length; i += bytes.size()) {
            std::copy_n(bytes.begin(), std::min(bytes.size(), length - i),
                        memory.data() + offset + i);
        }
    }

    Mapping far{SIZE + 1}, near{SIZE + 1};
    std::unique_ptr<Memory> here, there;
    uint32_t seed = 0;
};

/* And with writes. */
class UctSegmentsRma : public UctSegments,
                       public testing::WithParamInterface<bool> {
protected:
    bool is_put() const override
    {
        return GetParam();
    }
};

TEST_P(UctSegmentsRma, moved__over_each_seam_and_at_the_ends)
{
    const size_t most = a->attr().cap.get.max_zcopy;

    ASSERT_LE(most, EFA_OVERLAP);
    for (size_t at = STRIDE; at < SIZE - EFA_OVERLAP; at += STRIDE) {
        move(at - 3, 7);
        move(at + EFA_OVERLAP - 3, 7);
    }
    move(0, 1);
    move(SIZE - 1, 1);
    move(STRIDE - 2, most);
    move(STRIDE + 3, most);
    move(SIZE - most, most);
}

TEST_P(UctSegmentsRma, first__waits_for_the_table_and_is_dispatched)
{
    Completion comp;
    ucs_status_t status;

    move(0, 8); /* with another key than the next one's */
    there.reset();
    there.reset(new Memory(*b, far.data() + 1, SIZE));
    Pending request([&] {
        status = post(SIZE - 8, 8, &comp);
        return (status == UCS_INPROGRESS) ? UCS_OK : status;
    });
    fill(*there, SIZE - 8, 8, 77);
    const auto reads = counter("rdma_read_wrs");
    ASSERT_EQ(UCS_ERR_NO_RESOURCE, post(SIZE - 8, 8, &comp));
    ASSERT_EQ(UCS_ERR_NO_RESOURCE, post(SIZE - 8, 8, &comp));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    EXPECT_TRUE(request.done);
    EXPECT_EQ(UCS_OK, comp.status);
    EXPECT_EQ(0, memcmp(there->data() + SIZE - 8, here->data() + SIZE - 8, 8));
    EXPECT_TRUE(flush(ep));
    EXPECT_EQ(is_put() ? 1 : 2, counter("rdma_read_wrs") - reads);
}


TEST_P(UctSegmentsRma, list__of_elements_longer_than_segments)
{
    const size_t length = 70 * MB, stride = 140 * MB;
    Memory &from = is_put() ? *here : *there, &to = is_put() ? *there : *here;
    Completion comp;
    List list;

    list.add(*here, *there, 5, length, 2, stride);
    list.add(*here, *there, SIZE - 3, 3, 1, 0);
    fill(from, 0, SIZE, 1);
    memset(to.data(), 0, SIZE);
    ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
        auto vops     = reinterpret_cast<ucx_iface_base_t *>(a->iface())->vops;
        ucx_sgl_t sgl = list.sgl();
        return (is_put() ? vops->ep_put_sgl : vops->ep_get_sgl)(ep, &sgl,
                                                                &comp.uct);
    }));
    ASSERT_EQ(UCS_OK, end_of(comp));
    for (size_t at : {size_t(5), 5 + stride}) {
        EXPECT_EQ(0, memcmp(from.data() + at, to.data() + at, length)) << at;
    }
    EXPECT_EQ(0, memcmp(from.data() + SIZE - 3, to.data() + SIZE - 3, 3));
}

TEST_P(UctSegmentsRma, short_and_bcopy__at_each_seam)
{
    for (size_t at = STRIDE - 4; at < SIZE - EFA_OVERLAP; at += STRIDE) {
        const uint64_t remote = there->address() + at;
        Bytes message = make_message(at, 8), got(8);
        Completion comp;

        std::copy(message.begin(), message.end(), there->data() + at);
        ucs_status_t status = until_taken([&] {
            return is_put() ? uct_ep_put_short(ep, message.data() + 1, 4,
                                               remote + 2, there->rkey()) :
                              uct_ep_get_bcopy(
                                      ep,
                                      [](void *arg, const void *data,
                                         size_t length) {
                                          memcpy(arg, data, length);
                                      },
                                      got.data(), 8, remote, there->rkey(),
                                      &comp.uct);
        });
        if (!is_put()) {
            ASSERT_TRUE(wait([&] { return comp.done > 0; }));
            EXPECT_EQ(message, got);
            continue;
        }
        ASSERT_EQ(UCS_OK, status);
        ASSERT_TRUE(wait([&] {
            return uct_ep_put_bcopy(ep, pack_bytes, &message, remote + 8,
                                    there->rkey()) == 8;
        }));
        ASSERT_TRUE(flush(ep));
        EXPECT_EQ(0, memcmp(message.data() + 1, there->data() + at + 2, 4));
        EXPECT_EQ(0, memcmp(message.data(), there->data() + at + 8, 8));
    }
}

TEST_F(UctSegments, am_zcopy__out_of_two_of_them)
{
    const size_t length = 8000, at = STRIDE + EFA_OVERLAP - length / 2;
    uct_iov_t iov       = here->iov(at, length);
    Completion comp;

    fill(*here, at, length, 3);
    ASSERT_TRUE(wait([&] {
        return uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0, &comp.uct) ==
               UCS_INPROGRESS;
    }));
    ASSERT_TRUE(wait([&] { return !b->received.empty(); }));
    ASSERT_EQ(length, b->received[0].size());
    EXPECT_EQ(0, memcmp(here->data() + at, b->received[0].data(), length));
    ASSERT_TRUE(wait([&] { return comp.done > 0; }));
}

/* The key, and the endpoint, may end while the table is read. */
TEST_F(UctSegments, ended__while_the_table_comes)
{
    uct_iov_t iov = here->iov(0, 8);
    Completion comp;

    move(0, 8); /* the peer knows us */
    for (bool first_endpoint : {false, true}) {
        uct_ep_h other = a->connect(*b);
        uct_rkey_bundle_t rkey;
        ASSERT_EQ(UCS_OK, uct_rkey_unpack(a->component(),
                                          there->packed().data(), &rkey));
        ASSERT_TRUE(wait([&] { /* until it is read */
            ucs_status_t status = uct_ep_get_zcopy(other, &iov, 1,
                                                   there->address(), rkey.rkey,
                                                   &comp.uct);
            return (status == UCS_ERR_NO_RESOURCE) &&
                   (uct_ep_flush(other, 0, nullptr) == UCS_INPROGRESS);
        }));
        if (first_endpoint) {
            uct_ep_destroy(other);
        }
        uct_rkey_release(a->component(), &rkey);
        if (!first_endpoint) {
            ASSERT_TRUE(flush(other));
            uct_ep_destroy(other);
        }
    }
    progress_for(0.01);
    EXPECT_EQ(0u, comp.done);
}

/* Each endpoint reads the table, also that of an interface that is opened when
 * there are such keys. */
TEST_F(UctSegments, endpoints__of_one_key)
{
    Entity late(a);
    uct_ep_h eps[] = {a->connect(*b), a->connect(*b), late.connect(*b)};
    uct_ep_h usual = ep;
    Pending request;

    for (uct_ep_h each : eps) {
        uct_iov_t iov = here->iov(0, 8);
        Completion comp;

        ASSERT_TRUE(wait([&] {
            late.progress();
            return uct_ep_get_zcopy(each, &iov, 1, there->address(),
                                    there->rkey(),
                                    &comp.uct) == UCS_INPROGRESS;
        }));
        ASSERT_TRUE(wait([&] {
            late.progress();
            return comp.done > 0;
        }));
        EXPECT_EQ(UCS_OK, comp.status);
        uct_ep_destroy(each);
    }
    ep = usual;
    progress_for(0.01, {&late, a, b});
}

/* When the operations of a key have ended, so have all reads of its table: the
 * memory may end then. */
TEST_F(UctSegments, endpoints__each_ends_its_read_of_the_table_first)
{
    if (device_has_own_time()) {
        GTEST_SKIP() << "the read may end before its delay is taken back";
    }
    uct_iov_t iov = here->iov(0, 8);
    Memory plain(*b, 8, 1);
    Completion known, comp;
    Entity late(a);
    uct_ep_h other = late.connect(*b);
    auto get = [&](Memory &from, Completion *done) {
        late.progress();
        return uct_ep_get_zcopy(other, &iov, 1, from.address(), from.rkey(),
                                &done->uct) == UCS_INPROGRESS;
    };

    introduce();
    ASSERT_TRUE(wait([&] { return get(plain, &known); }));
    device_clock(1);
    device("delay-us", "1000");
    const auto rung = counter("doorbells");
    EXPECT_FALSE(get(*there, &comp));
    ASSERT_TRUE(wait([&] { return counter("doorbells") > rung; }));
    device("delay-us", "0");
    move(0, 8);
    EXPECT_FALSE(get(*there, &comp)) << "its read of the table is under way";
    device_clock(1000000000);
    ASSERT_TRUE(wait([&] { return get(*there, &comp); }));
    device_clock(0);
    ASSERT_TRUE(wait([&] {
        late.progress();
        return comp.done > 0;
    }));
    EXPECT_EQ(UCS_OK, comp.status);
    uct_ep_destroy(other);
}

/* With pages for what is registered and for a part of what is refused: a segment
 * that stayed registered, or a table, would soon be one too many. UCP hides what is
 * refused, and may end for it: it is said all the same, once. */
TEST_F(UctSegments, ended__leaves_nothing_registered)
{
    here.reset();
    there.reset();
    device("device-pages", std::to_string((2 * SIZE + 3 * SEGMENT) / 4096).c_str());
    testing::internal::CaptureStdout();
    for (int i = 0; i < 3; ++i) {
        std::unique_ptr<Memory> one(new Memory(*a, near.data(), SIZE));
        uct_mem_h memh;
        EXPECT_EQ(UCS_ERR_NO_MEMORY,
                  uct_md_mem_reg(a->md(), far.data(), SIZE,
                                 UCT_MD_MEM_ACCESS_RMA |
                                         UCT_MD_MEM_FLAG_HIDE_ERRORS,
                                 &memh));
    }
    std::string said = testing::internal::GetCapturedStdout();
    const char *line = " WARN  rdmap0s6: cannot register"; /* later ones: DIAG */
    EXPECT_NE(std::string::npos, said.find(line)) << said;
    EXPECT_EQ(said.find(line), said.rfind(line)) << said;
    device("device-pages", std::to_string(24 << 20).c_str());
}

/* The device's limit is on memory that peers may write: no other is cut for it. */
TEST_F(UctSegments, not_written__is_one_registration)
{
    bool writable = a->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY;
    uct_mem_h memh;

    limit(0);
    here.reset();
    device("mr-pages", "16384");
    for (unsigned access : {UCT_MD_MEM_ACCESS_REMOTE_GET, UCT_MD_MEM_ACCESS_ALL}) {
        efa_rkey_wire_t wire;

        ASSERT_EQ(UCS_OK, uct_md_mem_reg(b->md(), near.data(), SIZE, access, &memh));
        ASSERT_EQ(UCS_OK, uct_md_mkey_pack(b->md(), memh, &wire));
        EXPECT_EQ(wire.table != 0, writable && (access == UCT_MD_MEM_ACCESS_ALL));
        uct_md_mem_dereg(b->md(), memh);
    }
    device("mr-pages", "1048576");
}

/* A size that the device took is not kept to where it would be too many. */
TEST_F(UctSegments, refused_once__is_no_limit_of_what_is_larger)
{
    Mapping larger(EFA_KEYS_MAX * STRIDE + SIZE, PROT_READ);
    uct_mem_h memh;

    limit(0);
    ASSERT_TRUE(larger.ok());
    ASSERT_EQ(UCS_OK, uct_md_mem_reg(b->md(), larger.data(), larger.size(),
                                     UCT_MD_MEM_ACCESS_RMA, &memh));
    EXPECT_EQ(UCS_OK, uct_md_mem_dereg(b->md(), memh));
}

/* Memory that can be read alone is sent; made writable, it is received into. */
TEST_F(UctSegments, read_only__until_it_is_written)
{
    here.reset();
    ASSERT_EQ(0, mprotect(near.data(), SIZE + 1, PROT_READ));
    here.reset(new Memory(*a, near.data() + 1, SIZE));
    uct_iov_t iov = here->iov(STRIDE - 4, 4000);
    Completion comp;
    ASSERT_TRUE(wait([&] {
        return uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0, &comp.uct) ==
               UCS_INPROGRESS;
    }));
    ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    ASSERT_EQ(0, mprotect(near.data(), SIZE + 1, PROT_READ | PROT_WRITE));
    move(STRIDE - 2, a->attr().cap.get.max_zcopy);
    move(SIZE - 8, 8);
}

/* Segments that may be written by now are, whatever others are. */
TEST_P(UctSegmentsRma, partly_read_only__is_served_elsewhere)
{
    uint8_t packed[sizeof(efa_rkey_wire_t)];

    there.reset();
    ASSERT_EQ(0, mprotect(far.data(), SIZE + 1, PROT_READ));
    there.reset(new Memory(*b, far.data() + 1, SIZE));
    ASSERT_EQ(0, mprotect(far.data(), SIZE - MB, PROT_READ | PROT_WRITE));
    ASSERT_EQ(UCS_OK, uct_md_mkey_pack(b->md(), there->memh(), packed));
    move(STRIDE - 3, 7);
}

/* A peer may send any key, and have any table. */
TEST_F(UctSegments, hostile_table__fails_the_operation_alone)
{
    efa_keys_t table = {};
    Memory tables(*b, &table, sizeof(table));
    efa_rkey_wire_t wire;
    uct_iov_t iov = here->iov(0, 8);

    memcpy(&wire, tables.packed().data(), sizeof(wire));
    wire.table_key = wire.key;
    wire.table     = tables.address();
    struct {
        uint64_t start, stride, count;
    } hostile[] = {{0, 0, 1}, {0, 1, 0}, {0, 1, EFA_KEYS_MAX + 1},
                   {~0ul, ~0ul, ~0ul}};
    for (const auto &each : hostile) {
        uct_rkey_bundle_t rkey;
        Completion comp;

        table.start  = each.start;
        table.stride = each.stride;
        table.count  = each.count;
        ASSERT_EQ(UCS_OK, uct_rkey_unpack(a->component(), &wire, &rkey));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, until_taken([&] {
            return uct_ep_get_zcopy(ep, &iov, 1, there->address(), rkey.rkey,
                                    &comp.uct);
        }));
        uct_rkey_release(a->component(), &rkey);
    }
    EXPECT_TRUE(a->failures.empty());
    move(0, 8);
}

INSTANTIATE_TEST_SUITE_P(Get, UctSegmentsRma, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Put, UctSegmentsRma, testing::Values(true));
