/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording is not trusted: what the core expects of its caller is checked
 * before each call, as far as its memory depends on it.
 */
#include "run_call.h"

#include <flow/image.h>
#include <record/record_call.h>

#include <stdlib.h>
#include <string.h>

#define RUN_NEEDS(_expr, _why) \
    do { \
        if (!(_expr)) { \
            return _why; \
        } \
    } while (0)

#define RUN_NO_OP   "an operation that the core has, or has not"
#define RUN_RANGE   "a value that there is not"
#define RUN_MEMORY_OUT "out of memory"

struct run_block {
    run_block_t *next;
    void        *memory;
};

void *run_memory_get(run_t *run, size_t size)
{
    run_block_t *block  = malloc(sizeof(*block));
    void        *memory = NULL;

    if ((block == NULL) || (posix_memalign(&memory, FLOW_ALIGN, size) != 0)) {
        free(block);
        return NULL;
    }
    memset(memory, 0, size);
    block->memory = memory;
    block->next   = run->blocks;
    run->blocks   = block;
    return memory;
}

void run_memory_free(run_t *run)
{
    run_block_t *block;
    run_op_t    *op;
    unsigned     chain;

    while ((block = run->blocks) != NULL) {
        run->blocks = block->next;
        free(block->memory);
        free(block);
    }
    for (chain = 0; chain < RUN_OPS; ++chain) {
        while ((op = run->ops[chain]) != NULL) {
            run->ops[chain] = op->next;
            free(op);
        }
    }
}

run_op_t *run_memory_op(run_t *run, uint64_t id)
{
    run_op_t **chain = &run->ops[(id * 0x9e3779b97f4a7c15ull) >> 48];
    run_op_t  *op;

    for (op = *chain; op != NULL; op = op->next) {
        if (op->in.id == id) {
            return op;
        }
    }
    op = calloc(1, sizeof(*op));
    if (op != NULL) {
        op->in.id = id;
        op->next  = *chain;
        *chain    = op;
    }
    return op;
}

/* Things that a call is about, made of its arguments. */
typedef struct run_args {
    flow_tx_t   *tx;
    flow_peer_t *peer;
    run_op_t    *op;
    void        *chunk;
} run_args_t;

/* Arguments, as the call's schema has them up to the blank. */
static const char *
run_arguments(run_t *run, const record_call_t *call, run_args_t *args)
{
    const char *field = record_format_fields(call->kind);

    for (; *field != ' '; ++field) {
        switch (*field) {
        case 't':
            args->tx = flow_image_tx(run->core, call->tx);
            RUN_NEEDS(args->tx != NULL, "a flow that is not open");
            break;
        case 'p':
            args->peer = flow_image_peer(run->core, call->peer);
            RUN_NEEDS(args->peer != NULL, "a peer that is not there");
            break;
        case 'o':
            RUN_NEEDS(call->op != 0, RUN_NO_OP);
            args->op = run_memory_op(run, call->op);
            RUN_NEEDS(args->op != NULL, RUN_MEMORY_OUT);
            break;
        case 'b':
            memset(run->packet, 0, sizeof(run->packet));
            memcpy(run->packet, call->bytes[0].at, call->bytes[0].length);
            break;
        case 'l':
            RUN_NEEDS(call->length >= call->bytes[0].length, RUN_RANGE);
            break;
        case 'h':
            RUN_NEEDS(call->handle[0] != 0, RUN_RANGE);
            break;
        case 'A':
            RUN_NEEDS(call->addr.incarnation != 0, RUN_RANGE);
            break;
        case 'T':
            RUN_NEEDS(call->time < FLOW_TIME_NEVER / 2,
                      "a time that does not come");
            break;
        default:
            break;
        }
    }
    return NULL;
}

