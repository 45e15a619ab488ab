/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands, each with its arguments in attributes: 0 or a negative errno.
 * The word behind drv_ in a function's name is that of its file; protection
 * domains and address handles share pd_cmds.c.
 */
#ifndef EFASIM_DRIVER_CMDS_H
#define EFASIM_DRIVER_CMDS_H

#include "state.h"

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* A decoded command */
struct drv_cmd {
    struct drv_ctx         *ctx;
    struct ib_uverbs_attr  *attrs;
    unsigned                num;
    const char             *name; /* as in sim_command_names */
};

/* Attribute `id`, or NULL. */
struct ib_uverbs_attr *drv_attr(const struct drv_cmd *cmd, uint16_t id);

/* Copy at most `size` bytes of an input attribute into buf, the rest zero.
 * -EINVAL: missing or shorter than `need`. */
int drv_attr_in(const struct drv_cmd *cmd, uint16_t id, void *buf,
                size_t size, size_t need);

/* The same of a variable, of which all is needed. */
#define drv_attr_get(_cmd, _id, _value) \
    drv_attr_in(_cmd, _id, &(_value), sizeof(_value), sizeof(_value))

/* The same of the command's request. */
static inline int drv_core_in(const struct drv_cmd *cmd, void *req, size_t size)
{
    return drv_attr_in(cmd, UVERBS_ATTR_CORE_IN, req, size, size);
}

/* Write an output attribute, as much as the program has room for. A missing
 * one is no error. */
void drv_attr_out(const struct drv_cmd *cmd, uint16_t id, const void *buf,
                  size_t size);
#define drv_attr_put(_cmd, _id, _value) \
    drv_attr_out(_cmd, _id, &(_value), sizeof(_value))
void drv_attr_out_handle(const struct drv_cmd *cmd, uint16_t id,
                         uint64_t handle);

/* An object's handle; -1: missing. */
int64_t drv_attr_handle(const struct drv_cmd *cmd, uint16_t id);

/* The answer to a handle that names no object of the context: -ENOENT; -EINVAL:
 * there is no such attribute. */
int drv_attr_no_object(const struct drv_cmd *cmd, uint16_t id);

/* Decode and run a command; 0 or a negative errno. */
int drv_ioctl(struct drv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr);

int drv_device_context(struct drv_cmd *cmd);
int drv_device_port(struct drv_cmd *cmd);
int drv_device_port_speed(struct drv_cmd *cmd);
int drv_device_gid_entry(struct drv_cmd *cmd);
int drv_device_gid_table(struct drv_cmd *cmd);
int drv_device_async_event(struct drv_cmd *cmd);
int drv_device_query(struct drv_cmd *cmd);
int drv_device_query_ex(struct drv_cmd *cmd);
int drv_pd_alloc(struct drv_cmd *cmd);
int drv_pd_destroy(struct drv_cmd *cmd);
int drv_ah_create(struct drv_cmd *cmd);
int drv_ah_destroy(struct drv_cmd *cmd);
int drv_mr_reg(struct drv_cmd *cmd);
int drv_mr_reg_dmabuf(struct drv_cmd *cmd);
int drv_mr_destroy(struct drv_cmd *cmd);
int drv_mr_query(struct drv_cmd *cmd);
int drv_cq_create(struct drv_cmd *cmd);
int drv_cq_destroy(struct drv_cmd *cmd);
int drv_channel_create(struct drv_cmd *cmd);
int drv_qp_create(struct drv_cmd *cmd);
int drv_qp_destroy(struct drv_cmd *cmd);
int drv_qp_modify(struct drv_cmd *cmd);
int drv_qp_query(struct drv_cmd *cmd);
int drv_cntr_caps(struct drv_cmd *cmd);
int drv_cntr_create(struct drv_cmd *cmd);
int drv_cntr_destroy(struct drv_cmd *cmd);
int drv_cntr_modify(struct drv_cmd *cmd);
int drv_cntr_read(struct drv_cmd *cmd);
int drv_cntr_attach(struct drv_cmd *cmd);

/* Tell the program that the device is gone (IBV_EVENT_DEVICE_FATAL), in every
 * context of it. */
void drv_device_fatal(struct fabric_env *env);

/* The context's PD, CQ or QP with this handle, or NULL. */
struct sim_pd *drv_pd_get(struct drv_ctx *ctx, int64_t handle);
struct drv_cq *drv_cq_get(struct drv_ctx *ctx, int64_t handle);
struct drv_qp *drv_qp_get(struct drv_ctx *ctx, int64_t handle);

/* Read a request, and find the PD whose handle stands in it at this offset: 0;
 * -EINVAL: it is too short; -ENOENT. */
int drv_pd_request(const struct drv_cmd *cmd, void *req, size_t size,
                   size_t handle_at, struct sim_pd **pd);

/* 1: the program has memory at all of these addresses. */
int drv_mr_is_mapped(uint64_t addr, uint64_t span);

/* Release one of a context that is closed, whoever uses it. */
void drv_mr_release(struct drv_dev *dev, uint32_t index);
void drv_cq_release(struct drv_cq *cq);
void drv_qp_release(struct drv_qp *qp);
void drv_cntr_release(struct drv_cntr *cntr);

/* The channel whose other end is the program's descriptor `fd`, or NULL. */
struct drv_channel *drv_channel_find(int fd);

/* A completion arrived in an armed CQ: tell its channel, if it has one. */
void drv_channel_event(struct sim_cq *cq);

/*
 * The CQ is being destroyed: events of it that were not read are taken back,
 * as the kernel does. Returns the number that was read; libibverbs waits until
 * that many have been acknowledged.
 */
uint32_t drv_channel_flush(struct drv_cq *cq);

/* The program closes `fd`; not an end of a channel: nothing happens. */
void drv_channel_close(int fd);

#endif
