/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"
#include "test/apps/ucp_open.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

uint64_t test_seed()
{
    const char *seed = getenv("TEST_SEED");

    return seed ? strtoull(seed, nullptr, 0) : 1;
}

static std::vector<std::string> tls_wanted()
{
    std::stringstream list(getenv("UCX_TLS"));
    std::vector<std::string> names;
    std::string name;

    while (std::getline(list, name, ',')) {
        names.push_back(name);
    }
    return names;
}

Entity::Entity()
{
    ucp_address_t *addr = nullptr;
    size_t len          = 0;

    EXPECT_EQ(UCS_OK, ucp_open(UCP_FEATURE_TAG | UCP_FEATURE_AM |
                                       UCP_FEATURE_STREAM | UCP_FEATURE_RMA |
                                       UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64,
                               &ctx));
    /* Never two at once, but a test may hand a worker to a thread. */
    if (ucp_open_worker(ctx, UCS_THREAD_MODE_SERIALIZED, &worker) != UCS_OK ||
        ucp_worker_get_address(worker, &addr, &len) != UCS_OK) {
        fprintf(stderr, "cannot open a worker over UCX_TLS=%s\n",
                getenv("UCX_TLS"));
        exit(1);
    }
    address.assign(reinterpret_cast<char*>(addr), len);
    ucp_worker_release_address(worker, addr);
}

Entity::~Entity()
{
    ucp_worker_destroy(worker);
    ucp_cleanup(ctx);
}

Buffer::Buffer(size_t len, uint64_t key) : len_(len), bytes_(len + 1)
{
    fill_bytes(bytes_.data(), len, key, 0);
}

Buffer::Buffer(size_t len) : len_(len), bytes_(len + 1, 0xa5)
{
}

testing::AssertionResult Buffer::holds(uint64_t key) const
{
    ptrdiff_t at = fill_diff(bytes_.data(), len_, key, 0);

    if (at < 0) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << "size " << len_ << ": byte " << at << " is "
           << unsigned(bytes_[at]) << ", expected "
           << unsigned(fill_byte(key, at)) << " (TEST_SEED=" << test_seed()
           << ")";
}

UcpTest::UcpTest() : a(entity_new()), b(entity_new())
{
}

UcpTest::~UcpTest()
{
    while (!open_eps_.empty()) {
        close(open_eps_.front());
    }
}

Entity &UcpTest::entity_new()
{
    entities_.push_back(std::make_unique<Entity>());
    return *entities_.back();
}

std::vector<std::string> ep_transports(ucp_ep_h ep)
{
    std::vector<std::string> names;
    std::string line;
    char *text   = nullptr;
    size_t len   = 0;
    FILE *stream = open_memstream(&text, &len);

    ucp_ep_print_info(ep, stream);
    fclose(stream);
    std::stringstream lines(std::string(text, len));
    free(text);
    /* "#   lane[0]:  4:srd/rdmap0s6:1.0 md[1] -> …" */
    while (std::getline(lines, line)) {
        size_t lane  = line.find("lane[");
        size_t slash = line.find('/');
        if (lane == std::string::npos || slash == std::string::npos) {
            continue;
        }
        size_t colon = line.rfind(':', slash);
        names.push_back(line.substr(colon + 1, slash - colon - 1));
    }
    return names;
}

ucp_ep_h UcpTest::connect(Entity &from, const Entity &to)
{
    ucp_ep_params_t params = {};
    ucp_ep_h ep            = nullptr;

    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = (const ucp_address_t*)to.address.data();
    ucs_status_t status = ucp_ep_create(from.worker, &params, &ep);
    if (status != UCS_OK) {
        throw std::runtime_error(std::string("ucp_ep_create: ") +
                                 ucs_status_string(status));
    }
    open_eps_.push_back(ep);

    auto wanted = tls_wanted();
    auto used   = ep_transports(ep);
    EXPECT_FALSE(used.empty()) << "an endpoint without lanes";
    for (auto &name : used) {
        EXPECT_NE(wanted.end(), std::find(wanted.begin(), wanted.end(), name))
                << "a lane of the endpoint runs over " << name;
    }
    return ep;
}

void UcpTest::close(ucp_ep_h ep)
{
    ucp_request_param_t param = {};

    open_eps_.remove(ep);
    ucs_status_ptr_t request = ucp_ep_close_nbx(ep, &param);

    if (UCS_PTR_IS_PTR(request)) {
        until([&] { return ucp_request_check_status(request) !=
                           UCS_INPROGRESS; }, "close of an endpoint");
        EXPECT_EQ(UCS_OK, ucp_request_check_status(request));
        ucp_request_free(request);
    } else {
        EXPECT_EQ(UCS_OK, UCS_PTR_STATUS(request));
    }
}