/* A core of the other profile has no room for what the call is about. */
static int run_is_of_profile(const run_t *run, const record_call_t *call)
{
    switch (call->kind) {
    case RECORD_RESEND_COMMIT:
    case RECORD_RESEND_SENT:
    case RECORD_RESEND_HEADER:
    case RECORD_RESEND_RELEASE:
    case RECORD_RX_ACCEPT_HELD:
        return flow_is_ud(run->core);
    case RECORD_TX_COMMIT:
    case RECORD_TX_DONE:
    case RECORD_TX_RNR:
    case RECORD_RX_SHORT:
        return !flow_is_ud(run->core);
    default:
        return 1;
    }
}

_Static_assert((int)RECORD_HANDLES_MAX >= (int)FLOW_MAP_BITS,
               "RECORD_HANDLES_MAX: the messages that flow_rx_run hands out");

static const char *run_values(run_t *run, const record_call_t *call,
                              run_args_t *args)
{
    uint64_t number = call->number[0];

    switch (call->kind) {
    case RECORD_TX_COMMIT:
    case RECORD_RESEND_COMMIT:
        RUN_NEEDS(flow_tx_is_open(args->tx), "a message that may not be sent");
        break;
    case RECORD_TX_FAIL:
        RUN_NEEDS(number <= FLOW_SEND_GIVEN_UP, RUN_RANGE);
        break;
    case RECORD_TX_PAUSE:
    case RECORD_TX_RESUME:
        RUN_NEEDS(number < FLOW_PAUSE_CLOSED, RUN_RANGE);
        break;
    case RECORD_RX_RUN:
        RUN_NEEDS((call->number[1] >= 1) &&
                          (call->number[1] <= RECORD_HANDLES_MAX),
                  RUN_RANGE);
        break;
    case RECORD_RX_DROP:
        RUN_NEEDS(number < FLOW_DROP_LAST, RUN_RANGE);
        break;
    case RECORD_CTL_UNSENT:
    case RECORD_CTL_DONE:
        RUN_NEEDS((number <= FLOW_SEND_ERROR) &&
                          flow_image_has_cookie(run->core, call->word[0]),
                  RUN_RANGE);
        break;
    case RECORD_PEER_AH:
        RUN_NEEDS(call->number[1] <= FLOW_RMA_REFUSED, RUN_RANGE);
        break;
    case RECORD_POOL_GROW:
        RUN_NEEDS((number < FLOW_POOL_LAST) &&
                          ((flow_pool_grow_needed(run->core) >> number) & 1),
                  "memory that the core does not need");
        args->chunk = run_memory_get(
                run, flow_pool_chunk_size(run->core, (flow_pool_t)number));
        RUN_NEEDS(args->chunk != NULL, RUN_MEMORY_OUT);
        break;
    default:
        break;
    }
    return NULL;
}

/* The operation that a call gives to the core. One that was sent is seen by
 * nobody but the device: what it was is recorded. */
static const char *run_op(const record_call_t *call, const run_args_t *args)
{
    run_op_t *op = args->op;

    switch (call->kind) {
    case RECORD_RESEND_COMMIT:
        RUN_NEEDS(!op->is_cores, RUN_NO_OP);
        break;
    case RECORD_TX_REPOST_RETURN:
        RUN_NEEDS((op->in.op.tx != NULL) && !op->in.op.linked, RUN_NO_OP);
        break;
    case RECORD_RESEND_HEADER:
        RUN_NEEDS((op->in.op.tx != NULL) && (call->bytes[0].length >= 1),
                  RUN_NO_OP);
        return NULL;
    case RECORD_TX_RNR:
        RUN_NEEDS(!op->is_cores, RUN_NO_OP);
        op->in.op.tx  = args->tx;
        op->in.op.psn = (flow_psn_t)call->number[0];
        break;
    default: /* RECORD_RESEND_SENT */
        if (!op->is_cores) {
            op->in.op.tx    = args->tx;
            op->in.op.psn   = (flow_psn_t)call->number[0];
            op->in.op.flags = (uint8_t)call->number[1];
        }
        break;
    }
    op->is_cores = 1;
    return NULL;
}

