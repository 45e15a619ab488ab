/* SPDX-License-Identifier: BSD-3-Clause */
#include "bytes.h"
#include "watchdog.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one batch: bounds memory, not the size of a message. */
#define BYTES_BATCH_MAX (48u << 20)

#define BYTES_SIZES_MAX 40000
#define BYTES_POISON    0xa5

int bytes_fail(const bytes_t *bt, uint64_t index, size_t len, const char *fmt,
               ...)
{
    va_list ap;

    fprintf(stderr, "FAIL %s %s: seed %llu message %llu size %zu: ",
            bt->node.client ? "client" : "server", bt->test,
            (unsigned long long)bt->opts.seed, (unsigned long long)index, len);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return -1;
}

uint64_t bytes_key(const bytes_t *bt, int from_client, uint64_t index)
{
    return fill_key(bt->opts.seed, bt->stream * 2 + from_client, index);
}

void bytes_shuffle(unsigned *order, unsigned n, uint64_t *state)
{
    unsigned i, j, tmp;

    for (i = 0; i < n; ++i) {
        j        = fill_rand(state) % (i + 1);
        tmp      = (j == i) ? i : order[j];
        order[j] = i;
        order[i] = tmp;
    }
}

/* Which other message of the peer starts with these bytes? -1: none near. */
static long long bytes_guess(bytes_t *bt, const uint8_t *buf, size_t len,
                             uint64_t index)
{
    uint64_t i = (index > 1000) ? index - 1000 : 0;

    for (; len >= 8 && i < index + 1000; ++i) {
        if (fill_diff(buf, 8, bytes_key(bt, !bt->node.client, i), 0) < 0) {
            return i;
        }
    }
    return -1;
}

int bytes_compare(bytes_t *bt, const void *buf, size_t len, uint64_t index,
                  size_t offset)
{
    const uint8_t *p = buf;
    uint64_t key     = bytes_key(bt, !bt->node.client, index);
    ptrdiff_t at     = fill_diff(buf, len, key, offset);
    long long other;

    if (at < 0) {
        bt->bytes += len;
        return 0;
    }
    other = bytes_guess(bt, buf, len, index);
    return bytes_fail(bt, index, len, "offset %zu: expected 0x%02x, got "
                      "0x%02x%s; starts like message %lld (-1: none)",
                      offset + at, fill_byte(key, offset + at), p[at],
                      (p[at] == BYTES_POISON) ? " (never written?)" : "",
                      other);
}

static int msg_alloc(bytes_t *bt, msg_t *msg, size_t len, uint64_t index)
{
    size_t align = fill_rand(&bt->rand_own) % BYTES_GUARD;

    memset(msg, 0, sizeof(*msg));
    msg->base = malloc(len + 3 * BYTES_GUARD);
    if (msg->base == NULL) {
        return bytes_fail(bt, index, len, "out of memory");
    }
    msg->buf   = msg->base + BYTES_GUARD + align;
    msg->len   = len;
    msg->index = index;
    return 0;
}

int msg_open_tx(bytes_t *bt, msg_t *msg, size_t len, uint64_t index)
{
    if (msg_alloc(bt, msg, len, index)) {
        return -1;
    }
    msg->key = bytes_key(bt, bt->node.client, index);
    fill_bytes(msg->buf, len, msg->key, 0);
    return 0;
}

int msg_open_rx(bytes_t *bt, msg_t *msg, size_t len, uint64_t index)
{
    if (msg_alloc(bt, msg, len, index)) {
        return -1;
    }
    msg->key = bytes_key(bt, !bt->node.client, index);
    memset(msg->base, BYTES_POISON, len + 3 * BYTES_GUARD);
    return 0;
}

void msg_close(msg_t *msg)
{
    free(msg->base);
    msg->base = NULL;
}

static int msg_guard_check(bytes_t *bt, msg_t *msg)
{
    uint8_t *end = msg->base + msg->len + 3 * BYTES_GUARD;
    uint8_t *p;

    for (p = msg->base; p < end; ++p) {
        if (p == msg->buf) {
            p += msg->len;
        }
        if (*p != BYTES_POISON) {
            return bytes_fail(bt, msg->index, msg->len, "byte %td outside the "
                              "receive buffer was overwritten with 0x%02x",
                              p - msg->buf, *p);
        }
    }
    return 0;
}

int msg_wait(bytes_t *bt, msg_t *msg, const char *what)
{
    ucs_status_t status = op_wait(&bt->node, &msg->op);

    if (status != UCS_OK) {
        return bytes_fail(bt, msg->index, msg->len, "%s: %s", what,
                          ucs_status_string(status));
    }
    return 0;
}

