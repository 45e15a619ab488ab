/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixture of the UCP tests: contexts and workers in one process, over the
 * transports that UCX_TLS names (srd when it names none). Every endpoint is
 * checked to really use one of them.
 */
#ifndef TEST_GTEST_UCP_TEST_H
#define TEST_GTEST_UCP_TEST_H

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include "test/apps/fill.h"
#include "test/apps/op.h"

/* Seconds without an answer after which a wait fails. */
constexpr int WAIT_SECONDS = 60;

/* Seed of the contents; TEST_SEED in the environment sets it. */
uint64_t test_seed();

/* One context with one worker. */
class Entity {
public:
    Entity();
    ~Entity();
    Entity(const Entity&) = delete;

    ucp_context_h ctx    = nullptr;
    ucp_worker_h  worker = nullptr;
    std::string   address;
};

/* One operation in flight; its place in memory may not change. */
struct Op : op_t {
    Op() : op_t() {}

    ucp_request_param_t send_param() { return op_param_send(this); }
    ucp_request_param_t tag_param() { return op_param_tag_recv(this); }
    ucp_request_param_t am_param() { return op_param_am_recv(this); }
    void started(ucs_status_ptr_t ptr) { op_started(this, ptr); }
};

/* A buffer whose contents are named by a key. */
class Buffer {
public:
    Buffer() = default;
    /* Filled with the contents of @key. */
    Buffer(size_t len, uint64_t key);
    /* Poisoned. */
    explicit Buffer(size_t len);

    uint8_t *data() { return bytes_.data(); }
    size_t size() const { return len_; }
    /* Equal to the contents of @key? Tells the first difference. */
    testing::AssertionResult holds(uint64_t key) const;

private:
    size_t               len_ = 0;
    std::vector<uint8_t> bytes_; /* one more than len_: data() is never null */
};

/* Memory of an entity that another may read and write. */
struct Region {
    ucp_context_h ctx  = nullptr;
    ucp_mem_h     memh = nullptr;
    ucp_rkey_h    rkey = nullptr;
};

class UcpTest : public testing::Test {
protected:
    UcpTest();
    ~UcpTest() override;

    /* Endpoint from one worker to another; checked to run over UCX_TLS. */
    ucp_ep_h connect(Entity &from, const Entity &to);

    /* Close, and wait. */
    void close(ucp_ep_h ep);

    /* Open @len bytes of @owner to @ep, of another. */
    void open(Region &region, Entity &owner, ucp_ep_h ep, void *data,
              size_t len);
    void close(Region &region);

    /* Handler of active messages at @entity; its argument is the test. */
    void on_am(Entity &entity, unsigned id, ucp_am_recv_callback_t cb);

    /* A further entity, progressed and destroyed with the others. */
    Entity &entity_new();

    void progress();

    /* Progress all until @ready; a failure after WAIT_SECONDS. */
    void until(const std::function<bool()> &ready, const char *what);

    /* Wait for @op, which must end well. */
    void finish(Op &op, const char *what);

    /* Fence of a worker that put to @peer. From UCX 1.16 on it may wait for
     * the peer's answers, and a peer is another process. */
    static ucs_status_t fence(Entity &from, Entity &peer);

    void flush(Entity &entity);
    void flush(ucp_ep_h ep);

    /* Tagged calls that start an operation. */
    void send(ucp_ep_h ep, Buffer &buf, ucp_tag_t tag, Op &op,
              bool sync = false);
    void recv(Entity &entity, Buffer &buf, ucp_tag_t tag, Op &op);

    /* One message there, contents checked. */
    void exchange(Entity &to, ucp_ep_h ep, size_t len, uint64_t key);

    /* Key of the @n-th message of this test. */
    uint64_t key(uint64_t n) const;

    std::list<std::unique_ptr<Entity>> entities_;
    Entity &a, &b;

private:
    std::list<ucp_ep_h> open_eps_;
};

/* Seconds of a clock that does not jump. */
double seconds_now();

/* Names of the transports of an endpoint's lanes. */
std::vector<std::string> ep_transports(ucp_ep_h ep);

#endif
