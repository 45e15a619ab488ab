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

/* Requests that can be made to fail */
#define SIM_INJECT_LIST(_) \
    _(SEND, "send") \
    _(READ, "read") \
    _(RECV, "recv") \
    _(POST, "post") /* the verbs call that posts; its status is an errno */ \
    _(WRITE, "write")

/* Limits that a device may keep lower than it reports; 0: as it reports. */
#define SIM_ACCEPT_LIST(_) \
    _(SEND_QUEUE, "send-queue") \
    _(RECEIVE_QUEUE, "receive-queue") \
    _(SEND_SGE, "send-sge") \
    _(RECEIVE_SGE, "receive-sge") \
    _(INLINE, "inline") \
    _(MESSAGE, "message")           /* bytes */ \
    _(READ, "read")                 /* bytes */ \
    _(HANDLES, "handles") \
    _(QUEUE_PAIRS, "queue-pairs") \
    _(REGISTRATION, "registration") /* bytes */ \
    _(BATCH, "batch")               /* requests that one call posts */

/* Cases whose completion status no public source settles for all devices. */
#define SIM_ANSWER_LIST(_) \
    _(DEAD, "dead")       /* no such QP there */ \
    _(ABSENT, "absent")   /* no such host */ \
    _(RNR, "rnr")         /* not ready after all tries */ \
    _(UNKNOWN, "unknown") /* RDMA without a handle there; OK: served */ \
    _(KEY, "key")         /* a remote key or address */ \
    _(LONG, "long")       /* longer than the receive buffer */ \
    _(HANDLE, "handle")   /* posted with a handle that is gone */ \
    _(OVERRUN, "overrun") /* came, and the completion queue had overrun */

/* Operations whose last byte can be in place some us after the completion. */
#define SIM_LATE_LIST(_) \
    _(SEND, "send") \
    _(READ, "read") \
    _(WRITE, "write")

#define SIM_INJECT_NUMBER(_number, _name) SIM_INJECT_##_number,
#define SIM_ACCEPT_NUMBER(_number, _name) SIM_ACCEPT_##_number,
#define SIM_ANSWER_NUMBER(_number, _name) SIM_ANSWER_##_number,
#define SIM_LATE_NUMBER(_number, _name)   SIM_LATE_##_number,

enum sim_inject_op { SIM_INJECT_LIST(SIM_INJECT_NUMBER) SIM_INJECT_OPS };
enum sim_accept { SIM_ACCEPT_LIST(SIM_ACCEPT_NUMBER) SIM_ACCEPTS };
enum sim_answer { SIM_ANSWER_LIST(SIM_ANSWER_NUMBER) SIM_ANSWERS };
enum sim_late_op { SIM_LATE_LIST(SIM_LATE_NUMBER) SIM_LATE_OPS };

enum { SIM_ANSWER_USUAL = 255 };

/* A field of the row's name for each knob (knobs.def). A field that a knob sets
 * alone has 8 bytes, a list of named numbers 8 for each name. */
struct sim_knobs {
#define SIM_FIELD_UINT(_field)        uint64_t _field;
#define SIM_FIELD_PROBABILITY(_field) double _field;
#define SIM_FIELD_FLAG(_field)        uint64_t _field;
#define SIM_FIELD_ERRNO(_field)       uint64_t _field;
#define SIM_FIELD_DEVICE(_field)      uint64_t _field; /* profile.h */
#define SIM_FIELD_ACCEPT(_field)      uint64_t _field[SIM_ACCEPTS];
#define SIM_FIELD_ANSWER(_field)      uint64_t _field[SIM_ANSWERS];
#define SIM_FIELD_LATE(_field)        uint64_t _field[SIM_LATE_OPS];
#define SIM_FIELD_INJECT(_field) \
    unsigned _field##_num; \
    struct sim_inject _field[SIM_INJECT_MAX];
#define SIM_FIELD_FAIL(_field) \
    unsigned _field##_num; \
    struct sim_fail _field[SIM_FAIL_MAX];
#define KNOB(_group, _scope, _name, _field, _type, ...) \
    SIM_FIELD_##_type(_field)
#include "knobs.def"
#undef KNOB
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

/* Parts of the help (cli/rows.c has their titles). */
enum sim_knob_group {
    SIM_GROUP_HOST,
    SIM_GROUP_NETWORK,
    SIM_GROUP_NETWORK_MORE,
    SIM_GROUP_DEVICE,
    SIM_GROUP_FAULTS,
    SIM_GROUP_NO_EFA, /* faults that no EFA has; the self-test notices them */
    SIM_GROUPS
};

struct sim_knob {
    const char          *name;   /* as the option: "timeout-ms" */
    enum sim_knob_type   type;
    size_t               offset; /* in struct sim_knobs */
    uint64_t             min, max;
    uint64_t             usual;  /* default; of a probability 0 */
    const char          *arg;
    const char          *help;
    enum sim_knob_scope  scope;
    enum sim_knob_group  group;
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
