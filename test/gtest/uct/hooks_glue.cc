/*
 * The tables we hand to UCX, called by UCX: a plain UCT program (it links
 * libuct) that runs with the test module preloaded, and drives the provider of
 * hooks_provider.c through UCT's API. hooks_suite.sh starts it.
 */
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

/* hooks_matrix.sh compiles this file once more for each other minor. */
#ifndef UCX_MINOR
#define UCX_MINOR 13
#endif

extern "C" {
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>
#include "ucp_hooks/abi_layout.h"

/* of uct/api/v2, which is not installed */
ucs_status_t uct_md_mem_dereg_v2(uct_md_h md,
                                 const abi_mem_dereg_params_t *params);
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh,
#if UCX_MINOR >= 16
                                 void *address, size_t length,
#endif
                                 const abi_mkey_pack_params_t *params,
                                 void *rkey_buffer);
#if UCX_MINOR >= 14
ucs_status_t uct_md_query_v2(uct_md_h md, abi_md_attr_t *attr);
#endif
#if UCX_MINOR >= 15
int uct_iface_is_reachable_v2(uct_iface_h iface,
                              const abi_is_reachable_params_t *params);
#endif
#if UCX_MINOR >= 16
int uct_ep_is_connected(uct_ep_h ep, const abi_is_connected_params_t *params);
ucs_status_t uct_rkey_compare(uct_component_h component, uct_rkey_t rkey1,
                              uct_rkey_t rkey2, const uint64_t *params,
                              int *result);
#endif
ucs_status_t uct_iface_estimate_perf(uct_iface_h iface, abi_perf_attr_t *attr);
ucs_status_t uct_ep_invalidate(uct_ep_h ep, uintptr_t flags_or_params);
ucs_status_t uct_ep_query(uct_ep_h ep, uct_ep_attr_t *attr);
}

namespace {

std::vector<uct_component_h> components_named(const std::string &name)
{
    std::vector<uct_component_h> result;
    uct_component_h *list;
    unsigned count;

    EXPECT_EQ(UCS_OK, uct_query_components(&list, &count));
    for (unsigned i = 0; i < count; ++i) {
        uct_component_attr_t attr = {};

        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
        EXPECT_EQ(UCS_OK, uct_component_query(list[i], &attr));
        if (name == attr.name) {
            result.push_back(list[i]);
        }
    }
    uct_release_component_list(list);
    return result;
}

/* From 1.17 on uct_config_modify() takes the prefix of the table, too. */
std::string full_name(const char *prefix, const char *name)
{
    return std::string((UCX_MINOR >= 17) ? prefix : "") + name;
}

class glue_md : public ::testing::Test {
protected:
    void SetUp() override
    {
        uct_md_config_t *config;
        auto found = components_named("hooktest");

        ASSERT_EQ(1u, found.size()) << "is the test module preloaded?";
        component = found[0];
        ASSERT_EQ(UCS_OK,
                  uct_md_config_read(component, nullptr, nullptr, &config));
        ASSERT_EQ(UCS_OK, uct_md_open(component, "hook0", config, &md));
        uct_config_release(config);
    }

    void TearDown() override
    {
        if (md != nullptr) {
            uct_md_close(md);
        }
    }

    uct_md_attr_t query()
    {
        uct_md_attr_t attr;

        memset(&attr, 0xee, sizeof(attr));
        EXPECT_EQ(UCS_OK, uct_md_query(md, &attr));
        return attr;
    }

    uct_mem_h reg(void *address, size_t length)
    {
        uct_mem_h memh = nullptr;

        EXPECT_EQ(UCS_OK, uct_md_mem_reg(md, address, length,
                                         UCT_MD_MEM_ACCESS_ALL, &memh));
        return memh;
    }