int batch_wait_tx(bytes_t *bt, batch_t *batch, const char *what)
{
    unsigned i;

    for (i = 0; i < batch->count; ++i) {
        if (msg_wait(bt, &batch->tx[i], what)) {
            return -1;
        }
    }
    return 0;
}

int batch_wait(bytes_t *bt, batch_t *batch)
{
    unsigned i;

    for (i = 0; i < batch->count; ++i) {
        if (msg_wait(bt, &batch->rx[i], "receive")) {
            return -1;
        }
    }
    return batch_wait_tx(bt, batch, "send");
}

static int batch_check(bytes_t *bt, batch_t *batch)
{
    unsigned i;
    msg_t *msg;

    for (i = 0; i < batch->count; ++i) {
        msg = &batch->rx[i];
        if (bytes_compare(bt, msg->buf, msg->len, msg->index, 0) ||
            msg_guard_check(bt, msg)) {
            return -1;
        }
        ++bt->messages;
    }
    return 0;
}

static void sizes_add(const bytes_t *bt, size_t *sizes, unsigned *n,
                      size_t size)
{
    if (size >= bt->opts.min && size <= bt->opts.max && *n < BYTES_SIZES_MAX) {
        sizes[(*n)++] = size;
    }
}

/* Every decade of sizes is equally likely. */
static size_t sizes_random(bytes_t *bt)
{
    unsigned bits = fill_rand(&bt->rand) % 25;

    return fill_rand(&bt->rand) & ((1ull << bits) - 1);
}

/* Small ones, the edges of packets (of 8928 B and others) and of powers of
 * two, the range below 9000 in steps, and random ones; in random order. */
static unsigned sizes_make(bytes_t *bt, size_t *sizes)
{
    unsigned *order = malloc(BYTES_SIZES_MAX * sizeof(*order));
    size_t *sorted  = malloc(BYTES_SIZES_MAX * sizeof(*sorted));
    unsigned n = 0, i;
    size_t s;

    for (s = 0; s <= 64; ++s) {
        sizes_add(bt, sorted, &n, s);
    }
    for (s = 65; s <= 9000; s += bt->opts.dense) {
        sizes_add(bt, sorted, &n, s);
    }
    for (s = 8870; s <= 8936; ++s) {
        sizes_add(bt, sorted, &n, s);
    }
    for (s = 128; s <= BYTES_SIZE_MAX; s *= 2) {
        sizes_add(bt, sorted, &n, s - 1);
        sizes_add(bt, sorted, &n, s);
        sizes_add(bt, sorted, &n, s + 1);
    }
    for (i = 0; i < bt->opts.iters; ++i) {
        sizes_add(bt, sorted, &n, sizes_random(bt));
    }
    bytes_shuffle(order, n, &bt->rand);
    for (i = 0; i < n; ++i) {
        sizes[i] = sorted[order[i]];
    }
    free(order);
    free(sorted);
    return n;
}

static int batch_open(bytes_t *bt, batch_t *batch, const size_t *sizes,
                      unsigned n)
{
    size_t total = 0;
    unsigned i;

    batch->count = 0;
    for (i = 0; i < n && i < bt->opts.window; ++i) {
        total += sizes[i];
        if (i > 0 && total > BYTES_BATCH_MAX) {
            break;
        }
        if (msg_open_tx(bt, &batch->tx[i], sizes[i], bt->index + i)) {
            return -1;
        }
        if (msg_open_rx(bt, &batch->rx[i], sizes[i], bt->index + i)) {
            msg_close(&batch->tx[i]);
            return -1;
        }
        ++batch->count;
    }
    return 0;
}

static void batch_close(batch_t *batch)
{
    unsigned i;

    for (i = 0; i < batch->count; ++i) {
        msg_close(&batch->tx[i]);
        msg_close(&batch->rx[i]);
    }
}

int bytes_sweep(bytes_t *bt, bytes_batch_fn_t fn)
{
    size_t *sizes  = malloc(BYTES_SIZES_MAX * sizeof(*sizes));
    batch_t *batch = malloc(sizeof(*batch));
    unsigned n     = sizes_make(bt, sizes);
    unsigned i     = 0;
    int ret        = 0;

    while (ret == 0 && i < n) {
        watchdog_kick("%s: seed %llu, messages %llu.. of %u, first size %zu",
                      bt->test, (unsigned long long)bt->opts.seed,
                      (unsigned long long)bt->index, n, sizes[i]);
        ret = batch_open(bt, batch, sizes + i, n - i);
        ret = ret ? ret : fn(bt, batch);
        ret = ret ? ret : batch_check(bt, batch);
        /* After a failure a request may still write: the process ends soon. */
        if (ret == 0) {
            batch_close(batch);
        }
        i         += batch->count;
        bt->index += batch->count;
    }
    free(sizes);
    if (ret == 0) {
        free(batch);
        ret = node_barrier(&bt->node);
    }
    return ret;
}
