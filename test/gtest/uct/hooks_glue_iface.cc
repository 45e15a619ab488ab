/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables we hand to UCX, called by UCX: interface and endpoint.
 */
#include "hooks_glue.h"

namespace {

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
