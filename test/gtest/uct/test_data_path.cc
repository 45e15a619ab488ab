/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Once everything was used, the data path allocates nothing, enters the kernel
 * nowhere and takes no lock (P10). Counted are the module's own calls.
 */
#include "fault.h"
#include "module_clock.h"
#include "uct_entity.h"

#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

extern "C" {
#include <ucm/api/ucm.h>
}

using namespace uct_test;

class DataPath : public UctTest {
protected:
    static void unpack(void *arg, const void *, size_t length)
    {
        *static_cast<size_t *>(arg) += length;
    }

    bool again(ucs_status_t status)
    {
        if (status == UCS_ERR_NO_RESOURCE) {
            progress();
        }
        return status == UCS_ERR_NO_RESOURCE;
    }

    void complete(const std::function<ucs_status_t(uct_completion_t *)> &post)
    {
        Completion comp;
        ucs_status_t status;

        while (again(status = post(&comp.uct))) {
        }
        ASSERT_TRUE((status == UCS_OK) || (status == UCS_INPROGRESS));
        while ((status == UCS_INPROGRESS) && (comp.done == 0)) {
            progress();
        }
    }

    void exchange(Memory &remote, Memory &local)
    {
        uint64_t address = reinterpret_cast<uintptr_t>(remote.data());
        uct_iov_t iov = local.iov(0, 4000);
        size_t unpacked = 0;

        for (uint64_t i = 0; i < 100; ++i) {
            while (again(uct_ep_am_short(ep, AM_ID, i, nullptr, 0))) {
            }
            while (uct_ep_am_bcopy(ep, AM_ID, pack_large, nullptr, 0) < 0) {
                progress();
            }
        }
        complete([&](uct_completion_t *comp) {
            return uct_ep_am_zcopy(ep, AM_ID, &address, sizeof(address), &iov,
                                   1, 0, comp);
        });
        complete([&](uct_completion_t *comp) {
            return uct_ep_get_zcopy(ep, &iov, 1, address, remote.rkey(), comp);
        });
        complete([&](uct_completion_t *comp) {
            return uct_ep_get_bcopy(ep, unpack, &unpacked, 1000, address,
                                    remote.rkey(), comp);
        });
        if (a->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY) {
            while (again(uct_ep_put_short(ep, &address, sizeof(address),
                                          address, remote.rkey()))) {
            }
            complete([&](uct_completion_t *comp) {
                return uct_ep_put_zcopy(ep, &iov, 1, address, remote.rkey(),
                                        comp);
            });
        }
        uct_ep_fence(ep, 0);
        complete([&](uct_completion_t *comp) {
            return uct_ep_flush(ep, 0, comp);
        });
    }

    static size_t pack_large(void *dest, void *)
    {
        memset(dest, 1, 8000);
        return 8000;
    }

    void registration(void *memory, size_t length)
    {
        uct_mem_h memh;

        ASSERT_EQ(UCS_OK, uct_md_mem_reg(a->md(), memory, length,
                                         UCT_MD_MEM_ACCESS_RMA, &memh));
        ASSERT_EQ(UCS_OK, uct_md_mem_dereg(a->md(), memh));
    }
};

TEST_F(DataPath, second_time__allocates_nothing_and_calls_no_kernel)
{
    open();
    b->record = false;
    a->record = false;
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);

    for (int i = 0; i < 20; ++i) {
        exchange(remote, local);
    }
    fault_arm("", 0);
    fault_system_calls();
    for (int i = 0; i < 20; ++i) {
        exchange(remote, local);
    }
    EXPECT_EQ("", fault_system_calls());
    if (fault_has_malloc()) {
        EXPECT_EQ(0u, fault_calls("malloc"));
    }
    if (std::getenv("DIRECT") == nullptr) {
        EXPECT_LT(0u, fault_calls("post_send"));
    }
    EXPECT_EQ(0u, fault_calls("ibv_reg_mr"));
}

/* A process whose CPU is others' for a while is not a device that does not
 * work. */
