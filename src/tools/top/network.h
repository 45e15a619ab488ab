/* SPDX-License-Identifier: BSD-3-Clause */
/* How much the networks of this host's EFAs retransmit, by the kernel. */
#ifndef TOP_NETWORK_H_
#define TOP_NETWORK_H_

#include <command/json.h>
#include <uct/ib/efa/efa_device.h>
#include <uct/ib/efa/efa_network.h>

typedef struct network_device {
    char          name[EFA_DEVICE_NAME_MAX];
    efa_network_t total; /* since the driver was loaded */
    efa_network_t grown; /* between the last two readings */
} network_device_t;

enum {
    NETWORK_DEVICES = 64,
    NETWORK_LINES   = 4 /* of devices that retransmit, and one more */
};

/* The devices whose driver tells; zeros before the first reading. */
typedef struct network {
    network_device_t list[NETWORK_DEVICES];
    unsigned         count;
    uint64_t         when;    /* of the last reading, CLOCK_MONOTONIC, ns */
    double           seconds; /* since the one before */
} network_t;

/* Reads them again. */
void network_read(network_t *network);

/* Prints a line of each device whose network retransmits now, or one of them
 * all. Returns the number of lines. */
unsigned network_show(const network_t *network);

/* Writes an array "devices" into the JSON object that is open. */
void network_json(json_t *json, const network_t *network);

#endif
