/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of a device. One knob is a command line option of
 * `efasim run` and an environment variable: --timeout-ms is
 * EFASIM_TIMEOUT_MS. The environment belongs to one process, so a knob can be
 * set for one process only.
 */
#ifndef EFASIM_ENGINE_KNOBS_H
#define EFASIM_ENGINE_KNOBS_H

#include <stddef.h>
#include <stdint.h>

enum {
    SIM_INJECT_MAX = 16,
    SIM_FAIL_MAX   = 16,
};

enum sim_inject_op {
    SIM_INJECT_SEND,
    SIM_INJECT_READ,
    SIM_INJECT_RECV,
    SIM_INJECT_POST, /* the verbs call that posts; `status` is its errno */
    SIM_INJECT_WRITE,
    SIM_INJECT_OPS
};

struct sim_inject {
    uint8_t  op;      /* enum sim_inject_op */
    uint8_t  status;
    double   chance;  /* 0: by count; else each request, with this chance */
    uint64_t count;   /* requests still to be hit */
    uint64_t skip;    /* requests to let pass first */
};

/* A command (system call) of the device that is to fail */
struct sim_fail {
    char     name[24]; /* "reg-mr"; "any" */
    uint64_t number;   /* the how many-th of that name; counts down */
    int      error;
};

/* Limits that a device may keep lower than it reports; 0: as it reports. */
enum sim_accept {
    SIM_ACCEPT_SEND_QUEUE,
    SIM_ACCEPT_RECEIVE_QUEUE,
    SIM_ACCEPT_SEND_SGE,
    SIM_ACCEPT_RECEIVE_SGE,
    SIM_ACCEPT_INLINE,
    SIM_ACCEPT_MESSAGE,      /* bytes */
    SIM_ACCEPT_READ,         /* bytes */
    SIM_ACCEPT_HANDLES,
    SIM_ACCEPT_QUEUE_PAIRS,
    SIM_ACCEPT_REGISTRATION, /* bytes */
    SIM_ACCEPT_BATCH,        /* requests that one call posts */
    SIM_ACCEPTS
};

/* Cases whose completion status no public source settles for all devices. */
enum sim_answer {
    SIM_ANSWER_DEAD,    /* no such QP there */
    SIM_ANSWER_ABSENT,  /* no such host */
    SIM_ANSWER_RNR,     /* not ready after all tries */
    SIM_ANSWER_UNKNOWN, /* RDMA of a requester without a handle; OK: served */
    SIM_ANSWER_KEY,     /* a remote key or address */
    SIM_ANSWER_LONG,    /* longer than the receive buffer */
    SIM_ANSWER_HANDLE,  /* posted with a handle that is gone */
    SIM_ANSWER_OVERRUN, /* came, and the completion queue had overrun */
    SIM_ANSWERS
};

/* Operations whose last byte can be in place some us after the completion. */
enum sim_late_op {
    SIM_LATE_SEND,
    SIM_LATE_READ,
    SIM_LATE_WRITE,
    SIM_LATE_OPS
};

enum { SIM_ANSWER_USUAL = 255 };

/* Every field that a knob sets alone has 8 bytes, a list of named numbers 8 for
 * each name. */
struct sim_knobs {
    uint64_t seed;
    double   reorder;      /* probability, 0 ... 1 */
    double   loss;         /* of datagrams */
    double   duplicate;    /* of datagrams */
    uint64_t timeout_ms;   /* until statuses 13 and 15 */
    uint64_t rnr_us;       /* between two tries at a receiver not ready */
    uint64_t delay_us;     /* added to every request */
    uint64_t jitter_us;    /* at most, added to every request */
    uint64_t rate_mbps;    /* of the device's link, megabits/s; 0: endless */
    uint64_t ud_rate_mbps; /* of datagrams from a device to another; likewise */
    uint64_t ud_buffer;    /* bytes that wait for that rate; the others are
                              lost; 0: any */
    uint64_t ud_mtu;       /* bytes of a datagram, at most */
    uint64_t strict_batch; /* 0: a doorbell may announce too many */
    uint64_t strict_ah;    /* 0: an address handle ends with its last user */
    uint64_t cq_divide;    /* a CQ has so many times fewer entries than asked */
    uint64_t max_cqe;      /* that the device reports and gives */
    uint64_t max_rdma;     /* bytes of an RDMA request */
    uint64_t comp_vectors; /* interrupts for completion queues */
    uint64_t sub_cqs;      /* rings of a CQ; 0: as the generation has */
    uint64_t ic_id;        /* of all interconnects of a registration; 0: none */
    uint64_t receive_us;   /* a receiver takes a packet in that time */
    uint64_t rnr_retry;    /* of a QP that does not say */
    uint64_t max_ah;
    uint64_t qkey_status;  /* answer to a wrong QKEY; 0: none (time-out) */
    uint64_t killed_status; /* what is under way to a process that dies ends so:
                              8 or 9; 13: its host dies with it */
    uint64_t eager;        /* 1: the device works whatever the program does */
    uint64_t memlock_root; /* 1: RLIMIT_MEMLOCK holds for root too */
    uint64_t refuse_open;  /* errno that opening the device gives; 0: none */
    uint64_t no_rdma_read; /* 1: a device without RDMA */
    uint64_t device;       /* see profile.h; 0: what the host has */
    uint64_t devices;      /* number of the host's; 0: what it has */
    uint64_t gpus;         /* number of the host's GPUs */
    uint64_t dmabuf;       /* 0: a kernel that registers no dma-bufs */
    uint64_t peer_memory;  /* 1: GPU memory can be registered by address */
    uint64_t srd_loss;     /* each N-th message to a QP; its sender is told
                              that all is well; 0: none */
    uint64_t srd_duplicate; /* each N-th of a QP arrives twice; 0: none */
    uint64_t reorder_reach; /* later packets that overtake one, at most */
    uint64_t rnr_endless;  /* tries that "without end" stands for; 0: right */
    uint64_t ud_prefix;    /* bytes that stay free before a datagram */
    uint64_t reuse_qpn;    /* 0: numbers of destroyed QPs are reused last */
    uint64_t share_ah;     /* 0: an address handle serves its first QP alone */
    uint64_t copy_on_fork; /* 0: the kernel does not copy pinned pages */
    uint64_t port_gbps;    /* that the driver tells of the port */
    uint64_t reg_us;       /* that a registration takes longer */
    uint64_t post_us;      /* CPU time that a post takes longer */
    uint64_t accept[SIM_ACCEPTS];
    uint64_t answer[SIM_ANSWERS]; /* SIM_ANSWER_USUAL: the usual one */
    uint64_t late[SIM_LATE_OPS];  /* us; 0: in place before the completion */
    unsigned inject_num;
    struct sim_inject inject[SIM_INJECT_MAX];
    unsigned fail_num;
    struct sim_fail fail[SIM_FAIL_MAX];
};

