/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What UCX takes to a peer on another host.
 *   ucp_far --serve FILE  write the worker's address to FILE and answer, until
 *                         standard input ends
 *   ucp_far FILE          an endpoint to that address, a message, a flush
 * Both hosts see FILE. Nothing is printed but trouble: what the libraries say
 * is what the caller is after.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum {
    FAR_SECONDS = 20,
    FAR_ADDRESS = 65536, /* bytes, at most */
    FAR_TAG     = 7
};

static ucp_context_h far_ctx;
static ucp_worker_h far_worker;

static int far_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
        return -1;
    }
    return 0;
}

static int far_open(void)
{
    ucp_params_t context       = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG
    };
    ucp_worker_params_t worker = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE
    };

    return far_check(ucp_init(&context, NULL, &far_ctx), "ucp_init") ||
           far_check(ucp_worker_create(far_ctx, &worker, &far_worker),
                     "ucp_worker_create");
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

static int far_serve(const char *file)
{
    struct pollfd end = {.fd = 0, .events = POLLIN};
    ucp_address_t *address;
    size_t size;
    int ret;

    if (far_check(ucp_worker_get_address(far_worker, &address, &size),
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
    time_t end          = time(NULL) + FAR_SECONDS;
    ucs_status_t status = UCS_PTR_STATUS(request);

    while (UCS_PTR_IS_PTR(request)) {
        ucp_worker_progress(far_worker);
        status = ucp_request_check_status(request);
        if (status != UCS_INPROGRESS) {
            ucp_request_free(request);
            break;
        }
        if (time(NULL) > end) {
            fprintf(stderr, "%s: not done in %d s\n", what, FAR_SECONDS);
            return -1;
        }
    }
    return far_check(status, what);
}

static int far_send(const char *file)
{
    static char address[FAR_ADDRESS], word[8] = "hello";
    ucp_request_param_t none = {0};
    ucp_ep_params_t params   = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address    = (const ucp_address_t*)address
    };
    FILE *in                 = fopen(file, "re");
    ucp_ep_h ep;

    if ((in == NULL) || (fread(address, 1, sizeof(address), in) == 0)) {
        perror(file);
        return -1;
    }
    fclose(in);
    if (far_check(ucp_ep_create(far_worker, &params, &ep), "ucp_ep_create") ||
        far_wait(ucp_tag_send_nbx(ep, word, sizeof(word), FAR_TAG, &none),
                 "ucp_tag_send_nbx") ||
        far_wait(ucp_ep_flush_nbx(ep, &none), "ucp_ep_flush_nbx")) {
        return -1;
    }
    return far_wait(ucp_ep_close_nbx(ep, &none), "ucp_ep_close_nbx");
}

int main(int argc, char **argv)
{
    int serve = (argc == 3) && !strcmp(argv[1], "--serve");
    int ret;

    if (!serve && (argc != 2)) {
        fprintf(stderr, "usage: ucp_far [--serve] FILE\n");
        return 2;
    }
    if (far_open() != 0) {
        return 1;
    }
    ret = serve ? far_serve(argv[2]) : far_send(argv[1]);
    if (ret == 0) {
        far_close();
    }
    return ret ? 1 : 0;
}
