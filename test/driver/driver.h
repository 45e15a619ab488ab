/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The surroundings of a core in every test of the protocol core: its memory,
 * the buffers it holds, the pulling of events, control packets and repeats. The
 * unit tests, the simulator and the fuzzers derive from it; each decides what
 * to do with the results.
 */
#ifndef FLOW_DRIVER_H_
#define FLOW_DRIVER_H_

#include <cstdint>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#ifdef DRIVER_RECORDS /* flow_sim: a program that has src/record */
extern "C" {
#include "record/record_call.h"
}
#else
extern "C" {
#include "flow/flow.h"
}
#define record_call_tx_commit(_core, _tx, _packet) flow_tx_commit(_tx)
#define record_call_resend_commit(_core, _tx, _op, _packet) \
    flow_resend_commit(_core, _tx, _op)
#define record_call_tx_pause(_core, _tx, _reasons) flow_tx_pause(_tx, _reasons)
#define record_call_peer_set_cookie(_core, _peer, _cookie) \
    flow_peer_set_cookie(_peer, _cookie)
#endif

namespace flow_test {

typedef std::vector<uint8_t> Bytes;

/* The number of the core's assertions that return, as they do in the module;
 * the next one aborts. */
extern unsigned asserts_expected;

/* Where the cores that are made from now on are recorded, or NULL; only with
 * DRIVER_RECORDS. */
extern const char *record_into;

class Driver {
public:
    /* The core has all its pools afterwards. Aborts when it refuses. */
    explicit Driver(const flow_params_t &params);
    virtual ~Driver();
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;

    /* Hand over whatever the pools ask for. */
    void grow();
    /* Open a flow; grows first. NULL: refused, and status says why. */
    flow_tx_t *open(const flow_addr_t &peer, void *cookie);
    /*
     * One received packet, from a copy of just its size, so that a sanitizer
     * sees a read beyond it. Held packets that are in order now follow.
     */
    flow_rx_verdict_t receive(const Bytes &bytes, flow_src_t src);
    /* Pull all events; introductions are answered, held packets returned. */
    void pull_events();
    /* Deliver what is in order now. */
    void drain(uint32_t token);
    /* Pull control packets until there is none or on_control returns false. */
    void pull_control();
    /* Pull operations to be sent again; likewise. */
    void pull_reposts();
    /* UD: pull operations that are over. */
    void pull_releases();
    bool ud() const { return core->params.profile == FLOW_UD; }
    /* NULL, or the invariant that is broken. */
    const char *check() { return flow_check(core); }
    flow_counters_t counters() const;
    size_t held() const { return m_held.size(); }

    flow_core_t  *core;
    flow_addr_t   addr;
    flow_time_t   now    = 1000;
    size_t        memory = 0;   /* bytes handed to the core                   */
    flow_status_t status = FLOW_OK;
    flow_rx_out_t last;         /* of the last receive                        */
    bool          hold_all = false; /* receive as the thread that acknowledges
                                       (UD): nothing is delivered             */

protected:
    /* A message in order: the whole packet. */
    virtual void on_deliver(const Bytes &packet) = 0;
    /* A packet is held. true: it was copied, its receive buffer is free. */
    virtual bool on_hold() { return false; }
    /* A held packet is done with. */
    virtual void on_unhold(bool copied) { (void)copied; }
    /* After the driver handled it. */
    virtual void on_event(const flow_event_t &event) { (void)event; }
    /* Which address handle a peer gets, and whether for RMA. */
    virtual uint16_t ah_of(const flow_addr_t &peer)
    {
        (void)peer;
        return FLOW_AH_UNKNOWN;
    }
    virtual flow_rma_t rma_of(const flow_event_t &event)
    {
        (void)event;
        return FLOW_RMA_READY;
    }
    virtual bool answers_introductions() { return true; }
    /* Post it. false: it was given back, stop pulling. */
    virtual bool on_control(const flow_ctl_t &ctl) = 0;
    /* Post it again, or, if failed, complete it. false: given back, stop. */
    virtual bool on_repost(flow_op_t *op, bool failed) = 0;
    /* UD: it was acknowledged, or failed. */
    virtual void on_release(flow_op_t *op, bool failed)
    {
        (void)op;
        (void)failed;
    }
    /* The core did what it must not do. */
    virtual void on_broken(const char *what) = 0;

private:
    struct Held {
        Bytes bytes;
        bool  copied;
    };
    Bytes unhold(void *handle);
    void record(const flow_params_t &params);

#ifdef DRIVER_RECORDS
    record_t                               *m_record = nullptr;
#endif
    void                                   *m_core_mem, *m_hash_mem = nullptr;
    size_t                                  m_core_size, m_hash_size = 0;
    std::vector<std::pair<size_t, void*>>   m_chunks;
    std::unordered_map<void*, Held>         m_held;
    uintptr_t                               m_handle = 0;
};

} /* namespace flow_test */

#endif
