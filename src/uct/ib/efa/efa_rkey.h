/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_RKEY_H_
#define EFA_RKEY_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ucp_hooks/host.h>

/*
 * Remote keys. The key of memory with one registration is the device's. Memory
 * in segments has a key for each of them: they stand in a table, which a peer
 * reads from its owner (by RDMA) when it needs one of them for the first time.
 */

#define EFA_OVERLAP  ((size_t)32 << 20) /* of neighbours; no RDMA is longer */
#define EFA_KEYS_MAX 250                /* so that a table is 1 kB */

/* No table, and no RDMA: puts that are right would be refused. (The key is one
 * for reads, which older modules take.) */
#define EFA_RKEY_MESSAGES 1u

/* A packed key. Numbers are little endian, as x86-64 and Arm store them. */
typedef struct efa_rkey_wire {
    uint32_t key;       /* of the memory, or of its first segment */
    uint32_t table_key; /* or EFA_RKEY_MESSAGES, without a table */
    uint64_t table;     /* 0: one registration */
} efa_rkey_wire_t;

/* The table. Segment i has the bytes [start + i * stride, start + (i + 1) *
 * stride + EFA_OVERLAP), as far as they belong to the memory. */
typedef struct efa_keys {
    uint64_t start;
    uint64_t stride;
    uint64_t count; /* of keys, 1 to EFA_KEYS_MAX */
    uint32_t keys[EFA_KEYS_MAX];
} efa_keys_t;

/* An unpacked key of memory in segments. One thread uses it at a time; UCP
 * releases it in any. */
typedef struct efa_rkey {
    efa_rkey_wire_t wire;
    efa_keys_t     *keys; /* NULL: not read yet; malloc'ed */
    unsigned        uses; /* UCX's, and reads of the table under way; atomic */
} efa_rkey_t;

/* No address has this bit, no key of a device either. */
#define EFA_RKEY_SEGMENTS ((uct_rkey_t)1 << 63)

/* NULL: it is the device's. */
static inline efa_rkey_t *efa_rkey_segments(uct_rkey_t rkey)
{
    return ((rkey & EFA_RKEY_SEGMENTS) && (rkey != UCT_INVALID_RKEY)) ?
                   (efa_rkey_t*)(rkey & ~EFA_RKEY_SEGMENTS) :
                   NULL;
}

/* The device's key for an RDMA at this address; no address is wrong here, as
 * the peer's device judges it. */
static inline uint32_t efa_keys_at(const efa_keys_t *keys, uint64_t address)
{
    uint64_t i = (address - keys->start) / keys->stride;

    return keys->keys[(i < keys->count) ? i : keys->count - 1];
}

/* Whether a table that a peer sent can be used at all. */
static inline int efa_keys_are_valid(const efa_keys_t *keys)
{
    return (keys->stride > 0) && (keys->count > 0) &&
           (keys->count <= EFA_KEYS_MAX);
}

/* One use less; with the last it is freed. */
void efa_rkey_drop(efa_rkey_t *rkey);

/* Entry points of the component; contracts in ucp_hooks/provider.h. */
ucs_status_t efa_rkey_unpack(ucx_host_t *host, const void *buffer,
                             uct_rkey_t *rkey_p, void **handle_p);
ucs_status_t
efa_rkey_release(ucx_host_t *host, uct_rkey_t rkey, void *handle);

#endif