    uct_component_h component = nullptr;
    uct_md_h        md        = nullptr;
};

TEST_F(glue_md, component_is_listed_once_however_often_asked)
{
    EXPECT_EQ(1u, components_named("hooktest").size());
    EXPECT_EQ(1u, components_named("hooktest").size());
    EXPECT_EQ(1u, components_named("tcp").size());
}

TEST_F(glue_md, resources)
{
    uct_md_resource_desc_t names[4]; /* room for UCX to go wrong */
    uct_component_attr_t attr = {};

    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT |
                      UCT_COMPONENT_ATTR_FIELD_FLAGS;
    ASSERT_EQ(UCS_OK, uct_component_query(component, &attr));
    EXPECT_EQ(1u, attr.md_resource_count);
    EXPECT_EQ(0u, attr.flags);
    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = names;
    ASSERT_EQ(UCS_OK, uct_component_query(component, &attr));
    EXPECT_STREQ("hook0", names[0].md_name);
}

TEST_F(glue_md, open_of_an_unknown_domain_fails)
{
    uct_md_config_t *config;
    uct_md_h other = nullptr;

    ASSERT_EQ(UCS_OK, uct_md_config_read(component, nullptr, nullptr, &config));
    EXPECT_EQ(UCS_ERR_NO_DEVICE,
              uct_md_open(component, "hook1", config, &other));
    uct_config_release(config);
}

TEST_F(glue_md, attributes)
{
    uct_md_attr_t attr = query();

    EXPECT_EQ(UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH | UCT_MD_FLAG_NEED_RKEY |
              ABI_MD_FLAG_INVALIDATE, attr.cap.flags);
    EXPECT_EQ(1ul << 30, attr.cap.max_reg);
    EXPECT_EQ(0u, attr.cap.max_alloc);
    EXPECT_EQ(UCS_BIT(UCS_MEMORY_TYPE_HOST), attr.cap.reg_mem_types);
    EXPECT_EQ(UCS_BIT(UCS_MEMORY_TYPE_HOST), attr.cap.access_mem_types);
    EXPECT_EQ(0u, attr.cap.detect_mem_types);
    EXPECT_EQ(0u, attr.cap.alloc_mem_types);
    EXPECT_EQ(12u, attr.rkey_packed_size);
    EXPECT_STREQ("hooktest", attr.component_name);
}

#if UCX_MINOR >= 14
TEST_F(glue_md, attributes_v2)
{
    abi_md_attr_t attr;

    memset(&attr, 0xee, sizeof(attr));
    attr.field_mask = UINT64_MAX >> 1;
    ASSERT_EQ(UCS_OK, uct_md_query_v2(md, &attr));
    EXPECT_EQ(UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH | UCT_MD_FLAG_NEED_RKEY |
              ABI_MD_FLAG_INVALIDATE, attr.flags);
    EXPECT_EQ(1ul << 30, attr.max_reg);
    EXPECT_EQ(UCS_BIT(UCS_MEMORY_TYPE_HOST), attr.reg_mem_types);
    EXPECT_EQ(UCS_BIT(UCS_MEMORY_TYPE_HOST), attr.access_mem_types);
    EXPECT_EQ(0u, attr.cache_mem_types);
    EXPECT_EQ(0u, attr.dmabuf_mem_types);
    EXPECT_EQ(0u, attr.exported_mkey_packed_size);
    EXPECT_EQ(12u, attr.rkey_packed_size);
    EXPECT_STREQ("hooktest", attr.component_name);
#if UCX_MINOR >= 16
    EXPECT_EQ(1u, attr.reg_alignment);
#endif
}
#endif

#if UCX_MINOR >= 16
TEST_F(glue_md, remote_keys_compare)
{
    uint64_t params = 0;
    int result      = 42;

    EXPECT_EQ(UCS_OK, uct_rkey_compare(component, 1, 2, &params, &result));
    EXPECT_EQ(-1, result);
    EXPECT_EQ(UCS_OK, uct_rkey_compare(component, 2, 2, &params, &result));
    EXPECT_EQ(0, result);
    EXPECT_EQ(UCS_OK, uct_rkey_compare(component, 3, 2, &params, &result));
    EXPECT_EQ(1, result);
    params = 1;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_rkey_compare(component, 1, 2, &params, &result));
}
#endif

