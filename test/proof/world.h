/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small core of any content, for proofs about single files of it: one record
 * of each kind, and that of index 0, which stands for none. It holds any values
 * that satisfy what the files promise each other (sound_*); functions of other
 * files are stubs which check what they are given and leave any sound content
 * behind. A proof ends by showing that what it is about left sound records, too:
 * so it holds for every sequence of packets.
 *
 * The suite has flow_core_rx and its like call world_get_*, which fail for an
 * index beyond the pools: chunks of records are more than CBMC can bear.
 */
#ifndef TEST_PROOF_WORLD_H_
#define TEST_PROOF_WORLD_H_

#include "proof.h"

#include "flow/state_priv.h"

enum { WORLD_COUNT = 2 };

extern flow_core_t world_core;
extern flow_rx_t   world_rx;   /* of index 1, as the others                */
extern flow_tx_t   world_tx;
extern flow_peer_t world_peer;
extern flow_ring_t world_ring;
extern flow_psn_t  world_slot; /* of the ring, by its number                */
extern int         world_peer_fits; /* as was said last: of a new one      */

/* Is it one of ours, in use? */
int is_rx(const flow_rx_t *rx);
int is_tx(const flow_tx_t *tx);
int is_peer(const flow_peer_t *peer);

/* The core's promises about a record between two calls. */
int sound_rx(const flow_rx_t *rx, uint32_t index);
int sound_tx(const flow_tx_t *tx, uint32_t index);

/* Give the record of index 1 any sound content. */
void any_rx(void);
void any_tx(void);

/* The function of a harness that the suite chose to prove. */
void PROOF_ENTRY(void);

#endif
