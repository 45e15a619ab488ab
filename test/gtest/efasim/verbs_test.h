/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the verbs tests: programs that know libibverbs and libefa only,
 * run on the emulated device by `efasim run -- gtest_verbs`. Nothing of the
 * emulator is included; what is expected is what EFA's manuals, libefa and the
 * kernel's driver say.
 *
 * A test that needs a second process, another node or a knob starts this
 * program again as a child (see Child): the child runs a test of the suite
 * DISABLED_Role and talks to its parent over a socket.
 */
#ifndef TEST_GTEST_VERBS_TEST_H
#define TEST_GTEST_VERBS_TEST_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <util/efa_status.h>

#include "../../apps/fill.h"

/* Attributes of a second-generation device (vendor's figures). */
enum {
    MSG_MAX     = 8928,
    INLINE_MAX  = 32,
    SQ_SGE_MAX  = 2,
    RQ_SGE_MAX  = 3,
    SQ_WR_MAX   = 4096,
    RQ_WR_MAX   = 32768,
    AH_MAX      = 1024
};

/* Raw completion statuses, as vendor_err shows them. */
enum {
    ST_OK            = EFA_STATUS_OK,
    ST_FLUSHED       = EFA_STATUS_FLUSHED,
    ST_BAD_AH        = EFA_STATUS_LOCAL_AH,
    ST_BAD_LKEY      = EFA_STATUS_LOCAL_LKEY,
    ST_TOO_LONG      = EFA_STATUS_LOCAL_LENGTH,
    ST_BAD_ADDRESS   = EFA_STATUS_REMOTE_ACCESS,
    ST_BAD_QPN       = EFA_STATUS_REMOTE_QPN,
    ST_RNR           = EFA_STATUS_REMOTE_NOT_READY,
    ST_REMOTE_LENGTH = EFA_STATUS_REMOTE_LENGTH,
    ST_UNRESPONSIVE  = EFA_STATUS_REMOTE_STOPPED,
    ST_UNKNOWN_PEER  = EFA_STATUS_REMOTE_REFUSED,
    ST_UNREACHABLE   = EFA_STATUS_REMOTE_UNREACHED
};

/* A wait that lasts so long is in vain. */
constexpr int WAIT_MS = 60000;

int64_t now_ms();

/* Looks until it is so; a failure when it never is. */
void until(const std::function<bool()> &is_so);

/* A function that this process may have, of a newer rdma-core or the emulator's
 * for tests (efasim.h). */
