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

TEST_F(glue_iface, an_operations_estimate_is_the_transports)
{
    abi_perf_attr_t attr[2]; /* room for what is behind ours */

    memset(attr, 0xee, sizeof(attr));
    attr->field_mask = ABI_PERF_OPERATION | ABI_PERF_SEND_PRE_OVERHEAD |
                       ABI_PERF_SEND_POST_OVERHEAD | ABI_PERF_RECV_OVERHEAD |
                       ABI_PERF_LATENCY;
    attr->operation  = UCX_OP_GET_ZCOPY;
    ASSERT_EQ(UCS_OK, uct_iface_estimate_perf(iface, attr));
    EXPECT_EQ(UCX_OP_GET_ZCOPY + 1.0, attr->send_pre_overhead);
    EXPECT_EQ(UCX_OP_GET_ZCOPY + 2.0, attr->send_post_overhead);
    EXPECT_EQ(UCX_OP_GET_ZCOPY + 3.0, attr->recv_overhead);
    EXPECT_EQ(UCX_OP_GET_ZCOPY + 4.0, attr->latency.c);
    EXPECT_EQ(0, attr->latency.m);

    /* Others stay, and there is none of ours without an operation. */
    memset(attr, 0xee, sizeof(attr));
    double untouched = attr->send_pre_overhead;
    attr->field_mask = ABI_PERF_OPERATION | ABI_PERF_RECV_OVERHEAD;
    attr->operation  = UCX_OP_AM_SHORT;
    ASSERT_EQ(UCS_OK, uct_iface_estimate_perf(iface, attr));
    EXPECT_EQ(3.0, attr->recv_overhead);
    EXPECT_EQ(untouched, attr->send_pre_overhead);
    attr->operation = UCX_OP_LAST;
    ASSERT_EQ(UCS_OK, uct_iface_estimate_perf(iface, attr));
    EXPECT_EQ(1e-6, attr->recv_overhead); /* hook_iface_query */
}

TEST_F(glue_iface, endpoint_has_no_socket_addresses)
{
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, uct_ep_query(ep, nullptr));
}

#if UCX_MINOR >= 22
TEST_F(glue_iface, lists_have_a_most_and_a_flag)
{
    abi_iface_attr_v2_t attr[2]; /* room for what is behind ours */

    memset(attr, 0xee, sizeof(attr));
    attr->field_mask = 0;
    ASSERT_EQ(UCS_OK, uct_iface_query_v2(iface, attr));
    EXPECT_EQ(0xeeeeeeeeeeeeeeeeul, attr->max_put_sgl_zcopy_count);
    EXPECT_EQ(0xeeeeeeeeeeeeeeeeul, attr->cap_flags);

    attr->field_mask = ABI_IFACE_ATTR_MAX_PUT_SGL | ABI_IFACE_ATTR_CAP_FLAGS;
#if UCX_MINOR >= 23
    attr->field_mask |= ABI_IFACE_ATTR_MAX_GET_SGL;
#endif
    ASSERT_EQ(UCS_OK, uct_iface_query_v2(iface, attr));
    EXPECT_EQ(64u, attr->max_put_sgl_zcopy_count); /* DEPTH of our table */
#if UCX_MINOR >= 23
    EXPECT_EQ(65u, attr->max_get_sgl_zcopy_count);
    EXPECT_EQ(ABI_IFACE_CAP_PUT_SGL | ABI_IFACE_CAP_GET_SGL, attr->cap_flags);
#else
    EXPECT_EQ(uint64_t(ABI_IFACE_CAP_PUT_SGL), attr->cap_flags);
#endif
}

/* Two blocks of three bytes, six apart, and one of one byte. */
struct glue_list {
    void move(uct_ep_h ep, abi_sgl_zcopy_t func, char *here, char *there)
    {
        void *buffers[]         = {here, here + 12};
        const size_t lengths[]  = {3, 1}, counts[] = {2, 1}, strides[] = {6, 0};
        const uct_mem_h memhs[] = {here, here + 12};
        const uint64_t remote[] = {uintptr_t(there), uintptr_t(there) + 12};
        const uct_rkey_t rkeys[] = {remote[0], remote[1]};
        uct_completion_t comp   = {};

        comp.count = 2;
        EXPECT_EQ(UCS_INPROGRESS, func(ep, buffers, lengths, memhs, remote,
                                       rkeys, counts, strides, 2, &comp));
        EXPECT_EQ(1, comp.count);
        EXPECT_EQ(UCS_INPROGRESS, func(ep, buffers, lengths, memhs, remote,
                                       rkeys, nullptr, nullptr, 1, nullptr));
    }
};

TEST_F(glue_iface, lists_are_the_transports)
{
    char here[] = "abcdefghijklm", there[] = ".............";

    glue_list().move(ep, uct_ep_put_sgl_zcopy, here, there);
    EXPECT_STREQ("abc...ghi...m", there);
#if UCX_MINOR >= 23
    char back[] = "-------------";
    glue_list().move(ep, uct_ep_get_sgl_zcopy, back, there);
    EXPECT_STREQ("abc---ghi---m", back);
#endif
}
#endif

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
