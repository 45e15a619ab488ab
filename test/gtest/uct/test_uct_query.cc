/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables that src/ucp_hooks gives UCX, as far as no test of an operation
 * shows them. */
#include "uct_entity.h"

#include <uct/ib/efa/efa_rkey.h>

#include <dlfcn.h>
#include <ucp/api/ucp_version.h>

#define UCX_MINOR UCP_API_MINOR

extern "C" {
#include "ucp_hooks/abi_layout.h"
#include "ucp_hooks/provider.h"

/* of uct/api/v2, which is not installed */
ucs_status_t uct_md_mem_dereg_v2(uct_md_h md,
                                 const abi_mem_dereg_params_t *params);
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh,
#if UCX_MINOR >= 16
                                 void *address, size_t length,
#endif
                                 const abi_mkey_pack_params_t *params,
                                 void *rkey_buffer);
ucs_status_t uct_iface_estimate_perf(uct_iface_h iface, abi_perf_attr_t *attr);
ucs_status_t uct_ep_query(uct_ep_h ep, uct_ep_attr_t *attr);
}

using namespace uct_test;

class UctQuery : public UctTest {
protected:
    void SetUp() override
    {
        bool is_1_16 = dlsym(RTLD_DEFAULT, "uct_rkey_compare") != nullptr;

        if (is_1_16 != (UCX_MINOR >= 16)) {
            GTEST_SKIP() << "the layouts are those of the headers' UCX";
        }
        open();
    }

    static std::vector<uct_component_h> components(const std::string &name)
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
};

TEST_F(UctQuery, component__is_listed_once_however_often_asked)
{
    EXPECT_EQ(1u, components("efa").size());
    EXPECT_EQ(1u, components("efa").size());
    EXPECT_EQ(1u, components("tcp").size());
}

TEST_F(UctQuery, domain__names_and_devices)
{
    uct_md_resource_desc_t names[4]; /* room for UCX to go wrong */
    uct_component_attr_t attr = {};
    uct_md_config_t *config;
    uct_tl_resource_desc_t *tls;
    uct_md_h other = nullptr;
    unsigned count;

    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT |
                      UCT_COMPONENT_ATTR_FIELD_FLAGS;
    ASSERT_EQ(UCS_OK, uct_component_query(a->component(), &attr));
    EXPECT_EQ(1u, attr.md_resource_count);
    EXPECT_EQ(0u, attr.flags);
    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = names;
    ASSERT_EQ(UCS_OK, uct_component_query(a->component(), &attr));
    EXPECT_EQ(a->device(), names[0].md_name);

    ASSERT_EQ(UCS_OK, uct_md_config_read(a->component(), nullptr, nullptr,
                                         &config));
    EXPECT_EQ(UCS_ERR_NO_DEVICE,
              uct_md_open(a->component(), "rdmap9s9", config, &other));
    uct_config_release(config);

    ASSERT_EQ(UCS_OK, uct_md_query_tl_resources(a->md(), &tls, &count));
    ASSERT_EQ(2u, count);
    for (unsigned i = 0; i < count; ++i) {
        EXPECT_STREQ(i ? "ud" : "srd", tls[i].tl_name);
        EXPECT_EQ(a->device() + ":1", tls[i].dev_name);
        EXPECT_EQ(UCT_DEVICE_TYPE_NET, tls[i].dev_type);
        EXPECT_NE(UCS_SYS_DEVICE_ID_UNKNOWN, tls[i].sys_device);
    }
    uct_release_tl_resource_list(tls);
}

TEST_F(UctQuery, domain__attributes)
{
    uct_md_attr_t attr;

    memset(&attr, 0xee, sizeof(attr));
    ASSERT_EQ(UCS_OK, uct_md_query(a->md(), &attr));
    EXPECT_EQ(UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH | UCT_MD_FLAG_NEED_RKEY |
              UCT_MD_FLAG_ADVISE | ABI_MD_FLAG_INVALIDATE,
              attr.cap.flags & ~uint64_t(ABI_MD_FLAG_REG_DMABUF));
    EXPECT_LE(1ul << 30, attr.cap.max_reg);
    EXPECT_EQ(0u, attr.cap.max_alloc);
    EXPECT_EQ(UCS_BIT(UCS_MEMORY_TYPE_HOST), attr.cap.reg_mem_types);
    EXPECT_EQ(UCS_BIT(UCS_MEMORY_TYPE_HOST), attr.cap.access_mem_types);
    EXPECT_EQ(0u, attr.cap.detect_mem_types);
    EXPECT_EQ(0u, attr.cap.alloc_mem_types);
    EXPECT_EQ(sizeof(efa_rkey_wire_t), attr.rkey_packed_size);
    EXPECT_STREQ("efa", attr.component_name);
}

