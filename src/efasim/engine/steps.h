/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a request, from the doorbell to its completion. The word behind
 * sim_ in a function's name is that of its file.
 */
#ifndef EFASIM_ENGINE_STEPS_H
#define EFASIM_ENGINE_STEPS_H

#include "objects.h"

/* Take the work requests that the doorbell announces. Returns how many. */
unsigned sim_tx_fetch(struct sim_qp *qp);

/* Check a request that was just taken from the queue. EFA_STATUS_OK, and
 * op->length and op->nic are set; or the status that it completes with. */
uint8_t sim_check(struct sim_op *op);

/* No packet goes between us and this NIC, for now. */
int sim_path_is_unreachable(const struct sim_dev *dev, unsigned nic);

/* Nonzero: a packet that is sent to this NIC now is lost. */
int sim_path_is_partitioned(const struct sim_dev *dev, unsigned nic);

/* When the request leaves, by the knobs of delay, rate and loss: that of SRD
 * leaves as late as the tries that are lost take. */
uint64_t sim_path_due(struct sim_op *op);

/* The request has had no answer since its time-out began: the device sends its
 * first packet again, after twice as long each time. */
void sim_path_repeat(struct sim_op *op);

/* It was taken from the queue: let it leave, after its delay. */
void sim_send_start(struct sim_op *op);

/* Its delay is over: send it, or let others overtake it first. */
void sim_send_depart(struct sim_op *op);

/* Send, or begin the RDMA operation. A request for which there is no room waits
 * for sim_send_unblock(). */
void sim_send(struct sim_op *op);

/* Send the requests that wait for room in the ring to this peer, as many as
 * fit. */
void sim_send_unblock(struct sim_peer *peer);

/* Copy at most SIM_RDMA_CHUNK bytes, and send what waited for a way to its
 * receiver's host. Returns the number of things done. */
unsigned sim_rdma_step(struct sim_dev *dev);

/* Take this peer's answers to our packets. Returns how many. */
unsigned sim_rx_answers(struct sim_dev *dev, struct sim_peer *peer);

/* Take at most SIM_RX_BURST packets from this peer. Returns how many. */
unsigned sim_rx_packets(struct sim_dev *dev, struct sim_peer *peer);

/* Take answers and packets of all peers that may have some. Returns the number
 * of things done. */
unsigned sim_poll_run(struct sim_dev *dev);

/* 1: some peer has sent something that was not taken yet. */
int sim_poll_has_packets(const struct sim_dev *dev);

/* Time out requests that it has not answered, and see whether it is alive. */
void sim_poll_check(struct sim_dev *dev, struct sim_peer *peer);

/* Do the work that is due at dev->now. Returns the number of things done. */
unsigned sim_timer_run(struct sim_dev *dev);

/* Let go held requests and completions that enough others have overtaken.
 * Returns how many. */
unsigned sim_timer_overtaken(struct sim_dev *dev);

/* The write, whose bytes are at `near`, was placed in the owner's memory. */
void sim_again_add(const struct sim_op *op, uint32_t owner,
                   const struct sim_near *near);

/* Places those that are due. Returns their number. */
unsigned sim_again_run(struct sim_dev *dev);

/* Complete it with this status, now or after others. */
void sim_complete(struct sim_op *op, uint8_t status);

/* The same for what the peer's device answered, when the answer has come. */
void sim_complete_answered(struct sim_op *op, uint8_t status);

/* Complete it with op->status, now. */
void sim_complete_now(struct sim_op *op);

/* The completion of a work request, beside that of a struct sim_op. */
void sim_complete_cqe(struct sim_qp *qp, const struct io_tx_meta *meta,
                      uint8_t status);

/* A datagram is lost, and its sender is not told: it completes with success. */
void sim_fail_lost(struct sim_op *op);

/* No answer came in time. */
void sim_fail_time_out(struct sim_op *op);

/* The receiver's process has died. Its NIC, if it lives, has aborted the
 * operation that it had begun, and finds no QP for the others. */
void sim_fail_peer_died(struct sim_op *op);

/* The status for a QPN that nobody has: its NIC tells, unless it went with its
 * last process. */
uint8_t sim_fail_no_qp(const struct sim_op *op);

/* Complete a request that cannot be sent; EFA_STATUS_REMOTE_UNREACHED, which
 * only silence tells, after the time-out. */
void sim_fail_reject(struct sim_op *op, uint8_t status);

/* Whether the last byte of such an operation is to come late. */
static inline int sim_late_is_on(const struct sim_dev *dev,
                                 enum sim_late_op op)
{
    return __builtin_expect(dev->knobs.late[op] != 0, 0) &&
           (dev->late_num < SIM_LATE_MAX);
}

/* Keeps it; sim_late_is_on() said yes. */
void sim_late_add(struct sim_dev *dev, enum sim_late_op op,
                  const struct sim_late *late);

/* Places the bytes that are due. Returns their number. */
unsigned sim_late_run(struct sim_dev *dev);

/* Places all, as their memory goes. */
void sim_late_flush(struct sim_dev *dev);

enum { SIM_PEER_CHECK_NS = 50000000 }; /* between two looks if one is alive */

/* Its bit among those of its 64 slots. */
static inline uint64_t sim_peer_bit(const struct sim_peer *peer)
{
    return 1ull << (peer->slot % 64);
}

/* The peer in this slot of the directory; NULL: out of memory. */
struct sim_peer *sim_peer_get(struct sim_dev *dev, uint32_t slot);

/* Have a ring to this process, which holds the peer's slot. 0 or -1. */
int sim_peer_tx_open(struct sim_dev *dev, struct sim_peer *peer,
                     uint32_t owner);

/* Unmap that ring; what is under way on it has failed. */
void sim_peer_tx_close(struct sim_dev *dev, struct sim_peer *peer);

/* A packet was sent to the process in this slot: tell it. */
void sim_peer_signal(struct sim_dev *dev, uint32_t slot);

/* This peer will answer: look at its ring at each call from now on. */
void sim_peer_await(struct sim_dev *dev, const struct sim_peer *peer);

#endif
