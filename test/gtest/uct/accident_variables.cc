/* SPDX-License-Identifier: BSD-3-Clause */
/* In-tree: every one of 41 UCX_SRD_* variables is inherited, and several do
 * nothing. Here each variable that UCX lists for us has a test of its name, in
 * which its effect shows; suite uct compares the two lists. Those of ud are in
 * accident_ud.cc. */
#include "accident.h"

#include <cstdlib>
#include <sys/mman.h>

using namespace uct_test;

namespace accident {

class Variable : public Accident {
protected:
    void TearDown() override
    {
        unsetenv("UCX_EFA_REG_CACHE");
        unsetenv("UCX_EFA_REG_CACHE_MAX");
        unsetenv("UCX_EFA_REG_CACHE_SIZE");
        Accident::TearDown();
    }

    /* Is a registration still there when it is made again, after one of each
     * of `others`? Page-aligned, so that no two share one. */
    bool kept(const std::vector<size_t> &others)
    {
        const size_t length = 65536, gap = 4096;
        size_t total        = length + gap;

        for (size_t size : others) {
            total += size + gap;
        }
        void *memory = mmap(nullptr, total, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(MAP_FAILED, memory);
        uint8_t *next = static_cast<uint8_t *>(memory);
        Bytes first   = key_of(next, length);
        next         += length + gap;
        for (size_t size : others) {
            key_of(next, size);
            next += size + gap;
        }
        bool same = key_of(memory, length) == first;
        EXPECT_EQ(0, munmap(memory, total));
        return same;
    }

private:
    Bytes key_of(void *address, size_t length)
    {
        uct_md_attr_t attr;
        uct_mem_h memh;

        EXPECT_EQ(UCS_OK, uct_md_query(a->md(), &attr));
        Bytes packed(attr.rkey_packed_size);
        EXPECT_EQ(UCS_OK, uct_md_mem_reg(a->md(), address, length,
                                         UCT_MD_MEM_ACCESS_RMA, &memh));
        EXPECT_EQ(UCS_OK, uct_md_mkey_pack(a->md(), memh, packed.data()));
        EXPECT_EQ(UCS_OK, uct_md_mem_dereg(a->md(), memh));
        return packed;
    }
};

TEST_F(Variable, SRD_WINDOW)
{
    window_bounds_what_is_sent();
}

TEST_F(Variable, SRD_TX_QUEUE_LEN)
{
    tx_queue_bounds_what_is_sent();
}

/* 12 endpoints that nobody knows yet may send 16 messages each. */
TEST_F(Variable, SRD_RX_QUEUE_LEN)
{
    uint64_t before;

    reopen({{"RX_QUEUE_LEN", "512"}});
    before = counter("rnr");
    flood(12);
    ASSERT_TRUE(wait([&] { return b->count > 100; }));
    EXPECT_EQ(before, counter("rnr")) << "512 receives were not posted";

    reopen({{"RX_QUEUE_LEN", "128"}});
    before = counter("rnr");
    flood(12);
    double until = now() + 0.1;
    while (now() < until) {
        a->progress();
    }
    EXPECT_LT(before, counter("rnr")) << "more than 128 receives were posted";
}

TEST_F(Variable, SRD_RX_BUFFERS_MAX)
{
    rx_buffers_bound_what_is_kept();
}

/* How often the device tries, counted by the device. */
TEST_F(Variable, SRD_RNR_RETRY)
{
    uint64_t tries[2];
    unsigned n = 0;

    device("rnr-us", "1000");
    for (const char *retry : {"0", "6"}) {
        reopen({{"RNR_RETRY", retry}, {"RX_QUEUE_LEN", "128"}});
        uint64_t before = counter("rnr");
        flood(12);
        double until = now() + 0.2;
        while (now() < until) {
            a->progress();
        }
        tries[n++] = counter("rnr") - before;
    }
    device("rnr-us", "100");
    printf("refused: %llu without device retries, %llu with 6\n",
           (unsigned long long)tries[0], (unsigned long long)tries[1]);
    EXPECT_GT(tries[0], 0u);
    EXPECT_GT(tries[1], 2 * tries[0]);
}

TEST_F(Variable, SRD_MAX_AH)
{
    one_host_where_handles_are_one();
}

TEST_F(Variable, SRD_GET_SHORT)
{
    reopen({});
    EXPECT_FALSE(a->attr().cap.flags & UCT_IFACE_FLAG_GET_SHORT);
    for (const char *limit : {"100ms", "5s"}) {
        reopen({{"GET_SHORT", limit}});
        introduce();
        Memory remote(*b, 64, 1);
        uint64_t word;
        device("delay-us", "300000");
        double start        = now();
        ucs_status_t status = uct_ep_get_short(
                ep, &word, sizeof(word),
                reinterpret_cast<uintptr_t>(remote.data()), remote.rkey());
        EXPECT_EQ(strcmp(limit, "5s") ? UCS_ERR_TIMED_OUT : UCS_OK, status);
        EXPECT_GE(now() - start, 0.09);
        device("delay-us", "0");
        flush(ep);
    }
}

TEST_F(Variable, EFA_REG_CACHE)
{
    setenv("UCX_EFA_REG_CACHE", "y", 1);
    reopen({});
    EXPECT_TRUE(kept({65536}));
    setenv("UCX_EFA_REG_CACHE", "n", 1);
    reopen({});
    EXPECT_FALSE(kept({65536}));
}

TEST_F(Variable, EFA_REG_CACHE_MAX)
{
    setenv("UCX_EFA_REG_CACHE", "y", 1);
    for (const char *max : {"2", "16384"}) {
        setenv("UCX_EFA_REG_CACHE_MAX", max, 1);
        reopen({});
        EXPECT_EQ(strcmp(max, "2") != 0, kept({8192, 65536, 131072, 262144}));
    }
}

TEST_F(Variable, EFA_REG_CACHE_SIZE)
{
    setenv("UCX_EFA_REG_CACHE", "y", 1);
    for (const char *size : {"1m", "inf"}) {
        setenv("UCX_EFA_REG_CACHE_SIZE", size, 1);
        reopen({});
        EXPECT_EQ(strcmp(size, "1m") != 0, kept({1 << 20}));
    }
}

} // namespace accident
