/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_DRIVER_ATTR_H
#define EFASIM_DRIVER_ATTR_H

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

#endif