TEST_F(DataPath, direct__is_found_to_work_though_the_CPU_is_away)
{
    OtherValue direct("UCX_EFA_DIRECT", "y");
    std::unique_ptr<Entity> quiet, busy;

    try {
        quiet = std::make_unique<Entity>();
    } catch (const std::runtime_error &) {
    }
    module_clock_start();
    module_clock_away(300000);
    try {
        busy = std::make_unique<Entity>();
    } catch (const std::runtime_error &) {
    }
    module_clock_away(0);
    if (quiet == nullptr) {
        GTEST_SKIP() << "rdma-core is older than 60";
    }
    EXPECT_NE(nullptr, busy);
}

TEST_F(DataPath, registration_of_known_memory__costs_no_allocation)
{
    if (!fault_has_malloc()) {
        GTEST_SKIP() << "the sanitizer's allocator is in its place";
    }
    OtherValue cache("UCX_EFA_REG_CACHE", "y");
    open();
    Bytes memory(1 << 20);

    registration(memory.data(), memory.size());
    fault_arm("", 0);
    for (int i = 0; i < 10; ++i) {
        registration(memory.data(), memory.size());
    }
    EXPECT_EQ(0u, fault_calls("malloc"));
    EXPECT_EQ(0u, fault_calls("ibv_reg_mr"));
}

/* UCX's event when a GPU's memory is freed: that does not leave the address
 * space as other memory does. */
static bool say_freed(void *address, size_t length)
{
    auto dispatch = reinterpret_cast<void (*)(ucm_event_type_t, ucm_event_t *)>(
            dlsym(RTLD_DEFAULT, "ucm_event_dispatch"));
    ucm_event_t event = {};

    if (dispatch == nullptr) {
        return false;
    }
    event.mem_type.address  = address;
    event.mem_type.size     = length;
    event.mem_type.mem_type = UCS_MEMORY_TYPE_CUDA;
    dispatch(UCM_EVENT_MEM_TYPE_FREE, &event);
    return true;
}

/* Memory that left the address space is not known when it comes back: its pages
 * are others. UCX tells us, however it left. */
TEST_F(DataPath, registration_of_remapped_memory__is_made_anew)
{
    const size_t length = 1 << 20;
    OtherValue cache("UCX_EFA_REG_CACHE", "y");
    open();
    /* the second half is in the way of the first */
    void *memory = mmap(nullptr, 2 * length, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, memory);
    auto again = [&] {
        return mmap(memory, length, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    };
    const std::vector<std::pair<const char *, std::function<bool()>>> ways = {
        {"munmap", [&] {
            return (munmap(memory, length) == 0) && (again() == memory);
        }},
        {"munmap of a part", [&] {
            return (munmap(static_cast<char *>(memory) + 4096, 4096) == 0) &&
                   (again() == memory);
        }},
        {"mmap over it", [&] { return again() == memory; }},
        {"mremap", [&] { /* not MREMAP_FIXED: UCX 1.13 forgets where to */
            void *away = mremap(memory, length, 2 * length, MREMAP_MAYMOVE);
            return (away != MAP_FAILED) && (again() == memory) &&
                   (munmap(away, 2 * length) == 0);
        }},
        {"what UCX does not see, as in dlclose", [&] {
            return (syscall(SYS_munmap, memory, length) == 0) &&
                   (mmap(memory, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                         0) == memory);
        }},
        {"madvise", [&] {
            return madvise(memory, length, MADV_DONTNEED) == 0;
        }},
        {"cudaFree", [&] { return say_freed(memory, length); }},
        {"cudaFreeHost of more than this, but UCX knows not how much", [&] {
            return say_freed(static_cast<char *>(memory) - 4096, 1);
        }},
    };

    for (const auto &way : ways) {
        registration(memory, length);
        fault_arm("", 0);
        registration(memory, length);
        EXPECT_EQ(0u, fault_calls("ibv_reg_mr")) << "before " << way.first;
        ASSERT_TRUE(way.second()) << way.first;
        fault_arm("", 0);
        registration(memory, length);
        EXPECT_EQ(1u, fault_calls("ibv_reg_mr")) << "after " << way.first;
    }
    munmap(memory, 2 * length);
}
