/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ADDRESS_H_
#define BASE_ADDRESS_H_

#include <stdint.h>
#include <string.h>

#include "base_types.h"

/*
 * Addresses that UCP carries to peers (DESIGN.md decision 7). Bytes only, so
 * that they may lie anywhere; numbers little endian, as x86-64 and Arm store
 * them.
 *
 * Device: 3 B magic, 1 B version of addresses, packets and keys, 16 B GID.
 * Interface: 3 B QPN, 1 B reserved (0), 4 B QKEY, 8 B incarnation.
 */
#define BASE_ADDR_MAGIC   "eFa"
#define BASE_ADDR_VERSION 2

typedef struct base_device_addr {
    uint8_t magic[3];
    uint8_t version;
    uint8_t gid[16];
} base_device_addr_t;

typedef struct base_iface_addr {
    uint8_t qpn[3];
    uint8_t reserved;
    uint8_t qkey[4];
    uint8_t incarnation[8];
} base_iface_addr_t;

static inline void base_address_device_pack(void *buffer, const uint8_t *gid)
{
    base_device_addr_t *addr = buffer;

    memcpy(addr->magic, BASE_ADDR_MAGIC, sizeof(addr->magic));
    addr->version = BASE_ADDR_VERSION;
    memcpy(addr->gid, gid, sizeof(addr->gid));
}

/* Whether an address is of our kind and version; nothing beyond its first
 * bytes is read when it is of another kind. */
static inline int base_address_device_is_ours(const void *buffer)
{
    const base_device_addr_t *addr = buffer;

    return (memcmp(addr->magic, BASE_ADDR_MAGIC, sizeof(addr->magic)) == 0) &&
           (addr->version == BASE_ADDR_VERSION);
}

static inline void base_address_iface_pack(void *buffer, uint32_t qpn,
                                           uint32_t qkey, uint64_t incarnation)
{
    base_iface_addr_t *addr = buffer;

    memcpy(addr->qpn, &qpn, sizeof(addr->qpn));
    addr->reserved = 0;
    memcpy(addr->qkey, &qkey, sizeof(addr->qkey));
    memcpy(addr->incarnation, &incarnation, sizeof(addr->incarnation));
}

static inline void base_address_iface_unpack(const void *buffer, uint32_t *qpn,
                                             uint32_t *qkey,
                                             uint64_t *incarnation)
{
    const base_iface_addr_t *addr = buffer;

    *qpn = 0;
    memcpy(qpn, addr->qpn, sizeof(addr->qpn));
    memcpy(qkey, addr->qkey, sizeof(*qkey));
    memcpy(incarnation, addr->incarnation, sizeof(*incarnation));
}

/* iface_get_device_address, iface_get_address, iface_is_reachable,
 * ep_is_connected of UCT. */
ucs_status_t
base_address_get_device(uct_iface_h tl_iface, uct_device_addr_t *addr);
ucs_status_t
base_address_get_iface(uct_iface_h tl_iface, uct_iface_addr_t *addr);
int base_address_is_reachable(uct_iface_h tl_iface,
                              const uct_device_addr_t *dev_addr,
                              const uct_iface_addr_t *iface_addr);
int base_address_is_connected(uct_ep_h tl_ep, const uct_device_addr_t *dev_addr,
                              const uct_iface_addr_t *iface_addr);

#endif
