/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages: sizes at their limits, contents, order, descriptors. */
#include "uct_entity.h"

#include <flow/limits.h>
#include <uct/ib/efa/efa_rkey.h>

#include <algorithm>
#include <climits>
#include <dlfcn.h>

using namespace uct_test;

class UctAm : public UctTest {};

TEST_F(UctAm, query__capabilities_are_true)
{
    open();
    const auto &cap = a->attr().cap;

    EXPECT_GE(cap.am.max_short, 24u);
    EXPECT_GE(cap.am.max_bcopy, 8900u);
    EXPECT_GE(cap.am.max_zcopy, 8900u);
    EXPECT_EQ(is_ud() ? 0 : EFA_OVERLAP, cap.get.max_zcopy);
    EXPECT_EQ(is_ud(), (cap.flags & UCT_IFACE_FLAG_GET_ZCOPY) == 0);
    EXPECT_NE(0u, cap.am.opt_zcopy_align);
    EXPECT_NE(0u, cap.am.align_mtu);
    EXPECT_TRUE(cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE);
    EXPECT_LE(a->attr().device_addr_len, 31u);
    EXPECT_LE(a->attr().iface_addr_len, 63u);
}

/* By short every length, by bcopy those around the edges up to the limit. */
TEST_F(UctAm, am_short__every_length_arrives_intact)
{
    open();
    const size_t limit = a->attr().cap.am.max_short;
    const size_t max   = a->attr().cap.am.max_bcopy;
    std::vector<size_t> lengths = {0, 1, 7, 8, 23, 24, 25, 31, 32, 33, 4096,
                                   4097, 8192, max - 1, max};

    for (size_t length : lengths) {
        EXPECT_EQ(ssize_t(length), send_bcopy(ep, make_message(length, length)));
    }
    for (size_t length = sizeof(uint64_t); length <= limit; ++length) {
        Bytes bytes = make_message(length, length);

        lengths.push_back(length);
        ASSERT_EQ(UCS_OK, send_short(ep, number_of(bytes),
                                     {bytes.begin() + 8, bytes.end()}));
    }
    ASSERT_TRUE(wait([&] { return b->received.size() == lengths.size(); }));
    for (size_t i = 0; i < lengths.size(); ++i) {
        EXPECT_EQ(make_message(lengths[i], lengths[i]), b->received[i]);
    }
}

/* A tracer of the user's sees each message once, on both sides, and what it says
 * is in the log: UCX_LOG_LEVEL=data, and run in suite uct's check uct_trace. */
TEST_F(UctAm, am_tracer__sees_every_message)
{
    if (getenv("NEED_TRACER") == nullptr) {
        GTEST_SKIP() << "NEED_TRACER=y with UCX_LOG_LEVEL=data";
    }
    struct Tracer {
        std::vector<size_t> sent, got;
        static void see(void *arg, uct_am_trace_type_t type, uint8_t id,
                        const void *data, size_t length, char *buffer,
                        size_t max)
        {
            Tracer *self = static_cast<Tracer *>(arg);
            auto bytes = static_cast<const uint8_t *>(data);

            EXPECT_EQ(AM_ID, id);
            for (size_t i = 0; i < length; ++i) {
                ASSERT_EQ(pattern(3, i), bytes[i]) << i << " of " << length;
            }
            snprintf(buffer, max, "(tracer was here)");
            (type == UCT_AM_TRACE_TYPE_SEND ? self->sent : self->got)
                    .push_back(length);
        }
    } tracer;
    open();
    Memory local(*a, 4000, 3);
    const Bytes bytes = make_message(3, 4000);
    uint64_t header;

    ASSERT_EQ(UCS_OK, uct_iface_set_am_tracer(a->iface(), Tracer::see,
                                              &tracer));
    ASSERT_EQ(UCS_OK, uct_iface_set_am_tracer(b->iface(), Tracer::see,
                                              &tracer));
    memcpy(&header, bytes.data(), sizeof(header));
    ASSERT_EQ(UCS_OK, send_short(ep, header,
                                 Bytes(bytes.begin() + 8, bytes.begin() + 20)));
    ASSERT_TRUE(wait([&] { return b->count == 1; }));
    rounds(2000); /* from here on with short headers */
    ASSERT_EQ(UCS_OK, send_short(ep, header,
                                 Bytes(bytes.begin() + 8, bytes.begin() + 20)));
    ASSERT_EQ(1000, send_bcopy(ep, Bytes(bytes.begin(), bytes.begin() + 1000)));
    uct_iov_t iov = local.iov(16, 3000);
    ASSERT_EQ(UCS_INPROGRESS, uct_ep_am_zcopy(ep, AM_ID, bytes.data(), 16, &iov,
                                              1, 0, nullptr));
    ASSERT_TRUE(wait([&] { return b->count == 4; }));
    /* of zcopy the sender's has the header: the rest may be a GPU's */
    EXPECT_EQ(std::vector<size_t>({20, 20, 1000, 16}), tracer.sent);
    EXPECT_EQ(std::vector<size_t>({20, 20, 1000, 3016}), tracer.got);
}

