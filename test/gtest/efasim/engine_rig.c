/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_rig_struct.h"

#include "efasim/driver/qp_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rig_now(void *env)
{
    return ((struct rig_proc*)env)->rig->now;
}

static struct ring *rig_ring(struct rig *rig, unsigned src, unsigned dst)
{
    if (rig->ring[src][dst] == NULL) {
        rig->ring[src][dst] = calloc(1, sizeof(struct ring));
    }
    return rig->ring[src][dst];
}

static struct ring *rig_ring_map_tx(void *env, uint32_t owner)
{
    struct rig_proc *proc = env;

    return rig_ring(proc->rig, proc->index, dir_owner_slot(owner));
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
    (void)cq;
    ++((struct rig_proc*)env)->rig->events;
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

static void rig_qp_free(struct rig *rig, int i)
{
    struct rig_qp *qp = rig->qp[i];

    if (qp != NULL) {
        free(qp->scq.buf);
        free(qp->rcq.buf);
        free(qp->sq);
        free(qp->rq);
        free(qp);
        rig->qp[i] = NULL;
    }
}

void rig_close(struct rig *rig)
{
    unsigned i, j;

    for (i = 0; i < rig->procs; ++i) {
        sim_dev_close(rig->proc[i].dev);
    }
    for (i = 0; i < RIG_QPS; ++i) {
        rig_qp_free(rig, i);
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

unsigned rig_events(struct rig *rig)
{
    return rig->events;
}

const char *rig_log(struct rig *rig)
{
    return rig->log;
}

uint64_t rig_counter(struct rig *rig, unsigned node, enum rig_counter which)
{
    static const enum dir_counter map[] = {
        [RIG_TX_PKTS]         = DIR_TX_PKTS,
        [RIG_TX_BYTES]        = DIR_TX_BYTES,
        [RIG_RX_PKTS]         = DIR_RX_PKTS,
        [RIG_RX_BYTES]        = DIR_RX_BYTES,
        [RIG_READ_BYTES]      = DIR_RDMA_READ_BYTES,
        [RIG_READ_RESP_BYTES] = DIR_RDMA_READ_RESP_BYTES,
        [RIG_WRITE_BYTES]     = DIR_RDMA_WRITE_BYTES,
        [RIG_WRITE_RECV_BYTES] = DIR_RDMA_WRITE_RECV_BYTES,
        [RIG_WRITE_ERR]       = DIR_RDMA_WRITE_WR_ERR,
        [RIG_RX_DROPS]        = DIR_RX_DROPS,
        [RIG_RNR]             = DIR_RNR,
        [RIG_CQ_OVERRUNS]     = DIR_CQ_OVERRUNS,
        [RIG_LOST]            = DIR_LOST,
        [RIG_DUPLICATED]      = DIR_DUPLICATED,
    };

    return dir_counter(rig->dir, dir_nic_of(node, 0), map[which]);
}

uint64_t rig_pair(struct rig *rig, unsigned src, unsigned dst)
{
    return dir_pair(rig->dir, dir_nic_of(src, 0), dir_nic_of(dst, 0));
}

void rig_gid(struct rig *rig, unsigned node, uint8_t gid[16])
{
    dir_gid(rig->dir, dir_nic_of(node, 0), gid);
}

int rig_ah_gid(struct rig *rig, unsigned proc, unsigned pd,
               const uint8_t *gid, uint16_t *number)
{
    return sim_ah_create(rig->proc[proc].dev, rig->proc[proc].pd[pd], gid,
                         number);
}

int rig_ah(struct rig *rig, unsigned proc, unsigned pd, unsigned node,
           uint16_t *number)
{
    uint8_t gid[16];

    dir_gid(rig->dir, dir_nic_of(node, 0), gid);
    return rig_ah_gid(rig, proc, pd, gid, number);
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

static int rig_cq_open(struct rig *rig, unsigned proc, uint32_t depth,
                       uint32_t cqe_size, struct rig_cq *cq)
{
    cq->depth    = depth;
    cq->cqe_size = cqe_size;
    cq->subs     = rig->proc[proc].dev->profile->sub_cqs;
    cq->buf      = calloc((size_t)depth * cq->subs, cqe_size);
    return sim_cq_create(rig->proc[proc].dev, depth, cqe_size, cq->buf,
                         &cq->db, &cq->cq);
}

static unsigned rig_default(unsigned value, unsigned otherwise)
{
    return value ? value : otherwise;
}

static void rig_qp_attr(struct rig_proc *proc, struct rig_qp *qp,
                        struct sim_qp_attr *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->pd       = proc->pd[0];
    attr->send_cq  = qp->scq.cq;
    attr->recv_cq  = qp->rcq.cq;
    attr->sq_ring  = qp->sq;
    attr->rq_ring  = qp->rq;
    attr->sq_depth = qp->sq_depth;
    attr->sq_stride   = qp->sq_stride;
    attr->rq_depth = qp->rq_depth;
    attr->sq_db    = &qp->sq_db;
    attr->rq_db    = &qp->rq_db;
}

int rig_qp(struct rig *rig, const struct rig_qp_conf *conf)
{
    unsigned cqe_size = rig_default(conf->cqe_size, 32);
    unsigned cq_depth = rig_default(conf->cq, 256);
    struct sim_qp_attr attr;
    struct rig_qp *qp;
    int i, ret;

    for (i = 0; rig->qp[i] != NULL; ++i) {
    }
    qp           = calloc(1, sizeof(*qp));
    rig->qp[i]   = qp;
    qp->proc     = conf->proc;
    qp->sq_depth = rig_default(conf->sq, 64);
    qp->rq_depth = rig_default(conf->rq, 64);
    qp->sq_stride = (conf->flags & RIG_LARGE) ? IO_TX_WQE_LARGE :
                                                IO_TX_WQE_SMALL;
    qp->sq       = calloc(qp->sq_depth, qp->sq_stride);
    qp->rq       = calloc(qp->rq_depth, sizeof(struct io_rx_desc));
    ret = rig_cq_open(rig, conf->proc, cq_depth, cqe_size, &qp->scq);
    if (ret == 0) {
        ret = rig_cq_open(rig, conf->proc, cq_depth, cqe_size, &qp->rcq);
    }
    if (ret == 0) {
        qp->rcq.cq->with_sgid = !!(conf->flags & RIG_SGID);
        rig_qp_attr(&rig->proc[conf->proc], qp, &attr);
        attr.unsolicited = !!(conf->flags & RIG_UNSOLICITED);
        attr.req_id_64   = !!(conf->flags & RIG_REQ_ID_64);
        attr.ud          = !!(conf->flags & RIG_UD);
        ret = sim_qp_create(rig->proc[conf->proc].dev, &attr, &qp->qp);
    }
    if (ret != 0) {
        rig_qp_free(rig, i);
        return ret;
    }

    if (!conf->reset) {
        qp->qp->qkey = RIG_QKEY;
        rig_qp_modify(rig, i, RIG_INIT, SIM_QPA_PKEY_INDEX | SIM_QPA_PORT |
                                        SIM_QPA_QKEY);
        rig_qp_modify(rig, i, RIG_RTR, 0);
        rig_qp_modify(rig, i, RIG_RTS, SIM_QPA_SQ_PSN);
        qp->qp->rnr_retry = conf->rnr_retry;
    }
    return i;
}

uint16_t rig_qpn(struct rig *rig, int qp)
{
    return rig->qp[qp]->qp->qpn;
}

/* As the kernel does it: its own checks, then the device's */
static int rig_modify(struct sim_qp *qp, const struct sim_qp_mod *mod,
                      int privileged)
{
    int ret = drv_qp_state_check(mod, qp->state, qp->attr.ud, privileged);

    return ret ? ret : sim_qp_modify(qp, mod);
}

int rig_qp_modify(struct rig *rig, int qp, unsigned state, unsigned mask)
{
    struct sim_qp_mod mod = {
        .mask = mask | SIM_QPA_STATE,
        .state = state,
        .qkey  = RIG_QKEY,
        .port  = 1,
    };

    return rig_modify(rig->qp[qp]->qp, &mod, 0);
}

int rig_qkey(struct rig *rig, int qp, uint32_t qkey, int privileged)
{
    struct sim_qp_mod mod = { .mask = SIM_QPA_QKEY, .qkey = qkey };

    return rig_modify(rig->qp[qp]->qp, &mod, privileged);
}

int rig_qp_state(struct rig *rig, int qp)
{
    return rig->qp[qp]->qp->state;
}

int rig_rnr_default(struct rig *rig, int qp)
{
    rig_qp_modify(rig, qp, RIG_RESET, 0);
    return rig->qp[qp]->qp->rnr_retry;
}

void rig_qp_destroy(struct rig *rig, int qp)
{
    sim_qp_destroy(rig->qp[qp]->qp);
}
