/* SPDX-License-Identifier: BSD-3-Clause */
/* P14: the wire format is what wire.h and ctl_wire.h say, byte by byte. */
#include "flow_test.h"

using namespace flow_test;

static Bytes hex(const char *text)
{
    Bytes bytes;
    unsigned value;

    for (; *text != '\0'; ++text) {
        if (*text == ' ') {
            continue;
        }
        EXPECT_EQ(1, sscanf(text, "%2x", &value));
        bytes.push_back((uint8_t)value);
        ++text;
    }
    return bytes;
}

static flow_ctl_msg_t sample(unsigned type)
{
    flow_ctl_msg_t msg;

    memset(&msg, 0, sizeof(msg));
    msg.type = (uint8_t)type;
    msg.ep   = 0x01020304;
    msg.src  = 0x1112131415161718ull;
    msg.dst  = 0x2122232425262728ull;
    return msg;
}

static const char *BASE = "04030201 1817161514131211 2827262524232221";

TEST(flow_wire, golden__hello)
{
    flow_ctl_msg_t msg = sample(FLOW_CTL_HELLO);

    msg.version   = FLOW_VERSION;
    msg.flags     = FLOW_HELLO_RMA;
    msg.window    = 16;
    msg.addr.qpn  = 0x31;
    msg.addr.qkey = 0x41424344;
    for (int i = 0; i < 16; ++i) {
        msg.addr.gid[i] = (uint8_t)(0xf0 + i);
    }
    EXPECT_EQ(hex((std::string("81 01 0110") + BASE +
                   "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff 31000000 44434241"
                   "00000000 00000000 00000000 00000000").c_str()),
              encode(msg));
}

TEST(flow_wire, golden__answer)
{
    flow_ctl_msg_t msg = sample(FLOW_CTL_ANSWER);

    msg.limit = 0xabcd;
    msg.token = 0x00800003;
    msg.pair  = 7;
    msg.rma   = FLOW_RMA_READY;
    msg.flags = FLOW_LIMIT_RECALL;
    EXPECT_EQ(hex((std::string("82 00 cdab") + BASE +
                   "00000000 03008000 07000000 01 01 0000").c_str()),
              encode(msg));
}

TEST(flow_wire, golden__limit_who_want_reset_ping)
{
    flow_ctl_msg_t msg = sample(FLOW_CTL_LIMIT);

    msg.flags = FLOW_LIMIT_RECALL;
    msg.limit = 0xabcd;
    EXPECT_EQ(hex((std::string("83 01 cdab") + BASE + "00000000 00000000")
                          .c_str()),
              encode(msg));
    EXPECT_EQ(hex((std::string("84 00 0000") + BASE).c_str()),
              encode(sample(FLOW_CTL_WHO)));
    msg       = sample(FLOW_CTL_WANT);
    msg.limit = 0xabcd;
    EXPECT_EQ(hex((std::string("85 00 cdab") + BASE).c_str()), encode(msg));
    msg       = sample(FLOW_CTL_RESET);
    msg.flags = FLOW_RESET_BY_RX;
    EXPECT_EQ(hex((std::string("86 01 0000") + BASE).c_str()), encode(msg));
    EXPECT_EQ(hex((std::string("87 00 0000") + BASE).c_str()),
              encode(sample(FLOW_CTL_PING)));
}

TEST(flow_wire, golden__ack_parted)
{
    flow_ctl_msg_t msg = sample(FLOW_CTL_ACK);

    msg.flags = FLOW_LIMIT_RECALL;
    msg.limit = 0xabcd;
    msg.ack   = 0x7172;
    msg.acked = 0x8182838485868788ull;
    msg.clock = 0x91929394;
    msg.heard = 0xa1a2;
    EXPECT_EQ(hex((std::string("89 01 cdab") + BASE +
                   "94939291 7271 a2a1 8887868584838281").c_str()),
              encode(msg));
    EXPECT_EQ(hex((std::string("8a 00 0000") + BASE).c_str()),
              encode(sample(FLOW_CTL_PARTED)));
}

/* The header that acknowledges: limit and both words. */
TEST(flow_wire, golden__data_with_acknowledgement)
{
    Node a(1, ud), b(2, ud);
    auto flows = connect(a, b);

    ASSERT_TRUE(a.send(flows.first, "lost"));
    a.out.clear();
    for (const char *text : {"one", "two", "three"}) {
        ASSERT_TRUE(a.send(flows.first, text));
    }
    b.receive(a.out[0]);
    b.receive(a.out[2]); /* 1 and 3 of 0 .. 3 */
    ASSERT_TRUE(b.send(flows.second, "z", 9));
    Bytes expect = hex("69 000000 0000 0000 0000 0500 00000000 7a");
    uint32_t token = flow_rx_token(flow_core_rx(a.core, 1));
    expect[1] = (uint8_t)token;
    expect[2] = (uint8_t)(token >> 8);
    expect[3] = (uint8_t)(token >> 16);
    expect[4] = FLOW_WINDOW_MAX; /* the limit */
    EXPECT_EQ(expect, b.out.back().bytes);
    EXPECT_EQ((unsigned)FLOW_ACK_HDR,
              flow_wire_hdr_len(b.out.back().bytes.data()));
}

