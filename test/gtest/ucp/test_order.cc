/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Order that must be kept, seen from UCP: a rendezvous' completion and its
 * bytes, a flag and the put before it, a send from a callback and those that
 * wait already. Run it with `efasim run --reorder 0.5`.
 */
#include "ucp_test.h"

#include <cstdlib>
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

/* Numbers in the order they were sent, as active messages of one size. */
class Sequence : public Order {
protected:
    static constexpr unsigned ID = 6;

    void SetUp() override
    {
        ep = connect(a, b);
        on_am(b, ID, arrived_cb);
    }

    void send_next()
    {
        uint64_t number = sent++;

        numbers.emplace_back(1 + number % 700, number);
        ucp_request_param_t param = {};
        param.op_attr_mask  = UCP_OP_ATTR_FIELD_CALLBACK |
                              UCP_OP_ATTR_FIELD_USER_DATA |
                              UCP_OP_ATTR_FIELD_FLAGS;
        param.flags         = UCP_AM_SEND_FLAG_EAGER;
        param.cb.send       = sent_cb;
        param.user_data     = this;
        auto &payload       = numbers.back();
        ucs_status_ptr_t request = ucp_am_send_nbx(
                ep, ID, nullptr, 0, payload.data(),
                payload.size() * sizeof(uint64_t), &param);
        ASSERT_FALSE(UCS_PTR_IS_ERR(request));
        queued += UCS_PTR_IS_PTR(request);
    }

    static void sent_cb(void *request, ucs_status_t, void *arg)
    {
        Sequence *self = static_cast<Sequence*>(arg);

        ucp_request_free(request);
        --self->queued;
        if (self->more > 0) { /* while others wait in the queue */
            --self->more;
            self->behind += self->queued > 0;
            self->send_next();
        }
    }

    static ucs_status_t arrived_cb(void *arg, const void*, size_t, void *data,
                                   size_t length, const ucp_am_recv_param_t*)
    {
        Sequence *self = static_cast<Sequence*>(arg);
        uint64_t number;

        EXPECT_GE(length, sizeof(number));
        memcpy(&number, data, sizeof(number));
        if ((number != self->arrived) && (self->disorder++ == 0)) {
            self->first_wrong = {number, self->arrived};
        }
        ++self->arrived;
        return UCS_OK;
    }

    ucp_ep_h ep = nullptr;
    std::list<std::vector<uint64_t>> numbers;
    uint64_t sent = 0, arrived = 0, disorder = 0;
    std::pair<uint64_t, uint64_t> first_wrong;
    unsigned more = 0, behind = 0;
    long queued = 0;
};

/* The receiver sleeps until a queue has formed; then each completion of a
 * queued send posts another from its callback. */
TEST_F(Sequence, a_send_from_a_callback_does_not_overtake)
{
    /* UCP replays requests that wait for its own wire-up without this care. A
     * rendezvous takes a complete endpoint. */
    exchange(b, ep, 1 << 20, key(0));
    flush(ep);
    for (unsigned i = 0; i < 500; ++i) {
        send_next();
        ucp_worker_progress(a.worker);
    }
    ASSERT_GT(queued, 100) << "no queue: nothing to overtake";
    more = 2000;
    until([&] { return (queued == 0) && (arrived == sent); }, "all numbers");
    EXPECT_EQ(0u, disorder)
            << "number " << first_wrong.first << " came as number "
            << first_wrong.second;
    EXPECT_GT(behind, 300u) << "sends from callbacks met no queue";
}

/* From a handler: close an endpoint with a queue on it (its requests are
 * purged), send on another one and on a new one. */
class Handler : public Order {
protected:
    static ucs_status_t callback(void *arg, const void*, size_t, void*, size_t,
                                 const ucp_am_recv_param_t*)
    {
        Handler *self = static_cast<Handler*>(arg);

        ++self->calls;
        self->send(self->other, self->word, 77, self->note);
        self->closing = self->close_begin(self->doomed,
                                          UCP_EP_CLOSE_FLAG_FORCE);
        self->send(self->other, self->word, 78, self->second);
        return UCS_OK;
    }