TEST_F(glue_md, remote_key_round_trip)
{
    char buffer[64] = {}, key[16];
    abi_mkey_pack_params_t params = {ABI_MKEY_PACK_FIELD_FLAGS,
                                     ABI_MKEY_PACK_INVALIDATE};
    uct_rkey_bundle_t rkey = {};
    uct_mem_h memh         = reg(buffer, sizeof(buffer));
    uint32_t invalidate;

    memset(key, 0x55, sizeof(key));
    ASSERT_EQ(UCS_OK, uct_md_mkey_pack(md, memh, key));
    memcpy(&invalidate, key + 8, sizeof(invalidate));
    EXPECT_EQ(0u, invalidate);
    EXPECT_EQ(0x55, key[12]);
    ASSERT_EQ(UCS_OK, uct_md_mkey_pack_v2(md, memh,
#if UCX_MINOR >= 16
                                          buffer, sizeof(buffer),
#endif
                                          &params, key));
    memcpy(&invalidate, key + 8, sizeof(invalidate));
    EXPECT_EQ(1u, invalidate);

    ASSERT_EQ(UCS_OK, uct_rkey_unpack(component, key, &rkey));
    EXPECT_EQ((uct_rkey_t)memh, rkey.rkey);
    EXPECT_EQ(UCS_OK, uct_rkey_release(component, &rkey));
    EXPECT_EQ(UCS_OK, uct_md_mem_dereg(md, memh));
}

TEST_F(glue_md, invalidate)
{
    struct counted { uct_completion_t super; int calls; } comp = {};
    char buffer[64] = {};
    abi_mem_dereg_params_t params = {};
    uct_mem_h memh = reg(buffer, sizeof(buffer));

    comp.super.count = 1;
    comp.super.func  = [](uct_completion_t *self) {
        ++((counted*)self)->calls;
    };
    params.field_mask = ABI_MEM_DEREG_FIELD_MEMH | ABI_MEM_DEREG_FIELD_FLAGS;
    params.flags      = ABI_MEM_DEREG_INVALIDATE;
    params.memh       = memh;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_md_mem_dereg_v2(md, &params))
            << "no completion";
    params.field_mask |= ABI_MEM_DEREG_FIELD_COMPLETION;
    params.comp        = &comp.super;
    EXPECT_EQ(UCS_OK, uct_md_mem_dereg_v2(md, &params));
    EXPECT_EQ(1, comp.calls);

    params.field_mask = 0;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_md_mem_dereg_v2(md, &params));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_md_mem_dereg(md, nullptr));
}

TEST_F(glue_md, what_we_do_not_offer_is_unsupported)
{
    char buffer[64] = {};
    size_t length = sizeof(buffer);
    uct_md_mem_attr_t attr = {};
    ucs_memory_type_t type;
    uct_rkey_bundle_t rkey = {};
    ucs_sock_addr_t sockaddr = {};
    void *local;

    attr.field_mask = UCT_MD_MEM_ATTR_FIELD_MEM_TYPE;
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              uct_md_mem_query(md, buffer, length, &attr));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              uct_md_detect_memory_type(md, buffer, length, &type));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              uct_rkey_ptr(component, &rkey, 0, &local));
    EXPECT_EQ(0, uct_md_is_sockaddr_accessible(md, &sockaddr,
                                               UCT_SOCKADDR_ACC_REMOTE));
}

TEST_F(glue_md, unmap_events_arrive)
{
    void *address = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uct_mem_h memh;
    double before;

    ASSERT_NE(MAP_FAILED, address);
    memh   = reg(address, 1 << 20);
    before = query().reg_cost.c;
    munmap(address, 1 << 20);
    EXPECT_LE(before + 1, query().reg_cost.c);
    EXPECT_EQ(UCS_OK, uct_md_mem_dereg(md, memh));
}

TEST_F(glue_md, timer_runs_at_the_asked_pace)
{
    using clock  = std::chrono::steady_clock;
    auto start   = clock::now();
    double first = query().reg_cost.m, ticks = 0, seconds = 0;

    while ((ticks < 20) && (seconds < 10)) {
        usleep(10000);
        ticks   = query().reg_cost.m - first;
        seconds = std::chrono::duration<double>(clock::now() - start).count();
    }
    EXPECT_GE(ticks, 20) << "in " << seconds << " s";
    EXPECT_GE(seconds, 0.05) << "20 times 5 ms, halved for a coarse clock";
}

