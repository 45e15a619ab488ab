/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_scale PEERS: one core connected with that many peers in both directions.
 * Prints bytes per peer, and does each operation once per peer inside a
 * function of its own, so that callgrind can count it:
 *   valgrind --tool=callgrind --toggle-collect='bench_*' flow_scale 1000
 * flow_scale rPEERS: receives from that many peers in turn, with the default
 * queue, and sends the limits that are due, in bench_turn.
 * flow_scale cCOUNT: opens that many flows to one peer, hears of as many from
 * it, and half end in any order, in functions crowd_*.
 * It says how often it called each.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
#include "flow/flow.h"
#include "flow/ctl_wire.h"
}

extern "C" void flow_assert_failed(const char *expr, const char *file, int line)
{
    fprintf(stderr, "flow assertion failed: %s at %s:%d\n", expr, file, line);
    abort();
}

static const uint64_t SELF = 1ull << 40;

struct Peer {
    flow_tx_t *tx;
    uint32_t   token; /* of its flow to us */
    flow_src_t src;
};

static flow_core_t      *core;
static std::vector<Peer> peers;
static size_t            bytes;
static uint32_t          posted; /* receive buffers                           */
static uint8_t           packet[FLOW_CTL_MAX];

static void *alloc(size_t size)
{
    void *mem = nullptr;

    if (posix_memalign(&mem, FLOW_ALIGN, size) != 0) {
        abort();
    }
    return mem;
}

static void grow()
{
    unsigned needed;

    while ((needed = flow_pool_grow_needed(core)) != 0) {
        for (int pool = 0; pool < FLOW_POOL_LAST; ++pool) {
            if (needed & (1u << pool)) {
                size_t size = flow_pool_chunk_size(core, (flow_pool_t)pool);
                free(flow_pool_grow(core, (flow_pool_t)pool, alloc(size)));
                bytes += (pool == FLOW_POOL_HASH) ? size / 2 : size;
            }
        }
    }
}

static void receive(const flow_ctl_msg_t &msg, flow_src_t src)
{
    flow_rx_out_t out;
    unsigned len = flow_ctl_encode(&msg, packet);

    if (flow_rx_accept(core, packet, len, &out, src, &out) !=
        FLOW_RX_CONTROL) {
        printf("refused: %s\n", flow_drop_name(out.reason));
        exit(1);
    }
}

/* Handle events and control packets; remember the tokens we gave. */
static void progress()
{
    flow_ctl_msg_t msg;
    flow_event_t event;
    flow_ctl_t ctl;

    while (flow_event_pending(core) && flow_event_next(core, &event)) {
        if (event.type == FLOW_EVENT_PEER_INTRODUCED) {
            flow_peer_set_ah(core, event.peer, 7, FLOW_RMA_READY);
        } else if ((event.type == FLOW_EVENT_RX_SCARCE) && (posted < 2048)) {
            posted *= 2;
            flow_core_rx_posted(core, posted);
        }
    }
    while (flow_ctl_pending(core) && flow_ctl_next(core, 1, &ctl)) {
        if ((flow_ctl_decode(ctl.data, ctl.len, &msg) == FLOW_DROP_NONE) &&
            (msg.type == FLOW_CTL_ANSWER)) {
            peers[msg.dst - 1].token = msg.token;
        }
        flow_ctl_done(core, ctl.cookie, FLOW_SEND_OK, 1);
    }
}

static flow_ctl_msg_t message(unsigned type, size_t i, uint32_t ep)
{
    flow_ctl_msg_t msg;

    memset(&msg, 0, sizeof(msg));
    msg.type = (uint8_t)type;
    msg.ep   = ep;
    msg.src  = i + 1;
    msg.dst  = SELF;
    return msg;
}

static flow_addr_t address(size_t i)
{
    flow_addr_t addr;

    memset(&addr, 0, sizeof(addr));
    addr.incarnation = i + 1;
    addr.qpn         = (uint32_t)(i + 1);
    memcpy(addr.gid + 8, &i, sizeof(i)); /* one network, many hosts */
    return addr;
}

