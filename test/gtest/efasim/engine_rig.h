/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rig for engine tests: several processes' devices in one process, on one
 * directory, with rings, clock and liveness in the hands of the test. libefa's
 * work (ring doorbells, read completions) is done here, so wrong things can be
 * done, too.
 */
#ifndef TEST_EFASIM_ENGINE_RIG_H
#define TEST_EFASIM_ENGINE_RIG_H

#include "../c11.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

extern "C" {
#include "efasim/engine/engine.h"
}

enum {
    RIG_PROCS = 4,
    RIG_QKEY  = 0x1234567,
    RIG_LOCAL = SIM_ACCESS_LOCAL_WRITE,
    RIG_WRITE = SIM_ACCESS_REMOTE_WRITE,
    RIG_READ  = SIM_ACCESS_REMOTE_READ,
    RIG_SGID  = 1,            /* flags of a QP: receive CQ tells source GIDs */
    RIG_REQ_ID_64   = 8,      /* long request ids */
    RIG_UD    = 16,           /* datagrams */
    RIG_RNR_DEFAULT = 8,      /* retries: not told; 7: endless */
};

class Rig;

struct Proc {
    Rig      *rig;
    unsigned  index, nic;
    bool      dead       = false; /* its device is never run again */
    int       fatal      = 0;     /* 1 + enum sim_fatal */
    unsigned  ring_asked = 0;     /* it looked so often for another's ring */
    sim_knobs knobs;
    sim_dev  *dev;
    sim_pd   *pd;
};

struct Cq {
    Cq(Proc &proc, uint32_t depth) :
        depth(depth),
        subs(proc.dev->profile->sub_cqs),
        buf((size_t)depth * subs * IO_CQE_LARGE)
    {
        EXPECT_EQ(0, sim_cq_create(proc.dev, depth, IO_CQE_LARGE, buf.data(),
                                   &db, &cq));
    }

    /* Reads a completion, if there is one. Does not run the device. */
    bool poll(unsigned sub, io_cqe *cqe)
    {
        uint32_t at   = consumed[sub];
        io_cqe *entry = (io_cqe*)buf.data() + (size_t)sub * depth + at % depth;

        if ((entry->flags & 1) == ((at / depth) & 1)) {
            return false;
        }
        *cqe = *entry;
        ++consumed[sub];
        db = (consumed[0] + consumed[1]) & 0xffff;
        return true;
    }

    uint32_t             depth, subs;
    std::vector<uint8_t> buf;
    _Atomic uint32_t     db = 0;
    uint32_t             consumed[2] = {0, 0};
    sim_cq              *cq = nullptr;
};

/* With CQs of its own, in RTS. */
struct Qp {
    Qp(Proc &proc, unsigned flags, unsigned depth, unsigned rnr_retry) :
        depth(depth),
        sq(depth * IO_TX_WQE_SMALL),
        rq(depth),
        scq(proc, 4 * depth),
        rcq(proc, 4 * depth)
    {
        sim_qp_attr attr = {};

        rcq.cq->with_sgid = (flags & RIG_SGID) != 0;
        attr.pd           = proc.pd;
        attr.send_cq      = scq.cq;
        attr.recv_cq      = rcq.cq;
        attr.sq_ring      = sq.data();
        attr.rq_ring      = (uint8_t*)rq.data();
        attr.sq_depth     = attr.rq_depth = depth;
        attr.sq_stride    = IO_TX_WQE_SMALL;
        attr.sq_db        = &sq_db;
        attr.rq_db        = &rq_db;
        attr.req_id_64    = (flags & RIG_REQ_ID_64) != 0;
        attr.ud           = (flags & RIG_UD) != 0;
        EXPECT_EQ(0, sim_qp_create(proc.dev, &attr, &qp));
        for (unsigned state = SIM_QPS_INIT; state <= SIM_QPS_RTS; ++state) {
            EXPECT_EQ(0, modify(state));
        }
        if (rnr_retry != RIG_RNR_DEFAULT) {
            qp->rnr_retry = rnr_retry;
        }
    }

    int modify(unsigned state)
    {
        sim_qp_mod mod = {};

        mod.mask  = SIM_QPA_STATE | SIM_QPA_QKEY;
        mod.state = state;
        mod.qkey  = RIG_QKEY;
        return sim_qp_modify(qp, &mod);
    }

    /* Ring for a request. Bits that are set here, but set already: damage. */
    void post(io_tx_wqe wqe)
    {
        wqe.meta.ctrl1 ^= IO_TX_META;
        wqe.meta.ctrl2 ^= IO_TX_CTRL2_MUST | ((sq_pc / depth) & 1);
        memcpy(&sq[sq_pc % depth * IO_TX_WQE_SMALL], &wqe, IO_TX_WQE_SMALL);
        sq_db = ++sq_pc;
    }

    struct Part {
        void    *at;
        uint32_t length;
    };

