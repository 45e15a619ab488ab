/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "soak.h"
#include "args.h"
#include "fill.h"
#include "oob.h"
#include "ucp_open.h"
#include "watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SOAK_WORKERS  = 8,  /* sessions of a client's worker */
    SOAK_MESSAGES = 40  /* of a session, each way, at most */
};

/* The words of the two before a session; the client's count. */
typedef struct soak_hello {
    uint32_t session, messages;
    uint32_t last; /* there is none: the client's time is over */
    uint32_t length; /* of the worker's address, which follows */
    uint8_t  address[4096];
} soak_hello_t;

static void soak_on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    soak_t *s = arg;

    (void)ep;
    soak_report("the endpoint of session %u failed: %s", s->session,
                ucs_status_string(status));
    s->status = status;
}

/* ------------------------------------------------------------ the peer */

static int soak_say(soak_t *s, uint8_t word)
{
    if (s->word != SOAK_GONE && oob_send(s->node.fd, &word, 1)) {
        s->word = SOAK_GONE;
    }
    return s->word;
}

/* The peer's word, if there is one: SOAK_NONE, a word or SOAK_GONE. */
static int soak_listen(soak_t *s)
{
    uint8_t word;
    int found;

    if (s->word == SOAK_NONE) {
        found   = oob_try_byte(s->node.fd, &word);
        s->word = (found < 0) ? SOAK_GONE : (found == 0) ? SOAK_NONE : word;
    }
    return s->word;
}

/* Waits for the peer's next word. */
static int soak_wait_word(soak_t *s, const char *what)
{
    watchdog_kick("session %u: the peer is to say that %s", s->session, what);
    while (soak_listen(s) == SOAK_NONE) {
        soak_report_progress(s);
    }
    return s->word;
}

static int soak_meet(soak_t *s)
{
    s->node.fd = s->params.client ? oob_connect(s->params.port) :
                                    oob_accept(s->params.port);
    s->word    = SOAK_NONE;
    return (s->node.fd < 0) ? -1 : 0;
}

/* ------------------------------------------------------------ UCP */

static int soak_open_worker(soak_t *s)
{
    uint64_t features = UCP_FEATURE_TAG;
    ucs_status_t status;

    s->node.wakeup_fd = -1;
    s->node.client    = s->params.client;
    status            = ucp_open(features, &s->node.ctx);
    if (status == UCS_OK) {
        status = ucp_open_worker(s->node.ctx, UCS_THREAD_MODE_SINGLE,
                                 &s->node.worker);
    }
    if (status != UCS_OK) {
        soak_report("FAIL: opening UCP: %s", ucs_status_string(status));
        return -1;
    }
    return 0;
}

static void soak_close_worker(soak_t *s)
{
    ucp_worker_destroy(s->node.worker);
    ucp_cleanup(s->node.ctx);
}

/* Tells the peer our address and gets its. @return 1: a session; 0: none any
 * more, or the peer is gone; -1: failed. */
static int soak_swap(soak_t *s, ucp_address_t *mine, size_t length)
{
    soak_hello_t hello = {
        .session  = s->session,
        .messages = 1 + fill_rand(&s->rand) % SOAK_MESSAGES,
        .last     = soak_report_now() > s->until,
        .length   = length
    };
    void *theirs;
    size_t len;
    soak_hello_t *client, *other;
    ucs_status_t status;
    ucp_ep_params_t params = {
        .field_mask      = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                           UCP_EP_PARAM_FIELD_ERR_HANDLER |
                           UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .err_mode        = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler.cb  = soak_on_error,
        .err_handler.arg = s
    };

    if (length > sizeof(hello.address)) {
        soak_report("FAIL: an address of %zu bytes", length);
        return -1;
    }
    memcpy(hello.address, mine, length);
    if (oob_swap(s->node.fd, &hello, sizeof(hello), &theirs, &len)) {
        s->word = SOAK_GONE;
        return 0;
    }
    other       = theirs;
    client      = s->node.client ? &hello : other;
    s->session  = client->session;
    s->messages = client->messages;
    if (client->last) {
        free(theirs);
        return 0;
    }
    params.address = (ucp_address_t*)other->address;
    status         = ucp_ep_create(s->node.worker, &params, &s->node.ep);
    free(theirs);
    if (status != UCS_OK) {
        soak_report("FAIL: an endpoint for session %u: %s", s->session,
                    ucs_status_string(status));
        return -1;
    }
    return 1;
}

static int soak_open(soak_t *s)
{
    ucp_address_t *mine;
    size_t length;
    int ret;

    watchdog_kick("opening session %u", s->session);
    if (ucp_worker_get_address(s->node.worker, &mine, &length) != UCS_OK) {
        soak_report("FAIL: ucp_worker_get_address");
        return -1;
    }
    ret = soak_swap(s, mine, length);
    ucp_worker_release_address(s->node.worker, mine);
    return ret;
}

/* ------------------------------------------------------------ a session */

static int soak_is_broken(const soak_t *s)
{
    return s->status != UCS_OK || s->word == SOAK_GONE || s->word == SOAK_BROKE;
}

/* Messages until all are done, or it breaks. */
static int soak_exchange(soak_t *s)
{
    unsigned rounds;

    for (rounds = 0; !soak_traffic_is_done(s) && !soak_is_broken(s); ++rounds) {
        if (soak_traffic_round(s)) {
            return -1;
        }
        soak_report_progress(s);
        if (rounds % 64 == 0) {
            soak_listen(s);
        }
    }
    return 0;
}

