/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order that must be kept, seen from UCP: a rendezvous' completion and its
 * bytes, a flag and the put before it. Run it with `efasim run --reorder 0.5`.
 */
#include "ucp_test.h"

#include <cstring>
#include <sstream>

class Order : public UcpTest {
protected:
    void send_am(ucp_ep_h ep, unsigned id, const void *data, size_t len,
                 Op &op)
    {
        auto param          = op.send_param();
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags         = UCP_AM_SEND_FLAG_EAGER;
        op.started(ucp_am_send_nbx(ep, id, nullptr, 0, data, len, &param));
    }
};

/* One receive whose contents are compared in its own callback, before
 * anything else can run: "completed" must mean "in place". */
struct Landing {
    Buffer   buf;
    uint64_t key     = 0;
    int      done    = 0;
    bool     correct = false;

    static void callback(void *request, ucs_status_t status,
                         const ucp_tag_recv_info_t*, void *arg)
    {
        Landing *self = static_cast<Landing*>(arg);

        self->correct = (status == UCS_OK) && self->buf.holds(self->key);
        ++self->done;
        ucp_request_free(request);
    }
};

TEST_F(Order, rendezvous_completes_with_its_bytes_in_place)
{
    const unsigned n = 60;
    ucp_ep_h ep      = connect(a, b), back = connect(b, a);

    for (size_t base : {20000ul, 300000ul, 3000000ul}) {
        std::vector<Buffer> out(n);
        std::vector<Op> op(n);
        std::vector<Landing> in(n);
        for (unsigned i = 0; i < n; ++i) {
            size_t len = base + fill_mix(key(i)) % base;
            in[i].key  = key(base + i);
            in[i].buf  = Buffer(len);
            out[i]     = Buffer(len, in[i].key);
            auto param = op[i].tag_param();
            param.cb.recv   = Landing::callback;
            param.user_data = &in[i];
            ucs_status_ptr_t request = ucp_tag_recv_nbx(
                    (i % 2 ? a : b).worker, in[i].buf.data(), len, i,
                    ~ucp_tag_t(0), &param);
            ASSERT_FALSE(UCS_PTR_IS_ERR(request));
        }
        for (unsigned i = 0; i < n; ++i) {
            send(i % 2 ? back : ep, out[i], i, op[i], i % 3 == 0);
        }
        for (unsigned i = 0; i < n; ++i) {
            until([&] { return in[i].done > 0; }, "a rendezvous");
            EXPECT_TRUE(in[i].correct) << "message " << i << " of " << base;
            EXPECT_EQ(1, in[i].done);
            finish(op[i], "send");
        }
    }
}

/* Memory of b that a writes to. */
class Flag : public Order {
protected:
    explicit Flag(size_t size = 300000) : length(size) {}

    void SetUp() override
    {
        ep = connect(a, b);
        ASSERT_NO_FATAL_FAILURE(open(region, b, ep, memory.data(),
                                     memory.size()));
    }

    void TearDown() override
    {
        on_am(b, ID, am_nothing);
        flush(a);
        close(region);
    }

    static ucs_status_t am_nothing(void*, const void*, size_t, void*, size_t,
                                   const ucp_am_recv_param_t*)
    {
        return UCS_OK;
    }

    /* Many pieces, small and large, that together hold @key; then a fence. */
    void put_and_fence(uint64_t key)
    {
        puts.clear();
        out = Buffer(length, key);
        for (size_t at = 0, len; at < length; at += len) {
            len = 1 + fill_mix(key + at) % (length / 7);
            len = std::min(len, length - at);
            puts.emplace_back();
            puts.back().at = at;
            auto param = puts.back().op.send_param();
            puts.back().op.started(ucp_put_nbx(ep, out.data() + at, len,
                                               remote(at), region.rkey,
                                               &param));
        }
        ASSERT_EQ(UCS_OK, fence(a, b));
    }

    void finish_puts()
    {
        for (auto &put : puts) {
            finish(put.op, "put");
        }
    }

    /* -1: all of @key, else the first byte that is not. */
    ptrdiff_t first_wrong(uint64_t key) const
    {
        return fill_diff(memory.data(), length, key, 0);
    }

