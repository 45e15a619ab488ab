/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands, each with its arguments in attributes: 0 or a negative errno.
 * The word behind drv_ in a function's name is that of its file; protection
 * domains and address handles share pd_cmds.c.
 */
#ifndef EFASIM_DRIVER_CMDS_H
#define EFASIM_DRIVER_CMDS_H

#include "attr.h"

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

#endif
