/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file that an interface records into, and that srd_replay reads
 * (docs/RECORD.md). All numbers are little endian.
 *
 * A head of one page, then segments of one size, a ring. A segment begins with
 * the core's state at its first call (flow/image.h), so it can be replayed
 * without those before it. Behind that stand the calls. `used` counts the bytes
 * of whole calls: a process that is killed leaves its calls. While a segment is
 * begun its sequence number is 0.
 *
 * A call is its kind in a byte, then arguments and answers as record_schema
 * says. A number is in groups of 7 bits, the lowest first, bit 7 where more
 * follow. Times and sources are differences to the one before in the segment,
 * with the sign in bit 0. The caller's names, pointers, are differences, too,
 * plus 1: there 0 is none.
 */
#ifndef RECORD_FORMAT_H_
#define RECORD_FORMAT_H_

#include <flow/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECORD_MAGIC    0x00636572647273ull /* "srdrec" */
#define RECORD_PAGE     4096
#define RECORD_SEGMENTS 4
#define RECORD_CALL_MAX 1024      /* bytes of any call */
#define RECORD_SIZE     (64u << 20)
#define RECORD_SIZE_MIN (4u << 20)
#define RECORD_SIZE_MAX (1ull << 40)
#define RECORD_STATE_EVERY 256    /* calls from one RECORD_STATE to the next */
#define RECORD_LATE_MAX 1000000   /* ns without a time, where nothing happens */

enum { RECORD_VERSION = 3 };

/* Texts end with 0. */
typedef struct record_names {
    char     release[32];  /* of this module */
    char     machine[16];  /* as uname has it */
    char     host[64];
    char     program[32];
    char     rank[16];     /* in a job; may be empty */
    char     device[32];
    char     transport[8];
    uint64_t started;      /* seconds since 1970 */
    uint32_t pid;
    uint32_t qpn;
} record_names_t;

typedef struct record_head {
    uint64_t       magic;
    uint32_t       version;
    uint32_t       segments;
    uint64_t       segment_size; /* bytes: a multiple of RECORD_PAGE */
    uint64_t       layout;       /* flow_image_layout */
    record_names_t names;
} record_head_t;

typedef struct record_segment {
    uint64_t sequence;   /* 1 ..; 0: it has nothing */
    uint64_t used;       /* bytes of the segment, this included */
    uint64_t first_call; /* number of its first call, 1 .. */
    uint64_t image_size; /* bytes of the parts, which follow */
    uint32_t parts;
    uint32_t ops;        /* then so many record_op_t */
    uint64_t closed;     /* the interface was closed at its end */
    uint64_t reserved[2];
} record_segment_t;

/* An operation that the core has linked. */
typedef struct record_op {
    uint64_t id;
    uint32_t place, tx; /* flow_image_put */
    uint32_t sent;
    uint16_t psn;
    uint8_t  flags, linked;
} record_op_t;

/* A replay's stand-in for an operation of the caller. */
typedef struct record_replayed_op {
    flow_op_t op;
    uint64_t  id;
} record_replayed_op_t;

/* NAME, what is called; arguments, a blank, answers:
 *   t flow   p peer   n number   c word of 8 bytes   T time
 *   h buffer   o operation   H buffers, their number first   s flow_src_t
 *   b bytes, their number first   A address   l length of the packet before
 */
