/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Death of a peer. Server and client exchange traffic on endpoints of error
 * mode PEER; then the client kills the server (SIGKILL) in the middle of it.
 * The client must get the error callback, once; all its requests must complete;
 * endpoint and worker must close.
 *
 * With --lost nobody is killed: something of the devices is about to end under
 * both (a plan of the emulator), and both must find out in the same way.
 */
#include "args.h"
#include "node.h"
#include "watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KILLED_WINDOW 32

/* The traffic in flight when the peer dies. */
typedef enum killed_traffic {
    TRAFFIC_SEND, /* eager or rendezvous sends by --size */
    TRAFFIC_RECV, /* receives only: found out by keepalive */
    TRAFFIC_BOTH,
    TRAFFIC_GET,
    TRAFFIC_LAST
} killed_traffic_t;

static const char *const traffic_names[] = {"send", "recv", "both", "get"};

typedef struct killed {
    node_t           node;
    killed_traffic_t traffic;
    size_t           size;
    int              lost;
    op_t             tx[KILLED_WINDOW];
    op_t             rx[KILLED_WINDOW];
    uint8_t          *buf;
    region_t         region; /* with TRAFFIC_GET */
    uint64_t         moved;  /* operations completed before the death */
    int              errors; /* calls of the error callback */
    ucs_status_t     error;
    double           error_time;
} killed_t;

static void killed_on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    killed_t *k = arg;

    (void)ep;
    if (k->errors++ == 0) {
        k->error      = status;
        k->error_time = node_seconds();
    }
}

static int wants_tx(const killed_t *k)
{
    return k->traffic == TRAFFIC_BOTH ||
           (k->traffic == TRAFFIC_RECV) == !k->node.client;
}

static int wants_rx(const killed_t *k)
{
    return k->traffic == TRAFFIC_BOTH ||
           (k->traffic == TRAFFIC_SEND && !k->node.client) ||
           (k->traffic == TRAFFIC_RECV && k->node.client);
}

/* Is the slot free to be posted again? Frees its finished request. */
static int slot_free(killed_t *k, op_t *op)
{
    if (op->done) {
        k->moved += (op->status == UCS_OK);
        if (op->request != NULL) {
            ucp_request_free(op->request);
        }
        memset(op, 0, sizeof(*op));
        return 1;
    }
    return op->request == NULL;
}

static void post_tx(killed_t *k, unsigned i)
{
    op_t *op                  = &k->tx[i];
    ucp_request_param_t param = op_param_send(op);
    ucs_status_ptr_t request;

    if (k->traffic == TRAFFIC_GET) {
        if (!k->node.client) {
            return;
        }
        request = ucp_get_nbx(k->node.ep, k->buf + i * k->size, k->size,
                              k->region.remote, k->region.rkey, &param);
    } else {
        request = ucp_tag_send_nbx(k->node.ep, k->buf + i * k->size, k->size,
                                   7, &param);
    }
    op_started(op, request);
}

static void post_rx(killed_t *k, unsigned i)
{
    op_t *op                  = &k->rx[i];
    ucp_request_param_t param = op_param_tag_recv(op);
    uint8_t *buf              = k->buf + (KILLED_WINDOW + i) * k->size;

    op_started(op, ucp_tag_recv_nbx(k->node.worker, buf, k->size, 7,
                                    ~(ucp_tag_t)0, &param));
}

static void traffic_round(killed_t *k)
{
    unsigned i;

    for (i = 0; i < KILLED_WINDOW && !k->errors; ++i) {
        if (wants_tx(k) && slot_free(k, &k->tx[i])) {
            post_tx(k, i);
        }
        if (wants_rx(k) && slot_free(k, &k->rx[i])) {
            post_rx(k, i);
        }
    }
    node_progress(&k->node);
}

/* Sends and gets must end; receives have no endpoint and are cancelled. */
static void killed_drain(killed_t *k)
{
    unsigned i, ok = 0, failed = 0;
    ucs_status_t status;

    for (i = 0; i < KILLED_WINDOW; ++i) {
        if (k->tx[i].request != NULL) {
            status = op_wait(&k->node, &k->tx[i]);
            failed += (status != UCS_OK);
            ok     += (status == UCS_OK);
        }
    }
    for (i = 0; i < KILLED_WINDOW; ++i) {
        if (k->rx[i].request != NULL) {
            if (!k->rx[i].done) {
                ucp_request_cancel(k->node.worker, k->rx[i].request);
            }
            op_wait(&k->node, &k->rx[i]);
        }
    }
    printf("requests in flight: %u failed, %u ended well\n", failed, ok);
}

/* Take what came before the death and was not received, so that UCP does not
 * warn of each at the end. */
