/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_rig.h"

#include "efasim/engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    RIG_PROCS = 16,
    RIG_QPS   = 64,
};

struct rig_proc {
    struct rig       *rig;
    unsigned          index;
    unsigned          nic;
    int               dead;
    int               fatal; /* 1 + enum sim_fatal */
    unsigned          ring_asked;
    struct sim_knobs  knobs;
    struct sim_dev   *dev;
    struct sim_pd    *pd[2];
};

struct rig_cq {
    struct sim_cq   *cq;
    uint8_t         *buf;
    _Atomic uint32_t db;
    uint32_t         depth, subs;
    uint32_t         consumed[2];
};

struct rig_qp {
    struct sim_qp    *qp;
    struct rig_cq     scq, rcq;
    uint8_t          *sq, *rq;
    _Atomic uint32_t  sq_db, rq_db;
    uint32_t          sq_depth, rq_depth;
    uint16_t          sq_pc, rq_pc;
};

struct rig {
    struct dir     *dir;
    struct rig_proc proc[RIG_PROCS];
    unsigned        procs;
    struct ring    *ring[RIG_PROCS][RIG_PROCS];
    uint64_t        now;
    char            log[256], trace[256];
    unsigned        traced;
    struct sim_plan plan;
    struct rig_qp  *qp[RIG_QPS];
};

static uint64_t rig_now(void *env)
{
    return ((struct rig_proc*)env)->rig->now;
}

/* Its positions soon pass the end of their 32 bits. */
static struct ring *rig_ring_map_tx(void *env, uint32_t owner)
{
    struct rig_proc *proc = env;
    struct ring **ring    = &proc->rig->ring[proc->index][dir_owner_slot(owner)];

    if (*ring == NULL) {
        *ring         = calloc(1, sizeof(struct ring));
        (*ring)->head = (*ring)->tail     = -(uint32_t)SIM_RING_BYTES;
        (*ring)->ack_head = (*ring)->ack_tail = -(uint32_t)SIM_RING_ACKS;
    }
    return *ring;
}

static struct ring *rig_ring_map_rx(void *env, uint32_t owner)
{
    struct rig_proc *proc = env;

    ++proc->ring_asked;
    return proc->rig->ring[dir_owner_slot(owner)][proc->index];
}

static void rig_ring_unmap(void *env, struct ring *ring)
{
    (void)env;
    (void)ring; /* the rig keeps them all */
}

static void rig_wake(void *env, unsigned slot)
{
    (void)env;
    (void)slot;
}

static int rig_is_alive(void *env, uint32_t owner)
{
    struct rig *rig = ((struct rig_proc*)env)->rig;
    unsigned slot   = dir_owner_slot(owner);

    if (!rig->proc[slot].dead) {
        return 1;
    }
    dir_purge(rig->dir, rig->proc[slot].nic, owner);
    atomic_store(&rig->dir->slot[slot].owner, 0);
    return 0;
}

static int rig_rdma(void *env, uint32_t owner, enum io_tx_op op,
                    struct sim_near near, uint64_t addr, size_t length)
{
    struct rig *rig   = ((struct rig_proc*)env)->rig;
    const void *local = near.bytes ? near.bytes :
                                     (void*)(uintptr_t)near.addr;

    if (rig->proc[dir_owner_slot(owner)].dead) {
        return -ESRCH;
    }
    if (addr < 4096) {
        return -EFAULT; /* registered, but nothing is mapped there */
    }
    if (op == IO_OP_WRITE) {
        memcpy((void*)(uintptr_t)addr, local, length);
    } else {
        memcpy((void*)(uintptr_t)near.addr, (void*)(uintptr_t)addr, length);
    }
    return 0;
}

static void rig_mem_read(void *env, void *dst, uint64_t addr, size_t length)
{
    (void)env;
    memcpy(dst, (void*)(uintptr_t)addr, length);
}