/* An operation that the core gave back. */
static void run_op_back(flow_op_t *op)
{
    if (op != NULL) {
        ((run_op_t*)op)->is_cores = 0;
    }
}

#define RUN_PASS(_param, _name, _put, _replayed) , _replayed
#define RUN(_kind, _call) \
    case RECORD_##_kind: \
        _call; \
        break;
#define RUN_ROW(_kind, _name, _a, _b, _c) \
    RUN(_kind, record_call_##_name(core RECORD_ARG_##_a(RUN_PASS) \
                                   RECORD_ARG_##_b(RUN_PASS) \
                                   RECORD_ARG_##_c(RUN_PASS)))

static void
run_make(run_t *run, const record_call_t *call, const run_args_t *args)
{
    flow_core_t   *core   = run->core;
    void          *handle = (void*)(uintptr_t)call->handle[0];
    flow_src_t     src    = (flow_src_t)call->number[0];
    int            fail   = 0;
    void          *handles[RECORD_HANDLES_MAX];
    flow_event_t   event;
    flow_ctl_t     ctl;
    flow_rx_out_t  out;
    flow_op_t     *op;
    flow_tx_t     *tx;
    uint64_t       word;

    switch (call->kind) {
    RECORD_ROWS(RUN_ROW)
    RUN(STATE, record_call_state(core))
    RUN(TX_OPEN, flow_tx_open(core, &call->addr,
                              (void*)(uintptr_t)call->word[0], &tx))
    RUN(TX_READY, record_call_tx_ready_slow(core, args->tx))
    RUN(TX_COMMIT, record_call_tx_commit(core, args->tx, run->packet))
    RUN(TX_REPOST_NEXT,
        op = flow_tx_repost_next(core, call->time, &fail);
        run_op_back(flow_is_ud(core) ? NULL : op)) /* there it stays */
    RUN(TX_RMA_READY, record_call_tx_rma_ready(core, args->tx))
    RUN(RESEND_COMMIT, record_call_resend_commit(
                core, args->tx, &args->op->in.op, run->packet))
    RUN(RESEND_RELEASE, run_op_back(flow_resend_release_next(core, &fail)))
    RUN(RESEND_HEADER,
        flow_resend_header(core, &args->op->in.op, run->packet))
    RUN(RX_ACCEPT, flow_rx_accept_slow(core, run->packet, call->length, handle,
                                       src, &out))
    RUN(RX_ACCEPT_HELD, flow_rx_accept_held(core, run->packet, call->length,
                                            handle, src, &out))
    RUN(RX_SHORT, record_call_rx_short(core, run->packet, call->length, handle,
                                       1, src, &word))
    RUN(RX_RUN, flow_rx_run(core, (uint32_t)call->number[0], handles,
                            (unsigned)call->number[1]))
    RUN(CTL_NEXT, flow_ctl_next(core, call->time, &ctl))
    RUN(EVENT_NEXT, flow_event_next(core, &event))
    RUN(EVENT_PEER_NEXT, flow_event_peer_next(core, &event))
    RUN(TIMER_NOW, flow_timer_set_now(core, call->time))
    RUN(POOL_GROW,
        flow_pool_grow(core, (flow_pool_t)call->number[0], args->chunk))
    default:
        break;
    }
}

const char *run_call(run_t *run, const record_call_t *call)
{
    run_args_t  args  = {NULL, NULL, NULL, NULL};
    const char *error = "a call of the other transport";

    if (run_is_of_profile(run, call)) {
        error = run_arguments(run, call, &args);
        error = (error != NULL) ? error : run_values(run, call, &args);
        if ((error == NULL) && (args.op != NULL)) {
            error = run_op(call, &args);
        }
    }
    if (error == NULL) {
        run_make(run, call, &args);
    }
    return error;
}
