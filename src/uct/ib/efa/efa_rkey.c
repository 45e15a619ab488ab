/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_rkey.h"

#include <stdlib.h>

_Static_assert(sizeof(efa_keys_t) <= 1024, "a table is read in one piece");

void efa_rkey_drop(efa_rkey_t *rkey)
{
    if (__atomic_sub_fetch(&rkey->uses, 1, __ATOMIC_ACQ_REL) == 0) {
        free(rkey->keys);
        free(rkey);
    }
}

ucs_status_t efa_rkey_unpack(ucx_host_t *host, const void *buffer,
                             uct_rkey_t *rkey_p, void **handle_p)
{
    efa_rkey_t     *rkey;
    efa_rkey_wire_t wire;

    (void)host;
    memcpy(&wire, buffer, sizeof(wire));
    *rkey_p   = wire.key;
    *handle_p = NULL;
    if ((wire.table == 0) && (wire.table_key == EFA_RKEY_MESSAGES)) {
        return UCS_ERR_UNREACHABLE; /* UCP does without the key */
    }
    if (wire.table != 0) {
        rkey = malloc(sizeof(*rkey));
        if (rkey == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        *rkey     = (efa_rkey_t){.wire = wire, .keys = NULL, .uses = 1};
        *rkey_p   = (uintptr_t)rkey | EFA_RKEY_SEGMENTS;
        *handle_p = rkey;
    }
    return UCS_OK;
}

ucs_status_t efa_rkey_release(ucx_host_t *host, uct_rkey_t rkey, void *handle)
{
    (void)host;
    (void)rkey;
    if (handle != NULL) {
        efa_rkey_drop(handle);
    }
    return UCS_OK;
}
