/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations: huge ones, advice, the limits, and a fork in between. */
#include "mapping.h"
#include "uct_entity.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace uct_test;

class UctMemory : public UctTest {
protected:
    static ucs_status_t reg(Entity &entity, void *data, size_t length,
                            uct_mem_h *memh)
    {
        return uct_md_mem_reg(entity.md(), data, length,
                              UCT_MD_MEM_ACCESS_RMA |
                                      UCT_MD_MEM_FLAG_HIDE_ERRORS,
                              memh);
    }

    /* uct_ep_get_zcopy or uct_ep_put_zcopy */
    using Operation = ucs_status_t (*)(uct_ep_h, const uct_iov_t *, size_t,
                                       uint64_t, uct_rkey_t,
                                       uct_completion_t *);

    /* Moves `length` bytes between b's memory at offset and the same offset of
     * a's. */
    void move(Operation operation, const Mapping &remote, const Mapping &local,
              size_t offset, size_t length)
    {
        share(remote, local);
        move(operation, remote, remote_memh, local, local_memh, offset, length);
        unshare();
    }

    void move(Operation operation, const Mapping &remote,
              uct_mem_h remote_memh, const Mapping &local,
              uct_mem_h local_memh, size_t offset, size_t length)
    {
        uct_rkey_bundle_t rkey;
        uint8_t packed[64];
        Completion comp;

        ASSERT_EQ(UCS_OK, uct_md_mkey_pack(b->md(), remote_memh, packed));
        ASSERT_EQ(UCS_OK, uct_rkey_unpack(a->component(), packed, &rkey));
        uct_iov_t iov = {local.data() + offset, length, local_memh, 0, 1};
        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
            return operation(
                    ep, &iov, 1,
                    reinterpret_cast<uintptr_t>(remote.data()) + offset,
                    rkey.rkey, &comp.uct);
        }));
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        EXPECT_EQ(UCS_OK, comp.status);
        uct_rkey_release(a->component(), &rkey);
    }

    /* The shared memory is read, from `at` on. */
    ucs_status_t get(const Mapping &remote, const uct_iov_t &iov, size_t at,
                     Completion &comp)
    {
        return until_taken([&] {
            return uct_ep_get_zcopy(
                    ep, &iov, 1, reinterpret_cast<uintptr_t>(remote.data()) + at,
                    rkey.rkey, &comp.uct);
        });
    }

    /* Registers them, and has the key of b's; until unshare. */
    void share(const Mapping &remote, const Mapping &local)
    {
        uint8_t packed[64];

        ASSERT_EQ(UCS_OK, reg(*b, remote.data(), remote.size(), &remote_memh));
        ASSERT_EQ(UCS_OK, reg(*a, local.data(), local.size(), &local_memh));
        ASSERT_EQ(UCS_OK, uct_md_mkey_pack(b->md(), remote_memh, packed));
        ASSERT_EQ(UCS_OK, uct_rkey_unpack(a->component(), packed, &rkey));
    }

    void unshare()
    {
        uct_rkey_release(a->component(), &rkey);
        uct_md_mem_dereg(b->md(), remote_memh);
        uct_md_mem_dereg(a->md(), local_memh);
    }

    uct_mem_h remote_memh, local_memh;
    uct_rkey_bundle_t rkey;
};

TEST_F(UctMemory, huge_registration__beyond_4_GiB_is_reached)
{
    SRD_ONLY("no reads");
    open();
    /* nothing may be out while 10 GB are registered, which can take longer than the
     * device waits for a process that does not poll */
    introduce();
    progress_for(0.1); /* nor control packets, of either side */
    const size_t size = (5ul << 30) + 12345, offset = (4ul << 30) + 777;
    Mapping remote(size), local(size);
    Bytes bytes = make_message(1, 100000);

    ASSERT_TRUE(remote.repeat() && local.repeat());
    memcpy(remote.data() + offset, bytes.data(), bytes.size());
    move(uct_ep_get_zcopy, remote, local, offset, bytes.size());
    EXPECT_EQ(0, memcmp(local.data() + offset, bytes.data(), bytes.size()));
    EXPECT_EQ(0, local.data()[offset - 1]);
    EXPECT_EQ(0, local.data()[offset + bytes.size()]);
}

