/* SPDX-License-Identifier: BSD-3-Clause */
#include "self.h"
#include "result.h"

#include <errno.h>
#include <string.h>

int st_self_open(st_self_t *self, st_t *st, st_result_t *result,
                 const st_qp_params_t *params)
{
    int err = st_qp_open(&self->qp, st->device, st->pd, params);

    self->st = st;
    if (err == 0) {
        errno         = 0;
        self->dest.ah = st_qp_ah_open(st->device, st->pd, st->device->gid.raw);
        if (self->dest.ah != NULL) {
            self->dest.qpn  = self->qp.qp->qp_num;
            self->dest.qkey = (params->qkey != 0) ? params->qkey : ST_QKEY;
            return 0;
        }
        err = (errno != 0) ? errno : EIO;
        st_qp_close(&self->qp);
    }
    st_result_not_asked(result, "no queue pair with a handle: %s",
                        strerror(err));
    return -1;
}

void st_self_close(st_self_t *self)
{
    st_qp_close(&self->qp);
    self->st->device->verbs->destroy_ah(self->dest.ah);
}