TEST_F(glue_md, configuration_is_read_and_checked)
{
    uct_md_config_t *config;
    char value[64];

    ASSERT_EQ(UCS_OK, uct_md_config_read(component, nullptr, nullptr, &config));
    auto modify = [&](const char *name, const char *text) {
        return uct_config_modify(config, full_name("HOOKMD_", name).c_str(),
                                 text);
    };
    EXPECT_EQ(UCS_OK, modify("DEPTH", "4096"));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, modify("DEPTH", "4097"));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, modify("DEPTH", "-1"));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, modify("DEPTH", "1e3"));
    EXPECT_EQ(UCS_ERR_NO_ELEM, modify("DEPTHS", "16"));
    ASSERT_EQ(UCS_OK, uct_config_get(config, "COLOUR", value, sizeof(value)));
    EXPECT_STREQ("green", value);
    uct_config_release(config);
}

TEST_F(glue_md, devices)
{
    uct_tl_resource_desc_t *resources;
    unsigned count;

    ASSERT_EQ(UCS_OK, uct_md_query_tl_resources(md, &resources, &count));
    ASSERT_EQ(1u, count);
    EXPECT_STREQ("hooktl", resources[0].tl_name);
    EXPECT_STREQ("hook0:1", resources[0].dev_name);
    EXPECT_EQ(UCT_DEVICE_TYPE_NET, resources[0].dev_type);
    EXPECT_NE(UCS_SYS_DEVICE_ID_UNKNOWN, resources[0].sys_device);
    uct_release_tl_resource_list(resources);
}

class glue_iface : public glue_md {
protected:
    void SetUp() override
    {
        glue_md::SetUp();
        if (HasFatalFailure()) {
            return;
        }
        ASSERT_EQ(UCS_OK, ucs_async_context_create(
                                  UCS_ASYNC_MODE_THREAD_SPINLOCK, &async));
        ASSERT_EQ(UCS_OK, uct_worker_create(async, UCS_THREAD_MODE_SINGLE,
                                            &worker));
        ASSERT_EQ(UCS_OK, open("64"));
    }

    void TearDown() override
    {
        close();
        if (worker != nullptr) {
            uct_worker_destroy(worker);
        }
        if (async != nullptr) {
            ucs_async_context_destroy(async);
        }
        glue_md::TearDown();
    }

    void close()
    {
        if (ep != nullptr) {
            uct_ep_destroy(ep);
            ep = nullptr;
        }
        if (iface != nullptr) {
            uct_iface_close(iface);
            iface = nullptr;
        }
    }

    static ucs_status_t on_error(void *arg, uct_ep_h ep, ucs_status_t status)
    {
        auto self = static_cast<glue_iface*>(arg);

        EXPECT_EQ(self->ep, ep);
        self->errors.push_back(status);
        return UCS_OK;
    }

    ucs_status_t open(const char *depth)
    {
        uct_iface_params_t params = {};
        uct_ep_params_t ep_params = {};
        uct_iface_config_t *config;
        ucs_status_t status;

        close();
        EXPECT_EQ(UCS_OK, uct_md_iface_config_read(md, "hooktl", nullptr,
                                                   nullptr, &config));
        EXPECT_EQ(UCS_OK, uct_config_modify(
                                  config,
                                  full_name("HOOKTL_", "DEPTH").c_str(),
                                  depth));
        params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                            UCT_IFACE_PARAM_FIELD_DEVICE |
                            UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                            UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
        params.open_mode            = UCT_IFACE_OPEN_MODE_DEVICE;
        params.mode.device.tl_name  = "hooktl";
        params.mode.device.dev_name = "hook0:1";
        params.err_handler          = on_error;
        params.err_handler_arg      = this;
        status = uct_iface_open(md, worker, &params, config, &iface);
        uct_config_release(config);
        if (status == UCS_OK) {
            ep_params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
            ep_params.iface      = iface;
            EXPECT_EQ(UCS_OK, uct_ep_create(&ep_params, &ep));
        } else {
            iface = nullptr;
        }
        return status;
    }

    uct_iface_attr_t query_iface()
    {
        uct_iface_attr_t attr;

        memset(&attr, 0xee, sizeof(attr));
        EXPECT_EQ(UCS_OK, uct_iface_query(iface, &attr));
        return attr;
    }