enum sim_knob_type {
    SIM_KNOB_UINT,
    SIM_KNOB_PROBABILITY,
    SIM_KNOB_FLAG,     /* options --NAME and --no-NAME; 1, 0 in environment */
    SIM_KNOB_INJECT,
    SIM_KNOB_FAIL,
    SIM_KNOB_ERRNO,    /* flag on the command line (EACCES), or a name */
    SIM_KNOB_DEVICE,   /* name of a profile */
    SIM_KNOB_ACCEPT,   /* NAME:N,... */
    SIM_KNOB_ANSWER,
    SIM_KNOB_LATE,
};

enum sim_knob_scope {
    SIM_SCOPE_ANY,     /* may change at any time */
    SIM_SCOPE_PROCESS, /* the engine does not know it: no plan changes it */
    SIM_SCOPE_OPEN,    /* fixed when the device is opened */
    SIM_SCOPE_HOST,    /* of the host: all its programs share it */
};

struct sim_knob {
    const char        *name;  /* as the option: "timeout-ms" */
    enum sim_knob_type type;
    size_t             offset; /* in struct sim_knobs */
    uint64_t           min, max;
    const char        *arg;   /* for the help text */
    const char        *help; /* lines; of a flag that is set by default, what
                                --no-NAME does */
    enum sim_knob_scope scope;
};

/* Names of the commands that can be made to fail; ends with NULL. */
extern const char *const sim_command_names[];

/* Bytes of the field that the knob sets; 0: of none alone (inject, fail). */
size_t sim_knob_size(const struct sim_knob *knob);

/* The status of the answer in such a case: `usual` unless a knob is set. */
static inline uint8_t sim_answer(const struct sim_knobs *knobs,
                                 enum sim_answer answer, uint8_t usual)
{
    return (knobs->answer[answer] == SIM_ANSWER_USUAL) ?
           usual : (uint8_t)knobs->answer[answer];
}

/* Whether a device accepts `wanted`, a number within its reported limit. */
static inline int sim_accepts(const struct sim_knobs *knobs,
                              enum sim_accept accept, uint64_t wanted)
{
    return (knobs->accept[accept] == 0) || (wanted <= knobs->accept[accept]);
}

/* The table; ends with a NULL name. */
extern const struct sim_knob sim_knob_table[];

void sim_knobs_init(struct sim_knobs *knobs);

/* The knob of this name, or NULL. Dash and underscore are the same, upper
 * and lower case too. */
const struct sim_knob *sim_knob_find(const char *name);

/* The option by which a user leaves the default: "--timeout-ms MS", "--eager",
 * or, of a flag that is set by default, "--no-dmabuf". */
void sim_knob_option(const struct sim_knob *knob, char *text, size_t size);

/* The environment variable of a knob: timeout-ms is EFASIM_TIMEOUT_MS. */
void sim_knob_variable(const struct sim_knob *knob, char *name, size_t size);

/*
 * Set one knob from text. Returns 0; or -1 with one line in `err` that names
 * the knob (as `label`, e.g. "EFASIM_REORDER"), the value and what is
 * allowed; then the knob is unchanged.
 */
int sim_knob_set(struct sim_knobs *knobs, const struct sim_knob *knob,
                 const char *label, const char *value, char *err,
                 size_t err_size);

#endif