template <typename F> F symbol(const char *name)
{
    return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

/* Sets a knob of this process's device; counts of it; what a poll does. */
int control(const char *name, const std::string &value);
int64_t count_of(const char *name);
int device_progress();

/* Sleeps of this process's device: somebody wakes it, or their time ends. */
struct Backstop {
    std::atomic<unsigned> patience; /* naps last so many times as long */
    std::atomic<unsigned> unwoken;  /* ended by time */
};
extern Backstop backstop;

/* Sleeps until one of the channel's CQs has an event; it is acknowledged. */
ibv_cq *next_event(ibv_comp_channel *channel);

class Device {
public:
    /* The first device, or the one of this name; throws if there is none. */
    explicit Device(const std::string &name = "");
    ~Device();
    Device(const Device&) = delete;

    ibv_context *ctx = nullptr;
    ibv_pd      *pd  = nullptr;
    ibv_gid     gid  = {};

    /* A handle, which ends with the device if nobody destroys it before. */
    ibv_ah *ah(const ibv_gid &to, ibv_pd *in = nullptr);
    int destroy(ibv_ah *ah);

private:
    std::vector<ibv_ah*> handles;
};

class Memory {
public:
    Memory(Device &dev, size_t len, int access = IBV_ACCESS_LOCAL_WRITE |
                                                 IBV_ACCESS_REMOTE_READ);
    ~Memory();
    Memory(const Memory&) = delete;

    void fill(uint64_t key) { fill_bytes(data(), size(), key, 0); }
    void poison() { std::fill(bytes.begin(), bytes.end(), 0xa5); }
    uint8_t *data() { return bytes.data(); }
    size_t size() const { return bytes.size(); }
    ibv_sge sge(size_t at, size_t len) const;

    std::vector<uint8_t> bytes;
    ibv_mr               *mr = nullptr;
};

/* Where a QP is found; crosses between processes as it is. */
struct Address {
    ibv_gid  gid;
    uint32_t qpn;
    uint32_t qkey;
    uint64_t buf;  /* a registered range, if the owner tells one */
    uint64_t len;
    uint32_t rkey;
    uint32_t pid;
};

struct QpParams {
    uint32_t send_wr   = 64;
    uint32_t recv_wr   = 256;
    uint32_t send_sge  = 1;
    uint32_t recv_sge  = 1;
    uint32_t inline_sz = 0;
    int      cq_depth  = 1024;
    int      rnr_retry = -1; /* not given: the device's default, endless */
    uint32_t qkey      = 0x11111111;
    bool     events    = false;
    bool     rts       = true;
    bool     write     = false; /* may do RDMA writes */
    bool     ud        = false; /* datagrams, by the plain verbs */
    uint16_t efa_flags = 0;     /* of efadv_qp_init_attr */
};

/* Names that the headers of an old rdma-core lack */
enum {
    CAP_RDMA_WRITE        = 1 << 3,
    CAP_UNSOLICITED_WRITE = 1 << 4,
    QP_UNSOLICITED_WRITE  = 1 << 0,
    QP_INLINE_WRITE       = 1 << 1,
};

/* A queue pair with a CQ of its own for each direction. */
class Qp {
public:
    explicit Qp(Device &dev, const QpParams &params = {});
    ~Qp();
    Qp(const Qp&) = delete;

    int modify(ibv_qp_state state, int mask, uint32_t qkey, int rnr_retry);
    int to_rts(uint32_t qkey, int rnr_retry);
    Address address() const;
    Address address(Memory &range, size_t at = 0) const;

    /* Return what the verbs return: 0 or an errno value. */
    int recv(uint64_t id, std::vector<ibv_sge> list);
    int send(uint64_t id, ibv_ah *ah, const Address &to,
             std::vector<ibv_sge> list, unsigned flags = IBV_SEND_SIGNALED,
             const uint32_t *imm = nullptr);
    int read(uint64_t id, ibv_ah *ah, const Address &to, ibv_sge into,
             uint64_t remote, uint32_t rkey);

    /* An RDMA write to @to.buf; with an immediate if @imm is not NULL. */
    int write(uint64_t id, ibv_ah *ah, const Address &to, ibv_sge from,
              const uint32_t *imm = nullptr, bool as_inline = false);

    Device           &dev;
    ibv_comp_channel *channel = nullptr;
    ibv_cq           *scq     = nullptr;
    ibv_cq           *rcq     = nullptr;
    ibv_qp           *qp      = nullptr;
    ibv_qp_ex        *qpx     = nullptr;
    uint32_t         qkey     = 0;
};

/* A device with memory and two queue pairs that can reach each other. */
struct Two {
    explicit Two(const QpParams &params = {}, size_t bytes = 4096,
                 int access = IBV_ACCESS_LOCAL_WRITE |
                              IBV_ACCESS_REMOTE_READ) :
        dev(), a(dev, params), b(dev, params), mem(dev, bytes, access),
        ah(dev.ah(dev.gid))
    {
    }

    /* The first @len bytes of the memory are sent to its other half: all is
     * well. Returns the receive's completion. */
    ibv_wc exchange(size_t len, uint64_t id = 1, unsigned flags = 0,
                    const uint32_t *imm = nullptr);

    Device dev;
    Qp     a, b;
    Memory mem;
    ibv_ah *ah;
};

/* A signaled message of one piece. */
ibv_send_wr send_of(uint64_t id, ibv_sge *piece, ibv_ah *ah, const Address &to);

/* An SRD queue pair in RTS with @cq for both directions; it signals only what
 * asks for that. */
ibv_qp *qp_on(Device &dev, ibv_cq *cq);

/* Capabilities as efadv_query_device reports them. */
uint32_t device_caps(Device &dev);

/* One completion within WAIT_MS; a failure if none comes. */
ibv_wc poll_one(ibv_cq *cq, int ms = WAIT_MS);

/* True if no completion comes within @ms. */
bool poll_none(ibv_cq *cq, int ms);

/* @n completions, by wr_id order of arrival. */
std::vector<ibv_wc> poll_many(ibv_cq *cq, size_t n);

/* An end of a socket between parent and child; a failure when the other is gone. */
class Peer {
public:
    void put(const void *data, size_t len);
    void get(void *data, size_t len);
    template <typename T> void put(const T &v) { put(&v, sizeof(v)); }
    template <typename T> T get() { T v = {}; get(&v, sizeof(v)); return v; }

    /* Set by meet(): where the other's queue pair is. */
    Address     peer = {};
    ibv_ah      *ah  = nullptr;

    int         fd = -1;
    std::string log; /* of the child */
};

/*
 * Another process on a node, running DISABLED_Role.@role of this program. It
 * ends with the object; a failure in it is a failure here.
 */
class Child : public Peer {
public:
    Child(int node, const std::string &role,
          const std::vector<std::string> &efasim_options = {});
    ~Child();
    Child(const Child&) = delete;

    /* Wait until it ends. @return its exit status, 128 + signal. */
    int wait();
    void expect_ok(); /* wait, and its tests passed */

    /* They tell each other where they are; both have a handle then. */
    void meet(Device &dev, const Address &mine);
    void kill(int sig, pid_t pid);

    pid_t pid = -1; /* of `efasim run` */
};

/* The child's end. */
class Parent : public Peer {
public:
    Parent();
    void meet(Device &dev, const Address &mine);
};

/* Counter of a device of @node, as `efasim stat --raw` prints it; -1: none. */
int64_t stat_counter(int node, const std::string &name,
                     const std::string &device = "rdmap0s6");

/* Path of efasim; folder of this program's build. */
std::string efasim_path();

#endif