    ucs_async_context_t *async = nullptr;
    uct_worker_h worker        = nullptr;
    uct_iface_h iface          = nullptr;
    uct_ep_h ep                = nullptr;
    std::vector<ucs_status_t> errors;
};

TEST_F(glue_iface, attributes_start_zeroed_with_the_base_class_values)
{
    uct_iface_attr_t attr = query_iface();

    EXPECT_EQ(1u, attr.dev_num_paths);
    EXPECT_EQ(SIZE_MAX, attr.max_num_eps); /* "inf" of UCX's parent table */
    EXPECT_EQ(64, attr.priority);          /* DEPTH of our table */
    EXPECT_EQ(0u, attr.cap.put.max_short);
    EXPECT_EQ(256u, attr.cap.am.max_short);
    EXPECT_EQ((UCX_MINOR >= 18) ? UCS_BIT(54) : 0, /* INTER_NODE */
              attr.cap.flags & UCS_BIT(54));
}

TEST_F(glue_iface, a_forgotten_operation_is_refused_not_called)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, open("13"));
    EXPECT_EQ(UCS_OK, open("8"));
}

TEST_F(glue_iface, active_messages_reach_their_handlers)
{
    std::string got;
    auto handler = [](void *arg, void *data, size_t length, unsigned) {
        static_cast<std::string*>(arg)->assign((char*)data, length);
        return UCS_OK;
    };
    auto pack = [](void *dest, void*) -> size_t {
        memset(dest, 'p', 4096);
        return 4096;
    };

    for (unsigned id = 0; id < UCT_AM_ID_MAX; id += UCT_AM_ID_MAX - 1) {
        ASSERT_EQ(UCS_OK,
                  uct_iface_set_am_handler(iface, id, handler, &got, 0));
        ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, id, 0x3837363534333231ul,
                                          "abc", 3));
        EXPECT_EQ("12345678abc", got);
        ASSERT_EQ(4096, uct_ep_am_bcopy(ep, id, pack, nullptr, 0));
        EXPECT_EQ(std::string(4096, 'p'), got);
    }
}

TEST_F(glue_iface, a_message_without_a_handler_is_dropped_by_ucx)
{
    EXPECT_EQ(UCS_OK, uct_ep_am_short(ep, 7, 0, "x", 1));
}

TEST_F(glue_iface, progress_is_switched_on_and_off)
{
    uct_worker_progress(worker);
    EXPECT_EQ(0u, query_iface().cap.am.max_hdr);
    uct_iface_progress_enable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    uct_worker_progress(worker);
    uct_worker_progress(worker);
    EXPECT_EQ(2u, query_iface().cap.am.max_hdr);
    uct_iface_progress_disable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    uct_worker_progress(worker);
    EXPECT_EQ(2u, query_iface().cap.am.max_hdr);
}

TEST_F(glue_iface, closing_with_progress_on_leaves_the_worker_whole)
{
    uct_iface_progress_enable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    close();
    uct_worker_progress(worker);
    EXPECT_EQ(UCS_OK, open("16"));
}

TEST_F(glue_iface, reachability_is_the_transports_answer)
{
    char address[8] = {};

    ASSERT_EQ(UCS_OK, uct_iface_get_device_address(
                              iface, (uct_device_addr_t*)address));
    EXPECT_TRUE(uct_iface_is_reachable(
            iface, (const uct_device_addr_t*)address, nullptr));
    address[0] ^= 1;
    EXPECT_FALSE(uct_iface_is_reachable(
            iface, (const uct_device_addr_t*)address, nullptr));
}