TEST_F(UctMemory, more_than_the_device_takes__is_an_error_of_that_call)
{
    open();
    uct_md_attr_t attr;
    uct_mem_h memh;
    ASSERT_EQ(UCS_OK, uct_md_query(a->md(), &attr));
    Mapping space(attr.cap.max_reg + 4096, PROT_NONE);

    if (!space.ok()) {
        GTEST_SKIP() << "no address space for it";
    }
    EXPECT_NE(UCS_OK, reg(*a, space.data(), space.size(), &memh));
    EXPECT_NE(UCS_OK, reg(*a, space.data(), 0, &memh));
    Memory fine(*a, 4096, 1);
}

/* Memory that was registered while it was read-only is received into by the same
 * handle once it may be written; until then that call alone fails. */
TEST_F(UctMemory, read_only__is_received_into_once_it_may_be_written)
{
    SRD_ONLY("no reads");
    open();
    const size_t size = 1 << 20;
    Mapping local(size, PROT_READ), remote(size);
    Completion sent, refused;

    memset(remote.data(), 0x5a, size);
    share(remote, local);

    uct_iov_t iov = {local.data(), 4096, local_memh, 0, 1};
    ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
        return uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0, &sent.uct);
    }));
    EXPECT_EQ(UCS_OK, end_of(sent));

    iov.length = size;
    EXPECT_EQ(UCS_ERR_INVALID_ADDR, get(remote, iov, 0, refused));
    ASSERT_EQ(0, mprotect(local.data(), size, PROT_READ | PROT_WRITE));
    move(uct_ep_get_zcopy, remote, remote_memh, local, local_memh, 0, size);
    EXPECT_EQ(0, memcmp(local.data(), remote.data(), size));
    unshare();
}

/* Memory that was sent as a whole, and is read-only in part, is received into
 * where it may be written, by the same handle; elsewhere that call alone fails. */
TEST_F(UctMemory, read_only_in_part__is_received_into_elsewhere)
{
    SRD_ONLY("no reads");
    open();
    const size_t size = 1 << 20, part = 65536;
    Mapping local(size), remote(size);
    Completion refused;

    memset(remote.data(), 0x5a, size);
    ASSERT_EQ(0, mprotect(local.data() + 2 * part, part, PROT_READ));
    share(remote, local);
    for (size_t at : {size / 2, size / 2 + part, size_t(100), 3 * part}) {
        move(uct_ep_get_zcopy, remote, remote_memh, local, local_memh, at, part);
        EXPECT_EQ(0, memcmp(local.data() + at, remote.data() + at, part));
    }
    /* each mapping is registered once, whatever is received where */
    device("fail-command", "reg-mr:1");
    for (size_t at = 3 * part; at + part <= size; at += 1000) {
        move(uct_ep_get_zcopy, remote, remote_memh, local, local_memh, at, part);
    }
    device("fail-command", "");
    for (size_t at : {size_t(0), 2 * part, size_t(part + 1)}) {
        uct_iov_t iov = {local.data() + at, 3 * part, local_memh, 0, 1};
        EXPECT_EQ(UCS_ERR_INVALID_ADDR, get(remote, iov, at, refused));
    }
    unshare();
}

/* A key that is packed once the memory may be written lets a peer write; one
 * that was packed before goes on letting it read. */
