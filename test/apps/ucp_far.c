/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport that UCX takes to a peer on another host.
 *   ucp_far --serve FILE  write the worker's address to FILE, listen, and answer
 *                         until standard input ends
 *   ucp_far FILE [IP]     an endpoint to that address, or by socket address to
 *                         IP; a message, a flush
 * Environment: FAR_PORT to listen at or connect to, FAR_LINGER seconds of
 * progress after the flush, and then a line with the time.
 * Both hosts see FILE. Nothing else is printed but trouble: the caller looks for
 * the libraries' own lines.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ucp_open.h"
#include <unistd.h>

enum {
    FAR_ADDRESS = 65536, /* bytes, at most */
    FAR_TAG     = 7
};

static ucp_context_h far_ctx;
static ucp_worker_h far_worker;

static int far_open(void)
{
    return ucp_check(ucp_open(UCP_FEATURE_TAG, &far_ctx), "ucp_init") ||
           ucp_check(ucp_open_worker(far_ctx, UCS_THREAD_MODE_SINGLE,
                                     &far_worker), "ucp_worker_create");
}

static void far_close(void)
{
    ucp_worker_destroy(far_worker);
    ucp_cleanup(far_ctx);
}

/* The file appears whole: under another name first. */
static int far_write(const char *file, const void *data, size_t size)
{
    char other[4096];
    FILE *out;
    int ok;

    snprintf(other, sizeof(other), "%s.part", file);
    out = fopen(other, "we");
    if (out == NULL) {
        perror(other);
        return -1;
    }
    ok = fwrite(data, 1, size, out) == size;
    ok = (fclose(out) == 0) && ok;
    if (!ok || (rename(other, file) != 0)) {
        perror(file);
        return -1;
    }
    return 0;
}

static int far_number(const char *variable, int other)
{
    const char *value = getenv(variable);

    return (value != NULL) ? atoi(value) : other;
}

static struct sockaddr_in far_sockaddr(const char *ip)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET,
        .sin_port   = htons(far_number("FAR_PORT", 23461))
    };

    (void)inet_pton(AF_INET, ip, &addr.sin_addr);
    return addr;
}

static void far_on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg, (void)ep, (void)status; /* the client left */
}

static void far_on_client(ucp_conn_request_h request, void *arg)
{
    ucp_ep_params_t params = {
        .field_mask     = UCP_EP_PARAM_FIELD_CONN_REQUEST |
                          UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .err_mode       = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler.cb = far_on_error,
        .conn_request   = request
    };
    ucp_ep_h ep;

    (void)arg;
    (void)ucp_check(ucp_ep_create(far_worker, &params, &ep), "ucp_ep_create");
}

static int far_listen(void)
{
    struct sockaddr_in addr      = far_sockaddr("0.0.0.0");
    ucp_listener_params_t params = {
        .field_mask       = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                            UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        .sockaddr.addr    = (const struct sockaddr*)&addr,
        .sockaddr.addrlen = sizeof(addr),
        .conn_handler.cb  = far_on_client
    };
    ucp_listener_h listener;

    return ucp_check(ucp_listener_create(far_worker, &params, &listener),
                     "ucp_listener_create");
}

static int far_serve(const char *file)
{
    struct pollfd end = {.fd = 0, .events = POLLIN};
    ucp_address_t *address;
    size_t size;
    int ret;

    if (far_listen() ||
        ucp_check(ucp_worker_get_address(far_worker, &address, &size),
                  "ucp_worker_get_address")) {
        return -1;
    }
    ret = far_write(file, address, size);
    ucp_worker_release_address(far_worker, address);
    while ((ret == 0) && (poll(&end, 1, 1) == 0)) {
        while (ucp_worker_progress(far_worker) != 0) {
        }
    }
    return ret;
}

/* Progress until @request is done. */
static int far_wait(ucs_status_ptr_t request, const char *what)
{
    ucs_status_t status = UCS_PTR_STATUS(request);

    while (UCS_PTR_IS_PTR(request)) {
        ucp_worker_progress(far_worker);
        status = ucp_request_check_status(request);
        if (status != UCS_INPROGRESS) {
            ucp_request_free(request);
            break;
        }
    }
    return ucp_check(status, what);
}

static void far_linger(void)
{
    int seconds = far_number("FAR_LINGER", 0);
    time_t end  = time(NULL) + seconds;

    if (seconds == 0) {
        return;
    }
    while (time(NULL) < end) {
        ucp_worker_progress(far_worker);
    }
    fprintf(stderr, "lingered until %ld\n", (long)end);
}

static int far_read(const char *file, void *address)
{
    FILE *in = fopen(file, "re");

    if ((in == NULL) || (fread(address, 1, FAR_ADDRESS, in) == 0)) {
        perror(file);
        return -1;
    }
    fclose(in);
    return 0;
}

static int far_send(const char *file, const char *ip)
{
    static char address[FAR_ADDRESS], word[8] = "hello";
    struct sockaddr_in addr  = far_sockaddr((ip != NULL) ? ip : "0.0.0.0");
    ucp_request_param_t none = {0};
    ucp_ep_params_t params   = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address    = (const ucp_address_t*)address
    };
    ucp_ep_h ep;

    if (ip != NULL) {
        params.field_mask       = UCP_EP_PARAM_FIELD_FLAGS |
                                  UCP_EP_PARAM_FIELD_SOCK_ADDR |
                                  UCP_EP_PARAM_FIELD_ERR_HANDLER |
                                  UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
        params.err_handler.cb   = far_on_error;
        params.flags            = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        params.err_mode         = UCP_ERR_HANDLING_MODE_PEER;
        params.sockaddr.addr    = (const struct sockaddr*)&addr;
        params.sockaddr.addrlen = sizeof(addr);
    } else if (far_read(file, address) != 0) {
        return -1;
    }
    if (ucp_check(ucp_ep_create(far_worker, &params, &ep), "ucp_ep_create") ||
        far_wait(ucp_tag_send_nbx(ep, word, sizeof(word), FAR_TAG, &none),
                 "ucp_tag_send_nbx") ||
        far_wait(ucp_ep_flush_nbx(ep, &none), "ucp_ep_flush_nbx")) {
        return -1;
    }
    far_linger();
    return far_wait(ucp_ep_close_nbx(ep, &none), "ucp_ep_close_nbx");
}

int main(int argc, char **argv)
{
    int serve = (argc == 3) && !strcmp(argv[1], "--serve");
    int ret;

    if (!serve && (argc != 2) && (argc != 3)) {
        fprintf(stderr, "usage: ucp_far --serve FILE, or FILE [IP]\n");
        return 2;
    }
    if (far_open() != 0) {
        return 1;
    }
    ret = serve ? far_serve(argv[2]) : far_send(argv[1], argv[2]);
    if (ret == 0) {
        far_close();
    }
    return ret ? 1 : 0;
}