#define RECORD_CALLS(_X) \
    _X(STATE,          "state",          " c")       /* trace hash */ \
    _X(TX_OPEN,        "tx_open",        "Ac nt")    /* flow_status_t */ \
    _X(TX_CLOSE,       "tx_close",       "t ")       \
    _X(TX_READY,       "tx_ready",       "t n")      \
    _X(TX_COMMIT,      "tx_commit",      "tb b")     /* posted; right */ \
    _X(TX_DONE,        "tx_done",        "tn ")      /* number */ \
    _X(TX_RNR,         "tx_rnr",         "otnT ")    \
    _X(TX_REPOST_NEXT, "tx_repost_next", "T on")     /* failed */ \
    _X(TX_REPOST_RETURN, "tx_repost_return", "o ")   \
    _X(TX_FAIL,        "tx_fail",        "tn ")      /* flow_send_status_t */ \
    _X(TX_PING,        "tx_ping",        "t ")       \
    _X(TX_PAUSE,       "tx_pause",       "tn ")      \
    _X(TX_RESUME,      "tx_resume",      "tn ")      \
    _X(TX_PASS_ONE,    "tx_pass_one",    "t ")       \
    _X(TX_RMA_READY,   "tx_rma_ready",   "t n")      \
    _X(RESEND_COMMIT,  "resend_commit",  "tob b")    \
    _X(RESEND_SENT,    "resend_sent",    "otnnn ")   /* psn, flags, failed */ \
    _X(RESEND_RELEASE, "resend_release_next", " on") \
    _X(RESEND_HEADER,  "resend_header",  "otb b")    \
    _X(RX_ACCEPT,      "rx_accept",      "blhs nn")  \
    _X(RX_ACCEPT_HELD, "rx_accept_held", "blhs nn")  \
    _X(RX_SHORT,       "rx_short",       "blhs nn") \
    _X(RX_RUN,         "rx_run",         "nn H")     \
    _X(RX_DROP,        "rx_drop",        "n ")       \
    _X(CTL_NEXT,       "ctl_next",       "T npcb")   /* found */ \
    _X(CTL_UNSENT,     "ctl_unsent",     "c ")       \
    _X(CTL_DONE,       "ctl_done",       "cnT ")     \
    _X(EVENT_NEXT,     "event_next",     " nnntcph") /* found, type, why */ \
    _X(EVENT_PEER_NEXT, "event_peer_next", " nnntcph") \
    _X(TIMER_NOW,      "timer_now",      "T ")       \
    _X(TIMER_RUN,      "timer_run",      "T ")       \
    _X(RX_POSTED,      "rx_posted",      "n ")       \
    _X(RX_BACKLOG,     "rx_backlog",     "n ")       \
    _X(PEER_COOKIE,    "peer_cookie",    "pc ")      \
    _X(PEER_AH,        "peer_ah",        "pnn ")     \
    _X(PEER_LOST,      "peer_lost",      "p ")       \
    _X(PEER_DEAD,      "peer_dead",      "p ")       \
    _X(PEER_AGE,       "peer_age",       "nn ")      \
    _X(POOL_GROW,      "pool_grow",      "n ")       /* flow_pool_t */ \
    _X(TX_CHECK,       "tx_check",       "t ")

typedef enum record_kind {
    RECORD_NONE,
#define RECORD_KIND(_kind, _name, _fields) RECORD_##_kind,
    RECORD_CALLS(RECORD_KIND)
#undef RECORD_KIND
    RECORD_KINDS
} record_kind_t;

/* A packet that was received. */
static inline int record_kind_is_packet(record_kind_t kind)
{
    return (kind == RECORD_RX_ACCEPT) || (kind == RECORD_RX_ACCEPT_HELD) ||
           (kind == RECORD_RX_SHORT);
}

#define RECORD_HANDLES_MAX 64

/* One call, taken apart. Numbers and byte strings in the order of the schema,
 * those of arguments and answers alike. */
typedef struct record_call {
    record_kind_t  kind;
    unsigned       numbers;
    uint64_t       number[6];
    uint64_t       word[2];   /* c */
    uint32_t       tx, peer;  /* flow_image_tx, flow_image_peer; 0 none */
    uint32_t       length;    /* l */
    flow_time_t    time;
    uint64_t       op;        /* 0 none */
    uint64_t       handle[RECORD_HANDLES_MAX];
    unsigned       handles;
    flow_addr_t    addr;
    struct {
        const uint8_t *at;
        size_t         length;
    } bytes[2];
} record_call_t;

/* The values to which the next ones in a segment are differences; zeros where
 * it begins. */
typedef struct record_base {
    uint64_t time, handle, op, src;
} record_base_t;

/* The name of a call, RECORD_NONE < kind < RECORD_KINDS, and its schema. */
const char *record_format_name(record_kind_t kind);
const char *record_format_fields(record_kind_t kind);

/*
 * Take apart the call at *at; nothing is assumed of the bytes before end. 1:
 * *at is behind it, and *base is what it is then. 0: no call is there.
 */
int record_format_read(const uint8_t **at, const uint8_t *end,
                       record_base_t *base, record_call_t *call);

/* Bytes of a packet that are kept: those that the core looks at. */
static inline size_t record_format_packet(const void *packet, size_t length)
{
    size_t kept = FLOW_CTL_MAX;

    if ((length > 0) && !(flow_wire_first(packet) & FLOW_WIRE_CTL)) {
        kept = flow_wire_word_len(flow_wire_first(packet));
    }
    return (length < kept) ? length : kept;
}

/*
 * Writes the contents of a packet of `length` bytes as text: kind, numbers,
 * payload's length, in the words of docs/PROTOCOL.md. Trusts nothing in it, and
 * looks only at its headers and at control packets. `line` has `size` bytes, at
 * least 1.
 */
void record_packet_text(char *line, size_t size, const void *packet,
                        size_t length);

#ifdef __cplusplus
}
#endif

#endif