static void killed_take_unexpected(killed_t *k)
{
    ucp_tag_recv_info_t info;
    ucp_tag_message_h message;
    ucp_request_param_t param;
    op_t op;

    if (k->size > 4096) {
        return; /* rendezvous: nobody is left to read from */
    }
    while ((message = ucp_tag_probe_nb(k->node.worker, 0, 0, 1, &info))) {
        memset(&op, 0, sizeof(op));
        param = op_param_tag_recv(&op);
        op_started(&op, ucp_tag_msg_recv_nbx(k->node.worker, k->buf, k->size,
                                             message, &param));
        op_wait(&k->node, &op);
    }
}

static void killed_close(killed_t *k)
{
    if (k->traffic == TRAFFIC_GET) {
        node_region_close(&k->node, &k->region);
    }
    node_ep_close(&k->node, UCP_EP_CLOSE_FLAG_FORCE);
    /* A forced close returns at once; UCX 1.13 asserts if the worker goes
     * while lanes are still being discarded. Its flush waits for them. */
    node_flush(&k->node);
    killed_take_unexpected(k);
    watchdog_kick("destroying the worker after the error");
    ucp_worker_destroy(k->node.worker);
    ucp_cleanup(k->node.ctx);
}

/* Traffic for a while, then the end of the peer. */
static int killed_kill(killed_t *k, pid_t victim)
{
    double start = node_seconds();

    while ((node_seconds() < start + 1) ||
           ((k->moved == 0) && !k->errors)) {
        traffic_round(k);
    }
    if (k->errors) {
        fprintf(stderr, "FAIL: error callback while the peer lived: %s\n",
                ucs_status_string(k->error));
        return -1;
    }
    kill(victim, SIGKILL);
    return 0;
}

/* For the client; for both with --lost. */
static int killed_survive(killed_t *k, pid_t victim)
{
    double death;

    if (!k->lost && killed_kill(k, victim)) {
        return -1;
    }
    death = node_seconds();
    watchdog_kick("waiting for the error callback");
    while (!k->errors) {
        traffic_round(k);
    }
    if (k->moved == 0) {
        fprintf(stderr, "FAIL: no operation moved before the error\n");
        return -1;
    }
    watchdog_kick("draining requests after the error");
    killed_drain(k);
    watchdog_kick("closing the endpoint after the error");
    killed_close(k);
    if (k->errors != 1) {
        fprintf(stderr, "FAIL: the error callback was called %d times\n",
                k->errors);
        return -1;
    }
    printf("ok %llu operations, then error after %.3f s: %s\n",
           (unsigned long long)k->moved, k->error_time - death,
           ucs_status_string(k->error));
    return 0;
}

static const char killed_usage[] =
    "usage: ucp_killed [OPTIONS] (server, will be killed)\n"
    "       ucp_killed --client [OPTIONS]\n"
    "  --port N  --size BYTES [64]\n"
    "  --traffic send|recv|both|get [both]  --wakeup  --lost\n";

static void killed_parse(killed_t *k, node_params_t *p, int argc, char **argv)
{
    const char *traffic = "both";
    const arg_t args[]  = {
        ARG_FLAG("client", p->client),
        ARG_NUMBER("port", p->port, 1, 65535),
        ARG_NUMBER("size", k->size, 1, 64u << 20),
        ARG_TEXT("traffic", traffic),
        ARG_FLAG("wakeup", p->wakeup),
        ARG_FLAG("lost", k->lost),
        {.name = NULL}
    };

    arg_parse(argc, argv, killed_usage, args);
    while (strcmp(traffic, traffic_names[k->traffic])) {
        if (++k->traffic == TRAFFIC_LAST) {
            fputs(killed_usage, stderr);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    static killed_t k    = {.size = 64};
    node_params_t params = {
        .port = 23457, .peer_err = 1,
        .err_cb = killed_on_error, .err_arg = &k
    };
    pid_t me = getpid(); /* then the peer's */
    pid_t *peer;
    size_t len;

    killed_parse(&k, &params, argc, argv);
    if (node_open(&k.node, &params)) {
        return 1;
    }
    k.buf = calloc(2 * KILLED_WINDOW, k.size);
    if (k.buf == NULL || (k.traffic == TRAFFIC_GET &&
         node_region_open(&k.node, k.buf, 2 * KILLED_WINDOW * k.size, k.buf,
                          &k.region)) ||
        node_swap(&k.node, &me, sizeof(me), (void**)&peer, &len)) {
        return 1;
    }
    watchdog_kick("traffic of %zu B", k.size);
    if (!k.node.client && !k.lost) {
        for (;;) { /* until killed */
            traffic_round(&k);
        }
    }
    me = *peer;
    free(peer);
    if (killed_survive(&k, me)) {
        return 1;
    }
    free(k.buf);
    return 0;
}
