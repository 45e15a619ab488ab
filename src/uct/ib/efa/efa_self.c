/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_self.h"

#include <string.h>

ucs_status_t efa_self_open(efa_self_t *self, efa_md_t *md,
                           const efa_qp_params_t *params, size_t size)
{
    ucs_status_t status;

    memset(self, 0, sizeof(*self));
    status = efa_chunk_add(md, &self->memory, size);
    if (status == UCS_OK) {
        status = efa_ah_get(md, md->device->gid.raw,
                            efa_gid_hash(efa_ah_gids(md),
                                         md->device->gid.raw),
                            &self->ah);
    }
    if (status == UCS_OK) {
        status = efa_qp_open(&self->qp, md, params);
    }
    if (status == UCS_OK) {
        self->dest = efa_dest(self->ah->ibah, self->ah->number,
                              self->qp.qp->qp_num, params->qkey);
    }
    return status;
}

void efa_self_close(efa_self_t *self, efa_md_t *md)
{
    if (self->qp.md != NULL) {
        efa_qp_close(&self->qp);
    }
    if (self->ah != NULL) {
        efa_ah_put(md, self->ah);
    }
    efa_chunk_list_free(md, &self->memory);
}