TEST_F(UctMemory, read_only__a_key_packed_later_is_for_writes_too)
{
    open();
    PUT_ONLY();
    const size_t size = 65536;
    Mapping remote(size, PROT_READ), local(size);
    Completion comp;

    memset(local.data(), 0x5a, size);
    share(remote, local);
    ASSERT_EQ(0, mprotect(remote.data(), size, PROT_READ | PROT_WRITE));
    move(uct_ep_put_zcopy, remote, remote_memh, local, local_memh, 0, size);
    EXPECT_EQ(0, memcmp(local.data(), remote.data(), size));

    memset(local.data(), 0, size);
    uct_iov_t iov = {local.data(), size, local_memh, 0, 1};
    ASSERT_EQ(UCS_INPROGRESS, get(remote, iov, 0, comp));
    EXPECT_EQ(UCS_OK, end_of(comp));
    EXPECT_EQ(0, memcmp(local.data(), remote.data(), size));
    unshare();
}

/* A key with which a peer may put, and not get, is for a receive, which will not end:
 * that is said, once. Others may be for a send. */
TEST_F(UctMemory, read_only__a_key_for_puts_alone_is_an_error)
{
    open();
    const size_t size = 65536;
    Mapping memory(size, PROT_READ);
    uct_mem_h memh;
    uint8_t packed[64];

    for (unsigned access : {UCT_MD_MEM_ACCESS_RMA, UCT_MD_MEM_ACCESS_REMOTE_PUT}) {
        testing::internal::CaptureStdout();
        EXPECT_EQ(UCS_OK, uct_md_mem_reg(b->md(), memory.data(), size,
                                         access | UCT_MD_MEM_FLAG_HIDE_ERRORS, &memh));
        EXPECT_EQ(UCS_OK, uct_md_mkey_pack(b->md(), memh, packed));
        EXPECT_EQ(UCS_OK, uct_md_mem_dereg(b->md(), memh));
        std::string said = testing::internal::GetCapturedStdout();
        auto at = said.find("cannot receive into the 65536 bytes");
        EXPECT_EQ(access == UCT_MD_MEM_ACCESS_RMA, at == std::string::npos) << said;
        EXPECT_EQ(at, said.rfind("cannot receive")) << said;
    }
}

/* Where a put may be right that the device refuses UCP does without the key, and
 * takes messages. A rendezvous (HIDE_ERRORS) reads alone. If it is a shortage that
 * keeps the memory from peers' writes, that is said here, where it is known. */
TEST_F(UctMemory, read_only__its_key_is_none_where_the_process_may_write)
{
    open();
    PUT_ONLY();
    constexpr unsigned RMA = UCT_MD_MEM_ACCESS_RMA, HIDE = UCT_MD_MEM_FLAG_HIDE_ERRORS;
    constexpr unsigned READ = UCT_MD_MEM_ACCESS_LOCAL_READ | UCT_MD_MEM_ACCESS_REMOTE_GET;
    constexpr unsigned WRITE = UCT_MD_MEM_ACCESS_REMOTE_PUT;
    const size_t size = 4 << 20, half = size / 2;
    const struct {
        unsigned flags;
        size_t written;
        bool is_key;
    } cases[] = {{RMA, 0, true}, {READ, half, true}, {READ, size, true},
                 {RMA, half, false}, {RMA | HIDE, half, false}, {RMA, size, false},
                 {RMA | HIDE, size, true}, {WRITE | HIDE, size, false}};

    for (const auto &one : cases) {
        Mapping memory(size, PROT_READ);
        uct_rkey_bundle_t rkey;
        uct_mem_h memh;
        uint8_t packed[64];

        ASSERT_EQ(UCS_OK, uct_md_mem_reg(b->md(), memory.data(), size, one.flags, &memh));
        device("mr-pages", "256"); /* what peers may write can be no longer */
        ASSERT_EQ(0, mprotect(memory.data(), one.written, PROT_READ | PROT_WRITE));
        testing::internal::CaptureStdout();
        ASSERT_EQ(UCS_OK, uct_md_mkey_pack(b->md(), memh, packed));
        std::string said = testing::internal::GetCapturedStdout();
        device("mr-pages", "1048576");
        if (!(one.flags & HIDE)) {
            EXPECT_EQ((one.flags == RMA) && (one.written == size),
                      said.find("cannot register 4194304 bytes") != std::string::npos)
                    << said;
        }
        auto status = uct_rkey_unpack(a->component(), packed, &rkey);
        EXPECT_EQ(one.is_key ? UCS_OK : UCS_ERR_UNREACHABLE, status)
                << one.flags << " " << one.written;
        if (status == UCS_OK) {
            uct_rkey_release(a->component(), &rkey);
        }
        uct_md_mem_dereg(b->md(), memh);
    }
}