/* Both say how it went, and close. @return 1: well; 0: it broke. */
static int soak_end_session(soak_t *s)
{
    int ours = soak_is_broken(s) ? SOAK_BROKE : SOAK_DONE;
    int theirs;
    ucs_status_t status;

    soak_say(s, ours);
    theirs = soak_wait_word(s, "its messages are done");
    if (ours == SOAK_DONE && theirs == SOAK_DONE) {
        watchdog_kick("session %u: closing", s->session);
        status = node_ep_close(&s->node, 0);
        if (status != UCS_OK && s->status == UCS_OK) {
            s->status = status;
        }
    } else {
        watchdog_kick("session %u: closing by force", s->session);
        node_ep_close(&s->node, UCP_EP_CLOSE_FLAG_FORCE);
        soak_traffic_drain(s);
        node_flush(&s->node); /* UCX 1.13: lanes that are still discarded */
    }
    if (s->word != SOAK_GONE) {
        s->word = SOAK_NONE;
        soak_say(s, SOAK_CLOSED);
        soak_wait_word(s, "its endpoint is closed");
    }
    return ours == SOAK_DONE && theirs == SOAK_DONE && s->status == UCS_OK;
}

/* @return 1: it was one; 0: there is none any more; -1: failed. */
static int soak_session(soak_t *s)
{
    uint64_t bytes = s->bytes;
    double start;
    int ret;

    s->sent   = s->received = s->tx_done = s->rx_done = 0;
    s->status = UCS_OK;
    ret       = soak_open(s);
    start     = soak_report_now();
    if (ret <= 0) {
        return ret;
    }
    s->word = SOAK_NONE;
    soak_report_moved();
    if (soak_exchange(s)) {
        return -1;
    }
    ++s->sessions;
    if (!soak_end_session(s)) {
        ++s->broken;
        soak_report("broken session %u: ours: %s; the peer's word: %d",
                    s->session, ucs_status_string(s->status), s->word);
    }
    if (s->sessions % 64 == 1) {
        soak_report("session %u: %.1f MB in %.3f s", s->session,
                    (s->bytes - bytes) * 1e-6, soak_report_now() - start);
    }
    if (s->word != SOAK_GONE) {
        s->word = SOAK_NONE;
    }
    soak_report_moved();
    return 1;
}

/* ------------------------------------------------------------ all of them */

static int soak_client(soak_t *s)
{
    int ret = 1;

    if (soak_meet(s)) {
        return -1;
    }
    s->session = (uint32_t)getpid() << 12; /* of this process alone */
    while (ret > 0) {
        ++s->session;
        if (s->sessions % SOAK_WORKERS == 0) {
            if (s->sessions > 0) {
                soak_close_worker(s);
            }
            if (soak_open_worker(s)) {
                return -1;
            }
        }
        ret = soak_session(s);
        if (s->word == SOAK_GONE) {
            soak_report("FAIL: the server is gone");
            ret = -1;
        }
    }
    soak_close_worker(s);
    return ret;
}

/* One client after the other, until one says that it was the last. */
static int soak_server(soak_t *s)
{
    int ret;

    if (soak_open_worker(s)) {
        return -1;
    }
    do {
        watchdog_kick("waiting for a client");
        if (soak_meet(s)) {
            return -1;
        }
        do {
            ret = soak_session(s);
        } while (ret > 0 && s->word != SOAK_GONE);
        close(s->node.fd);
        if (s->word == SOAK_GONE) {
            soak_report("the client is gone");
        }
    } while (ret >= 0 && s->word == SOAK_GONE);
    soak_close_worker(s);
    return ret;
}

static const char soak_usage[] =
    "usage: ucp_soak [OPTIONS] (server, serves clients in turn)\n"
    "       ucp_soak --client [OPTIONS]\n"
    "  --port N  --seconds S [10]: of the client  --seed N [1]\n";

int main(int argc, char **argv)
{
    static soak_t s    = {.seed = 1, .params.port = 23458};
    unsigned seconds   = 10;
    const arg_t args[] = {
        ARG_FLAG("client", s.params.client),
        ARG_NUMBER("port", s.params.port, 1, 65535),
        ARG_NUMBER("seconds", seconds, 1, 86400),
        ARG_NUMBER("seed", s.seed, 0, UINT64_MAX),
        {.name = NULL}
    };
    int ret;

    arg_parse(argc, argv, soak_usage, args);
    s.until = soak_report_now() + seconds;
    s.rand = s.seed ^ (uint64_t)getpid() << 32;
    watchdog_init();
    soak_report("begins");
    ret = s.params.client ? soak_client(&s) : soak_server(&s);
    if (soak_traffic_end(&s)) {
        ret = -1;
    }
    soak_report("ends: %llu sessions, %llu of them broken; %llu maps, %llu "
                "children", (unsigned long long)s.sessions,
                (unsigned long long)s.broken, (unsigned long long)s.maps,
                (unsigned long long)s.forks);
    if (ret < 0) {
        return 1;
    }
    printf("ok %llu messages, %llu bytes checked\n",
           (unsigned long long)s.moved, (unsigned long long)s.bytes);
    return 0;
}
