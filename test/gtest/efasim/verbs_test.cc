/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs_test.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

int64_t now_ms()
{
    using namespace std::chrono;

    return duration_cast<milliseconds>(
                   steady_clock::now().time_since_epoch()).count();
}

Backstop backstop = {{1}, {0}};

void until(const std::function<bool()> &is_so)
{
    bool done;

    for (int64_t end = now_ms() + WAIT_MS; !(done = is_so()) &&
                                           now_ms() < end;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(done);
}

int control(const char *name, const std::string &value)
{
    return symbol<int (*)(const char*, const char*)>("efasim_control")(
            name, value.c_str());
}

int64_t count_of(const char *name)
{
    unsigned long long value = 0;

    EXPECT_EQ(0, symbol<int (*)(const char*, unsigned long long*)>(
                         "efasim_counter")(name, &value));
    return value;
}

int device_progress()
{
    return symbol<int (*)()>("efasim_progress")();
}

/* The device's backstop sleeps by this function of the C library's. It sleeps
 * for two seconds, against lost wake-ups, and then looks: here one is seen. */
extern "C" long syscall(long number, ...)
{
    const long SECOND = 1000000000;
    static auto next = reinterpret_cast<long (*)(long, ...)>(
            dlsym(RTLD_NEXT, "syscall"));
    long arg[6], ret;
    va_list list;

    va_start(list, number);
    for (long &each : arg) {
        each = va_arg(list, long);
    }
    va_end(list);

    bool sleeps = (number == SYS_futex) && (arg[1] == FUTEX_WAIT) &&
                  (arg[3] != 0);
    timespec time = {};
    if (sleeps) {
        time   = *reinterpret_cast<timespec*>(arg[3]);
        ret    = time.tv_nsec * backstop.patience;
        time   = {100 * time.tv_sec + ret / SECOND, ret % SECOND};
        arg[3] = reinterpret_cast<long>(&time);
    }
    ret = next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
    backstop.unwoken += sleeps && (ret != 0) && (errno == ETIMEDOUT);
    return ret;
}

ibv_cq *next_event(ibv_comp_channel *channel)
{
    ibv_cq *cq = nullptr;
    void *context;

    pollfd wait = {channel->fd, POLLIN, 0};

    EXPECT_EQ(1, poll(&wait, 1, WAIT_MS)) << "no event";
    if (wait.revents != 0) {
        EXPECT_EQ(0, ibv_get_cq_event(channel, &cq, &context));
        ibv_ack_cq_events(cq, 1);
    }
    return cq;
}

Device::Device(const std::string &name)
{
    int n             = 0;
    ibv_device **list = ibv_get_device_list(&n);

    for (int i = 0; i < n && ctx == nullptr; ++i) {
        if (name.empty() || name == ibv_get_device_name(list[i])) {
            ctx = ibv_open_device(list[i]);
        }
    }
    if (list != nullptr) {
        ibv_free_device_list(list);
    }
    if (ctx == nullptr) {
        throw std::runtime_error("no device: run this program by "
                                 "`efasim run --`");
    }
    pd = ibv_alloc_pd(ctx);
    EXPECT_NE(nullptr, pd);
    EXPECT_EQ(0, ibv_query_gid(ctx, 1, 0, &gid));
}

Device::~Device()
{
    while (!handles.empty()) {
        EXPECT_EQ(0, destroy(handles.back()));
    }
    EXPECT_EQ(0, ibv_dealloc_pd(pd)) << "something of the PD is left";
    EXPECT_EQ(0, ibv_close_device(ctx));
}

ibv_ah *Device::ah(const ibv_gid &to, ibv_pd *in)
{
    ibv_ah_attr attr = {};

    attr.is_global = 1;
    attr.port_num  = 1;
    attr.grh.dgid  = to;
    ibv_ah *ah     = ibv_create_ah(in ? in : pd, &attr);
    if (ah != nullptr) {
        handles.push_back(ah);
    }
    return ah;
}

int Device::destroy(ibv_ah *ah)
{
    handles.erase(std::remove(handles.begin(), handles.end(), ah),
                  handles.end());
    return ibv_destroy_ah(ah);
}

Memory::Memory(Device &dev, size_t len, int access) : bytes(len, 0xa5)
{
    mr = ibv_reg_mr(dev.pd, bytes.data(), len, access);
    EXPECT_NE(nullptr, mr) << strerror(errno);
}

Memory::~Memory()
{
    if (mr != nullptr) {
        EXPECT_EQ(0, ibv_dereg_mr(mr));
    }
}

ibv_sge Memory::sge(size_t at, size_t len) const
{
    ibv_sge sge = {};

    sge.addr   = (uintptr_t)bytes.data() + at;
    sge.length = len;
    sge.lkey   = (mr != nullptr) ? mr->lkey : 0; /* no room: said already */
    return sge;
}

Qp::Qp(Device &dev, const QpParams &params) : dev(dev)
{
    ibv_qp_init_attr_ex attr = {};
    efadv_qp_init_attr efa   = {};

    if (params.events) {
        channel = ibv_create_comp_channel(dev.ctx);
        EXPECT_NE(nullptr, channel);
    }
    scq = ibv_create_cq(dev.ctx, params.cq_depth, nullptr, channel, 0);
    rcq = ibv_create_cq(dev.ctx, params.cq_depth, nullptr, channel, 0);
    if (scq == nullptr || rcq == nullptr) {
        throw std::runtime_error(std::string("ibv_create_cq: ") +
                                 strerror(errno));
    }

    attr.qp_type             = params.ud ? IBV_QPT_UD : IBV_QPT_DRIVER;
    attr.comp_mask           = IBV_QP_INIT_ATTR_PD |
                               IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags      = IBV_QP_EX_WITH_SEND |
                               IBV_QP_EX_WITH_SEND_WITH_IMM;
    if (!params.ud) {
        attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ;
    }
    if (params.write) {
        attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE |
                               IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    }
    attr.pd                  = dev.pd;
    attr.send_cq             = scq;
    attr.recv_cq             = rcq;
    attr.sq_sig_all          = 1;
    attr.cap.max_send_wr     = params.send_wr;
    attr.cap.max_recv_wr     = params.recv_wr;
    attr.cap.max_send_sge    = params.send_sge;
    attr.cap.max_recv_sge    = params.recv_sge;
    attr.cap.max_inline_data = params.inline_sz;
    efa.driver_qp_type       = EFADV_QP_DRIVER_TYPE_SRD;
    /* an old header has one reserved word where the flags are */
    memcpy((char*)&efa + offsetof(efadv_qp_init_attr, driver_qp_type) + 4,
           &params.efa_flags, sizeof(params.efa_flags));
    qp                       = params.ud ? ibv_create_qp_ex(dev.ctx, &attr) :
                               efadv_create_qp_ex(dev.ctx, &attr, &efa,
                                                  sizeof(efa));
    if (qp == nullptr) {
        throw std::runtime_error(std::string("no queue pair: ") +
                                 strerror(errno));
    }
    qpx  = ibv_qp_to_qp_ex(qp);
    qkey = params.qkey;
    if (params.rts) {
        EXPECT_EQ(0, to_rts(params.qkey, params.rnr_retry));
    }
}

Qp::~Qp()
{
    EXPECT_EQ(0, ibv_destroy_qp(qp));
    EXPECT_EQ(0, ibv_destroy_cq(scq));
    EXPECT_EQ(0, ibv_destroy_cq(rcq));
    if (channel != nullptr) {
        EXPECT_EQ(0, ibv_destroy_comp_channel(channel));
    }
}

static int qp_modify(ibv_qp *qp, ibv_qp_state state, int mask, uint32_t qkey,
                     int rnr_retry)
{
    ibv_qp_attr attr = {};

    attr.qp_state  = state;
    attr.port_num  = 1;
    attr.qkey      = qkey;
    attr.rnr_retry = rnr_retry;
    return ibv_modify_qp(qp, &attr, mask);
}

static int qp_to_rts(ibv_qp *qp, uint32_t qkey, int rnr_retry)
{
    int ret = qp_modify(qp, IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                          IBV_QP_PORT | IBV_QP_QKEY, qkey, 0);

    ret = ret ? ret : qp_modify(qp, IBV_QPS_RTR, IBV_QP_STATE, 0, 0);
    return ret ? ret : qp_modify(qp, IBV_QPS_RTS,
                                 IBV_QP_STATE | IBV_QP_SQ_PSN |
                                 (rnr_retry >= 0 ? IBV_QP_RNR_RETRY : 0), 0,
                                 rnr_retry);
}

ibv_qp *qp_on(Device &dev, ibv_cq *cq)
{
    ibv_qp_init_attr attr = {};

    attr.send_cq = attr.recv_cq = cq;
    attr.cap     = {16, 16, 1, 1, 0};
    attr.qp_type = IBV_QPT_DRIVER;
    ibv_qp *qp   = efadv_create_driver_qp(dev.pd, &attr,
                                          EFADV_QP_DRIVER_TYPE_SRD);
    if (qp == nullptr) {
        throw std::runtime_error("no SRD queue pair");
    }
    EXPECT_EQ(0, qp_to_rts(qp, 7, -1));
    return qp;
}

int Qp::modify(ibv_qp_state state, int mask, uint32_t qkey, int rnr_retry)
{
    return qp_modify(qp, state, mask, qkey, rnr_retry);
}

int Qp::to_rts(uint32_t qkey, int rnr_retry)
{
    this->qkey = qkey;
    return qp_to_rts(qp, qkey, rnr_retry);
}

Address Qp::address() const
{
    Address address = {};

    address.gid  = dev.gid;
    address.qpn  = qp->qp_num;
    address.qkey = qkey;
    address.pid  = getpid();
    return address;
}

Address Qp::address(Memory &range, size_t at) const
{
    Address address = this->address();

    address.buf  = (uintptr_t)range.data() + at;
    address.len  = range.size();
    address.rkey = range.mr->rkey;
    return address;
}

int Qp::recv(uint64_t id, std::vector<ibv_sge> list)
{
    ibv_recv_wr wr = {}, *bad;

    wr.wr_id   = id;
    wr.sg_list = list.data();
    wr.num_sge = list.size();
    return ibv_post_recv(qp, &wr, &bad);
}

ibv_send_wr send_of(uint64_t id, ibv_sge *piece, ibv_ah *ah, const Address &to)
{
    ibv_send_wr wr = {};

    wr.wr_id             = id;
    wr.opcode            = IBV_WR_SEND;
    wr.send_flags        = IBV_SEND_SIGNALED;
    wr.sg_list           = piece;
    wr.num_sge           = 1;
    wr.wr.ud.ah          = ah;
    wr.wr.ud.remote_qpn  = to.qpn;
    wr.wr.ud.remote_qkey = to.qkey;
    return wr;
}

int Qp::send(uint64_t id, ibv_ah *ah, const Address &to,
             std::vector<ibv_sge> list, unsigned flags, const uint32_t *imm)
{
    ibv_send_wr wr = send_of(id, list.data(), ah, to), *bad;

    wr.opcode     = imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    wr.imm_data   = imm ? htobe32(*imm) : 0;
    wr.send_flags = flags;
    wr.num_sge    = list.size();
    return ibv_post_send(qp, &wr, &bad);
}

int Qp::read(uint64_t id, ibv_ah *ah, const Address &to, ibv_sge into,
             uint64_t remote, uint32_t rkey)
{
    ibv_wr_start(qpx);
    qpx->wr_id    = id;
    qpx->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_read(qpx, rkey, remote);
    ibv_wr_set_ud_addr(qpx, ah, to.qpn, to.qkey);
    ibv_wr_set_sge(qpx, into.lkey, into.addr, into.length);
    return ibv_wr_complete(qpx);
}

int Qp::write(uint64_t id, ibv_ah *ah, const Address &to, ibv_sge from,
              const uint32_t *imm, bool as_inline)
{
    ibv_wr_start(qpx);
    qpx->wr_id    = id;
    qpx->wr_flags = IBV_SEND_SIGNALED;
    if (imm != nullptr) {
        ibv_wr_rdma_write_imm(qpx, to.rkey, to.buf, htobe32(*imm));
    } else {
        ibv_wr_rdma_write(qpx, to.rkey, to.buf);
    }
    ibv_wr_set_ud_addr(qpx, ah, to.qpn, to.qkey);
    if (as_inline) {
        ibv_wr_set_inline_data(qpx, (void*)(uintptr_t)from.addr, from.length);
    } else {
        ibv_wr_set_sge(qpx, from.lkey, from.addr, from.length);
    }
    return ibv_wr_complete(qpx);
}

ibv_wc Two::exchange(size_t len, uint64_t id, unsigned flags,
                     const uint32_t *imm)
{
    size_t half = mem.size() / 2;

    EXPECT_EQ(0, b.recv(id, {mem.sge(half, half)}));
    EXPECT_EQ(0, a.send(id, ah, b.address(), {mem.sge(0, len)},
                        IBV_SEND_SIGNALED | flags, imm));
    ibv_wc sent = poll_one(a.scq), got = poll_one(b.rcq);
    EXPECT_EQ(IBV_WC_SUCCESS, sent.status);
    EXPECT_EQ(id, sent.wr_id);
    EXPECT_EQ(IBV_WC_SUCCESS, got.status);
    EXPECT_EQ(id, got.wr_id);
    return got;
}

uint32_t device_caps(Device &dev)
{
    efadv_device_attr attr = {};

    EXPECT_EQ(0, efadv_query_device(dev.ctx, &attr, sizeof(attr)));
    return attr.device_caps;
}

ibv_wc poll_one(ibv_cq *cq, int ms)
{
    int64_t end = now_ms() + ms;
    ibv_wc wc   = {};
    int n;

    do {
        n = ibv_poll_cq(cq, 1, &wc);
    } while (n == 0 && now_ms() < end);
    if (n != 1) {
        throw std::runtime_error("no completion within " +
                                 std::to_string(ms) + " ms");
    }
    return wc;
}

bool poll_none(ibv_cq *cq, int ms)
{
    int64_t end = now_ms() + ms;
    ibv_wc wc;

    while (now_ms() < end) {
        if (ibv_poll_cq(cq, 1, &wc) != 0) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

std::vector<ibv_wc> poll_many(ibv_cq *cq, size_t n)
{
    std::vector<ibv_wc> list;

    while (list.size() < n) {
        list.push_back(poll_one(cq));
    }
    return list;
}

int main(int argc, char **argv)
{
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