static flow_ctl_msg_t hello(size_t i, uint32_t ep)
{
    flow_ctl_msg_t msg = message(FLOW_CTL_HELLO, i, ep);

    msg.version = FLOW_VERSION;
    msg.window  = 16;
    msg.addr    = address(i);
    return msg;
}

extern "C" __attribute__((noinline)) void bench_connect(size_t i)
{
    flow_addr_t addr = address(i);
    flow_ctl_msg_t msg;

    grow();
    peers[i].src = flow_src(7, addr.qpn);
    if (flow_tx_open(core, &addr, &peers[i], &peers[i].tx) != FLOW_OK) {
        abort();
    }
    progress();
    receive(hello(i, 1), peers[i].src);
    progress();
    msg       = message(FLOW_CTL_ANSWER, i, peers[i].tx->ep);
    msg.token = 1;
    msg.pair  = 1;
    msg.rma   = FLOW_RMA_READY;
    msg.limit = FLOW_WINDOW_MAX;
    receive(msg, peers[i].src);
    progress();
}

extern "C" __attribute__((noinline)) void bench_send(size_t i)
{
    flow_tx_t *tx = peers[i].tx;

    if (flow_tx_ready(core, tx)) {
        flow_tx_header(core, tx, 3, packet);
        flow_tx_commit(tx);
    }
}

extern "C" __attribute__((noinline)) void bench_done(size_t i)
{
    flow_tx_done(core, peers[i].tx, 0);
}

static flow_rx_out_t bench_out;

