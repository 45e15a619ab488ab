/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library may tell less of the queues than all (a completion queue of two
 * rings, another layout in a device to come), and nothing would say so:
 * messages would be lost, or be somebody else's. Hence the trial.
 */
#include "efa_direct_test.h"
#include "efa_clock.h"
#include "efa_self.h"

#include <pthread.h>
#include <string.h>

#define TRIAL_DEPTH  64
#define TRIAL_BATCH  16
#define TRIAL_ROUNDS 3 /* of the rings */
#define TRIAL_SIZE   256 /* bytes of a message at most */
#define TRIAL_SLOT   512
#define TRIAL_QKEY   1
/* Time of our own on a CPU that a batch has, ns: a busy machine takes the CPU
 * away for longer, and libefa would then serve as long as the interface
 * lives */
#define TRIAL_TIME 500000000

typedef struct trial_slot {
    efa_send_wr_t send;
    efa_recv_wr_t recv;
    efa_sge_t     pieces[2];
    uint8_t      *out, *in; /* of TRIAL_SLOT bytes */
    unsigned      length;
    unsigned      is_sent, is_received; /* of this batch */
} trial_slot_t;

typedef struct trial {
    efa_self_t   self;
    void        *users[TRIAL_DEPTH];
    trial_slot_t slots[TRIAL_DEPTH];
    unsigned     posted; /* messages, ever */
} trial_t;

/* Byte `at` of message `number`; its first two are the slot that sent it. */
static uint8_t trial_byte(unsigned number, unsigned at)
{
    return (uint8_t)(number * 37 + at * 11 + (number >> 6));
}

static const char *trial_open(trial_t *trial, efa_md_t *md)
{
    const efa_qp_params_t params = {
        .kind       = EFA_QP_SRD,
        .tx_depth   = TRIAL_DEPTH,
        .rx_depth   = TRIAL_DEPTH,
        .qkey       = TRIAL_QKEY,
        .inline_max = 32,
        .is_trial   = 1,
        .direct     = 1
    };
    const efa_direct_users_t users = {trial->users, TRIAL_DEPTH};

    if (efa_self_open(&trial->self, md, &params,
                      2 * TRIAL_DEPTH * TRIAL_SLOT) != UCS_OK) {
        return "there was no queue pair to try it on";
    }
    if (!trial->self.qp.is_direct) {
        return trial->self.qp.why_not;
    }
    efa_queue_users(&trial->self.qp, &users, &users);
    return NULL;
}

static void trial_init_slot(trial_t *trial, unsigned id)
{
    trial_slot_t *slot   = &trial->slots[id];
    uint32_t      lkey   = trial->self.memory->mr->lkey;
    uint8_t      *memory = trial->self.memory->memory;

    trial->users[id]      = slot;
    slot->out             = memory + id * TRIAL_SLOT;
    slot->in              = memory + (TRIAL_DEPTH + id) * TRIAL_SLOT;
    slot->recv.sge.addr   = (uintptr_t)slot->in;
    slot->recv.sge.length = TRIAL_SLOT;
    slot->recv.sge.lkey   = lkey;
    slot->pieces[0].lkey  = lkey;
    slot->pieces[1].lkey  = lkey;
    efa_send_wr_init(&slot->send, slot, id);
    efa_recv_wr_init(&slot->recv, slot, id);
}

/* One message: inside the request, of one piece, of two. */
static void trial_send(trial_t *trial, unsigned number)
{
    efa_qp_t     *qp      = &trial->self.qp;
    unsigned      id      = number % TRIAL_DEPTH, i;
    trial_slot_t *slot    = &trial->slots[id];
    int           inlined = (number % 3 == 0) && (qp->inline_size >= 32);
    int           count   = ((number % 3 == 2) &&
                             (qp->md->device->max_sq_sge >= 2)) ? 2 : 1;

    slot->length = inlined ? 2 + number % 31 : 2 + number % (TRIAL_SIZE - 1);
    slot->out[0] = id;
    slot->out[1] = number;
    for (i = 2; i < slot->length; ++i) {
        slot->out[i] = trial_byte(number, i);
    }
    slot->pieces[0].addr   = (uintptr_t)slot->out;
    slot->pieces[0].length = (count == 2) ? slot->length / 2 : slot->length;
    slot->pieces[1].addr   = (uintptr_t)slot->out + slot->length / 2;
    slot->pieces[1].length = slot->length - slot->length / 2;
    efa_send_wr_set(&slot->send, slot->pieces, count, inlined);
    (void)efa_post_send(qp, &slot->send, &trial->self.dest);
}

/* Posts a batch, receives first. */
static void trial_post(trial_t *trial)
{
    trial_slot_t  *slot;
    efa_recv_wr_t *chain = NULL, *bad;
    unsigned       i;

    for (i = 0; i < TRIAL_BATCH; ++i) {
        slot              = &trial->slots[(trial->posted + i) % TRIAL_DEPTH];
        slot->is_sent     = 0;
        slot->is_received = 0;
        memset(slot->in, 0, TRIAL_SLOT);
        efa_recv_wr_link(&slot->recv, chain);
        chain = &slot->recv;
    }
    (void)efa_post_recv(&trial->self.qp, chain, &bad);
    for (i = 0; i < TRIAL_BATCH; ++i) {
        trial_send(trial, trial->posted + i);
    }
}

