/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIST_TEST_H_
#define LIST_TEST_H_

/*
 * Puts and gets of lists: by UCT's call where the UCX at hand has one (puts from
 * 1.22, gets from 1.23 on), else as such a UCX would call the module. Writes take
 * a device and an rdma-core that have them; else those tests skip.
 */
#include "uct_entity.h"
#include "ucp_hooks/provider.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace uct_test {

/* The arrays of a list. */
struct List {
    std::vector<void *> buffers;
    std::vector<size_t> lengths, counts, strides;
    std::vector<uct_mem_h> memhs;
    std::vector<uint64_t> remote_addrs;
    std::vector<uct_rkey_t> rkeys;

    void add(Memory &local, Memory &remote, size_t offset, size_t length)
    {
        buffers.push_back(local.data() + offset);
        memhs.push_back(local.memh());
        remote_addrs.push_back(reinterpret_cast<uintptr_t>(remote.data()) +
                               offset);
        rkeys.push_back(remote.rkey());
        lengths.push_back(length);
    }

    /* `count` blocks of it, `stride` apart. */
    void add(Memory &local, Memory &remote, size_t offset, size_t length,
             size_t count, size_t stride)
    {
        add(local, remote, offset, length);
        counts.push_back(count);
        strides.push_back(stride);
    }

    ucx_sgl_t sgl() const
    {
        return {buffers.size(),  buffers.data(), lengths.data(), memhs.data(),
                remote_addrs.data(), rkeys.data(),
                counts.empty() ? nullptr : counts.data(),
                strides.empty() ? nullptr : strides.data()};
    }
};

using Sgl_zcopy = ucs_status_t (*)(uct_ep_h, void *const *, const size_t *,
                                   uct_mem_h const *, const uint64_t *,
                                   uct_rkey_t const *, const size_t *,
                                   const size_t *, size_t, uct_completion_t *);

/* With reads (false), and with writes. */
class UctList : public UctTest, public testing::WithParamInterface<bool> {
protected:
    static constexpr size_t PIECE = 4000;

    void SetUp() override
    {
        SRD_ONLY("no RMA");
        start({});
    }

    void TearDown() override
    {
        there.reset();
        here.reset();
        UctTest::TearDown();
    }

    void start(const Config &config)
    {
        open(config);
        if (max() == 0) {
            ASSERT_TRUE(is_put()) << "no lists";
            ASSERT_EQ(nullptr, getenv("NEED_PUT")) << "puts were expected";
            GTEST_SKIP() << "no RDMA WRITE here";
        }
        here.reset(new Memory(*a, 64 * 2 * PIECE, 1));
        there.reset(new Memory(*b, 64 * 2 * PIECE, 2));
        clear();
        List ready;
        Completion comp;
        ready.add(*here, *there, 0, 1);
        ASSERT_EQ(UCS_INPROGRESS, until_taken(ready, &comp));
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    }

    void restart(const Config &config)
    {
        TearDown();
        start(config);
    }

    static bool is_put()
    {
        return GetParam();
    }

    static const ucx_iface_vops_t *vops(const Entity *entity)
    {
        return reinterpret_cast<ucx_iface_base_t *>(entity->iface())->vops;
    }

    size_t max() const
    {
        size_t put, get;

        vops(a)->query_sgl(a->iface(), &put, &get);
        return is_put() ? put : get;
    }

    ucs_status_t post(const List &list, Completion *comp, uct_ep_h on)
    {
        auto func = reinterpret_cast<Sgl_zcopy>(
                dlsym(RTLD_DEFAULT, is_put() ? "uct_ep_put_sgl_zcopy" :
                                               "uct_ep_get_sgl_zcopy"));
        uct_completion_t *uct = (comp != nullptr) ? &comp->uct : nullptr;
        ucx_sgl_t sgl = list.sgl();

        if (func == nullptr) {
            return (is_put() ? vops(a)->ep_put_sgl : vops(a)->ep_get_sgl)(
                    on, &sgl, uct);
        }
        return func(on, sgl.buffers, sgl.lengths, sgl.memhs, sgl.remote_addrs,
                    sgl.rkeys, sgl.counts, sgl.strides, sgl.count, uct);
    }

    ucs_status_t post(const List &list, Completion *comp)
    {
        return post(list, comp, ep);
    }

    ucs_status_t until_taken(const List &list, Completion *comp)
    {
        return UctTest::until_taken([&] { return post(list, comp); });
    }

    Memory &from() const
    {
        return is_put() ? *here : *there;
    }

    Memory &to() const
    {
        return is_put() ? *there : *here;
    }

    void clear()
    {
        std::fill(to().data(), to().data() + to().size(), 0);
    }

    /* As many pieces of PIECE bytes, each followed by as much that is not to be
     * touched. */
    List pieces(size_t count, size_t first = 0)
    {
        List list;

        for (size_t i = first; i < first + count; ++i) {
            list.add(*here, *there, 2 * i * PIECE, PIECE);
        }
        return list;
    }

    /* Those of the list, and nothing beside them, have arrived. */
    void expect_moved(const List &list)
    {
        Bytes want(to().size());

        for (size_t i = 0; i < list.lengths.size(); ++i) {
            size_t begin = static_cast<uint8_t *>(list.buffers[i]) -
                           here->data();
            size_t blocks = list.counts.empty() ? 1 : list.counts[i];

            for (size_t j = 0; j < blocks; ++j) {
                size_t at = begin + (list.strides.empty() ?
                                     0 : list.strides[i] * j);
                std::copy_n(from().data() + at, list.lengths[i],
                            want.begin() + at);
            }
        }
        EXPECT_EQ(0, memcmp(want.data(), to().data(), want.size()));
    }

    void move(const List &list)
    {
        Completion comp;

        clear();
        ASSERT_EQ(UCS_INPROGRESS, until_taken(list, &comp));
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        ASSERT_TRUE(flush(ep)); /* should it be told early */
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(0, comp.uct.count);
        EXPECT_EQ(UCS_OK, comp.status);
        expect_moved(list);
    }

    std::unique_ptr<Memory> here, there;
};

} // namespace uct_test

#endif