/* Data that UCP may keep lies as it wants it; of any size, behind any
 * headroom. */
TEST_F(UctAm, am_alignment__of_descriptors)
{
    const uint64_t both = UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT |
                          UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET;
    const std::vector<Entity::Align> aligns = {
            {UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT, 1, 0},
            {UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT, 4096, 0},
            {both, 2, 8}, /* as UCP asks for it */
            {both, 64, 8},
            {both, 16, 3},
            {both, 8192, 8191},
    };
    size_t headroom = 0;

    for (const auto &align : aligns) {
        headroom += 24;
        a = new Entity();
        b = new Entity({}, headroom, align);
        ep = a->connect(*b);
        b->keep_descs = true;
        for (uint64_t i = 0; b->kept.size() < 300; ++i) {
            ASSERT_GT(send_bcopy(ep, make_message(i, 1 + (i * 97) % 8000)), 0);
            progress();
            ASSERT_LT(i, 20000u);
        }
        for (const auto &item : b->kept) {
            auto point = reinterpret_cast<uintptr_t>(item.data) + align.offset;
            ASSERT_EQ(0u, point % align.alignment)
                    << align.alignment << " with offset " << align.offset;
            ASSERT_EQ(0, memcmp(item.data, item.message.data(),
                                item.message.size()));
        }
        TearDown();
    }
}

TEST_F(UctAm, am_alignment__invalid_ones)
{
    const uint64_t alignment = UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT;
    const uint64_t offset = UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET;
    const std::vector<Entity::Align> aligns = {
            {alignment, 0, 0},          {alignment, 3, 0},
            {alignment, 4095, 0},       {alignment | offset, 24, 8},
            {offset, 8, 8}, /* of nothing */
    };

    for (const auto &align : aligns) {
        try {
            Entity entity({}, 0, align);
            ADD_FAILURE() << align.alignment << ", " << align.offset;
        } catch (const std::runtime_error &error) {
            EXPECT_NE(std::string::npos,
                      std::string(error.what()).find(ucs_status_string(
                              UCS_ERR_INVALID_PARAM))) << error.what();
        }
    }
}

/* Does this UCX check parameters? It refuses a key without a place. */
static bool checks_params(Entity &entity)
{
    return uct_md_mkey_pack(entity.md(),
                            reinterpret_cast<uct_mem_h>(entity.md()),
                            nullptr) == UCS_ERR_INVALID_PARAM;
}

/* Lengths of shorts, from 1.16 on, which this function came with. */
static bool checks_shorts(Entity &entity)
{
    return checks_params(entity) &&
           (dlsym(RTLD_DEFAULT, "uct_rkey_compare") != nullptr);
}

TEST_F(UctAm, id__beyond_the_last_is_refused_where_UCX_checks_parameters)
{
    open();
    if (!checks_params(*a)) {
        GTEST_SKIP() << "this UCX does not";
    }
    Memory memory(*a, 64, 1);
    uct_iov_t iov = memory.iov(0, 8);
    Completion comp;
    auto pack = [](void *, void *) { return size_t(8); };

    for (unsigned id : {32u, 32u + AM_ID, 255u}) {
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_ep_am_short(ep, id, 1, nullptr, 0));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_ep_am_short_iov(ep, id, &iov, 1));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_ep_am_bcopy(ep, id, pack, nullptr, 0));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_ep_am_zcopy(ep, id, nullptr, 0, &iov, 1, 0, &comp.uct));
    }
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    EXPECT_TRUE(flush(ep));
    expect_in_order(1);
}