    /* One receive of several elements. */
    void recv(uint16_t id, const std::vector<Part> &parts, uint32_t key)
    {
        for (const Part &part : parts) {
            io_rx_desc &desc = rq[rq_pc++ % depth];

            desc           = {};
            desc.addr_lo   = (uint32_t)(uintptr_t)part.at;
            desc.addr_hi   = (uint32_t)((uintptr_t)part.at >> 32);
            desc.length    = part.length;
            desc.lkey_ctrl = key;
            if (&part == &parts.front()) {
                desc.lkey_ctrl |= IO_RX_FIRST;
                desc.req_id     = id;
            }
            if (&part == &parts.back()) {
                desc.lkey_ctrl |= IO_RX_LAST;
            }
        }
        rq_db = rq_pc;
    }

    bool poll_send(io_cqe *cqe) { return scq.poll(0, cqe); }
    bool poll_recv(io_cqe *cqe) { return rcq.poll(rcq.subs - 1, cqe); }

    uint32_t                depth;
    std::vector<uint8_t>    sq;
    std::vector<io_rx_desc> rq;
    Cq                      scq, rcq;
    _Atomic uint32_t        sq_db = 0, rq_db = 0;
    uint16_t                sq_pc = 0, rq_pc = 0;
    sim_qp                 *qp = nullptr;
};

class Rig {
public:
    /* Process i is on host nodes[i], and has device 0 of it. */
    explicit Rig(const std::vector<unsigned> &nodes) :
        dir((struct dir*)calloc(1, sizeof(struct dir))),
        proc(nodes.size())
    {
        dir->id    = 0xabcd;
        dir->epoch = now;
        for (unsigned i = 0; i < nodes.size(); ++i) {
            proc[i].rig   = this;
            proc[i].index = i;
            proc[i].nic   = dir_nic_of(nodes[i], 0);
            sim_knobs_init(&proc[i].knobs);
            /* it rings for each request, and the device looks seldom */
            proc[i].knobs.strict_batch = 0;
            dir->slot[i].nic           = proc[i].nic;
            dir->slot[i].is_device     = 1;
            dir->slot[i].owner         = dir_owner(i, 1);
            open(proc[i]);
        }
    }

    ~Rig()
    {
        for (Proc &each : proc) {
            sim_dev_close(each.dev);
        }
        free(dir);
    }

    /* Close and reopen one process's device with these knobs, "name=value ...".
     * 0, or -1 for a bad one. */
    int knobs(unsigned i, const char *text)
    {
        std::istringstream words(text);
        char err[320];

        for (std::string word; words >> word;) {
            std::string name = word.substr(0, word.find('='));
            auto *knob       = sim_knob_find(name.c_str());

            if ((knob == nullptr) ||
                sim_knob_set(&proc[i].knobs, knob, name.c_str(),
                             &word[name.size() + 1], err, sizeof(err))) {
                return -1;
            }
        }
        dir->host[dir_nic_host(proc[i].nic)].profile = proc[i].knobs.device;
        sim_dev_close(proc[i].dev);
        open(proc[i]);
        return 0;
    }

    /* Reopen all devices under a plan. Empty, or what is wrong with it. */
    std::string set_plan(const char *text)
    {
        char err[320] = "";

        if (sim_plan_parse(&plan, text, err, sizeof(err)) != 0) {
            return err;
        }
        for (Proc &each : proc) {
            sim_plan_knobs(&plan, each.nic, &each.knobs);
            sim_dev_close(each.dev);
            open(each);
            sim_fault_plan(each.dev, &plan);
            each.dev->tracing = 1;
        }
        return "";
    }

    unsigned progress(unsigned i)
    {
        return proc[i].dead ? 0 : sim_dev_progress(proc[i].dev);
    }

    /* Progress of all live processes until nobody does anything. */
    void settle()
    {
        for (unsigned idle = 0; idle < 2 * SIM_QUIET; ++idle) {
            for (unsigned i = 0; i < proc.size(); ++i) {
                idle = progress(i) ? -1u : idle;
            }
        }
    }

    bool is_busy(unsigned i) { return sim_dev_is_busy(proc[i].dev); }

    /* A counter of device 0, as `efasim stat` names it. */
    uint64_t counter(unsigned node, const char *name)
    {
        unsigned i = 0;

        while (strcmp(name, dir_counter_names[i]) != 0) {
            ++i;
        }
        return dir_counter(dir, dir_nic_of(node, 0), (enum dir_counter)i);
    }

    /* Takes back all that a process has; what is left is counted. */
    int purge_leaves(unsigned i)
    {
        unsigned nic   = proc[i].nic;
        uint32_t owner = proc[i].dev->owner;
        int left       = 0;

        dir_purge(dir, nic, owner);
        for (const dir_qp &qp : dir->nic[nic].qp) {
            left += qp.owner == owner;
        }
        for (const auto &count : proc[i].dev->own->counter) {
            left += count != 0; /* or the next one would have it */
        }
        for (const dir_mr &mr : dir->mr[nic]) {
            left += mr.owner == owner;
        }
        return left;
    }

