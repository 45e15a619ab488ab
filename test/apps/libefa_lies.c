/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libefa that tells something wrong of a device's queues (LIE), while what it
 * does itself is right: it hands all calls to the real one, which is the
 * provider that libibverbs loads (LIBEFA). For the trial before the direct data
 * path.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As efadv_query_qp_wqs(3) and efadv_query_cq(3) have them. */
struct wq {
    uint64_t  comp_mask;
    uint8_t  *buffer;
    uint32_t  entry_size, num_entries;
    uint32_t *doorbell;
    uint32_t  max_batch, reserved;
};

struct cq {
    uint64_t  comp_mask;
    uint8_t  *buffer;
    uint32_t  entry_size, num_entries;
    uint32_t *doorbell;
};

static uint32_t elsewhere[1024] __attribute__((aligned(4096)));

static void *real(const char *name)
{
    void *lib     = dlopen(getenv("LIBEFA"), RTLD_NOW);
    void *address = (lib == NULL) ? NULL : dlsym(lib, name);

    if (address == NULL) {
        fprintf(stderr, "libefa_lies: no %s: %s\n", name, dlerror());
        exit(99);
    }
    return address;
}

static int lies(const char *what)
{
    const char *lie = getenv("LIE");

    return (lie != NULL) && (strcmp(lie, what) == 0);
}

#define HAND_ON(_name, _result, _names, ...)                           \
    _result _name(__VA_ARGS__);                                        \
    _result _name(__VA_ARGS__)                                         \
    {                                                                  \
        return ((_result(*)(__VA_ARGS__))(uintptr_t)real(#_name))      \
               _names;                                                 \
    }

HAND_ON(efadv_query_device, int, (context, attr, size), void *context,
        void *attr, uint32_t size)
HAND_ON(efadv_create_qp_ex, void *, (context, attr, efa, size), void *context,
        void *attr, void *efa, uint32_t size)
HAND_ON(efadv_query_ah, int, (ah, attr, size), void *ah, void *attr,
        uint32_t size)

int efadv_query_qp_wqs(void *qp, struct wq *sq, struct wq *rq, uint32_t size);
int efadv_query_qp_wqs(void *qp, struct wq *sq, struct wq *rq, uint32_t size)
{
    int (*query)(void*, struct wq*, struct wq*, uint32_t);
    int ret;

    *(void**)&query = real("efadv_query_qp_wqs");
    ret             = query(qp, sq, rq, size);
    if (lies("sends-fewer")) {
        sq->num_entries /= 2;
    } else if (lies("sends-wider")) {
        sq->entry_size = 128;
    } else if (lies("sends-doorbell")) {
        sq->doorbell = elsewhere;
    } else if (lies("receives-doorbell")) {
        rq->doorbell = elsewhere;
    }
    return ret;
}

int efadv_query_cq(void *ibcq, struct cq *cq, uint32_t size);
int efadv_query_cq(void *ibcq, struct cq *cq, uint32_t size)
{
    static uint8_t *first; /* one interface's completions of sends */
    int           (*query)(void*, struct cq*, uint32_t);
    int             ret;

    *(void**)&query = real("efadv_query_cq");
    ret             = query(ibcq, cq, size);
    if (lies("phase")) { /* it does not change when the ring is through */
        cq->num_entries *= 2;
    } else if (lies("place")) {
        cq->buffer += cq->entry_size;
    } else if (lies("size")) {
        cq->entry_size *= 2;
        cq->num_entries /= 2;
    } else if (lies("one-ring")) {
        first      = (first == NULL) ? cq->buffer : first;
        cq->buffer = first;
    }
    return ret;
}
