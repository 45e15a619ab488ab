/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes of a command, by the rules of the kernel's uverbs core. */
#include "cmds.h"

#include <errno.h>
#include <string.h>

struct ib_uverbs_attr *drv_attr(const struct drv_cmd *cmd, uint16_t id)
{
    unsigned i;

    for (i = 0; i < cmd->num; ++i) {
        if (cmd->attrs[i].attr_id == id) {
            return &cmd->attrs[i];
        }
    }

    return NULL;
}

int drv_attr_in(const struct drv_cmd *cmd, uint16_t id, void *buf,
                size_t size, size_t need)
{
    const struct ib_uverbs_attr *attr = drv_attr(cmd, id);
    const void *src;

    memset(buf, 0, size);
    if ((attr == NULL) || (attr->len < need)) {
        return (need == 0) ? 0 : -EINVAL;
    }

    /* up to 8 bytes stand in the attribute itself */
    src = (attr->len <= sizeof(attr->data)) ?
          (const void*)&attr->data : (const void*)(uintptr_t)attr->data;
    memcpy(buf, src, (attr->len < size) ? attr->len : size);
    return 0;
}

void drv_attr_out(const struct drv_cmd *cmd, uint16_t id, const void *buf,
                  size_t size)
{
    struct ib_uverbs_attr *attr = drv_attr(cmd, id);

    if ((attr == NULL) || (attr->data == 0)) {
        return;
    }

    if (attr->len > size) {
        memset((char*)(uintptr_t)attr->data + size, 0, attr->len - size);
    }
    memcpy((void*)(uintptr_t)attr->data, buf,
           (attr->len < size) ? attr->len : size);
    attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
}

void drv_attr_out_handle(const struct drv_cmd *cmd, uint16_t id,
                         uint64_t handle)
{
    struct ib_uverbs_attr *attr = drv_attr(cmd, id);

    if (attr != NULL) {
        attr->data   = handle;
        attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    }
}

int64_t drv_attr_handle(const struct drv_cmd *cmd, uint16_t id)
{
    const struct ib_uverbs_attr *attr = drv_attr(cmd, id);

    return ((attr == NULL) || (attr->data > UINT32_MAX)) ?
           -1 : (int64_t)attr->data;
}

int drv_attr_no_object(const struct drv_cmd *cmd, uint16_t id)
{
    return (drv_attr(cmd, id) == NULL) ? -EINVAL : -ENOENT;
}