    uint16_t ah(unsigned i, unsigned node)
    {
        uint16_t number = 0xffff;
        uint8_t gid[16];

        dir_gid(dir, dir_nic_of(node, 0), gid);
        EXPECT_EQ(0, sim_ah_create(proc[i].dev, proc[i].pd, gid, &number));
        return number;
    }

    int ah_destroy(unsigned i, uint16_t number)
    {
        return sim_ah_destroy(proc[i].dev, number);
    }

    /* 0 or a negative errno. */
    int mr(unsigned i, const void *buf, uint64_t length, uint32_t access,
           uint32_t *key)
    {
        sim_mr_attr attr = {};

        attr.addr = attr.iova = (uintptr_t)buf;
        attr.length           = length;
        attr.access           = access;
        attr.page_shift       = 12;
        int ret = sim_mr_register(proc[i].dev, proc[i].pd, &attr);
        *key    = attr.key;
        return ret;
    }

    /* The key's lower 18 bits are its index. */
    int mr_destroy(unsigned i, uint32_t key)
    {
        return sim_mr_deregister(proc[i].dev, key & 0x3ffff);
    }

    Qp *qp(unsigned i, unsigned flags = 0, unsigned depth = 64,
           unsigned rnr_retry = 7)
    {
        m_qps.emplace_back(new Qp(proc[i], flags, depth, rnr_retry));
        return m_qps.back().get();
    }

    struct dir            *dir;
    std::vector<Proc>      proc;
    std::unique_ptr<ring>  rings[RIG_PROCS][RIG_PROCS]; /* from, to */
    uint64_t               now = 1000000000;
    std::string            log, trace; /* the last line of each */
    unsigned               traced = 0; /* lines */
    sim_plan               plan;

private:
    static Proc &of(void *env) { return *(Proc*)env; }
    static Proc &of(void *env, uint32_t owner)
    {
        return of(env).rig->proc[dir_owner_slot(owner)];
    }

    static ring *map_tx(void *env, uint32_t owner)
    {
        auto &ring = of(env).rig->rings[of(env).index][dir_owner_slot(owner)];

        if (!ring) { /* its positions soon pass the end of their 32 bits */
            ring.reset(new struct ring());
            ring->head = ring->tail         = -(uint32_t)SIM_RING_BYTES;
            ring->ack_head = ring->ack_tail = -(uint32_t)SIM_RING_ACKS;
        }
        return ring.get();
    }

    static int is_alive(void *env, uint32_t owner)
    {
        struct dir *dir = of(env).rig->dir;
        Proc &peer      = of(env, owner);

        if (peer.dead) {
            dir_purge(dir, peer.nic, owner);
            dir->slot[peer.index].owner = 0;
        }
        return !peer.dead;
    }

    static int rdma(void *env, uint32_t owner, io_tx_op op, sim_near near,
                    uint64_t addr, size_t length)
    {
        if (of(env, owner).dead) {
            return -ESRCH;
        }
        if (addr < 4096) {
            return -EFAULT; /* registered, but nothing is mapped there */
        }
        if (op == IO_OP_WRITE) {
            memcpy((void*)addr, near.bytes ? near.bytes : (void*)near.addr,
                   length);
        } else {
            memcpy((void*)near.addr, (void*)addr, length);
        }
        return 0;
    }

    static sim_env_ops make_ops()
    {
        sim_env_ops ops = {};

        ops.now         = [](void *env) { return of(env).rig->now; };
        ops.ring_map_tx = map_tx;
        ops.ring_map_rx = [](void *env, uint32_t owner) {
            ++of(env).ring_asked;
            return of(env).rig->rings[dir_owner_slot(owner)]
                                     [of(env).index].get();
        };
        ops.ring_unmap  = [](void*, ring*) {}; /* the rig keeps them all */
        ops.wake        = [](void*, unsigned) {};
        ops.is_alive    = is_alive;
        ops.rdma        = rdma;
        ops.mem_read    = [](void*, void *to, uint64_t addr, size_t length) {
            memcpy(to, (void*)addr, length);
        };
        ops.mem_write   = [](void*, uint64_t addr, const void *from,
                             size_t length) {
            memcpy((void*)addr, from, length);
        };
        ops.event       = [](void*, sim_cq*) {};
        ops.log         = [](void *env, const char *line) {
            of(env).rig->log = line;
        };
        ops.trace       = [](void *env, const char *line) {
            of(env).rig->trace = line;
            ++of(env).rig->traced;
        };
        ops.fatal       = [](void *env, sim_fatal what) {
            of(env).fatal = 1 + what;
            of(env).dead |= what == SIM_FATAL_KILLED;
        };
        return ops;
    }

    void open(Proc &each)
    {
        static const sim_env_ops ops = make_ops();

        each.dev = sim_dev_open(dir, each.index, each.nic, &ops, &each,
                                &each.knobs);
        sim_pd_create(each.dev, &each.pd);
    }

    std::vector<std::unique_ptr<Qp>> m_qps;
};

#endif