/* UCP up to 1.15 sends as short what was short on the lane it replaced. */
TEST_F(UctAm, am_short__beyond_the_limit_goes_as_one_packet_all_the_same)
{
    open();
    const uint64_t header  = 0x1122334455667788;
    size_t max             = a->attr().cap.am.max_bcopy - sizeof(header);
    std::vector<size_t> lengths = {a->attr().cap.am.max_short -
                                           sizeof(header) + 1,
                                   500, max};

    if (checks_shorts(*a)) {
        for (size_t length : lengths) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                      send_short(ep, header, make_message(1, length)));
        }
        return;
    }
    for (size_t length : lengths) {
        ASSERT_EQ(UCS_OK, send_short(ep, header, make_message(1, length)));
    }
    Bytes payload(max + 1);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_am_short(ep, AM_ID, 1, payload.data(), payload.size()));
    ASSERT_TRUE(wait([&] { return b->received.size() == lengths.size(); }));
    for (size_t i = 0; i < lengths.size(); ++i) {
        const Bytes &got = b->received[i];
        ASSERT_EQ(sizeof(header) + lengths[i], got.size());
        EXPECT_EQ(0, memcmp(&header, got.data(), sizeof(header)));
        EXPECT_EQ(make_message(1, lengths[i]),
                  Bytes(got.begin() + sizeof(header), got.end()));
    }
    EXPECT_TRUE(flush(ep));
}

/* One message from pieces, none and empty ones included; lengths of no bytes at
 * all, up to the limit, beyond it (as am_short does, for the same reason), and
 * beyond what one packet holds. */
TEST_F(UctAm, am_short_iov__pieces_and_limits)
{
    open();
    const size_t limit = a->attr().cap.am.max_short;
    const size_t most  = a->attr().cap.am.max_bcopy;
    const std::vector<std::vector<size_t>> cases = {
            {},      {0},         {1},         {0, 1, 0}, {8, 5, 3, 1},
            {limit}, {limit - 1, 1}, {limit, 1}, {8, 500}, {1, most - 1},
            {4, 3},  {8},         {8, 8},     {17, 7},   {8, 16},
            {8, 17}, {25},        {1, 0, 30}};
    size_t count = 0;

    for (const auto &lengths : cases) {
        std::vector<Bytes> pieces;
        std::vector<uct_iov_t> iov;
        Bytes whole;
        for (size_t length : lengths) {
            pieces.push_back(make_message(pieces.size() + 1, length));
            whole.insert(whole.end(), pieces.back().begin(),
                         pieces.back().end());
        }
        for (Bytes &piece : pieces) {
            iov.push_back({piece.empty() ? nullptr : piece.data(),
                           piece.size(), nullptr, 0, 1});
        }
        ucs_status_t status = until_taken([&] {
            return uct_ep_am_short_iov(ep, AM_ID, iov.data(), iov.size());
        });
        if ((whole.size() > limit) && checks_shorts(*a)) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM, status);
            continue;
        }
        ASSERT_EQ(UCS_OK, status) << whole.size() << " bytes";
        ASSERT_TRUE(wait([&] { return b->received.size() > count; }));
        EXPECT_EQ(whole, b->received[count++]);
    }

    Bytes payload(most);
    uct_iov_t iov[2] = {{payload.data(), most, nullptr, 0, 1},
                        {payload.data(), 1, nullptr, 0, 1}};
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_ep_am_short_iov(ep, AM_ID, iov, 2));
    EXPECT_TRUE(flush(ep));
}

