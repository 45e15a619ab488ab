/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Common to hooks_glue_md.cc and hooks_glue_iface.cc: plain UCT programs (they
 * link libuct) that run with the test module preloaded, and drive the provider
 * of hooks_provider.c through UCT's API. hooks_suite.sh starts them.
 */
#ifndef HOOKS_GLUE_H
#define HOOKS_GLUE_H

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

/* That of the headers; hooks_matrix.sh compiles this file for other minors. */
#ifndef UCX_MINOR
#include <ucp/api/ucp_version.h>
#define UCX_MINOR UCP_API_MINOR
#endif

extern "C" {
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>
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
#if UCX_MINOR >= 22
ucs_status_t uct_iface_query_v2(uct_iface_h iface, abi_iface_attr_v2_t *attr);
std::remove_pointer_t<abi_sgl_zcopy_t> uct_ep_put_sgl_zcopy;
#endif
#if UCX_MINOR >= 23
std::remove_pointer_t<abi_sgl_zcopy_t> uct_ep_get_sgl_zcopy;
#endif
ucs_status_t uct_ep_invalidate(uct_ep_h ep, uintptr_t flags_or_params);
ucs_status_t uct_iface_estimate_perf(uct_iface_h iface, abi_perf_attr_t *attr);
ucs_status_t uct_ep_query(uct_ep_h ep, uct_ep_attr_t *attr);
}

inline std::vector<uct_component_h>
components_named(const std::string &name)
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
inline std::string full_name(const char *prefix, const char *name)
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

#endif
