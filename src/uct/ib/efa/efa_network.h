/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's counters of its network: SRD repeats lost packets beneath us,
 * and tells of it there alone (EFA-FACTS: counters). They are of all programs,
 * since the driver was loaded.
 */
#ifndef EFA_NETWORK_H_
#define EFA_NETWORK_H_

#include <stddef.h>
#include <stdint.h>

#define EFA_NETWORK_COUNTERS(X) \
    X(PACKETS, "retrans_pkts", NULL) X(BYTES, "retrans_bytes", NULL) \
    X(TIMEOUTS, "retrans_timeout_events", "time-outs") \
    X(IMPAIRED, "impaired_remote_conn_events", "impaired connections") \
    X(SILENT, "unresponsive_remote_events", "peers that did not respond")

enum {
#define EFA_NETWORK_NUMBER(_name, _file, _event) EFA_NETWORK_##_name,
    EFA_NETWORK_COUNTERS(EFA_NETWORK_NUMBER)
    EFA_NETWORK_COUNT
};

typedef struct efa_network {
    uint64_t value[EFA_NETWORK_COUNT];
} efa_network_t;

enum {
    EFA_NETWORK_TEXT = 256
};

/* The names of the counters' files, and words for those of events. */
extern const char *const efa_network_names[EFA_NETWORK_COUNT];
extern const char *const efa_network_events[EFA_NETWORK_COUNT];

/* A file of one number. 0; or -1: it is not there, or holds none. */
int efa_network_number(const char *path, uint64_t *value);

/* Those of a device. 0; or -1: its driver is older than they are. */
int efa_network_read(const char *device, efa_network_t *network);

/* "the network retransmitted 5 packets (500 bytes), with 3 time-outs", and what
 * else there is; "the network retransmitted no packet". */
void efa_network_describe(const efa_network_t *network,
                          char text[EFA_NETWORK_TEXT]);

#endif