static void rig_mem_write(void *env, uint64_t addr, const void *src,
                          size_t length)
{
    (void)env;
    memcpy((void*)(uintptr_t)addr, src, length);
}

static void rig_event(void *env, struct sim_cq *cq)
{
    (void)env;
    (void)cq;
}

static void rig_log_line(void *env, const char *line)
{
    struct rig *rig = ((struct rig_proc*)env)->rig;

    strncpy(rig->log, line, sizeof(rig->log) - 1);
}

static void rig_trace_line(void *env, const char *line)
{
    struct rig *rig = ((struct rig_proc*)env)->rig;

    ++rig->traced;
    strncpy(rig->trace, line, sizeof(rig->trace) - 1);
}

static void rig_fatal(void *env, enum sim_fatal what)
{
    struct rig_proc *proc = env;

    proc->fatal = 1 + what;
    proc->dead    |= (what == SIM_FATAL_KILLED);
}

static const struct sim_env_ops rig_ops = {
    .now         = rig_now,
    .ring_map_tx = rig_ring_map_tx,
    .ring_map_rx = rig_ring_map_rx,
    .ring_unmap  = rig_ring_unmap,
    .wake        = rig_wake,
    .is_alive    = rig_is_alive,
    .rdma        = rig_rdma,
    .mem_read    = rig_mem_read,
    .mem_write   = rig_mem_write,
    .event       = rig_event,
    .log         = rig_log_line,
    .trace       = rig_trace_line,
    .fatal       = rig_fatal,
};

static void rig_proc_open(struct rig_proc *proc)
{
    proc->dev = sim_dev_open(proc->rig->dir, proc->index, proc->nic,
                             &rig_ops, proc, &proc->knobs);
    sim_pd_create(proc->dev, &proc->pd[0]);
    sim_pd_create(proc->dev, &proc->pd[1]);
}

struct rig *rig_open(unsigned procs, const unsigned *nodes)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    unsigned i;

    rig->dir     = calloc(1, sizeof(*rig->dir));
    rig->dir->id = 0xabcd;
    rig->procs   = procs;
    rig->now     = 1000000000;
    rig->dir->epoch = rig->now;
    for (i = 0; i < procs; ++i) {
        rig->proc[i].rig   = rig;
        rig->proc[i].index = i;
        rig->proc[i].nic   = dir_nic_of(nodes[i], 0);
        sim_knobs_init(&rig->proc[i].knobs);
        /* it rings for each request, and the device looks seldom */
        rig->proc[i].knobs.strict_batch = 0;
        rig->dir->slot[i].nic       = rig->proc[i].nic;
        rig->dir->slot[i].is_device = 1;
        atomic_store(&rig->dir->slot[i].owner, dir_owner(i, 1));
        rig_proc_open(&rig->proc[i]);
    }

    return rig;
}

void rig_close(struct rig *rig)
{
    unsigned i, j;

    for (i = 0; i < rig->procs; ++i) {
        sim_dev_close(rig->proc[i].dev);
    }
    for (i = 0; (i < RIG_QPS) && (rig->qp[i] != NULL); ++i) {
        free(rig->qp[i]->scq.buf);
        free(rig->qp[i]->rcq.buf);
        free(rig->qp[i]->sq);
        free(rig->qp[i]->rq);
        free(rig->qp[i]);
    }
    for (i = 0; i < RIG_PROCS; ++i) {
        for (j = 0; j < RIG_PROCS; ++j) {
            free(rig->ring[i][j]);
        }
    }
    free(rig->dir);
    free(rig);
}