    /* The flag is there. Tells what is wrong with the bytes. */
    void look(uint64_t key, const char *flag)
    {
        ptrdiff_t at = first_wrong(key);
        std::ostringstream text;

        ++flags;
        if (at < 0) {
            return;
        }
        text << flag << " " << flags << " came before the bytes: of " << length
             << " the first that is wrong is " << at << ", "
             << unsigned(memory[at]) << " for "
             << unsigned(fill_byte(key, at)) << "; puts:";
        for (auto &put : puts) {
            text << " " << put.at << " "
                 << (put.op.done ? ucs_status_string(put.op.status) :
                                   "not done") << ",";
        }
        early = text.str();
    }

    /* Ends a round. Says whether the flag came in time; if not, also what
     * became of the bytes in the end. */
    testing::AssertionResult round_is_right(uint64_t key)
    {
        finish_puts();
        if (early.empty()) {
            return testing::AssertionSuccess();
        }
        flush(a);
        ptrdiff_t at = first_wrong(key);
        return testing::AssertionFailure()
               << early << " after a flush "
               << (at < 0 ? "all is in place" :
                            "byte " + std::to_string(at) + " is wrong");
    }

    uint64_t remote(size_t at) const
    {
        return reinterpret_cast<uint64_t>(memory.data()) + at;
    }

    void message_after_puts(int rounds);
    void word_after_puts(int rounds, bool atomic);

    struct Put {
        Op     op;
        size_t at;
    };
    static constexpr unsigned ID = 5;

    const size_t length;
    std::vector<uint8_t> memory = std::vector<uint8_t>(length + 8, 0);
    ucp_ep_h ep                 = nullptr;
    Region   region;
    Buffer     out;
    std::list<Put> puts;
    uint64_t expected = 0; /* by on_flag */
    int flags = 0;
    std::string early; /* what was wrong; empty: nothing */

private:
    static ucs_status_t on_flag(void *arg, const void*, size_t, void*, size_t,
                                const ucp_am_recv_param_t*)
    {
        Flag *self = static_cast<Flag*>(static_cast<UcpTest*>(arg));

        self->look(self->expected, "message");
        return UCS_OK;
    }
};

void Flag::message_after_puts(int rounds)
{
    on_am(b, ID, on_flag);
    for (int round = 1; round <= rounds; ++round) {
        Op note;
        expected = key(round);
        put_and_fence(expected);
        send_am(ep, ID, &round, sizeof(round), note);
        until([&] { return flags == round; }, "the flag");
        finish(note, "send");
        ASSERT_TRUE(round_is_right(expected));
    }
}

/* A put, or an atomic, to the word behind them. */
void Flag::word_after_puts(int rounds, bool atomic)
{
    for (int round = 1; round <= rounds; ++round) {
        uint64_t seen = 0, value = atomic ? 1 : round;
        Op word;
        put_and_fence(key(round));
        auto param          = word.send_param();
        param.op_attr_mask |= atomic ? UCP_OP_ATTR_FIELD_DATATYPE : 0;
        param.datatype      = ucp_dt_make_contig(8);
        word.started(atomic ? ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &value,
                                                1, remote(length), region.rkey,
                                                &param) :
                              ucp_put_nbx(ep, &value, 8, remote(length),
                                          region.rkey, &param));
        until([&] {
            volatile uint8_t *flag = &memory[length];
            memcpy(&seen, const_cast<uint8_t*>(flag), 8);
            return seen == uint64_t(round);
        }, "the flag");
        look(key(round), atomic ? "atomic" : "put");
        finish(word, "flag");
        ASSERT_TRUE(round_is_right(key(round)));
    }
}

TEST_F(Flag, active_message_after_put_and_fence)
{
    message_after_puts(30);
}

TEST_F(Flag, atomic_after_put_and_fence)
{
    word_after_puts(30, true);
}

TEST_F(Flag, put_after_put_and_fence)
{
    word_after_puts(30, false);
}

/* The very first puts wait until the peer has answered, in UCX's queue: a fence
 * has nothing under way to wait for, and has to hold what comes all the same.
 * Bytes that take long enough to be placed show it every time. */
class FirstFlag : public Flag {
protected:
    FirstFlag() : Flag(8 << 20) {}
};

TEST_F(FirstFlag, active_message_after_put_and_fence)
{
    message_after_puts(1);
}

TEST_F(FirstFlag, atomic_after_put_and_fence)
{
    word_after_puts(1, true);
}