#if UCX_MINOR >= 15
TEST_F(glue_iface, reachability_v2)
{
    char address[8] = {}, info[16];
    abi_is_reachable_params_t params = {};

    ASSERT_EQ(UCS_OK, uct_iface_get_device_address(
                              iface, (uct_device_addr_t*)address));
    params.field_mask         = ABI_IS_REACHABLE_DEVICE_ADDR |
                                ABI_IS_REACHABLE_IFACE_ADDR |
                                ABI_IS_REACHABLE_INFO |
                                ABI_IS_REACHABLE_INFO_LENGTH |
                                ABI_IS_REACHABLE_SCOPE;
    params.device_addr        = (const uct_device_addr_t*)address;
    params.iface_addr         = (const uct_iface_addr_t*)address;
    params.info_string        = info;
    params.info_string_length = sizeof(info);
    params.scope              = ABI_SCOPE_DEVICE;
    memset(info, 'x', sizeof(info));
    EXPECT_TRUE(uct_iface_is_reachable_v2(iface, &params));
    EXPECT_STREQ("", info);
    address[0] ^= 1;
    EXPECT_FALSE(uct_iface_is_reachable_v2(iface, &params));
    EXPECT_STREQ("not an address ", info);
    params.field_mask = ABI_IS_REACHABLE_INFO; /* no address, no length */
    EXPECT_FALSE(uct_iface_is_reachable_v2(iface, &params));
}
#endif

#if UCX_MINOR >= 16
TEST_F(glue_iface, connection_is_the_transports_answer)
{
    char address[8] = {};
    abi_is_connected_params_t params = {};

    ASSERT_EQ(UCS_OK, uct_iface_get_device_address(
                              iface, (uct_device_addr_t*)address));
    params.field_mask  = ABI_IS_CONNECTED_DEVICE_ADDR;
    params.device_addr = (const uct_device_addr_t*)address;
    EXPECT_TRUE(uct_ep_is_connected(ep, &params));
    address[0] ^= 1;
    EXPECT_FALSE(uct_ep_is_connected(ep, &params));
    params.field_mask = 0;
    EXPECT_FALSE(uct_ep_is_connected(ep, &params));
}
#endif

TEST_F(glue_iface, performance_is_the_base_class_plus_the_transports)
{
    abi_perf_attr_t attr = {};

    attr.field_mask = ABI_PERF_OPERATION | ABI_PERF_BANDWIDTH |
                      ABI_PERF_LATENCY | ABI_PERF_RECV_OVERHEAD |
                      ABI_PERF_SEND_PRE_OVERHEAD | ABI_PERF_MAX_INFLIGHT_EPS;
    attr.operation          = 1 /* UCT_EP_OP_AM_BCOPY */;
    attr.send_post_overhead = 42; /* not asked for */
    ASSERT_EQ(UCS_OK, uct_iface_estimate_perf(iface, &attr));
    EXPECT_EQ(1e9, attr.bandwidth.shared);
    EXPECT_EQ(2e-6, attr.latency.c);
    EXPECT_EQ(1e-6, attr.send_pre_overhead);
    EXPECT_EQ(17u, attr.max_inflight_eps);
    EXPECT_EQ(42, attr.send_post_overhead);
    attr.operation = 8 /* UCT_EP_OP_GET_ZCOPY */;
    ASSERT_EQ(UCS_OK, uct_iface_estimate_perf(iface, &attr));
    EXPECT_EQ(7e9, attr.bandwidth.shared);
}

TEST_F(glue_iface, an_invalidated_endpoint_reports_its_error)
{
    EXPECT_EQ(UCS_OK, uct_ep_check(ep, 0, nullptr));
    EXPECT_TRUE(errors.empty());
    uint64_t params = 0; /* from 1.21 on a structure with a mask */
    EXPECT_EQ(UCS_OK, uct_ep_invalidate(
                              ep, (UCX_MINOR >= 21) ? (uintptr_t)&params : 0));
    EXPECT_EQ(UCS_OK, uct_ep_check(ep, 0, nullptr)); /* the handler's answer */
    ASSERT_EQ(1u, errors.size());
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, errors[0]);
}

TEST_F(glue_iface, endpoint_has_no_socket_addresses)
{
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, uct_ep_query(ep, nullptr));
}

TEST_F(glue_iface, many_endpoints_come_and_go)
{
    uct_ep_params_t params = {};
    std::vector<uct_ep_h> eps(1000);

    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface      = iface;
    for (auto &e : eps) {
        ASSERT_EQ(UCS_OK, uct_ep_create(&params, &e));
        EXPECT_EQ(UCS_OK, uct_ep_flush(e, 0, nullptr));
    }
    for (auto e : eps) {
        uct_ep_destroy(e);
    }
}

} // namespace
