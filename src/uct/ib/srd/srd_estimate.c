/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Estimates that UCP compares transports and protocols by: what a byte costs it
 * knows (bandwidth, and a rate of copying), what an operation costs is said
 * here. Chosen so that UCP changes its protocol where the CPU that both ends
 * spend is least (docs/BENCH.md, "Where UCP changes its protocol").
 *
 * LATENCY. Transports are compared by the time of one message: 8 us, so that
 * shared memory comes first within a host, srd before ud. Protocols are another
 * matter: UCP adds up the latencies of all packets of a message, as if nothing
 * else were under way, and a rendezvous has two more of them. By 8 us each
 * copying would be better up to 250 kB. Programs that care have many messages
 * under way, and then each pays a part: that of one among SRD_IN_FLIGHT.
 * Tried and rejected: all of it (64 KB cost twice the CPU, as UCP copied); the
 * part for transports, too (UCP from 1.16 on puts srd before cma then).
 *
 * RMA. A rendezvous is two messages, a read, and requests for all three: 2 us
 * more of CPU, at both ends together, than a message of one packet. UCP knows
 * half of that; the other half is said as what comes after a read or write.
 */
#include "srd.h"

#include <uct/ib/base/base_iface.h>

#define SRD_NS            1e-9
#define SRD_FIRST_PART    0xefa0
#define SRD_LATENCY_FIRST 12000 /* ns, of the first generation */
#define SRD_LATENCY       8000  /* ns, of later ones: EFA-FACTS */
#define SRD_IN_FLIGHT     16
#define SRD_RECEIVE       100   /* ns, with reposting */
#define SRD_NEW_PROTOCOLS 16    /* UCX 1.16 asks for estimates by default */

/* CPU of the sender, in ns. Memory of the user's has to be waited for, which
 * bytes that were copied have not. */
static const struct {
    short post, complete;
} srd_estimates[UCX_OP_LAST] = {
    [UCX_OP_AM_SHORT]  = {60, 0},
    [UCX_OP_AM_BCOPY]  = {70, 0},
    [UCX_OP_AM_ZCOPY]  = {110, 110},
    [UCX_OP_PUT_SHORT] = {60, 700},
    [UCX_OP_PUT_BCOPY] = {70, 700},
    [UCX_OP_PUT_ZCOPY] = {80, 770},
    [UCX_OP_GET_SHORT] = {80, 750},
    [UCX_OP_GET_BCOPY] = {80, 750},
    [UCX_OP_GET_ZCOPY] = {80, 820},
};

/* Seconds, of a message alone. */
static double srd_estimate_alone(uct_iface_h tl_iface)
{
    const base_iface_t *iface = (const base_iface_t*)tl_iface;

    return ((base_iface_md(iface)->device->part == SRD_FIRST_PART) ?
                    SRD_LATENCY_FIRST :
                    SRD_LATENCY) * SRD_NS;
}

void srd_estimate(uct_iface_h tl_iface, ucx_op_t op, ucx_estimate_t *estimate)
{
    estimate->post     = srd_estimates[op].post * SRD_NS;
    estimate->complete = srd_estimates[op].complete * SRD_NS;
    estimate->receive  = SRD_RECEIVE * SRD_NS;
    estimate->latency  = srd_estimate_alone(tl_iface) / SRD_IN_FLIGHT;
}

void srd_estimate_query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    const base_iface_t *iface = (const base_iface_t*)tl_iface;

    attr->overhead  = srd_estimates[UCX_OP_AM_SHORT].post * SRD_NS;
    attr->latency.c = srd_estimate_alone(tl_iface);
    if (iface->super.host->minor < SRD_NEW_PROTOCOLS) {
        attr->latency.c /= SRD_IN_FLIGHT; /* it has no other */
    }
}
