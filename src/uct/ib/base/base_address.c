/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of UCT: ours, and whether a peer's can be reached. */
#include "base_address.h"

/* Peers of another version of packets or keys are refused when they connect,
 * not when their hello is dropped. */
_Static_assert((BASE_ADDR_VERSION == 2) && (FLOW_VERSION == 1),
               "BASE_ADDR_VERSION moves with FLOW_VERSION and efa_rkey_wire_t");

ucs_status_t
base_address_get_device(uct_iface_h tl_iface, uct_device_addr_t *addr)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    base_address_device_pack(addr, base_iface_md(iface)->device->gid.raw);
    return UCS_OK;
}

ucs_status_t
base_address_get_iface(uct_iface_h tl_iface, uct_iface_addr_t *addr)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    base_address_iface_pack(addr, iface->qpn, iface->qkey, iface->incarnation);
    return UCS_OK;
}

/* UCP asks only about peers that have a transport of this name. Says once, to a
 * user who asked for the transport, why they do not go together. */
static void
base_address_report_foreign(base_iface_t *iface, const void *dev_addr)
{
    const base_device_addr_t *addr = dev_addr;
    const char               *name = iface->transport->name;
    static int                said;

    if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        return;
    }
    if (memcmp(addr->magic, BASE_ADDR_MAGIC, sizeof(addr->magic)) != 0) {
        host_report_absent(iface->super.host, name,
                           "a peer is unreachable over %s: it uses another "
                           "%s (UCX's own); start the peer with this module, "
                           "too (srdrun in front, and UCX_EFA_CLAIM not n)",
                           name, name);
    } else {
        host_report_absent(iface->super.host, name,
                           "a peer is unreachable over %s: it speaks version "
                           "%d of the wire protocol, this side %d; update the "
                           "module %s",
                           name, addr->version, BASE_ADDR_VERSION,
                           (addr->version > BASE_ADDR_VERSION) ?
                                   "on this side" : "on the peer's side");
    }
}

/* Whether an interface's address was given, and its contents. */
static int base_address_is_given(const uct_iface_addr_t *addr, uint32_t *qpn,
                                 uint32_t *qkey, uint64_t *incarnation)
{
    if (addr == NULL) {
        return 0;
    }
    base_address_iface_unpack(addr, qpn, qkey, incarnation);
    return 1;
}

int base_address_is_reachable(uct_iface_h tl_iface,
                              const uct_device_addr_t *dev_addr,
                              const uct_iface_addr_t *iface_addr)
{
    uint64_t incarnation;
    uint32_t qpn, qkey;

    if (!base_address_device_is_ours(dev_addr)) {
        base_address_report_foreign((base_iface_t*)tl_iface, dev_addr);
        return 0;
    }
    return !base_address_is_given(iface_addr, &qpn, &qkey, &incarnation) ||
           ((incarnation != 0) && (qkey != 0) && (qkey < 0x80000000u));
}

int base_address_is_connected(uct_ep_h tl_ep, const uct_device_addr_t *dev_addr,
                              const uct_iface_addr_t *iface_addr)
{
    base_ep_t                *ep     = (base_ep_t*)tl_ep;
    const base_device_addr_t *device = (const void*)dev_addr;
    uint64_t                  incarnation;
    uint32_t                  qpn, qkey;

    return base_address_device_is_ours(dev_addr) &&
           (memcmp(device->gid, ep->ah->link.gid, sizeof(device->gid)) == 0) &&
           (!base_address_is_given(iface_addr, &qpn, &qkey, &incarnation) ||
            ((qpn == ep->dest.remote_qpn) && (qkey == ep->dest.remote_qkey)));
}
