/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_VERBS_H_
#define EFA_VERBS_H_

#include <stddef.h>
#include <infiniband/verbs.h>
#include <infiniband/efadv.h>

/*
 * libibverbs and libefa, opened at run time.
 *
 * The module names neither library as needed: where one is missing, UCX must
 * still load us and the user must read which package to install, instead of
 * a loader error. Every call into verbs goes through this table or through
 * the function pointers of an ibv_context (posting, polling).
 */

#define EFA_VERBS_TABLE(X)                                                     \
    X(fork_init, ibv_fork_init)                                                \
    X(get_device_list, ibv_get_device_list)                                    \
    X(free_device_list, ibv_free_device_list)                                  \
    X(get_device_name, ibv_get_device_name)                                    \
    X(open_device, ibv_open_device)                                            \
    X(close_device, ibv_close_device)                                          \
    X(query_device, ibv_query_device)                                          \
    X(query_port, ibv_query_port)                                              \
    X(query_gid, ibv_query_gid)                                                \
    X(alloc_pd, ibv_alloc_pd)                                                  \
    X(dealloc_pd, ibv_dealloc_pd)                                              \
    X(reg_mr, ibv_reg_mr)                                                      \
    X(dereg_mr, ibv_dereg_mr)                                                  \
    X(create_comp_channel, ibv_create_comp_channel)                            \
    X(destroy_comp_channel, ibv_destroy_comp_channel)                          \
    X(create_cq, ibv_create_cq)                                                \
    X(destroy_cq, ibv_destroy_cq)                                              \
    X(get_cq_event, ibv_get_cq_event)                                          \
    X(ack_cq_events, ibv_ack_cq_events)                                        \
    X(create_ah, ibv_create_ah)                                                \
    X(destroy_ah, ibv_destroy_ah)                                              \
    X(create_qp, ibv_create_qp)                                                \
    X(modify_qp, ibv_modify_qp)                                                \
    X(qp_to_qp_ex, ibv_qp_to_qp_ex)                                            \
    X(destroy_qp, ibv_destroy_qp)                                              \
    X(wc_status_str, ibv_wc_status_str)

#define EFA_EFADV_TABLE(X)                                                     \
    X(efa_query_device, efadv_query_device)                                    \
    X(efa_create_qp_ex, efadv_create_qp_ex)                                    \
    X(efa_query_ah, efadv_query_ah)

/*
 * Structures of libefa as they are since rdma-core 63 (efadv_query_device(3),
 * efadv_create_qp_ex(3)): the header at hand may be older. Fields came into
 * reserved room, so an older library takes the same sizes and leaves what it
 * does not know at 0.
 */
typedef struct efa_adv_device_attr {
    uint64_t comp_mask;
    uint32_t max_sq_wr, max_rq_wr;
    uint16_t max_sq_sge, max_rq_sge;
    uint16_t inline_buf_size;    /* of a 64 B work request */
    uint16_t inline_buf_size_ex; /* of a 128 B one; 0 or the same: none */
    uint32_t device_caps;
    uint32_t max_rdma_size;
} efa_adv_device_attr_t;

typedef struct efa_adv_qp_attr {
    uint64_t comp_mask;
    uint32_t driver_qp_type;
    uint16_t flags; /* EFA_ADV_QP_ */
    uint8_t  sl;
    uint8_t  reserved;
} efa_adv_qp_attr_t;

/* efadv_query_qp_wqs(3), since rdma-core 59. */
typedef struct efa_adv_wq {
    uint64_t  comp_mask;
    uint8_t  *buffer;
    uint32_t  entry_size, num_entries;
    uint32_t *doorbell;
    uint32_t  max_batch; /* requests that one doorbell may announce */
    uint32_t  reserved;
} efa_adv_wq_t;

/* efadv_query_cq(3), since rdma-core 59; with the doorbell since 60. */
typedef struct efa_adv_cq {
    uint64_t  comp_mask;
    uint8_t  *buffer;
    uint32_t  entry_size, num_entries;
    uint32_t *doorbell;
} efa_adv_cq_t;

#define EFA_ADV_QP_INLINE_WRITE (1 << 1) /* EFADV_QP_FLAGS_INLINE_WRITE */

_Static_assert(sizeof(efa_adv_device_attr_t) ==
                       sizeof(struct efadv_device_attr),
               "as efadv_query_device has it");

typedef struct efa_verbs {
#define EFA_VERBS_FIELD(_name, _symbol) __typeof__(&_symbol) _name;
    EFA_VERBS_TABLE(EFA_VERBS_FIELD)
    EFA_EFADV_TABLE(EFA_VERBS_FIELD)
#undef EFA_VERBS_FIELD
    /* From rdma-core 34; NULL in an older library. */
    struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset,
                                    size_t length, uint64_t iova, int fd,
                                    int access);
    /* From rdma-core 35; NULL in an older library. */
    int (*is_fork_initialized)(void);
    /* From rdma-core 62; NULL in an older library. In units of 100 Mbit/s. */
    int (*query_port_speed)(struct ibv_context *context, uint32_t port,
                            uint64_t *speed);
    /* From rdma-core 59; NULL in an older library. */
    int (*efa_query_qp_wqs)(struct ibv_qp *qp, efa_adv_wq_t *sq,
                            efa_adv_wq_t *rq, uint32_t size);
    int (*efa_query_cq)(struct ibv_cq *cq, efa_adv_cq_t *attr, uint32_t size);
} efa_verbs_t;

#define EFA_FORK_UNNEEDED 2 /* IBV_FORK_UNNEEDED: the kernel copies at fork */

/*
 * The table, opened at the first call and kept for the life of the process
 * (a verbs provider cannot be unloaded safely).
 *
 * Returns NULL when a library or a symbol is missing; then `why` (of `size`
 * bytes, at least 1) holds one line with cause and remedy.
 */
const efa_verbs_t *efa_verbs_get(char *why, size_t size);

/*
 * A process may have a second libibverbs, which a wheel brings under a changed
 * name (auditwheel). libefa announces itself to one of them only, when it is
 * loaded: to the one that whoever loads it sees first. Where that is the other
 * one, ours knows no EFA device.
 *
 * Nonzero if there is another one, and it lists a device; then `path` holds its
 * file's name.
 */
int efa_verbs_find_other(char *path, size_t size);

#endif