void UcpTest::open(Region &region, Entity &owner, ucp_ep_h ep, void *data,
                   size_t len)
{
    ucp_mem_map_params_t params = {};
    void *packed;
    size_t packed_len;

    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                        UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address    = data;
    params.length     = len;
    region.ctx        = owner.ctx;
    ASSERT_EQ(UCS_OK, ucp_mem_map(owner.ctx, &params, &region.memh));
    ASSERT_EQ(UCS_OK, ucp_rkey_pack(owner.ctx, region.memh, &packed,
                                    &packed_len));
    ASSERT_EQ(UCS_OK, ucp_ep_rkey_unpack(ep, packed, &region.rkey));
    ucp_rkey_buffer_release(packed);
}

void UcpTest::close(Region &region)
{
    ucp_rkey_destroy(region.rkey);
    EXPECT_EQ(UCS_OK, ucp_mem_unmap(region.ctx, region.memh));
}

void UcpTest::on_am(Entity &entity, unsigned id, ucp_am_recv_callback_t cb)
{
    ucp_am_handler_param_t param = {};

    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                       UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id         = id;
    param.cb         = cb;
    param.arg        = this;
    ASSERT_EQ(UCS_OK, ucp_worker_set_am_recv_handler(entity.worker, &param));
}

double seconds_now()
{
    using clock = std::chrono::steady_clock;

    return std::chrono::duration<double>(clock::now().time_since_epoch())
            .count();
}

void UcpTest::progress()
{
    for (auto &entity : entities_) {
        ucp_worker_progress(entity->worker);
    }
}

void UcpTest::until(const std::function<bool()> &ready, const char *what)
{
    using clock = std::chrono::steady_clock;
    auto end    = clock::now() + std::chrono::seconds(WAIT_SECONDS);

    for (unsigned n = 0; !ready(); ++n) {
        progress();
        if (n % 1024 == 1023 && clock::now() > end) {
            /* Operations that still run would write to freed memory: stop
             * here. */
            auto *test = testing::UnitTest::GetInstance()->current_test_info();
            fprintf(stderr, "HANG: %s.%s: %s: nothing for %d s\n",
                    test->test_suite_name(), test->name(), what, WAIT_SECONDS);
            abort();
        }
    }
}

void UcpTest::finish(Op &op, const char *what)
{
    until([&] { return op.done > 0; }, what);
    EXPECT_EQ(UCS_OK, op.status) << what << ": "
                                 << ucs_status_string(op.status);
    if (op.request != nullptr) {
        ucp_request_free(op.request);
        op.request = nullptr;
    }
}

ucs_status_t UcpTest::fence(Entity &from, Entity &peer)
{
    std::atomic<bool> done{false};
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    if (minor < 16) {
        return ucp_worker_fence(from.worker);
    }

    std::thread other([&] {
        while (!done) {
            ucp_worker_progress(peer.worker);
        }
    });
    ucs_status_t status = ucp_worker_fence(from.worker);
    done                = true;
    other.join();
    return status;
}

void UcpTest::flush(Entity &entity)
{
    Op op;
    ucp_request_param_t param = op.send_param();

    op.started(ucp_worker_flush_nbx(entity.worker, &param));
    finish(op, "flush of a worker");
}

void UcpTest::flush(ucp_ep_h ep)
{
    Op op;
    ucp_request_param_t param = op.send_param();

    op.started(ucp_ep_flush_nbx(ep, &param));
    finish(op, "flush of an endpoint");
}

void UcpTest::send(ucp_ep_h ep, Buffer &buf, ucp_tag_t tag, Op &op, bool sync)
{
    ucp_request_param_t param = op.send_param();

    op.started(sync ? ucp_tag_send_sync_nbx(ep, buf.data(), buf.size(), tag,
                                            &param) :
                      ucp_tag_send_nbx(ep, buf.data(), buf.size(), tag,
                                       &param));
}

void UcpTest::recv(Entity &entity, Buffer &buf, ucp_tag_t tag, Op &op)
{
    ucp_request_param_t param = op.tag_param();

    op.started(ucp_tag_recv_nbx(entity.worker, buf.data(), buf.size(), tag,
                                ~ucp_tag_t(0), &param));
}

void UcpTest::exchange(Entity &to, ucp_ep_h ep, size_t len, uint64_t key)
{
    Buffer out(len, key), in(len);
    Op out_op, in_op;

    recv(to, in, key, in_op);
    send(ep, out, key, out_op);
    finish(in_op, "receive");
    finish(out_op, "send");
    EXPECT_EQ(len, in_op.got);
    EXPECT_TRUE(in.holds(key));
}

uint64_t UcpTest::key(uint64_t n) const
{
    auto *info = testing::UnitTest::GetInstance()->current_test_info();

    return fill_key(test_seed(), std::hash<std::string>()(info->name()), n);
}

int main(int argc, char **argv)
{
    /* The transport that this suite is about, unless another is asked for. */
    setenv("UCX_TLS", "srd", 0);
    testing::InitGoogleTest(&argc, argv);
    printf("UCX_TLS=%s TEST_SEED=%llu\n", getenv("UCX_TLS"),
           (unsigned long long)test_seed());
    return RUN_ALL_TESTS();
}