/* A peer gets no right to write memory that was registered without it, though it
 * is registered anew since it was read-only. */
TEST_F(UctMemory, read_only__no_right_to_write_is_added)
{
    open();
    PUT_ONLY();
    const size_t size = 65536;
    Mapping remote(size, PROT_READ), local(size);
    Memory source(*a, local.data(), size);
    uct_iov_t iov = source.iov(0, size);
    uct_rkey_bundle_t rkey;
    uint8_t packed[64];
    Completion comp;

    memset(local.data(), 0x5a, size);
    ASSERT_EQ(UCS_OK, uct_md_mem_reg(b->md(), remote.data(), size,
                                     UCT_MD_MEM_ACCESS_LOCAL_WRITE |
                                             UCT_MD_MEM_ACCESS_REMOTE_GET,
                                     &remote_memh));
    ASSERT_EQ(0, mprotect(remote.data(), size, PROT_READ | PROT_WRITE));
    ASSERT_EQ(UCS_OK, uct_md_mkey_pack(b->md(), remote_memh, packed));
    ASSERT_EQ(UCS_OK, uct_rkey_unpack(a->component(), packed, &rkey));
    ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
        return uct_ep_put_zcopy(ep, &iov, 1,
                                reinterpret_cast<uintptr_t>(remote.data()),
                                rkey.rkey, &comp.uct);
    }));
    EXPECT_NE(UCS_OK, end_of(comp));
    EXPECT_EQ(0, remote.data()[0]);
    uct_rkey_release(a->component(), &rkey);
    uct_md_mem_dereg(b->md(), remote_memh);
}

/* The device takes less memory that peers may write at a time than was read-only:
 * of that the part is received into that is asked for. */
TEST_F(UctMemory, read_only__more_than_peers_may_write)
{
    SRD_ONLY("no reads");
    open();
    const size_t size = 4 << 20, part = 65536;
    Mapping local(size, PROT_READ), remote(size);

    memset(remote.data(), 0x5a, size);
    share(remote, local);
    device("mr-pages", "256");
    ASSERT_EQ(0, mprotect(local.data(), size, PROT_READ | PROT_WRITE));
    move(uct_ep_get_zcopy, remote, remote_memh, local, local_memh, size / 2, part);
    EXPECT_EQ(0, memcmp(local.data() + size / 2, remote.data() + size / 2, part));
    device("mr-pages", "1048576");
    unshare();
}

/* Registrations that nobody uses any more, and the cache has kept, make room. */
TEST_F(UctMemory, unused__makes_room_for_what_peers_may_not_write)
{
    open();
    const size_t size = 96 << 20; /* beside the interfaces' own */
    Mapping first(size), second(size);
    uct_mem_h memh;

    ASSERT_TRUE(first.repeat() && second.repeat());
    device("device-pages", std::to_string(size / 4096 * 3 / 2).c_str());
    for (unsigned access : {UCT_MD_MEM_ACCESS_RMA, UCT_MD_MEM_ACCESS_REMOTE_GET}) {
        Mapping &memory = (access == UCT_MD_MEM_ACCESS_RMA) ? first : second;
        ASSERT_EQ(UCS_OK, uct_md_mem_reg(a->md(), memory.data(), size, access, &memh));
        EXPECT_EQ(UCS_OK, uct_md_mem_dereg(a->md(), memh));
    }
    device("device-pages", std::to_string(24 << 20).c_str());
}