int rig_knobs(struct rig *rig, unsigned proc, const char *text)
{
    struct rig_proc *p = &rig->proc[proc];
    char copy[256], err[320], *save, *word, *value;

    strncpy(copy, text, sizeof(copy) - 1);
    copy[sizeof(copy) - 1] = '\0';
    for (word = strtok_r(copy, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        value    = strchr(word, '=');
        *value++ = '\0';
        if ((sim_knob_find(word) == NULL) ||
            sim_knob_set(&p->knobs, sim_knob_find(word), word, value, err,
                         sizeof(err))) {
            return -1;
        }
    }

    sim_dev_close(p->dev);
    atomic_store(&rig->dir->host[dir_nic_host(p->nic)].profile,
                 p->knobs.device);
    rig_proc_open(p);
    return 0;
}

int rig_plan(struct rig *rig, const char *text, char err[320])
{
    unsigned i;

    if (sim_plan_parse(&rig->plan, text, err, 320) != 0) {
        return -1;
    }
    for (i = 0; i < rig->procs; ++i) {
        sim_plan_knobs(&rig->plan, rig->proc[i].nic, &rig->proc[i].knobs);
        sim_dev_close(rig->proc[i].dev);
        rig_proc_open(&rig->proc[i]);
        sim_fault_plan(rig->proc[i].dev, &rig->plan);
        rig->proc[i].dev->tracing = 1;
    }
    return 0;
}

void rig_guest(struct rig *rig, unsigned proc)
{
    rig->proc[proc].dev->guest = 1;
}

int rig_fatal_of(struct rig *rig, unsigned proc)
{
    return rig->proc[proc].fatal;
}

const char *rig_trace(struct rig *rig, unsigned *lines)
{
    *lines = rig->traced;
    return rig->trace;
}

void rig_advance(struct rig *rig, uint64_t ns)
{
    rig->now += ns;
}

unsigned rig_progress(struct rig *rig, unsigned proc)
{
    return rig->proc[proc].dead ? 0 : sim_dev_progress(rig->proc[proc].dev);
}

void rig_settle(struct rig *rig)
{
    unsigned i, done, idle = 0;

    while (idle < 2 * SIM_QUIET) {
        done = 0;
        for (i = 0; i < rig->procs; ++i) {
            done += rig_progress(rig, i);
        }
        idle = done ? 0 : idle + 1;
    }
}

void rig_kill(struct rig *rig, unsigned proc)
{
    rig->proc[proc].dead = 1;
}

int rig_is_busy(struct rig *rig, unsigned proc)
{
    return sim_dev_is_busy(rig->proc[proc].dev);
}

unsigned rig_ring_asked(struct rig *rig, unsigned proc)
{
    return rig->proc[proc].ring_asked;
}

const char *rig_log(struct rig *rig)
{
    return rig->log;
}

void rig_ring_damage(struct rig *rig, unsigned src, unsigned dst,
                     uint32_t size, uint32_t length)
{
    struct ring *ring    = rig->ring[src][dst];
    struct ring_pkt *pkt = (struct ring_pkt*)
                           &ring->data[ring->tail % SIM_RING_BYTES];

    pkt->size   = size;
    pkt->length = length;
}

void rig_calls(struct rig *rig, unsigned node)
{
    rig->proc[node].dev->told = 1;
}

uint64_t rig_counter(struct rig *rig, unsigned node, const char *name)
{
    unsigned i = 0;

    while (strcmp(name, dir_counter_names[i]) != 0) {
        ++i;
    }
    return dir_counter(rig->dir, dir_nic_of(node, 0), i);
}

int rig_purge_leaves(struct rig *rig, unsigned proc)
{
    unsigned nic   = rig->proc[proc].nic;
    uint32_t owner = rig->proc[proc].dev->owner;
    int left       = 0;
    unsigned i;

    dir_purge(rig->dir, nic, owner);
    for (i = 0; i < SIM_MAX_QP; ++i) {
        left += atomic_load(&rig->dir->nic[nic].qp[i].owner) == owner;
    }
    for (i = 0; i < DIR_COUNTERS; ++i) { /* or the next one would have it */
        left += atomic_load(&rig->proc[proc].dev->own->counter[i]) != 0;
    }
    for (i = 0; i < SIM_MAX_MR; ++i) {
        left += atomic_load(&rig->dir->mr[nic][i].owner) == owner;
    }
    return left;
}

uint64_t rig_pair(struct rig *rig, unsigned src, unsigned dst)
{
    return dir_pair(rig->dir, dir_nic_of(src, 0), dir_nic_of(dst, 0));
}

void rig_gid(struct rig *rig, unsigned node, uint8_t gid[16])
{
    dir_gid(rig->dir, dir_nic_of(node, 0), gid);
}

int rig_ah(struct rig *rig, unsigned proc, unsigned pd, unsigned node,
           uint16_t *number)
{
    uint8_t gid[16];

    rig_gid(rig, node, gid);
    return sim_ah_create(rig->proc[proc].dev, rig->proc[proc].pd[pd], gid,
                         number);
}

int rig_ah_destroy(struct rig *rig, unsigned proc, uint16_t number)
{
    return sim_ah_destroy(rig->proc[proc].dev, number);
}

int rig_mr(struct rig *rig, unsigned proc, unsigned pd, const void *buf,
           uint64_t length, uint32_t access, uint32_t *key)
{
    struct sim_mr_attr attr = {
        .addr   = (uintptr_t)buf,
        .iova   = (uintptr_t)buf,
        .length = length,
        .access = access,
        .page_shift = 12,
    };
    int ret = sim_mr_register(rig->proc[proc].dev, rig->proc[proc].pd[pd],
                              &attr);

    *key = attr.key;
    return ret;
}

/* The key's lower 18 bits are its index. */
int rig_mr_destroy(struct rig *rig, unsigned proc, uint32_t key)
{
    return sim_mr_deregister(rig->proc[proc].dev, key & 0x3ffff);
}

static int rig_cq_open(struct rig_proc *proc, uint32_t depth,
                       struct rig_cq *cq)
{
    cq->depth = depth;
    cq->subs  = proc->dev->profile->sub_cqs;
    cq->buf   = calloc((size_t)depth * cq->subs, IO_CQE_LARGE);
    return sim_cq_create(proc->dev, depth, IO_CQE_LARGE, cq->buf, &cq->db,
                         &cq->cq);
}

static void rig_must(int ret)
{
    if (ret != 0) {
        abort();
    }
}

int rig_qp(struct rig *rig, const struct rig_qp_conf *conf)
{
    struct rig_proc *proc = &rig->proc[conf->proc];
    struct rig_qp *qp     = calloc(1, sizeof(*qp));
    struct sim_qp_attr attr;
    unsigned state;
    int i;

    for (i = 0; rig->qp[i] != NULL; ++i) {
    }
    rig->qp[i]    = qp;
    qp->sq_depth  = conf->sq;
    qp->rq_depth  = conf->rq;
    qp->sq        = calloc(qp->sq_depth, IO_TX_WQE_SMALL);
    qp->rq        = calloc(qp->rq_depth, sizeof(struct io_rx_desc));
    rig_must(rig_cq_open(proc, conf->cq, &qp->scq));
    rig_must(rig_cq_open(proc, conf->cq, &qp->rcq));
    qp->rcq.cq->with_sgid = !!(conf->flags & RIG_SGID);

    attr = (struct sim_qp_attr){
        .pd        = proc->pd[0],
        .send_cq   = qp->scq.cq,
        .recv_cq   = qp->rcq.cq,
        .sq_ring   = qp->sq,
        .rq_ring   = qp->rq,
        .sq_depth  = qp->sq_depth,
        .sq_stride = IO_TX_WQE_SMALL,
        .rq_depth  = qp->rq_depth,
        .sq_db     = &qp->sq_db,
        .rq_db     = &qp->rq_db,
        .req_id_64 = !!(conf->flags & RIG_REQ_ID_64),
        .ud        = !!(conf->flags & RIG_UD),
    };
    rig_must(sim_qp_create(proc->dev, &attr, &qp->qp));
    for (state = RIG_RESET + 1; state <= RIG_RTS; ++state) {
        rig_must(rig_qp_modify(rig, i, state));
    }
    if (conf->rnr_retry != RIG_RNR_DEFAULT) {
        qp->qp->rnr_retry = conf->rnr_retry;
    }
    return i;
}

uint16_t rig_qpn(struct rig *rig, int qp)
{
    return rig->qp[qp]->qp->qpn;
}

int rig_qp_modify(struct rig *rig, int qp, unsigned state)
{
    struct sim_qp_mod mod = {
        .mask  = SIM_QPA_STATE | SIM_QPA_QKEY,
        .state = state,
        .qkey  = RIG_QKEY,
    };

    return sim_qp_modify(rig->qp[qp]->qp, &mod);
}

int rig_qp_state(struct rig *rig, int qp)
{
    return rig->qp[qp]->qp->state;
}

void rig_qp_destroy(struct rig *rig, int qp)
{
    sim_qp_destroy(rig->qp[qp]->qp);
}

void rig_post(struct rig *rig, int index, const struct io_tx_wqe *wqe)
{
    struct rig_qp *qp     = rig->qp[index];
    struct io_tx_wqe copy = *wqe;

    copy.meta.ctrl1 ^= IO_TX_META;
    copy.meta.ctrl2 ^= IO_TX_CTRL2_MUST | ((qp->sq_pc / qp->sq_depth) & 1);
    memcpy(qp->sq + (qp->sq_pc % qp->sq_depth) * IO_TX_WQE_SMALL, &copy,
           IO_TX_WQE_SMALL);
    atomic_store(&qp->sq_db, ++qp->sq_pc);
}

void rig_post_recv(struct rig *rig, int index, uint16_t req_id, unsigned num,
                   void *const *buf, const uint32_t *length, uint32_t key)
{
    struct rig_qp *qp = rig->qp[index];
    struct io_rx_desc *desc;
    unsigned i;

    for (i = 0; i < num; ++i) {
        desc  = (struct io_rx_desc*)qp->rq + (qp->rq_pc++ % qp->rq_depth);
        *desc = (struct io_rx_desc){
            .addr_lo   = (uint32_t)(uintptr_t)buf[i],
            .addr_hi   = (uint32_t)((uintptr_t)buf[i] >> 32),
            .length    = length[i],
            .lkey_ctrl = key | (i ? 0 : IO_RX_FIRST) |
                         ((i == num - 1) ? IO_RX_LAST : 0),
            .req_id    = i ? 0 : req_id,
        };
    }
    atomic_store(&qp->rq_db, qp->rq_pc);
}

void rig_doorbell(struct rig *rig, int qp, uint32_t value)
{
    atomic_store(&rig->qp[qp]->sq_db, value);
}

void rig_recv_doorbell(struct rig *rig, int qp, uint32_t value)
{
    atomic_store(&rig->qp[qp]->rq_db, value);
}

static int rig_poll(struct rig_cq *cq, unsigned sub, struct io_cqe *cqe)
{
    uint32_t at          = cq->consumed[sub];
    unsigned phase       = !((at / cq->depth) & 1);
    struct io_cqe *entry = (struct io_cqe*)cq->buf +
                           (size_t)sub * cq->depth + at % cq->depth;

    if ((entry->flags & 1) != phase) {
        return 0;
    }

    *cqe = *entry;
    ++cq->consumed[sub];
    atomic_store(&cq->db, (cq->consumed[0] + cq->consumed[1]) & 0xffff);
    return 1;
}

int rig_poll_send(struct rig *rig, int qp, struct io_cqe *cqe)
{
    return rig_poll(&rig->qp[qp]->scq, 0, cqe);
}

int rig_poll_recv(struct rig *rig, int qp, struct io_cqe *cqe)
{
    struct rig_cq *cq = &rig->qp[qp]->rcq;

    return rig_poll(cq, cq->subs - 1, cqe);
}
