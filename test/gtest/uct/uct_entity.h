/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCT_ENTITY_H_
#define UCT_ENTITY_H_

/* One interface of the emulated device, driven through UCT's public API, as UCP
 * drives it. Programs of this folder run under 'efasim run -- srdrun PROGRAM'.
 */

#include "transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>
#include <uct/api/version.h>
}

namespace uct_test {

constexpr uint8_t AM_ID = 5;

using Bytes = std::vector<uint8_t>;

/* Deterministic contents: byte i of message seed. */
inline uint8_t pattern(uint32_t seed, size_t i)
{
    return static_cast<uint8_t>((seed * 2654435761u + i * 40503u) >> 11);
}

inline Bytes make_message(uint32_t seed, size_t length)
{
    Bytes bytes(length);

    for (size_t i = 0; i < length; ++i) {
        bytes[i] = pattern(seed, i);
    }
    return bytes;
}

using Config = std::map<std::string, std::string>;

inline bool is_ud()
{
    return transport() == "ud";
}

/* For a test about things that ud has not, whatever the device: RMA, and
 * statuses of the device that tell of the peer. */
#define SRD_ONLY(_why)                 \
    if (uct_test::is_ud()) {           \
        GTEST_SKIP() << "ud: " << _why; \
    }

#define PUT_ONLY()                              \
    if (!has_put()) {                           \
        GTEST_SKIP() << "no RDMA WRITE here";   \
    }

class Entity {
public:
    /* Members of uct_iface_params_t; those of `fields` count. */
    struct Align {
        uint64_t fields;
        size_t alignment, offset;
    };

    explicit Entity(const Config &config = {}, size_t headroom = 0,
                    const Align &align = {});
    /* Another interface of the same memory domain, as of a second worker of a
     * context; `neighbour` outlives it. */
    explicit Entity(const Entity *neighbour);
    ~Entity();
    Entity(const Entity &) = delete;

    /* As a worker does. UCX changed what uct_worker_progress() has inlined
     * into this program; on another than it was built with, the interface. */
    unsigned progress()
    {
        return m_other_ucx ? uct_iface_progress(m_iface) :
                             uct_worker_progress(m_worker);
    }

    uct_ep_h connect(const Entity &peer)
    {
        return connect(peer.device_addr, peer.iface_addr);
    }
    uct_ep_h connect(const Bytes &device, const Bytes &interface);

    /* Messages that arrived, in the order of the callbacks; only counted when
     * `record` is off. */
    std::vector<Bytes> received;
    bool record = true;
    size_t count = 0;
    /* Called for each message after it was recorded; may be empty. */
    std::function<void(const Bytes &)> on_message;
    /* Keep descriptors instead of returning UCS_OK. */
    bool keep_descs = false;
    struct Kept {
        uint8_t *data; /* the descriptor starts `headroom` bytes before */
        Bytes message;
    };
    std::vector<Kept> kept;

    struct Failure {
        uct_ep_h ep;
        ucs_status_t status;
    };
    std::vector<Failure> failures;
    std::function<void(uct_ep_h)> on_failure;
    bool handles_failures = true; /* else the handler says it does not */

    uct_component_h component() const
    {
        return m_component;
    }
    uct_md_h md() const
    {
        return m_md;
    }
    uct_iface_h iface() const
    {
        return m_iface;
    }
    const uct_iface_attr_t &attr() const
    {
        return m_attr;
    }
    const std::string &device() const
    {
        return m_device;
    }
    Bytes device_addr, iface_addr;

private:
    void close();
    void open_worker();
    void open_md();
    void open_iface(const Config &config, size_t headroom, const Align &align);
    static ucs_status_t am_handler(void *arg, void *data, size_t length,
                                   unsigned flags);
    static ucs_status_t
    err_handler(void *arg, uct_ep_h ep, ucs_status_t status);

    ucs_async_context_t *m_async = nullptr;
    uct_worker_h m_worker = nullptr;
    uct_component_h m_component = nullptr;
    uct_md_h m_md = nullptr;
    bool m_md_is_own = true;
    uct_iface_h m_iface = nullptr;
    uct_iface_attr_t m_attr;
    std::string m_device;
    size_t m_headroom;
    bool m_other_ucx;
};

/* Registered memory of an entity, with its packed remote key unpacked. */
class Memory {
public:
    Memory(Entity &entity, size_t length, uint32_t seed);
    /* The bytes are the caller's. */
    Memory(Entity &entity, void *data, size_t length);
    ~Memory();
    Memory(const Memory &) = delete;

    uint8_t *data() const
    {
        return m_data;
    }
    uint64_t address() const
    {
        return reinterpret_cast<uintptr_t>(m_data);
    }
    size_t size() const
    {
        return m_size;
    }
    const Bytes &packed() const
    {
        return m_packed;
    }
    uct_mem_h memh() const
    {
        return m_memh;
    }
    uct_rkey_t rkey() const
    {
        return m_rkey.rkey;
    }
    uct_iov_t iov(size_t offset, size_t length)
    {
        return {m_data + offset, length, m_memh, 0, 1};
    }

private:
    void share();