/* As UCX wants it of domains, where it checks parameters: only what was packed
 * to be invalidated is. The handle stays valid. */
TEST_F(UctMemory, invalidation__needs_a_key_that_was_packed_for_it)
{
    open();
    const uint64_t all = ~0ull; /* fields; the flag is the first in all UCX */
    struct {
        uint64_t fields;
        unsigned flags;
        uct_mem_h memh;
        uct_completion_t *comp;
    } params = {all, 1, nullptr, nullptr};
    auto dereg = reinterpret_cast<ucs_status_t (*)(uct_md_h, void *)>(
            dlsym(RTLD_DEFAULT, "uct_md_mem_dereg_v2"));
    bool checks = uct_md_mkey_pack(a->md(),
                                   reinterpret_cast<uct_mem_h>(a->md()),
                                   nullptr) == UCS_ERR_INVALID_PARAM;
    Mapping memory(4096);
    Completion comp;
    uint8_t packed[64];

    ASSERT_EQ(UCS_OK, reg(*a, memory.data(), memory.size(), &params.memh));
    ASSERT_EQ(UCS_OK, uct_md_mkey_pack(a->md(), params.memh, packed));
    params.comp = &comp.uct;
    EXPECT_EQ(checks ? UCS_ERR_INVALID_PARAM : UCS_OK,
              dereg(a->md(), &params));
    EXPECT_EQ(checks ? 0 : 1, comp.done);
    if (checks) {
        EXPECT_EQ(UCS_OK, uct_md_mem_dereg(a->md(), params.memh));
    }
}

TEST_F(UctMemory, advice__inside_a_registration_only)
{
    open();
    Memory memory(*a, 10000, 1);

    EXPECT_EQ(UCS_OK, uct_md_mem_advise(a->md(), memory.memh(), memory.data(),
                                        memory.size(), UCT_MADV_WILLNEED));
    EXPECT_EQ(UCS_OK, uct_md_mem_advise(a->md(), memory.memh(),
                                        memory.data() + 9999, 1,
                                        UCT_MADV_NORMAL));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_md_mem_advise(a->md(), memory.memh(),
                                memory.data() + (64 << 20), 1,
                                UCT_MADV_WILLNEED));
}

/* Whether a child has what the parent registered: where the kernel copies at
 * fork, which libibverbs asks it; or with UCX_EFA_FORK_INIT=n. */
static bool child_has_memory()
{
    const char *init = getenv("UCX_EFA_FORK_INIT");
    auto ask = reinterpret_cast<int (*)()>(
            dlsym(RTLD_DEFAULT, "ibv_is_fork_initialized"));
    void *verbs = nullptr;

    if (ask == nullptr) { /* the module has it open for itself */
        verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
        ask = reinterpret_cast<int (*)()>(
                dlsym(verbs, "ibv_is_fork_initialized"));
    }
    return ((init != nullptr) && (strcmp(init, "n") == 0)) ||
           ((ask != nullptr) && (ask() == 2 /* IBV_FORK_UNNEEDED */));
}

/* Children come and go, as of system() or subprocess; what the parent had
 * registered and under way goes on. */
TEST_F(UctMemory, fork__the_parent_goes_on)
{
    SRD_ONLY("no reads");
    open();
    Mapping remote(1 << 20), local(1 << 20);

    bool touches = child_has_memory();
    printf("a child %s the parent's memory\n", touches ? "has" : "lacks");
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    for (uint64_t round = 1; round <= 10; ++round) {
        ASSERT_EQ(UCS_OK, send_short(ep, round, {}));
        pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            if (touches) {
                memset(local.data(), 1, local.size());
                memset(remote.data(), 2, remote.size());
            }
            _exit(0);
        }
        memset(remote.data(), static_cast<int>(round + 2), remote.size());
        memset(local.data(), 0, local.size());
        move(uct_ep_get_zcopy, remote, local, 0, local.size());
        int status;
        ASSERT_EQ(child, waitpid(child, &status, 0));
        EXPECT_EQ(0, status);
        ASSERT_EQ(0, memcmp(local.data(), remote.data(), local.size()));
        EXPECT_EQ(static_cast<uint8_t>(round + 2), local.data()[12345]);
    }
    EXPECT_TRUE(wait([&] { return b->count == 11; }));
}

