/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The directory of a fabric: the data of each device that all others may see.
 * It is plain memory; in production it lies in a file that all processes map,
 * in tests in one calloc. Everything in it is written with atomics and without
 * a lock, so a process that dies at any point leaves nothing locked.
 *
 * A "NIC" is a device of a host; its number counts over the whole fabric.
 * An "owner" names one attachment, a NIC that a process has open: generation
 * << 16 | slot + 1. Every claimed entry carries its owner, so that dir_purge()
 * can take back all of them. 0 means free.
 */
#ifndef EFASIM_ENGINE_DIR_H
#define EFASIM_ENGINE_DIR_H

#include "limits.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Raise it with every change of the layout below, or of the lock. Fabrics of
 * different layouts have different folders and leave each other alone. */
#define DIR_LAYOUT 18
#define DIR_MAGIC  (0x53414645ull | ((uint64_t)DIR_LAYOUT << 32)) /* "EFAS" */

/* Counters of a device, and their names as `efasim stat` spells them: those of
 * the driver. UNRESPONSIVE: requests that ended with status 13 or 15. RETRANS_:
 * packets (SRD) sent again, their payload, and the times that a request's were,
 * after a time-out. IMPAIRED: devices that ceased to be reached. */
#define DIR_PORT_LIST(_) \
    _(TX_PKTS, "tx_pkts") \
    _(TX_BYTES, "tx_bytes") \
    _(RX_PKTS, "rx_pkts") \
    _(RX_BYTES, "rx_bytes") \
    _(RDMA_READ_WRS, "rdma_read_wrs") \
    _(RDMA_READ_BYTES, "rdma_read_bytes") \
    _(RDMA_READ_RESP_BYTES, "rdma_read_resp_bytes") \
    _(RDMA_READ_WR_ERR, "rdma_read_wr_err") \
    _(RDMA_WRITE_WRS, "rdma_write_wrs") \
    _(RDMA_WRITE_BYTES, "rdma_write_bytes") \
    _(RDMA_WRITE_RECV_BYTES, "rdma_write_recv_bytes") \
    _(RDMA_WRITE_WR_ERR, "rdma_write_wr_err") \
    _(SEND_WRS, "send_wrs") \
    _(SEND_BYTES, "send_bytes") \
    _(RECV_WRS, "recv_wrs") \
    _(RECV_BYTES, "recv_bytes") \
    _(UNRESPONSIVE, "unresponsive_remote_events") \
    _(RETRANS_PKTS, "retrans_pkts") \
    _(RETRANS_BYTES, "retrans_bytes") \
    _(RETRANS_TIMEOUTS, "retrans_timeout_events") \
    _(IMPAIRED, "impaired_remote_conn_events") \
    _(RX_DROPS, "rx_drops")

/* Likewise, of the emulated device alone */
#define DIR_OWN_LIST(_) \
    _(RNR, "rnr")                 /* receiver-not-ready answers sent */ \
    _(CQ_OVERRUNS, "cq_overruns") /* completions for a full queue */ \
    _(LOST, "lost_pkts")          /* datagrams that went nowhere */ \
    _(DUPLICATED, "duplicated_pkts") /* datagrams sent twice on purpose */ \
    _(DOORBELLS, "doorbells")     /* looks that found requests announced */

/* Counters of commands, which the driver has in the device's own hw_counters.
 * NO_COMPLETION_CMDS, KEEP_ALIVE_RCVD and MMAP_ERR stay 0 here. */
#define DIR_DRIVER_LIST(_) \
    _(SUBMITTED_CMDS, "submitted_cmds") \
    _(COMPLETED_CMDS, "completed_cmds") \
    _(CMDS_ERR, "cmds_err") \
    _(NO_COMPLETION_CMDS, "no_completion_cmds") \
    _(KEEP_ALIVE_RCVD, "keep_alive_rcvd") \
    _(ALLOC_PD_ERR, "alloc_pd_err") \
    _(CREATE_QP_ERR, "create_qp_err") \
    _(CREATE_CQ_ERR, "create_cq_err") \
    _(REG_MR_ERR, "reg_mr_err") \
    _(CREATE_AH_ERR, "create_ah_err") \
    _(ALLOC_UCONTEXT_ERR, "alloc_ucontext_err") \
    _(MMAP_ERR, "mmap_err")