    ucp_ep_h doomed = nullptr, other = nullptr;
    Buffer word = Buffer(8, 1);
    Op note, second;
    ucs_status_ptr_t closing = nullptr;
    int calls = 0;
};

TEST_F(Handler, closes_an_endpoint_purges_and_sends)
{
    for (unsigned round = 0; round < 20; ++round) {
        const unsigned n = 300;
        ucp_ep_h back    = connect(b, a);
        std::vector<Buffer> out(n);
        std::vector<Op> op(n);
        Buffer in(8), in2(8);
        Op note_in, second_in, trigger;
        unsigned purged = 0;

        other   = connect(a, b);
        doomed  = connect(a, b, true);
        note    = Op();
        second  = Op();
        closing = nullptr;
        on_am(a, 7, callback);
        exchange(b, other, 8, key(round));
        recv(b, in, 77, note_in);
        recv(b, in2, 78, second_in);
        for (unsigned i = 0; i < n; ++i) { /* b sleeps: a queue forms */
            out[i] = Buffer(2000, key(i));
            send(doomed, out[i], 7777, op[i]);
            ucp_worker_progress(a.worker);
        }
        send_am(back, 7, &round, sizeof(round), trigger);
        until([&] { return note.done && second.done && trigger.done; },
              "sends from the handler");
        finish(note_in, "first send from the handler");
        finish(second_in, "second send from the handler");
        EXPECT_TRUE(in.holds(1));
        EXPECT_TRUE(in2.holds(1));
        for (auto &o : op) {
            until([&] { return o.done > 0; }, "send of the closed endpoint");
            purged += o.status != UCS_OK;
            if (o.request != nullptr) {
                ucp_request_free(o.request);
            }
        }
        EXPECT_GT(purged, 50u) << "nothing was waiting";
        if (UCS_PTR_IS_PTR(closing)) {
            until([&] { return ucp_request_check_status(closing) !=
                               UCS_INPROGRESS; }, "close");
            ucp_request_free(closing);
        }
        for (Op *each : {&note, &second, &trigger}) {
            finish(*each, "send");
        }
        take_unexpected(b, 7777);
        close(back);
        close(other);
    }
    EXPECT_EQ(20, calls);
}

/* A peer that lives but makes no progress: the forced close (UCP's
 * flush(CANCEL)) ends all the same, and every send with it. */
TEST_F(Order, forced_close_against_a_stuck_peer)
{
    Entity &c        = entity_new();
    ucp_ep_h ep      = connect(c, b, true);
    const unsigned n = 400;
    std::vector<Buffer> out(n);
    std::vector<Op> op(n);

    exchange(b, ep, 8, key(n));
    for (unsigned i = 0; i < n; ++i) {
        out[i] = Buffer(i % 10 ? i * 7 : 1 << 20, key(i));
        send(ep, out[i], 7777, op[i]);
        ucp_worker_progress(c.worker);
    }
    ucs_status_ptr_t request = close_begin(ep, UCP_EP_CLOSE_FLAG_FORCE);
    ASSERT_FALSE(UCS_PTR_IS_ERR(request));
    auto finished = [&] {
        ucp_worker_progress(c.worker); /* b stays stuck */
        for (auto &o : op) {
            if (!o.done) {
                return false;
            }
        }
        return !UCS_PTR_IS_PTR(request) ||
               ucp_request_check_status(request) != UCS_INPROGRESS;
    };
    double start = seconds_now();
    while (!finished()) {
        ASSERT_LT(seconds_now() - start, WAIT_SECONDS) << "the close hangs";
    }
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    }
    for (auto &o : op) {
        if (o.request != nullptr) {
            ucp_request_free(o.request);
        }
    }
    flush(c);
    take_unexpected(b, 7777);
    entity_drop(c);
}