    Entity &m_entity;
    Bytes m_bytes;
    uint8_t *m_data;
    size_t m_size;
    Bytes m_packed; /* the key */
    uct_mem_h m_memh = nullptr;
    uct_rkey_bundle_t m_rkey;
};

/* Counts how often and with what status it was completed. */
struct Completion {
    uct_completion_t uct;
    unsigned done = 0;
    ucs_status_t status = UCS_OK;

    Completion();
    static void callback(uct_completion_t *self);
};

/* A request of the queue: `post` until it is through, or is told an error. */
struct Pending {
    uct_pending_req_t uct;
    std::function<ucs_status_t()> post;
    unsigned calls      = 0;
    ucs_status_t answer = UCS_OK; /* to the last call */
    bool done           = false;

    explicit Pending(std::function<ucs_status_t()> posting = {});
};

/* Two interfaces, a and b, and an endpoint from a to b. */
class UctTest : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    void open(const Config &config = {}, size_t headroom = 0);
    void progress()
    {
        a->progress();
        if (b != nullptr) {
            b->progress();
        }
    }

    /* Sets a knob of the emulated device of this process from now on. */
    static void device(const char *knob, const char *value);

    /* From now on its clock stands at `ns`; 0: the real one again. */
    static void device_clock(unsigned long long ns);

    static unsigned long long counter(const char *name)
    {
        return device_counter(name);
    }

    /* Seconds of a clock that never goes back. */
    static double now();

    /* Resident memory of this process in KiB; 0 with sanitizers, which keep
     * freed memory back. */
    static long resident();

    /* Seconds for which this thread has run: while others have the CPU it stands. */
    static double ran();

    /* Progresses until `done`; false after `seconds` of its own. */
    bool wait(const std::function<bool()> &done, double seconds = 60);
    /* The same while b does nothing, but for timers of the kernel's. */
    bool wait_a(const std::function<bool()> &done, double seconds = 60);
    /* Progress of both, or of `those`; some rounds, however busy the machine is. */
    void progress_for(double seconds);
    static void progress_for(double seconds,
                             const std::vector<Entity *> &those);

    void rounds(unsigned count)
    {
        while (count-- > 0) {
            progress();
        }
    }

    /* `post` until the peer has answered and there is room for it; what it says
     * then. */
    template <typename Post> auto until_taken(Post post) -> decltype(post())
    {
        auto status = static_cast<decltype(post())>(UCS_ERR_NO_RESOURCE);

        wait([&] {
            status = post();
            return status != UCS_ERR_NO_RESOURCE;
        });
        return status;
    }

    /* The status of an operation, when it has ended. */
    ucs_status_t end_of(const Completion &comp)
    {
        EXPECT_TRUE(wait([&] { return comp.done > 0; }));
        return comp.status;
    }

    /* It goes, and is no more. */
    static void end(Entity *&entity)
    {
        delete entity;
        entity = nullptr;
    }
    static void end(uct_ep_h &ep)
    {
        uct_ep_destroy(ep);
        ep = nullptr;
    }

    /* Writes, which device and rdma-core may lack; NEED_PUT: they may not. */
    bool has_put() const
    {
        bool has = a->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY;

        EXPECT_TRUE(has || (getenv("NEED_PUT") == nullptr)) << "puts expected";
        return has;
    }

    /* Both know each other and nothing is under way. */
    void introduce();

    /* Endpoints from a to b, until eps has so many, each introduced by a message.
     * b only counts messages from now on. */
    void connect_many(std::vector<uct_ep_h> &eps, size_t count);

    static uint64_t number_of(const Bytes &message);
    /* Messages came to b with the numbers 0, 1, ... `count` - 1. */
    void expect_in_order(uint64_t count);

    /* am_short with `payload` bytes behind the header, retried while there is
     * no resource. */
    ucs_status_t send_short(uct_ep_h ep, uint64_t header, const Bytes &payload);
    ssize_t send_bcopy(uct_ep_h ep, const Bytes &bytes);
    bool flush(uct_ep_h ep);

    /* Messages on ep, numbered, until one is refused; @return how many. */
    uint64_t fill(uint64_t first = 0);

    /* uct_ep_get_zcopy on ep, from the beginning of `remote`. */
    ucs_status_t get_zcopy(const uct_iov_t &iov, Memory &remote,
                           uct_completion_t *comp)
    {
        return uct_ep_get_zcopy(ep, &iov, 1, remote.address(), remote.rkey(),
                                comp);
    }

    Entity *a = nullptr;
    Entity *b = nullptr;
    uct_ep_h ep = nullptr;
};

/* pack_cb of am_bcopy: copies the Bytes at arg. */
size_t pack_bytes(void *dest, void *arg);

} // namespace uct_test

#endif