TEST(flow_wire, golden__data_and_goodbye)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    ASSERT_TRUE(a.send(tx, "x", 9));
    EXPECT_EQ(hex("29 000000 0000 0000 010000000000c0ab 020000000000c0ab"
                  "01000200 78"),
              a.out.back().bytes);
    settle(a, b);
    ASSERT_TRUE(a.send(tx, "y", 10));
    Bytes expect = hex("0a 000000 0000 0100 79");
    uint32_t token = flow_rx_token(flow_core_rx(b.core, 1));
    expect[1] = (uint8_t)token;
    expect[2] = (uint8_t)(token >> 8);
    expect[3] = (uint8_t)(token >> 16);
    EXPECT_EQ(expect, a.out.back().bytes);
    settle(a, b);

    flow_tx_close(a.core, tx);
    a.pull_control();
    expect.resize(8);
    expect[0] = 0x88;
    expect[6] = 2;
    EXPECT_EQ(expect, a.out.back().bytes);
    settle(a, b);
    EXPECT_EQ(0u, b.counters().rx_flows);
}

TEST(flow_wire, decode__round_trip_and_every_length)
{
    for (unsigned type = 1; type < FLOW_CTL_TYPE_LAST; ++type) {
        flow_ctl_msg_t msg = sample(type), back;

        if (type == FLOW_CTL_GOODBYE) {
            continue; /* a data header */
        }

        msg.version = (type == FLOW_CTL_HELLO) ? FLOW_VERSION : 0;
        msg.window  = (type == FLOW_CTL_HELLO) ? 1 : 0;
        msg.token   = (type == FLOW_CTL_ANSWER) ? 3 : 0;
        if (type == FLOW_CTL_HELLO) {
            msg.addr.incarnation = msg.src;
        }
        Bytes bytes = encode(msg);
        ASSERT_EQ(FLOW_DROP_NONE,
                  flow_ctl_decode(bytes.data(), bytes.size(), &back));
        EXPECT_EQ(0, memcmp(&msg, &back, sizeof(msg))) << type;
        bytes.resize(bytes.size() + 9);
        for (size_t len = 0; len <= bytes.size(); ++len) {
            Bytes cut(bytes.begin(), bytes.begin() + len);
            EXPECT_EQ(len == bytes.size() - 9,
                      flow_ctl_decode(cut.data(), len, &back) ==
                              FLOW_DROP_NONE);
        }
    }
}

TEST(flow_wire, decode__fields)
{
    flow_ctl_msg_t back;
    auto drop = [&](Bytes bytes, size_t at, uint8_t value) {
        bytes[at] = value;
        return flow_ctl_decode(bytes.data(), bytes.size(), &back);
    };
    flow_ctl_msg_t msg = sample(FLOW_CTL_HELLO);
    msg.version = FLOW_VERSION;
    msg.window  = 1;
    Bytes hello = encode(msg);

    EXPECT_EQ(FLOW_DROP_NONE, drop(hello, 1, FLOW_VERSION));
    EXPECT_EQ(FLOW_DROP_VERSION, drop(hello, 1, FLOW_VERSION + 1));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(hello, 2, 2));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(hello, 3, 0));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(hello, 3, 17));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(hello, 43, 1)) << "QPN of 25 bits";
    EXPECT_EQ(FLOW_DROP_FLAGS, drop(hello, 0, 0xa1));
    EXPECT_EQ(FLOW_DROP_FLAGS, drop(hello, 0, 0xc1));
    EXPECT_EQ(FLOW_DROP_TYPE, drop(hello, 0, 0x80));
    EXPECT_EQ(FLOW_DROP_TYPE, drop(hello, 0, 0x88));
    EXPECT_EQ(FLOW_DROP_TYPE, drop(hello, 0, 0x8b));
    EXPECT_EQ(FLOW_DROP_TYPE, drop(hello, 0, 0x9f));

    msg       = sample(FLOW_CTL_ANSWER);
    msg.token = 3;
    Bytes answer = encode(msg);
    EXPECT_EQ(FLOW_DROP_NONE, drop(answer, 36, 2));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(answer, 36, 3));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(answer, 37, 2));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(answer, 31, 1));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(answer, 28, 0));

    Bytes reset = encode(sample(FLOW_CTL_RESET));
    EXPECT_EQ(FLOW_DROP_FIELD, drop(reset, 1, 3));
    std::fill(reset.begin() + 4, reset.begin() + 8, 0);
    EXPECT_EQ(FLOW_DROP_FIELD, drop(reset, 1, 0));
}

TEST(flow_drop, name__all)
{
    for (int i = 0; i < FLOW_DROP_LAST; ++i) {
        EXPECT_STRNE("?", flow_drop_name((flow_drop_t)i));
    }
    EXPECT_STREQ("DUPLICATE", flow_drop_name(FLOW_DROP_DUPLICATE));
    EXPECT_STREQ("?", flow_drop_name(FLOW_DROP_LAST));
}

/* Limits have an encoder and a decoder of their own. */
TEST(flow_ctl_wire, limit)
{
    flow_ctl_msg_t msg = {}, back = {};
    uint8_t general[FLOW_CTL_MAX], own[FLOW_CTL_MAX];

    msg.type  = FLOW_CTL_LIMIT;
    msg.flags = FLOW_LIMIT_RECALL;
    msg.limit = 0xabcd;
    msg.ep    = 0x12345678;
    msg.src   = 0x1122334455667788;
    msg.dst   = 0x99aabbccddeeff01;
    ASSERT_EQ((unsigned)FLOW_CTL_LIMIT_LEN, flow_ctl_encode(&msg, general));
    memset(own, 0xee, sizeof(own));
    flow_ctl_encode_limit(&msg, own);
    EXPECT_EQ(0, memcmp(general, own, FLOW_CTL_LIMIT_LEN));
    EXPECT_EQ(0xee, own[FLOW_CTL_LIMIT_LEN]);
    flow_ctl_decode_limit(own, &back);
    EXPECT_EQ(0, memcmp(&msg, &back, sizeof(msg)));
}