/* Parameters of UCX 1.14 and newer (uct_md_mem_reg_params_t), which need not be
 * those of the headers. */
struct RegParams {
    uint64_t field_mask; /* 1 flags, 2 dmabuf_fd, 4 dmabuf_offset */
    uint64_t flags;
    int dmabuf_fd;
    size_t dmabuf_offset;
    uint64_t reserved[8];
};

/* A handle of nobody's, of another domain, or that was given back. */
TEST_F(UctMemory, foreign_handles__are_invalid_parameters)
{
    SRD_ONLY("no reads");
    open();
    Memory remote(*b, 4096, 1), other(*b, 4096, 3);
    Mapping far(4096), near(4096);
    uint64_t where = reinterpret_cast<uintptr_t>(remote.data());
    Bytes bytes(4096);
    uct_mem_h returned;

    ASSERT_EQ(UCS_OK, uct_md_mem_reg(a->md(), bytes.data(), bytes.size(),
                                     UCT_MD_MEM_ACCESS_RMA, &returned));
    move(uct_ep_get_zcopy, far, near, 0, 100); /* the peer is ready */
    ASSERT_EQ(UCS_OK, uct_md_mem_dereg(a->md(), returned));
    for (uct_mem_h memh :
         {uct_mem_h(nullptr), reinterpret_cast<uct_mem_h>(0xdeadbeef),
          other.memh(), returned}) {
        uct_iov_t iov = {bytes.data(), 100, memh, 0, 1};
        Completion comp;

        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_ep_get_zcopy(ep, &iov, 1, where, remote.rkey(),
                                   &comp.uct));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0,
                                  &comp.uct));
        if (a->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY) {
            EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                      uct_ep_put_zcopy(ep, &iov, 1, where, remote.rkey(),
                                       &comp.uct));
        }
        uint32_t key;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_md_mkey_pack(a->md(), memh, &key));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_md_mem_dereg(a->md(), memh));
        EXPECT_EQ(0u, comp.done);
    }
    /* no bytes, no handle */
    uct_iov_t none = {nullptr, 0, nullptr, 0, 1};
    EXPECT_EQ(UCS_OK, uct_ep_get_zcopy(ep, &none, 1, where, remote.rkey(),
                                       nullptr));
    move(uct_ep_get_zcopy, far, near, 0, 4096); /* it goes on */
}

/* One word of the attributes of a domain in UCX 1.16 and newer, by its bit in
 * the field mask: asked for alone, wherever it stands in the structure. */
static uint64_t md_attr_word(const Entity &entity, unsigned bit)
{
    auto query_v2 = reinterpret_cast<ucs_status_t (*)(uct_md_h, uint64_t *)>(
            dlsym(RTLD_DEFAULT, "uct_md_query_v2"));
    uint64_t words[512] = {uint64_t(1) << bit}, all = 0;

    EXPECT_EQ(UCS_OK, query_v2(entity.md(), words));
    for (unsigned i = 1; i < 512; ++i) {
        all |= words[i];
    }
    return all;
}

/* UCX asks a domain with dmabuf_mem_types for the dma-buf of memory. We take
 * them; a driver of GPUs gives them. */