TEST_F(UctQuery, domain__keys_and_their_end)
{
    abi_mem_dereg_params_t params = {};
    uint8_t key[sizeof(efa_rkey_wire_t) + 1], other[sizeof(efa_rkey_wire_t)];
    Bytes bytes(64);
    Completion comp;

    key[sizeof(efa_rkey_wire_t)] = 0x55;
    ASSERT_EQ(UCS_OK, uct_md_mem_reg(a->md(), bytes.data(), bytes.size(),
                                     UCT_MD_MEM_ACCESS_RMA, &params.memh));
    ASSERT_EQ(UCS_OK, uct_md_mkey_pack(a->md(), params.memh, key));
    EXPECT_EQ(0x55, key[sizeof(efa_rkey_wire_t)]);
    abi_mkey_pack_params_t invalidates = {ABI_MKEY_PACK_FIELD_FLAGS,
                                          ABI_MKEY_PACK_INVALIDATE};
    ASSERT_EQ(UCS_OK, uct_md_mkey_pack_v2(a->md(), params.memh,
#if UCX_MINOR >= 16
                                          bytes.data(), bytes.size(),
#endif
                                          &invalidates, other));

    params.field_mask = ABI_MEM_DEREG_FIELD_MEMH | ABI_MEM_DEREG_FIELD_FLAGS;
    params.flags      = ABI_MEM_DEREG_INVALIDATE;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_md_mem_dereg_v2(a->md(), &params))
            << "no completion";
    params.field_mask |= ABI_MEM_DEREG_FIELD_COMPLETION;
    params.comp        = &comp.uct;
    EXPECT_EQ(UCS_OK, uct_md_mem_dereg_v2(a->md(), &params));
    EXPECT_EQ(1u, comp.done);
    params.field_mask = 0;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_md_mem_dereg_v2(a->md(), &params));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_md_mem_dereg(a->md(), nullptr));
}

TEST_F(UctQuery, what_we_do_not_offer__is_unsupported)
{
    char buffer[64]          = {};
    uct_md_mem_attr_t attr   = {};
    uct_rkey_bundle_t rkey   = {};
    ucs_sock_addr_t sockaddr = {};
    ucs_memory_type_t type;
    void *local;

    attr.field_mask = UCT_MD_MEM_ATTR_FIELD_MEM_TYPE;
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, uct_md_mem_query(a->md(), buffer,
                                                    sizeof(buffer), &attr));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              uct_md_detect_memory_type(a->md(), buffer, sizeof(buffer),
                                        &type));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED,
              uct_rkey_ptr(a->component(), &rkey, 0, &local));
    EXPECT_EQ(0, uct_md_is_sockaddr_accessible(a->md(), &sockaddr,
                                               UCT_SOCKADDR_ACC_REMOTE));
    EXPECT_EQ(UCS_ERR_UNSUPPORTED, uct_ep_query(ep, nullptr));
}

/* All that is not ours is UCX's base class's. */
TEST_F(UctQuery, interface__attributes_and_a_message_without_a_handler)
{
    uct_iface_attr_t attr;

    memset(&attr, 0xee, sizeof(attr));
    ASSERT_EQ(UCS_OK, uct_iface_query(a->iface(), &attr));
    EXPECT_EQ(1u, attr.dev_num_paths);
    EXPECT_EQ(SIZE_MAX, attr.max_num_eps); /* "inf" of UCX's parent table */
    EXPECT_EQ((UCX_MINOR >= 18) ? UCS_BIT(54) : 0, /* INTER_NODE */
              attr.cap.flags & UCS_BIT(54));
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID + 1, 0, "x", 1));
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_TRUE(wait([&] { return b->count == 1; }));
}

/* An operation's is the transport's; others, and what was not asked for, stay
 * UCX's. */
TEST_F(UctQuery, interface__estimates)
{
    abi_perf_attr_t attr[2]; /* room for what is behind ours */
    double untouched;
    auto ask = [&](uint64_t fields, unsigned operation) {
        memset(attr, 0xee, sizeof(attr));
        untouched        = attr->send_pre_overhead;
        attr->field_mask = ABI_PERF_OPERATION | fields;
        attr->operation  = operation;
        ASSERT_EQ(UCS_OK, uct_iface_estimate_perf(a->iface(), attr));
    };
    ucx_estimate_t own;
    const ucx_iface_vops_t *vops =
            reinterpret_cast<ucx_iface_base_t *>(a->iface())->vops;

    ask(ABI_PERF_RECV_OVERHEAD, UCX_OP_LAST);
    EXPECT_EQ(a->attr().overhead, attr->recv_overhead);
    if (vops->estimate == nullptr) {
        return; /* of ud: UCX's for all of them */
    }
    for (unsigned op : {UCX_OP_AM_SHORT, UCX_OP_AM_ZCOPY}) {
        vops->estimate(a->iface(), ucx_op_t(op), &own);
        ask(ABI_PERF_SEND_PRE_OVERHEAD | ABI_PERF_SEND_POST_OVERHEAD |
            ABI_PERF_RECV_OVERHEAD | ABI_PERF_LATENCY, op);
        EXPECT_EQ(own.post, attr->send_pre_overhead);
        EXPECT_EQ(own.complete, attr->send_post_overhead);
        EXPECT_EQ(own.receive, attr->recv_overhead);
        EXPECT_EQ(own.latency, attr->latency.c);
        EXPECT_EQ(0, attr->latency.m);
    }
    ask(ABI_PERF_RECV_OVERHEAD, UCX_OP_AM_ZCOPY);
    EXPECT_EQ(own.receive, attr->recv_overhead);
    EXPECT_EQ(untouched, attr->send_pre_overhead);
}