#define DIR_NUMBER(_number, _name) DIR_##_number,
#define DIR_NAME(_number, _name)   _name,

enum dir_counter {
    DIR_PORT_LIST(DIR_NUMBER)
    DIR_OWN_LIST(DIR_NUMBER)
    DIR_COUNTERS,
    DIR_PORT_COUNTERS = DIR_RNR
};

enum dir_driver_counter {
    DIR_DRIVER_LIST(DIR_NUMBER)
    DIR_DRIVER_COUNTERS
};

extern const char *const dir_counter_names[DIR_COUNTERS];
extern const char *const dir_driver_counter_names[DIR_DRIVER_COUNTERS];

enum dir_slot_state {
    DIR_SLOT_FREE,
    DIR_SLOT_BUSY, /* being set up or taken down, under the fabric's lock */
    DIR_SLOT_LIVE,
};

struct dir_qp {
    _Atomic uint32_t owner;
    _Atomic uint32_t state; /* enum sim_qp_state */
    _Atomic uint32_t pd;
    _Atomic uint32_t qkey;
    _Atomic uint32_t gen;   /* counts the QPs that had this number */
};

/* Counters of a QP, for `efasim stat`. Its owner alone writes them, at each
 * message; they lie apart from fields that senders read at each message. */
struct dir_qp_count {
    _Atomic uint64_t sent, sent_bytes;         /* requests without error */
    _Atomic uint64_t received, received_bytes; /* likewise */
    _Atomic uint64_t errors;                   /* completions with one */
} __attribute__((aligned(64)));

struct dir_mr {
    _Atomic uint32_t owner;
    _Atomic uint32_t key;    /* 0 while not valid; else index | gen << 18 */
    uint64_t         iova;   /* address that work requests name */
    uint64_t         addr;   /* where that is in the owner's memory */
    uint64_t         length;
    uint32_t         access; /* SIM_ACCESS_ */
    uint32_t         pages;  /* counted in dir_nic */
    uint16_t         pd;
    uint8_t          gen;    /* 1 ... 63 */
};

/* State of the thread that serves a process while it makes no calls. A packet
 * for the process wakes the thread, unless it is awake. */
enum {
    DIR_AWAKE,
    DIR_ASLEEP, /* what its own process posts wakes it, too */
    DIR_NAPS,
};

/* A word in the memory of a program, of which nobody else's has this value; 0:
 * there is none. */
struct dir_mark {
    uint64_t at, value;
};

struct dir_slot {
    _Atomic uint32_t state;
    _Atomic uint32_t owner;
    _Atomic uint32_t gen;    /* of the next owner; never goes back */
    int32_t          pid;
    uint64_t         start_time;
    uint64_t         pid_ns;    /* of the number `pid` */
    struct dir_mark  mark;      /* of a device's program */
    uint32_t         nic;       /* without a device: the first of its host */
    uint32_t         is_device; /* 0: only keeps the fabric alive */
    uint32_t         home;      /* the process sleeps on that slot's `wake` */

    /* Senders with packets for this process: bit n = slot n. Answers set no
     * bit: a process that waits for some polls. */
    _Atomic uint64_t inbound[SIM_SLOTS / 64] __attribute__((aligned(64)));

    _Atomic uint32_t sleeping __attribute__((aligned(64))); /* DIR_AWAKE ... */
    _Atomic uint32_t wake;   /* futex word */

    /* per PD: bit n % 64 of word n / 64 = handle for NIC n */
    _Atomic uint64_t ah[SIM_MAX_PD][SIM_NICS / 64];

    /* Counters of this attachment, written by it alone; dir_purge() adds them
     * to its NIC's. Payload by the NIC that sent it. */
    _Atomic uint64_t counter[DIR_COUNTERS] __attribute__((aligned(64)));
    _Atomic uint64_t bytes_from[SIM_NICS];
} __attribute__((aligned(64)));

struct dir_nic {
    /* of attachments that are gone, and others' counts about us: to be read by
     * dir_counter() and dir_pair() */
    _Atomic uint64_t counter[DIR_COUNTERS];
    _Atomic uint64_t driver[DIR_DRIVER_COUNTERS];
    _Atomic uint64_t pair_bytes[SIM_NICS];  /* payload from here to there */
    _Atomic uint32_t up;                    /* a device was attached once */
    _Atomic uint32_t mr_hint;
    _Atomic uint32_t mr_high;               /* entries ever used */
    _Atomic uint64_t mr_pages;              /* of all that are registered */
    struct dir_qp    qp[SIM_MAX_QP];
    struct dir_qp_count qp_count[SIM_MAX_QP];
} __attribute__((aligned(64)));