TEST_F(UctAm, am_zcopy__header_and_payload_at_their_limits)
{
    open();
    size_t max = a->attr().cap.am.max_zcopy;
    size_t max_hdr = a->attr().cap.am.max_hdr;
    Memory memory(*a, max, 77);
    std::vector<std::pair<size_t, size_t>> cases = {
            {0, 0}, {0, 1}, {8, 0}, {100, 100}, {101, 4096}, {0, max},
            {max_hdr, 1}, {max_hdr, max - max_hdr}};

    for (const auto &sizes : cases) {
        Bytes header = make_message(3, sizes.first);
        uct_iov_t iov = memory.iov(0, sizes.second);
        Completion comp;
        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
            return uct_ep_am_zcopy(ep, AM_ID, header.data(), header.size(),
                                   &iov, 1, 0, &comp.uct);
        }));
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(UCS_OK, comp.status);

        Bytes expected = header;
        expected.insert(expected.end(), memory.data(),
                        memory.data() + sizes.second);
        ASSERT_TRUE(wait([&] { return !b->received.empty(); }));
        EXPECT_EQ(expected, b->received.back());
        b->received.clear();
    }

    uct_iov_t iov = memory.iov(0, max);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_am_zcopy(ep, AM_ID, "x", 1, &iov, 1, 0, nullptr));
    std::vector<uct_iov_t> many(a->attr().cap.am.max_iov + 1,
                                memory.iov(0, 1));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, many.data(), many.size(),
                              0, nullptr));
}

TEST_F(UctAm, order__ten_thousand_messages_in_the_order_of_posting)
{
    open();
    const size_t count = 10000;

    for (size_t i = 0; i < count; ++i) {
        if (i % 3 == 0) {
            ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
        } else {
            Bytes bytes = make_message(i, 8 + (i * 37) % 3000);
            memcpy(bytes.data(), &i, sizeof(uint64_t));
            ASSERT_GT(send_bcopy(ep, bytes), 0);
        }
    }
    ASSERT_TRUE(wait([&] { return b->received.size() == count; }));
    expect_in_order(count);
}

/* Two that talk to each other, and then are silent: a burst is refused neither
 * at a part of the window nor at what their last talk left. */
TEST_F(UctAm, window__of_a_burst_after_silence)
{
    SRD_ONLY("a congestion window bounds it");
    open();
    uct_ep_h back  = b->connect(*a);
    unsigned least = UINT_MAX;

    a->record = b->record = false;
    for (unsigned turns = 1; turns <= FLOW_WINDOW_MAX + 6; ++turns) {
        for (unsigned i = 0; i < turns; ++i) {
            size_t there = b->count, here = a->count;

            ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
            ASSERT_TRUE(wait([&] { return b->count > there; }));
            ASSERT_EQ(UCS_OK, send_short(back, i, {}));
            ASSERT_TRUE(wait([&] { return a->count > here; }));
        }
        progress_for(0.002);
        size_t before = b->count;
        uint64_t sent = 0; /* zero-copy, as none of these is delayed */
        while (uct_ep_am_zcopy(ep, AM_ID, &sent, sizeof(sent), nullptr, 0, 0,
                               nullptr) == UCS_INPROGRESS) {
            ++sent;
        }
        least = std::min<unsigned>(least, sent);
        EXPECT_LE(sent, (uint64_t)FLOW_WINDOW_MAX);
        ASSERT_TRUE(wait([&] { return b->count == before + sent; }));
    }
    printf("%u messages\n", least);
    EXPECT_GE(least, 3u * FLOW_WINDOW_MAX / 4);
    uct_ep_destroy(back);
}

TEST_F(UctAm, descriptors__kept_ones_stay_intact_and_traffic_goes_on)
{
    const size_t headroom = 112, count = 20000;

    open({{"RX_QUEUE_LEN", "128"}, {"RX_BUFFERS_MAX", "512"}}, headroom);
    b->keep_descs = true;
    for (size_t i = 0; i < count; ++i) {
        ASSERT_GT(send_bcopy(ep, make_message(i, 64)), 0);
    }
    ASSERT_TRUE(wait([&] { return b->received.size() == count; }));
    EXPECT_GT(b->kept.size(), 100u);
    EXPECT_LT(b->kept.size(), 512u);
    for (const auto &item : b->kept) {
        memset(item.data - headroom, 0xee, headroom); /* as UCP does */
    }
    for (const auto &item : b->kept) {
        ASSERT_EQ(item.message, Bytes(item.data, item.data + 64));
    }
}