/* No jump in place of the last call: what is jumped to would not be counted. */
template<typename T> static inline T counted(T value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

extern "C" __attribute__((noinline)) unsigned bench_receive(size_t i)
{
    unsigned verdict = flow_rx_accept(core, packet, 16, packet, peers[i].src,
                                      &bench_out);

    return counted(verdict);
}

extern "C" __attribute__((noinline)) unsigned bench_hold(size_t i)
{
    unsigned verdict = flow_rx_accept(core, packet, 16, packet, peers[i].src,
                                      &bench_out);

    return counted(verdict);
}

extern "C" __attribute__((noinline)) void *bench_next(size_t i)
{
    return counted(flow_rx_next(core, peers[i].token));
}

static void data(size_t i, unsigned psn)
{
    flow_wire_store64(packet, ((uint64_t)psn << FLOW_WIRE_PSN_SHIFT) |
                                      ((uint64_t)peers[i].token
                                       << FLOW_WIRE_TOKEN_SHIFT) | 3);
}

enum { TURNS = 16384, WARM_UP = 4096 };

/* One packet, and the limit that it may make due. */
static inline __attribute__((always_inline)) unsigned turn(size_t i)
{
    unsigned verdict = flow_rx_accept(core, packet, 16, packet, peers[i].src,
                                      &bench_out);
    flow_ctl_t ctl;

    while (flow_ctl_pending(core) && flow_ctl_next(core, 1, &ctl)) {
        flow_ctl_done(core, ctl.cookie, FLOW_SEND_OK, 1);
    }
    return counted(verdict);
}

extern "C" __attribute__((noinline)) unsigned bench_turn(size_t i)
{
    return turn(i);
}

static void run_turns()
{
    for (size_t i = 0; i < peers.size(); ++i) {
        bench_connect(i);
    }
    for (unsigned n = 0; n < WARM_UP + TURNS; ++n) {
        size_t i = n % peers.size();
        data(i, (unsigned)(n / peers.size()) & 0xffff);
        if (((n < WARM_UP) ? turn(i) : bench_turn(i)) != FLOW_RX_DELIVER) {
            puts("not delivered");
            exit(1);
        }
        progress();
    }
    printf("calls bench_turn %d\n", (int)TURNS);
}

static void run()
{
    for (size_t i = 0; i < peers.size(); ++i) {
        bench_connect(i);
    }
    printf("bytes %.1f\n", (double)bytes / peers.size());
    for (size_t i = 0; i < peers.size(); ++i) {
        bench_send(i);
        bench_done(i);
        for (unsigned psn = 0; psn < 2; ++psn) {
            data(i, psn);
            if (bench_receive(i) != FLOW_RX_DELIVER) {
                puts("not delivered");
                exit(1);
            }
        }
        for (unsigned psn = 17; psn > 2; --psn) { /* 16 in reverse */
            data(i, psn);
            if (bench_hold(i) != FLOW_RX_HOLD) {
                puts("not held");
                exit(1);
            }
        }
        data(i, 2);
        bench_receive(i);
        while (bench_next(i) != nullptr) {
        }
    }
    static const struct {
        const char *name;
        unsigned    calls; /* for each peer */
    } all[] = {{"connect", 1}, {"send", 1}, {"done", 1},
               {"receive", 3}, {"hold", 15}, {"next", 16}};
    for (auto &one : all) {
        printf("calls bench_%s %zu\n", one.name, one.calls * peers.size());
    }
}

/* ---- many flows of one peer */

extern "C" __attribute__((noinline)) flow_tx_t *crowd_open()
{
    flow_addr_t addr = address(0);
    flow_tx_t *tx    = nullptr;

    if (flow_tx_open(core, &addr, &peers[0], &tx) != FLOW_OK) {
        abort();
    }
    progress();
    return counted(tx);
}

extern "C" __attribute__((noinline)) void crowd_close(flow_tx_t *tx)
{
    flow_tx_close(core, tx);
    progress();
}

extern "C" __attribute__((noinline)) void crowd_receive(
        const flow_ctl_msg_t &msg)
{
    receive(msg, peers[0].src);
    progress();
}

static void run_crowd(unsigned count)
{
    std::vector<std::pair<flow_tx_t*, uint32_t>> flows;
    uint64_t random = 1;

    peers[0].src = flow_src(7, address(0).qpn);
    for (unsigned i = 0; i < count; ++i) {
        grow();
        flows.push_back({crowd_open(), i + 1});
        grow();
        crowd_receive(hello(0, i + 1));
    }
    for (unsigned i = 0; i < count / 2; ++i) {
        random     = random * 6364136223846793005ull + 1;
        size_t one = (random >> 33) % flows.size();
        crowd_close(flows[one].first);
        crowd_receive(message(FLOW_CTL_RESET, 0, flows[one].second));
        flows[one] = flows.back();
        flows.pop_back();
    }
    progress();
    flow_counters_t counters;
    flow_core_counters(core, &counters);
    if ((counters.tx_flows != count - count / 2) ||
        (counters.rx_flows != count - count / 2)) {
        puts("not all went");
        exit(1);
    }
    printf("calls crowd_open %u\ncalls crowd_close %u\n"
           "calls crowd_receive %u\n", count, count / 2, count + count / 2);
}

int main(int argc, char **argv)
{
    flow_params_t params;
    const char *arg = (argc > 1) ? argv[1] : "1000";
    bool turns      = arg[0] == 'r', crowd = arg[0] == 'c';
    size_t count    = strtoul(arg + turns + crowd, nullptr, 0);
    const char *error;

    flow_params_default(&params);
    params.self.incarnation = SELF;
    params.max_linger       = crowd ? (uint32_t)count : params.max_linger;
    posted                  = turns ? 256 : (uint32_t)(100 * count + 100);
    params.rx_posted        = posted;
    core = flow_core_init(alloc(flow_core_size(&params)),
                          flow_core_size(&params), &params);
    peers.resize(crowd ? 1 : count);
    if (turns) {
        run_turns();
    } else if (crowd) {
        run_crowd((unsigned)count);
    } else {
        run();
    }
    error = flow_check(core);
    if (error != nullptr) {
        puts(error);
    }
    return error != nullptr;
}