/* Is it the message that slot in[0] sent in this batch, all of it, and once? */
static int trial_is_right(trial_t *trial, const uint8_t *in, unsigned length)
{
    unsigned      id = in[0], number, i;
    trial_slot_t *from;

    number = trial->posted + (id - trial->posted) % TRIAL_DEPTH;
    if ((id >= TRIAL_DEPTH) || (number >= trial->posted + TRIAL_BATCH)) {
        return 0;
    }
    from = &trial->slots[id];
    if (from->is_received || (length != from->length) ||
        (in[1] != (uint8_t)number)) {
        return 0;
    }
    from->is_received = 1;
    for (i = 2; i < length; ++i) {
        if (in[i] != trial_byte(number, i)) {
            return 0;
        }
    }
    return 1;
}

static const char *trial_received(trial_t *trial, const efa_wc_t *wc)
{
    const trial_slot_t *slot = efa_wc_user(wc);
    uint32_t            qpn  = trial->self.qp.qp->qp_num;

    return (efa_wc_is_ok(wc) && (efa_wc_qpn(wc) == qpn) &&
            trial_is_right(trial, slot->in, efa_wc_length(wc))) ?
                   NULL :
                   "a message to itself did not arrive as it was";
}

static const char *trial_sent(trial_t *trial, const efa_wc_t *wc)
{
    trial_slot_t *slot = efa_wc_user(wc);
    unsigned      id   = slot - trial->slots;

    if (!efa_wc_is_ok(wc)) {
        return "the device refused a message to itself";
    }
    if (slot->is_sent ||
        ((id - trial->posted) % TRIAL_DEPTH >= TRIAL_BATCH)) {
        return "a completion came for nothing that was sent";
    }
    slot->is_sent = 1;
    return NULL;
}

static const char *trial_batch(trial_t *trial)
{
    uint64_t    deadline = efa_clock_own() + TRIAL_TIME;
    unsigned    sent = 0, received = 0;
    const char *why = NULL;
    efa_wc_t    wc;
    int         count;

    trial_post(trial);
    while ((why == NULL) && (sent + received < 2 * TRIAL_BATCH)) {
        if (efa_clock_own() >= deadline) {
            return "messages to itself did not arrive in time";
        }
        count = efa_poll_tx(&trial->self.qp, 1, &wc);
        if (count == 1) {
            ++sent;
            why = trial_sent(trial, &wc);
        }
        if ((count >= 0) && (why == NULL)) {
            count = efa_poll_rx(&trial->self.qp, 1, &wc);
            if (count == 1) {
                ++received;
                why = trial_received(trial, &wc);
            }
        }
        if (count < 0) {
            why = "a completion came for nothing that was posted";
        }
    }
    trial->posted += TRIAL_BATCH;
    return why;
}

/* The queues may be deeper than asked for. */
static unsigned trial_messages(const trial_t *trial)
{
    const efa_direct_t *direct = &trial->self.qp.direct;
    unsigned            depth  = direct->rq.end - direct->rq.ring, other;

    other = (direct->tx.end - direct->tx.ring) / direct->tx.size;
    depth = (other > depth) ? other : depth;
    other = (direct->sq.end - direct->sq.ring) / EFA_IO_WR_SIZE;
    depth = (other > depth) ? other : depth;
    return TRIAL_ROUNDS * depth;
}

static const char *trial_run(efa_md_t *md)
{
    const char *why;
    trial_t     trial;
    unsigned    i;

    memset(&trial, 0, sizeof(trial));
    why = trial_open(&trial, md);
    for (i = 0; (why == NULL) && (i < TRIAL_DEPTH); ++i) {
        trial_init_slot(&trial, i);
    }
    while ((why == NULL) && (trial.posted < trial_messages(&trial))) {
        why = trial_batch(&trial);
    }
    efa_self_close(&trial.self, md);
    return why;
}

/* A kind of device on which this process's trial succeeded. The queues that it
 * tried are this library's of this kind, not of one device. */
typedef struct trial_kind {
    unsigned part, caps, max_sq_wr, max_rq_wr, max_cqe, inline_size;
} trial_kind_t;

static trial_kind_t trial_kind(const efa_device_t *device)
{
    trial_kind_t kind = {device->part,      device->caps,
                         device->max_sq_wr, device->max_rq_wr,
                         device->max_cqe,   device->inline_size};

    return kind;
}

/* Hosts have up to 32 devices, of one kind. Under the lock. */
static const char *trial_run_once(efa_md_t *md)
{
    static trial_kind_t good;
    static int          is_good;
    trial_kind_t        kind = trial_kind(md->device);
    const char         *why;

    if (is_good && (memcmp(&kind, &good, sizeof(kind)) == 0)) {
        return NULL;
    }
    why = trial_run(md);
    if (why == NULL) {
        good    = kind;
        is_good = 1;
    }
    return why;
}

const char *efa_direct_why_not(efa_md_t *md)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (!md->direct_tried) {
        md->direct_why_not = efa_direct_unfit(md->device);
        if (md->direct_why_not == NULL) {
            md->direct_why_not = trial_run_once(md);
        }
        md->direct_tried   = 1;
        host_debug(md->super.host, "%s: direct data path: %s%s",
                   md->device->name,
                   (md->direct_why_not == NULL) ? "it works" : "not used: ",
                   (md->direct_why_not == NULL) ? "" : md->direct_why_not);
    }
    pthread_mutex_unlock(&lock);
    return md->direct_why_not;
}
