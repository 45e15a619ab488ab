/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_SPEED_H_
#define EFA_SPEED_H_

#include "efa_verbs.h"

/*
 * Bits per second of a port, from the codes of a lane's speed and of the number
 * of lanes (IBA; struct ibv_port_attr). A code that is newer than this file is
 * taken for that of the fastest one here.
 */
double efa_speed_of_codes(unsigned speed, unsigned width);

/*
 * Bits per second of an open device's port: as the driver says
 * (ibv_query_port_speed, rdma-core 62), else by the codes in `attr`, which
 * ibv_query_port filled.
 */
double efa_speed_of_port(const efa_verbs_t *verbs, struct ibv_context *context,
                         uint8_t port, const struct ibv_port_attr *attr);

#endif
