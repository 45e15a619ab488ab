/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Estimates that UCP compares transports and protocols by: what a byte costs it
 * knows (bandwidth, and a rate of copying), what an operation costs is said
 * here. Chosen by the CPU of both ends where many messages are under way, and
 * by the time of one alone on a network (bench/run.sh --only network,cpu): 32
 * kB are better copied by both; 64 kB that are read take three quarters of the
 * CPU and twice the time.
 *
 * LATENCY. Transports are compared by the time of one message: 8 us, so that
 * shared memory comes first within a host, srd before ud. Protocols are another
 * matter: UCP adds up the latencies of all packets of a message, as if nothing
 * else were under way, and a rendezvous has more of them. By 8 us each copying
 * would be better up to 250 kB. Programs that care have many messages under
 * way, and then each pays a part: that of one among SRD_IN_FLIGHT.
 * Tried and rejected: all of it (64 KB cost twice the CPU, as UCP copied); the
 * part for transports, too (UCP from 1.16 on puts srd before cma then).
 *
 * RMA. A rendezvous is two messages, a read, and requests for all three. UCP
 * knows a part of that; the rest, and half its latency, are said as what comes
 * after a read or write. That is CPU, of which UCP takes the largest and no
 * latency when a program says that many messages are under way (MULTI_SEND, as
 * MPI_Isend does): 16 kB are copied then, too, by half the CPU and half the
 * time of reading. UCP adds this up for the devices that it reads by, so each
 * has a part.
 *
 * PROCESSES. UCP divides a rate that is shared by the processes of this host,
 * whose number MPI tells it. With two of them the network was the slowest part
 * of everything, and nothing else was compared: a message was read from 1.4 MB
 * on, one among many from 2 kB. An operation has the whole rate instead.
 * Transports keep theirs, that within a host memory comes first; where it does
 * not come alone, with two to four processes, half of a large message goes over
 * the device, a third before. (The old protocols know no other: with 1.13
 * messages are read from 147 kB on then.)
 *
 * SENDER'S MEMORY. A program that wants it back at once (FAST_CMPL, as MPI_Send
 * does) waits two latencies where the message is sent from there. UCP counts
 * for that what its bytes take, and for a copied message nothing: it is told
 * that they take a little longer than the copy. A stream's 128 kB cost 13 %
 * more CPU by that.
 *
 * COPYING. UCP takes the rate of copying from a table by the processor's maker,
 * or from UCX_BCOPY_BW, and weighs a rendezvous against the copies that it
 * saves. The network is the same for all, so a rendezvous is said to cost more
 * by as much as those copies do, at the lengths where UCP changes over. Its
 * thresholds then stay where they are at the rate of most processors, and no
 * message of one packet is read at any rate. Where copying is said to be fast,
 * the thresholds are left to rise.
 */
#include "srd.h"

#include <uct/ib/base/base_iface.h>

#define SRD_NS            1e-9
#define SRD_FIRST_PART    0xefa0
#define SRD_LATENCY_FIRST 12000 /* ns, of the first generation */
#define SRD_LATENCY       8000  /* ns, of later ones: EFA-FACTS */
#define SRD_IN_FLIGHT     9
#define SRD_RNDV          1500  /* ns, of all devices together: RMA above */
#define SRD_RECEIVE       100   /* ns, with reposting */
#define SRD_ASKING_MINOR  16    /* UCX from 1.16 on asks for each operation */

/* Seconds of copying a byte at UCX's rate for most processors, in its new
 * protocols and in its old ones. */
#define SRD_COPY          (1 / (7000.0 * 1048576))
#define SRD_COPY_OLD      (1 / (5800.0 * 1048576))
#define SRD_CHANGE_OVER   42000.0 /* bytes: between the new ones' thresholds */
#define SRD_CHANGE_MANY   20000.0 /* and of those where many are under way */
#define SRD_ZCOPY         0.95    /* of the rate of copying */
#define SRD_LATENCY_MOST  1.3     /* times that of a message alone */
#define SRD_PERF_DIFF     0.99    /* the old ones': UCX_RNDV_PERF_DIFF of 1 % */

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

static double srd_smaller(double a, double b)
{
    return (a < b) ? a : b;
}

static double srd_larger(double a, double b)
{
    return (a > b) ? a : b;
}

/* Seconds that copying @length bytes takes longer than at the rate of most. */
static double srd_estimate_copy(const base_iface_t *iface, double length)
{
    return length * srd_larger(1 / ucx_copy_rate(iface->super.host) - SRD_COPY,
                               0);
}

/*
 * Seconds that a rendezvous saves for each byte, as the old protocols see it,
 * where copying a byte takes @copy seconds: the copy, or if that is longer
 * sending the byte in packets, less the time of reading it. Above 0.
 */
static double srd_estimate_saves(const base_iface_t *iface, double copy)
{
    double send   = 1 / base_iface_md(iface)->device->bandwidth;
    double packet = (srd_estimates[UCX_OP_AM_ZCOPY].post +
                     srd_estimates[UCX_OP_AM_ZCOPY].complete) * SRD_NS;

    return srd_larger(copy, send + packet / iface->max_payload) -
           SRD_PERF_DIFF * send;
}

void srd_estimate(uct_iface_h tl_iface, ucx_op_t op, ucx_estimate_t *estimate)
{
    const base_iface_t *iface = (const base_iface_t*)tl_iface;
    int                 rma   = op >= UCX_OP_PUT_SHORT;

    estimate->post     = srd_estimates[op].post * SRD_NS;
    estimate->complete = srd_estimates[op].complete * SRD_NS;
    estimate->receive  = SRD_RECEIVE * SRD_NS;
    estimate->latency  = srd_estimate_alone(tl_iface) / SRD_IN_FLIGHT;
    estimate->rate     = base_iface_md(iface)->device->bandwidth;
    if (rma) {
        estimate->complete += SRD_RNDV * SRD_NS / ucx_rails();
        estimate->latency   /= 2;
    } else if (op == UCX_OP_AM_ZCOPY) {
        estimate->rate = srd_smaller(estimate->rate, SRD_ZCOPY * ucx_copy_rate(
                                     iface->super.host));
    }
    if (!ucx_has_new_protocols(iface->super.host)) {
        return;
    }
    /* A part is said as CPU, which counts also where many messages are under
     * way; the rest as latency, of which a rendezvous has two more */
    estimate->latency += srd_estimate_copy(
            iface, (SRD_CHANGE_OVER - SRD_CHANGE_MANY) / 2);
    if (rma) {
        estimate->complete += srd_estimate_copy(iface, SRD_CHANGE_MANY) /
                              ucx_rails();
    }
}

void srd_estimate_query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    const base_iface_t *iface = (const base_iface_t*)tl_iface;
    const ucx_host_t *host    = iface->super.host;
    double            most;

    attr->overhead  = srd_estimates[UCX_OP_AM_SHORT].post * SRD_NS;
    attr->latency.c = srd_estimate_alone(tl_iface);
    if (host->minor < SRD_ASKING_MINOR) {
        attr->latency.c /= SRD_IN_FLIGHT; /* it has no other */
    }
    if (!ucx_has_new_protocols(host)) {
        /* Their threshold is in proportion to latency, which must not come near
         * that of ud */
        attr->latency.c *= srd_estimate_saves(iface, 1 / ucx_copy_rate(host)) /
                           srd_estimate_saves(iface, SRD_COPY_OLD);
        most             = SRD_LATENCY_MOST * srd_estimate_alone(tl_iface);
        attr->latency.c  = (attr->latency.c < most) ? attr->latency.c : most;
    }
}