TEST_F(UctMemory, dmabuf__is_imported_and_not_exported)
{
    if (dlsym(RTLD_DEFAULT, "uct_rkey_compare") == nullptr) {
        ASSERT_EQ(nullptr, getenv("NEED_DMABUF"));
        GTEST_SKIP() << "the bits are those of UCX 1.16 and newer";
    }
    const uint64_t gpu = UCS_BIT(UCS_MEMORY_TYPE_CUDA) |
                         UCS_BIT(UCS_MEMORY_TYPE_ROCM);
    const uint64_t host = UCS_BIT(UCS_MEMORY_TYPE_HOST);

    open();
    EXPECT_EQ(0u, md_attr_word(*a, 9)) << "dmabuf_mem_types";
    EXPECT_EQ(host | gpu, md_attr_word(*a, 5)) << "cache_mem_types";
    EXPECT_EQ(host, md_attr_word(*a, 3)) << "reg_mem_types: by address";
}

/* Memory of a GPU, handed over as a dma-buf: a memfd stands in for it. Its
 * addresses are nobody's to touch, so only the dma-buf can have moved bytes. */
TEST_F(UctMemory, dmabuf__is_read_and_read_into)
{
    SRD_ONLY("no reads");
    auto reg_v2 = reinterpret_cast<ucs_status_t (*)(
            uct_md_h, void *, size_t, const RegParams *, uct_mem_h *)>(
            dlsym(RTLD_DEFAULT, "uct_md_mem_reg_v2"));
    if (reg_v2 == nullptr) {
        ASSERT_EQ(nullptr, getenv("NEED_DMABUF"));
        GTEST_SKIP() << "UCX 1.14 and newer register dma-bufs";
    }
    open();
    const size_t size = 1 << 20, skipped = 8192;
    Mapping unreachable(size, PROT_NONE), host(size);
    int fd = memfd_create("dmabuf", 0);
    uct_mem_h dmabuf_a, dmabuf_b, host_a, host_b;
    RegParams params = {7, UCT_MD_MEM_ACCESS_RMA, fd, skipped, {}};

    ASSERT_EQ(0, ftruncate(fd, skipped + size));
    auto bytes = static_cast<uint8_t *>(
            mmap(nullptr, skipped + size, PROT_READ | PROT_WRITE, MAP_SHARED,
                 fd, 0));
    ASSERT_NE(MAP_FAILED, static_cast<void *>(bytes));
    ASSERT_EQ(UCS_OK, reg(*a, host.data(), size, &host_a));
    ASSERT_EQ(UCS_OK, reg(*b, host.data(), size, &host_b));
    ASSERT_EQ(UCS_OK,
              reg_v2(a->md(), unreachable.data(), size, &params, &dmabuf_a));
    ASSERT_EQ(UCS_OK,
              reg_v2(b->md(), unreachable.data(), size, &params, &dmabuf_b));

    for (size_t i = 0; i < size; ++i) {
        bytes[skipped + i] = pattern(1, i);
    }
    move(uct_ep_get_zcopy, unreachable, dmabuf_b, host, host_a, 100,
         size - 100);
    EXPECT_EQ(0, memcmp(host.data() + 100, bytes + skipped + 100, size - 100));
    EXPECT_EQ(0, host.data()[99]);

    for (size_t i = 0; i < size; ++i) {
        host.data()[i] = pattern(2, i);
    }
    move(uct_ep_get_zcopy, host, host_b, unreachable, dmabuf_a, 0, size / 2);
    EXPECT_EQ(0, memcmp(host.data(), bytes + skipped, size / 2));
    EXPECT_EQ(pattern(1, size / 2), bytes[skipped + size / 2]);

    uct_mem_h none;
    params.flags    |= UCT_MD_MEM_FLAG_HIDE_ERRORS;
    params.dmabuf_fd = 1 << 20; /* nobody's descriptor */
    EXPECT_NE(UCS_OK,
              reg_v2(b->md(), unreachable.data(), size, &params, &none));
    uct_md_mem_dereg(a->md(), dmabuf_a);
    uct_md_mem_dereg(b->md(), dmabuf_b);
    uct_md_mem_dereg(a->md(), host_a);
    uct_md_mem_dereg(b->md(), host_b);
    munmap(bytes, skipped + size);
    ::close(fd);
}
