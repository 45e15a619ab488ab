/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From which length on UCP fetches a message by RDMA READ instead of sending
 * its bytes: the same whatever rate of copying UCX has in its tables for this
 * processor and however many processes its program says this host has, and never
 * for what one packet holds.
 */
#include "ucp_test.h"

#include "test/gtest/uct/transport.h"

#include <algorithm>
#include <cstdlib>
#include <map>

using uct_test::device_counter;

/* MB/s, 0 for what UCX takes by itself: AMD's, Intel's and the newer default in
 * UCX's tables, then what only a user of EFA sets. */
struct Rate {
    unsigned copy, processes;
};
static const Rate     RATES[]     = {{0, 1}, {5008, 1}, {5800, 1}, {7000, 1},
                                     {0, 2}, {0, 96}, {5008, 8}, {2000, 1},
                                     {12000, 1}, {40000, 1}};
static const unsigned TABLE_RATES = 7;
static const double   SPREAD      = 1.2, SPREAD_TRIED = 1.5; /* UCX's experiments */
static const size_t   LONG        = 8 << 20;
/* Tag messages, and those among many, are copied up to here: srd_estimate.c */
static const size_t   COPIED      = 32 << 10, COPIED_MANY = 16 << 10;

/* A tag message, one among many, one whose memory is wanted back at once, or an
 * active message by the length of its header. */
enum Kind { TAG = -2, TAG_MULTI, AM, AM_8 = 8, AM_1000 = 1000, TAG_FAST };

static unsigned ucx_minor()
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    return minor;
}

static bool has_new_protocols()
{
    const char *value = getenv("THRESHOLD_PROTOCOLS"); /* as ucx.conf has it */

    return (value != nullptr) ? (*value == 'y') : (ucx_minor() >= 16);
}

/* UCX 1.13 and 1.14 weigh many messages otherwise in their new protocols, which
 * are experimental there. */
static std::vector<Kind> kinds()
{
    if ((ucx_minor() < 15) && has_new_protocols()) {
        return {TAG, AM, AM_8, AM_1000};
    }
    return {TAG, TAG_MULTI, AM, AM_8, AM_1000};
}

/* Are the processes of this host left out of account? */
static bool has_own_rate()
{
    return has_new_protocols() && (ucx_minor() >= 16);
}

static bool is_experiment()
{
    return has_new_protocols() && (ucx_minor() < 16);
}

/* Reading a longer one costs less CPU (srd_estimate.c). The old protocols of UCX
 * from 1.16 on know but the latency by which transports are compared. */
static size_t longest_sent()
{
    return (has_new_protocols() || (ucx_minor() < 16)) ? 64 << 10 : SIZE_MAX;
}

