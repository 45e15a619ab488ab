/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compile-time check: our declarations of UCX's private structures
 * (src/ucp_hooks/abi_layout.h, minor UCX_MINOR) against the private headers of
 * a UCX source tree of that minor. Nothing of it runs: it compiles or it does
 * not. hooks_layout.sh compiles it with -fsyntax-only, and once more with each
 * HOOKS_BREAK_n to see that it can fail.
 */
#include <cstddef>
#include <type_traits>

extern "C" {
#include <uct/base/uct_md.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_component.h>
#include <uct/base/uct_worker.h>
#include <uct/tcp/tcp.h>
#include <ucs/config/global_opts.h>
#include <ucs/algorithm/crc.h>
#include <ucp/wireup/address.h>
}

#include "ucp_hooks/config.h"
extern "C" {
#include "ucp_hooks/abi.h"
#include "ucp_hooks/abi_layout.h"
}

/* ---- are two types the same, but for the names of structures? ---- */

template <class Ours, class Theirs> struct renamed : std::false_type {};

#define RENAMED(_ours, _theirs) \
    template <> struct renamed<_ours, _theirs> : std::true_type { \
        static_assert(sizeof(_ours) == sizeof(_theirs), #_ours); \
    }

RENAMED(abi_component_t, uct_component_t);
RENAMED(abi_tl_t, uct_tl_t);
RENAMED(abi_tl_device_t, uct_tl_device_resource_t);
RENAMED(abi_config_entry_t, ucs_config_global_list_entry_t);
RENAMED(abi_config_field_t, ucs_config_field_t);
RENAMED(abi_config_parser_t, ucs_config_parser_t);
RENAMED(abi_md_t, uct_md_t);
RENAMED(abi_md_ops_t, uct_md_ops_t);
#if UCX_MINOR >= 14
typedef uct_md_attr_v2_t their_md_attr_t;
RENAMED(abi_mem_reg_params_t, uct_md_mem_reg_params_t);
#else
typedef uct_md_attr_t their_md_attr_t;
#endif
#if UCX_MINOR >= 15
RENAMED(abi_is_reachable_params_t, uct_iface_is_reachable_params_t);
#endif
#if UCX_MINOR >= 16
RENAMED(abi_is_connected_params_t, uct_ep_is_connected_params_t);
#endif
RENAMED(abi_md_attr_t, their_md_attr_t);
RENAMED(abi_internal_ops_t, uct_iface_internal_ops_t);
RENAMED(abi_mem_dereg_params_t, uct_md_mem_dereg_params_t);
RENAMED(abi_mkey_pack_params_t, uct_md_mkey_pack_params_t);
RENAMED(ucx_am_handler_t, uct_am_handler_t);

template <class Ours, class Theirs>
struct same : std::disjunction<std::is_same<Ours, Theirs>,
                               renamed<Ours, Theirs>> {};

/* Types that we do not look into stand as void behind a pointer, and
 * enumerations that not all headers have as integers. */
template <class Theirs> struct same<void, Theirs> : std::true_type {};
template <class Theirs>
struct same<unsigned, Theirs> : std::disjunction<std::is_same<unsigned, Theirs>,
                                                 std::is_enum<Theirs>> {};

template <class Ours, class Theirs>
struct same<const Ours, const Theirs> : same<Ours, Theirs> {};
template <> struct same<void, void> : std::true_type {};
template <> struct same<const void, const void> : std::true_type {};
template <class Ours> struct same<Ours, void> : std::is_void<Ours> {};

template <class Ours, class Theirs>
struct same<Ours *, Theirs *> : same<Ours, Theirs> {};

template <class R1, class... A1, class R2, class... A2>
struct same<R1(A1...), R2(A2...)> {
    static constexpr bool value = [] {
        if constexpr (sizeof...(A1) == sizeof...(A2)) {
            return std::is_void_v<R1> == std::is_void_v<R2> &&
                   same<R1, R2>::value && (same<A1, A2>::value && ...);
        } else {
            return false;
        }
    }();
};

#define SIZE(_ours, _theirs) \
    static_assert(sizeof(_ours) == sizeof(_theirs), "size of " #_theirs)

#define FIELD_AS(_ours, _member, _theirs, _their_member) \
    static_assert(offsetof(_ours, _member) == \
                  offsetof(_theirs, _their_member), \
                  "offset of " #_theirs "::" #_their_member); \
    static_assert(sizeof(_ours::_member) == \
                  sizeof(((_theirs*)nullptr)->_their_member), \
                  "size of " #_theirs "::" #_their_member)

#define FIELD(_ours, _theirs, _member) \
    FIELD_AS(_ours, _member, _theirs, _member)

#define CALLBACK(_ours, _theirs, _member) \
    FIELD(_ours, _theirs, _member); \
    static_assert(same<decltype(_ours::_member), \
                       decltype(_theirs::_member)>::value, \
                  "type of " #_theirs "::" #_member)

#define VALUE(_ours, _theirs) \
    static_assert((uint64_t)(_ours) == (uint64_t)(_theirs), #_theirs)

/* The tree must be of the minor that is checked. */
static_assert(UCX_MINOR == TREE_MINOR, "UCX_SOURCE is of another minor");

#if defined(HOOKS_BREAK_1)
struct broken_tl { char a; abi_tl_t tl; };
SIZE(broken_tl, uct_tl_t);
#elif defined(HOOKS_BREAK_2)
FIELD_AS(abi_component_t, rkey_ptr, uct_component_t, rkey_release);
#elif defined(HOOKS_BREAK_3)
struct broken_ops { int (*close)(uct_md_h md); };
CALLBACK(broken_ops, uct_md_ops_t, close);
#elif defined(HOOKS_BREAK_4)
struct broken_ops4 { void (*close)(uct_md_h md, int more); };
CALLBACK(broken_ops4, uct_md_ops_t, close);
#elif defined(HOOKS_BREAK_5)
VALUE(ABI_MD_FLAG_REG, UCT_MD_FLAG_ALLOC);
#endif

/* Each member of each structure of abi_layout.h, written by hooks_rows.py. */
#include HOOKS_ROWS

/* ---- configuration ---- */

static_assert(std::is_same_v<decltype(&ucx_config_read),
                             decltype(ucs_config_parser_t::read)>);
static_assert(std::is_same_v<decltype(ucx_config_arg_t::write),
                             decltype(ucs_config_parser_t::write)>);
static_assert(std::is_same_v<decltype(ucx_config_arg_t::clone),
                             decltype(ucs_config_parser_t::clone)>);
static_assert(std::is_same_v<decltype(ucx_config_arg_t::release),
                             decltype(ucs_config_parser_t::release)>);
static_assert(std::is_same_v<decltype(&ucx_config_help),
                             decltype(ucs_config_parser_t::help)>);

static_assert(same<abi_fill_opts_t,
                   decltype(&ucs_config_parser_fill_opts)>::value);

static_assert(sizeof(ucx_iface_config_t) >= sizeof(uct_iface_config_t));
static_assert(alignof(ucx_iface_config_t) >= alignof(uct_iface_config_t));

/* ---- memory domain ---- */

FIELD(ucx_md_t, uct_md_t, ops);
FIELD(ucx_md_t, uct_md_t, component);

#if UCX_MINOR >= 14
VALUE(ABI_MEM_REG_FLAGS, UCT_MD_MEM_REG_FIELD_FLAGS);
VALUE(ABI_MEM_REG_DMABUF_FD, UCT_MD_MEM_REG_FIELD_DMABUF_FD);
VALUE(ABI_MEM_REG_DMABUF_OFFSET, UCT_MD_MEM_REG_FIELD_DMABUF_OFFSET);
VALUE(ABI_MD_FLAG_REG_DMABUF, UCT_MD_FLAG_REG_DMABUF);
#endif
#if UCX_MINOR >= 22
VALUE(ABI_MEM_REG_MEM_TYPE, UCT_MD_MEM_REG_FIELD_MEM_TYPE);
#endif

VALUE(ABI_MD_FLAG_REG, UCT_MD_FLAG_REG);
VALUE(ABI_MD_FLAG_NEED_MEMH, UCT_MD_FLAG_NEED_MEMH);
VALUE(ABI_MD_FLAG_NEED_RKEY, UCT_MD_FLAG_NEED_RKEY);
VALUE(ABI_MD_FLAG_ADVISE, UCT_MD_FLAG_ADVISE);
#if UCX_MINOR >= 15
VALUE(ABI_MD_FLAG_INVALIDATE,
      uint64_t(UCT_MD_FLAG_INVALIDATE) | UCT_MD_FLAG_INVALIDATE_RMA |
              UCT_MD_FLAG_INVALIDATE_AMO);
#else
VALUE(ABI_MD_FLAG_INVALIDATE, UCT_MD_FLAG_INVALIDATE);
#endif

VALUE(ABI_MEM_DEREG_FIELD_MEMH, UCT_MD_MEM_DEREG_FIELD_MEMH);
VALUE(ABI_MEM_DEREG_FIELD_FLAGS, UCT_MD_MEM_DEREG_FIELD_FLAGS);
VALUE(ABI_MEM_DEREG_FIELD_COMPLETION, UCT_MD_MEM_DEREG_FIELD_COMPLETION);
VALUE(ABI_MEM_DEREG_INVALIDATE, UCT_MD_MEM_DEREG_FLAG_INVALIDATE);
VALUE(ABI_MKEY_PACK_FIELD_FLAGS, UCT_MD_MKEY_PACK_FIELD_FLAGS);
#if UCX_MINOR >= 15
VALUE(ABI_MKEY_PACK_INVALIDATE, UCT_MD_MKEY_PACK_FLAG_INVALIDATE_RMA |
      UCT_MD_MKEY_PACK_FLAG_INVALIDATE_AMO);
#else
VALUE(ABI_MKEY_PACK_INVALIDATE, UCT_MD_MKEY_PACK_FLAG_INVALIDATE);
#endif

/* ---- interface ---- */

VALUE(ABI_PERF_OPERATION, UCT_PERF_ATTR_FIELD_OPERATION);
VALUE(ABI_PERF_SEND_PRE_OVERHEAD, UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD);
VALUE(ABI_PERF_SEND_POST_OVERHEAD, UCT_PERF_ATTR_FIELD_SEND_POST_OVERHEAD);
VALUE(ABI_PERF_RECV_OVERHEAD, UCT_PERF_ATTR_FIELD_RECV_OVERHEAD);
VALUE(ABI_PERF_BANDWIDTH, UCT_PERF_ATTR_FIELD_BANDWIDTH);
#if UCX_MINOR >= 19
VALUE(ABI_PERF_PATH_BANDWIDTH, UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH);
#endif
VALUE(ABI_PERF_LATENCY, UCT_PERF_ATTR_FIELD_LATENCY);
VALUE(UCX_OP_AM_SHORT, UCT_EP_OP_AM_SHORT);
VALUE(UCX_OP_AM_BCOPY, UCT_EP_OP_AM_BCOPY);
VALUE(UCX_OP_AM_ZCOPY, UCT_EP_OP_AM_ZCOPY);
VALUE(UCX_OP_PUT_SHORT, UCT_EP_OP_PUT_SHORT);
VALUE(UCX_OP_PUT_BCOPY, UCT_EP_OP_PUT_BCOPY);
VALUE(UCX_OP_PUT_ZCOPY, UCT_EP_OP_PUT_ZCOPY);
VALUE(UCX_OP_GET_SHORT, UCT_EP_OP_GET_SHORT);
VALUE(UCX_OP_GET_BCOPY, UCT_EP_OP_GET_BCOPY);
VALUE(UCX_OP_GET_ZCOPY, UCT_EP_OP_GET_ZCOPY);
#if UCX_MINOR >= 15
VALUE(ABI_IS_REACHABLE_DEVICE_ADDR,
      UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR);
VALUE(ABI_IS_REACHABLE_IFACE_ADDR, UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR);
VALUE(ABI_IS_REACHABLE_INFO, UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING);
VALUE(ABI_IS_REACHABLE_INFO_LENGTH,
      UCT_IFACE_IS_REACHABLE_FIELD_INFO_STRING_LENGTH);
VALUE(ABI_IS_REACHABLE_SCOPE, UCT_IFACE_IS_REACHABLE_FIELD_SCOPE);
VALUE(ABI_SCOPE_DEVICE, UCT_IFACE_REACHABILITY_SCOPE_DEVICE);
#endif
#if UCX_MINOR >= 16
VALUE(ABI_IS_CONNECTED_DEVICE_ADDR, UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR);
VALUE(ABI_IS_CONNECTED_IFACE_ADDR, UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR);
#endif
#if UCX_MINOR >= 22
VALUE(ABI_IFACE_ATTR_MAX_PUT_SGL, UCT_IFACE_ATTR_FIELD_MAX_PUT_SGL_ZCOPY_COUNT);
VALUE(ABI_IFACE_ATTR_CAP_FLAGS, UCT_IFACE_ATTR_FIELD_CAP_FLAGS);
VALUE(ABI_IFACE_CAP_PUT_SGL, UCT_IFACE_FLAG_V2_PUT_SGL_ZCOPY);
#endif
#if UCX_MINOR >= 23
VALUE(ABI_IFACE_ATTR_MAX_GET_SGL, UCT_IFACE_ATTR_FIELD_MAX_GET_SGL_ZCOPY_COUNT);
VALUE(ABI_IFACE_CAP_GET_SGL, UCT_IFACE_FLAG_V2_GET_SGL_ZCOPY);
#endif
#if UCX_MINOR >= 18
VALUE(UCS_BIT(54), UCT_IFACE_FLAG_INTER_NODE);
#endif

CALLBACK(ucx_am_handler_t, uct_am_handler_t, cb);
FIELD(ucx_am_handler_t, uct_am_handler_t, arg);
VALUE(UCX_BASE_IFACE_AM, offsetof(uct_base_iface_t, am));
static_assert(UCX_BASE_IFACE_ROOM >= sizeof(uct_base_iface_t));
/* fallback.c: where an interface has its private operations, and the beginning
 * of a device address of tcp */
VALUE(sizeof(uct_iface_t), offsetof(uct_base_iface_t, internal_ops));
VALUE(1, UCT_TCP_DEVICE_ADDR_FLAG_LOOPBACK);
VALUE(0, offsetof(uct_tcp_device_addr_t, flags));
VALUE(1, offsetof(uct_tcp_device_addr_t, sa_family));
static_assert(sizeof(uct_tcp_device_addr_t) == 2 &&
              sizeof(uct_tcp_device_addr_t::sa_family) == 1);
static_assert(UCX_BASE_EP_ROOM >= sizeof(uct_base_ep_t));
VALUE(sizeof(uct_iface_ops_t), 400);
VALUE(sizeof(uct_iface_attr_t), 536);

/* ---- looked-up objects and functions: calls.h against the prototypes ---- */

VALUE(offsetof(ucs_global_opts_t, log_component), 0);
FIELD_AS(ucx_log_component_t, level, ucs_log_component_config_t, log_level);
FIELD(ucx_log_component_t, ucs_log_component_config_t, name);
FIELD(ucx_log_component_t, ucs_log_component_config_t, file_filter);

#define CALL(_member, _function) \
    static_assert(std::is_same_v<decltype(ucx_calls_t::_member), \
                                 decltype(&_function)>, #_function)
#define HOST(_member, _function) \
    static_assert(std::is_same_v<decltype(ucx_host_t::_member), \
                                 decltype(&_function)>, #_function)

CALL(query_components, uct_query_components);
CALL(release_component_list, uct_release_component_list);
CALL(iface_progress_enable, uct_base_iface_progress_enable);
CALL(iface_progress_disable, uct_base_iface_progress_disable);
CALL(iface_handle_ep_err, uct_iface_handle_ep_err);
CALL(class_cleanup_chain, ucs_class_call_cleanup_chain);
CALL(topo_find, ucs_topo_find_device_by_bus_id);
CALL(ucm_set_handler, ucm_set_event_handler);
CALL(ucm_unset_handler, ucm_unset_event_handler);
HOST(status_string, ucs_status_string);
HOST(async_set_event_handler, ucs_async_set_event_handler);
HOST(async_remove_handler, ucs_async_remove_handler);
HOST(worker_progress_register, uct_worker_progress_register_safe);
HOST(worker_progress_unregister, uct_worker_progress_unregister_safe);

int main()
{
    return 0;
}