struct dir_host {
    _Atomic uint64_t ipc_ns;  /* inode of the namespace, or 0 */
    _Atomic uint32_t profile; /* of its devices, see profile.h; 0: default */
    _Atomic uint32_t devices; /* how many it has; 0: it is not up */
};

struct dir {
    uint64_t         magic;
    uint64_t         size;   /* layout check between builds */
    uint32_t         id;     /* distinguishes fabrics, part of every GID */
    uint32_t         next_slot;
    uint64_t         epoch;  /* ns of the monotonic clock: it was made */
    _Atomic uint64_t user_ns; /* inode of the fabric's user namespace, or 0 */
    _Atomic uint32_t closed; /* 1: being removed, attach nothing more */
    struct dir_slot  slot[SIM_SLOTS];
    struct dir_host  host[SIM_HOSTS];
    struct dir_nic   nic[SIM_NICS];
    struct dir_mr    mr[SIM_NICS][SIM_MAX_MR]; /* last: sparse */
};

/* Bytes of the directory that are in use from the start: all but the MRs. */
#define DIR_FIXED_BYTES  offsetof(struct dir, mr)

static inline unsigned dir_nic_of(unsigned host, unsigned device)
{
    return host * SIM_DEVICES + device;
}

static inline unsigned dir_nic_host(unsigned nic)
{
    return nic / SIM_DEVICES;
}

static inline unsigned dir_nic_device(unsigned nic)
{
    return nic % SIM_DEVICES;
}

/* The word of a PD's handles that a NIC's bit is in, and the bit. */
static inline _Atomic uint64_t *
dir_ah_word(struct dir *dir, unsigned slot, unsigned pd, unsigned nic)
{
    return &dir->slot[slot].ah[pd][nic / 64];
}

static inline uint64_t dir_ah_bit(unsigned nic)
{
    return 1ull << (nic % 64);
}

static inline uint32_t dir_owner(uint32_t slot, uint32_t gen)
{
    return (gen << 16) | (slot + 1);
}

static inline uint32_t dir_owner_slot(uint32_t owner)
{
    return (owner & 0xffff) - 1;
}

/* Add to a counter of any NIC. A device counts its own work in its own slot
 * (dir_own_count), which costs less. */
static inline void dir_count(struct dir *dir, unsigned nic,
                             enum dir_counter counter, uint64_t n)
{
    atomic_fetch_add_explicit(&dir->nic[nic].counter[counter], n,
                              memory_order_relaxed);
}

/* Add to a counter that only the caller writes. */
static inline void dir_own_count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter,
                          atomic_load_explicit(counter,
                                               memory_order_relaxed) + n,
                          memory_order_relaxed);
}

/* A counter of a NIC. */
uint64_t dir_counter(const struct dir *dir, unsigned nic,
                     enum dir_counter counter);

/* Payload that went from one NIC to another. */
uint64_t dir_pair(const struct dir *dir, unsigned from, unsigned to);

/* The GID of a NIC: fe80::, the fabric's id, the NIC's number + 1. */
void dir_gid(const struct dir *dir, unsigned nic, uint8_t gid[16]);

/* The NIC that has this GID in this fabric, or -1. */
int dir_gid_nic(const struct dir *dir, const uint8_t gid[16]);

/* Claim the lowest free QPN (0 ... SIM_MAX_QP - 1) of a NIC; -1: none. */
int dir_qp_claim(struct dir *dir, unsigned nic, uint32_t owner,
                 unsigned first);

void dir_qp_release(struct dir *dir, unsigned nic, unsigned qpn);

/* Claim an MR index of a NIC, low ones first, for `pages` of the `most` that
 * all may have; -1: none. The entry's generation has been raised and its key is
 * 0. */
int dir_mr_claim(struct dir *dir, unsigned nic, uint32_t owner, uint32_t pages,
                 uint64_t most);

void dir_mr_release(struct dir *dir, unsigned nic, unsigned index);

/* Take back everything that `owner` holds on `nic`. Idempotent; run by the
 * process itself when it detaches, by others when it has died. */
void dir_purge(struct dir *dir, unsigned nic, uint32_t owner);

#endif