class Threshold : public UcpTest {
protected:
    static ucs_status_t handler(void *arg, const void*, size_t, void *data,
                                size_t length,
                                const ucp_am_recv_param_t *param)
    {
        Threshold *self = static_cast<Threshold*>(arg);

        if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
            self->in_op_.started(nullptr);
            return UCS_OK;
        }
        auto wanted = self->in_op_.am_param();
        self->in_op_.started(ucp_am_recv_data_nbx(self->to_->worker, data,
                                                  self->in_->data(), length,
                                                  &wanted));
        return UCS_INPROGRESS;
    }

    /* Two new workers. */
    void open()
    {
        Entity &from = entity_new();

        to_ = &entity_new();
        on_am(*to_, 1, handler);
        ep_ = connect(from, *to_);
        take(TAG, 1); /* introduces them */
    }

    static bool is_tag(Kind kind)
    {
        return (kind < AM) || (kind == TAG_FAST);
    }

    void start(Kind kind, Buffer &out, Op &op)
    {
        static const char header[AM_1000] = "";
        auto param                        = op.send_param();

        if (kind == TAG_MULTI) {
            param.op_attr_mask |= UCP_OP_ATTR_FLAG_MULTI_SEND;
        } else if (kind == TAG_FAST) {
            param.op_attr_mask |= UCP_OP_ATTR_FLAG_FAST_CMPL;
        }
        op.started(is_tag(kind) ? ucp_tag_send_nbx(ep_, out.data(), out.size(),
                                                  7, &param) :
                                 ucp_am_send_nbx(ep_, 1, header, kind,
                                                 out.data(), out.size(),
                                                 &param));
    }

    /* One message, from the first call to the last completion. Returns whether
     * it was sent when the first call returned. */
    bool take(Kind kind, size_t length)
    {
        Buffer out(length, key(1)), in(length);
        Op out_op;

        in_    = &in;
        in_op_ = Op();
        if (is_tag(kind)) {
            recv(*to_, in, 7, in_op_);
        }
        start(kind, out, out_op);
        bool at_once = out_op.done != 0;
        finish(in_op_, "receive");
        finish(out_op, "send");
        return at_once;
    }

    bool is_read(Kind kind, size_t length)
    {
        auto before = device_counter("rdma_read_bytes");

        take(kind, length);
        return device_counter("rdma_read_bytes") > before;
    }

    bool is_divided(Kind kind, size_t length)
    {
        const unsigned COUNT = 8;
        auto before          = device_counter("tx_pkts");

        for (unsigned i = 0; i < COUNT; ++i) {
            take(kind, length);
        }
        return device_counter("tx_pkts") - before >= 2 * COUNT;
    }

    /* The shortest length for which @is, which holds for LONG. */
    static size_t shortest(const std::function<bool(size_t)> &is)
    {
        size_t below = 1, length = LONG;

        EXPECT_TRUE(is(length) && !is(below));
        while (length - below > 1) {
            size_t middle = (below + length) / 2;
            (is(middle) ? length : below) = middle;
        }
        return length;
    }

    Entity  *to_ = nullptr;
    ucp_ep_h ep_ = nullptr;
    Buffer  *in_ = nullptr;
    Op       in_op_;
};

TEST_F(Threshold, moves_with_no_rate_of_copying_and_no_process)
{
    std::map<Kind, size_t> divided;
    std::map<Kind, std::vector<size_t>> read;

    setenv("UCX_RNDV_THRESH", "inf", 1);
    open();
    unsetenv("UCX_RNDV_THRESH");
    for (Kind kind : kinds()) {
        divided[kind] = shortest([&](size_t length) {
            return is_divided(kind, length);
        });
    }
    for (Rate rate : RATES) {
        if (!has_own_rate()) {
            rate.processes = 1;
        }
        if (rate.copy != 0) {
            setenv("UCX_BCOPY_BW", (std::to_string(rate.copy) + "MBs").c_str(),
                   1);
        }
        setenv("UCX_NUM_PPN", std::to_string(rate.processes).c_str(), 1);
        open();
        unsetenv("UCX_BCOPY_BW");
        unsetenv("UCX_NUM_PPN");
        for (Kind kind : kinds()) {
            size_t length = !is_read(kind, LONG) ? SIZE_MAX :
                            shortest([&](size_t length) {
                                return is_read(kind, length);
                            });
            printf("threshold: %u MB/s, %u processes, kind %d: %zu\n",
                   rate.copy, rate.processes, kind, length);
            read[kind].push_back(length);
            EXPECT_LE(divided[kind], length) << "read, though one packet holds "
                    "it: kind " << kind << " at " << rate.copy << " MB/s, " <<
                    rate.processes << " processes";
        }
        if (has_own_rate()) { /* so much the window takes */
            EXPECT_TRUE(take(TAG_FAST, COPIED)) << "its sender waits";
        }
    }
    for (Kind kind : kinds()) {
        auto [least, most] = std::minmax_element(read[kind].begin(),
                                                 read[kind].begin() +
                                                         TABLE_RATES);
        EXPECT_LE(*most, *least * (is_experiment() ? SPREAD_TRIED : SPREAD))
                << "kind " << kind;
        EXPECT_LE(*most, longest_sent()) << "kind " << kind;
        if ((kind == TAG) && (kinds().size() > 4)) {
            EXPECT_GT(*least, COPIED) << "copying it is better";
        } else if ((kind == TAG_MULTI) && has_own_rate()) {
            EXPECT_GT(*least, COPIED_MANY) << "copying it is better";
        }
    }
}
