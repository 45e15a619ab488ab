/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables we hand to UCX, called by UCX: component and memory domain.
 */
#include "hooks_glue.h"

namespace {

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
    ASSERT_EQ(UCS_OK, uct_config_get(config, "SIZE", value, sizeof(value)));
    EXPECT_STREQ("8K", value);
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

} // namespace
