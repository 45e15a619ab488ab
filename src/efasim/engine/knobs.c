/* SPDX-License-Identifier: BSD-3-Clause */
#include "knobs.h"
#include "limits.h"
#include "named.h"
#include "number.h"
#include "profile.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOB_OF(_scope, _name, _field, _type, _min, _max, _arg, _help) \
    { _name, _type, offsetof(struct sim_knobs, _field), _min, _max, _arg, \
      _help, SIM_SCOPE_##_scope }
#define KNOB(_name, ...)  KNOB_OF(ANY, _name, __VA_ARGS__)

const struct sim_knob sim_knob_table[] = {
    KNOB("seed", seed, SIM_KNOB_UINT, 0, UINT64_MAX, "N",
         "seed of all randomness (default 1)"),
    KNOB("reorder", reorder, SIM_KNOB_PROBABILITY, 0, 1, "P",
         "share of packets and completions overtaken by others\n"
         "(default 0)"),
    KNOB("loss", loss, SIM_KNOB_PROBABILITY, 0, 1, "P",
         "share of datagrams (UD) that are lost (default 0)"),
    KNOB("duplicate", duplicate, SIM_KNOB_PROBABILITY, 0, 1, "P",
         "share of datagrams (UD) that arrive twice (default 0)"),
    KNOB("timeout-ms", timeout_ms, SIM_KNOB_UINT, 1, 3600000, "MS",
         "time until requests to a silent peer fail (default 5000)"),
    KNOB("rnr-us", rnr_us, SIM_KNOB_UINT, 1, 10000000, "US",
         "pause between two such retries (default 100)"),
    KNOB("delay-us", delay_us, SIM_KNOB_UINT, 0, 10000000, "US",
         "delay of every send and read (default 0)"),
    KNOB("jitter-us", jitter_us, SIM_KNOB_UINT, 0, 10000000, "US",
         "largest random delay of a request (default 0)"),
    KNOB("rate-mbps", rate_mbps, SIM_KNOB_UINT, 0, 10000000, "MBPS",
         "rate of each device in Mbit/s (default 0: no limit)"),
    KNOB("ud-rate-mbps", ud_rate_mbps, SIM_KNOB_UINT, 0, 10000000, "MBPS",
         "rate of datagrams (UD) to one device in Mbit/s\n"
         "(default 0: no limit)"),
    KNOB("ud-buffer", ud_buffer, SIM_KNOB_UINT, 0, UINT64_MAX, "BYTES",
         "datagrams that wait for --ud-rate-mbps; those that do not\n"
         "fit are lost (default 0: no limit)"),
    KNOB("ud-mtu", ud_mtu, SIM_KNOB_UINT, 256, SIM_MAX_MSG, "BYTES",
         "largest datagram (UD) (default 8928)"),
    KNOB("strict-batch", strict_batch, SIM_KNOB_FLAG, 0, 1, NULL,
         "a doorbell may announce more than max_tx_batch requests"),
    KNOB("strict-ah", strict_ah, SIM_KNOB_FLAG, 0, 1, NULL,
         "an address handle ends with its last user, not the first"),
    KNOB("cq-divide", cq_divide, SIM_KNOB_UINT, 1, SIM_MAX_CQE, "N",
         "completion queues have 1/N of the entries asked for\n"
         "(default 1)"),
    KNOB_OF(OPEN, "max-cqe", max_cqe, SIM_KNOB_UINT, 1, SIM_MAX_CQE, "N",
            "entries of a completion queue, at most (default 32768)"),
    KNOB_OF(OPEN, "max-rdma", max_rdma, SIM_KNOB_UINT, 1, SIM_MAX_RDMA, "BYTES",
            "largest RDMA request (default 1 GiB)"),
    KNOB_OF(OPEN, "comp-vectors", comp_vectors, SIM_KNOB_UINT, 1,
            SIM_COMP_VECTORS, "N",
            "interrupts for completion queues, 1 to 64 (default 4)"),
    KNOB_OF(OPEN, "sub-cqs", sub_cqs, SIM_KNOB_UINT, 0, SIM_SUB_CQS_MAX, "N",
            "rings of a completion queue (default 0: as the\n"
            "generation has)"),
    KNOB("ic-id", ic_id, SIM_KNOB_UINT, 0, 65535, "N",
         "interconnect in the answer of efadv_query_mr\n"
         "(default 0: none)"),
    KNOB("receive-us", receive_us, SIM_KNOB_UINT, 0, 10000000, "US",
         "time that a receiver takes for a packet (default 0)"),
    KNOB("rnr-retry", rnr_retry, SIM_KNOB_UINT, 0, 7, "N",
         "retries at a receiver not ready, if the QP sets none\n"
         "(default 7: endless)"),
    KNOB_OF(OPEN, "max-ah", max_ah, SIM_KNOB_UINT, 1, 65534, "N",
            "address handles of a process, at most (default 1024)"),
    KNOB("qkey-status", qkey_status, SIM_KNOB_UINT, 0, 15, "STATUS",
         "answer to a wrong QKEY, 0 for silence (default 9)"),
    KNOB("killed-status", killed_status, SIM_KNOB_UINT, 8, 13, "STATUS",
         "status of requests under way to a killed process: 8 or 9\n"
         "if its host lives, 13 if that died, too (default 9)"),
    KNOB("inject", inject, SIM_KNOB_INJECT, 0, 0,
         "OP:STATUS[:COUNT[:SKIP]],...",
         "after SKIP (default 0) requests of OP (send, read, write,\n"
         "recv) the next COUNT (default 1) complete with\n"
         "STATUS; OP post: posting fails with that errno"),
    KNOB("fail-command", fail_num, SIM_KNOB_FAIL, 0, 0,
         "NAME:N[:ERRNO],...",
         "the N-th command NAME (reg-mr, create-qp, ..., or any;\n"
         "efasim(1) has all) fails with ERRNO (default ENOMEM)"),
    KNOB("srd-loss", srd_loss, SIM_KNOB_UINT, 0, UINT32_MAX, "N",
         "each N-th message to a QP (SRD) is lost, its sender is\n"
         "told that it arrived (default 0: none)"),
    KNOB("srd-duplicate", srd_duplicate, SIM_KNOB_UINT, 0, UINT32_MAX, "N",
         "each N-th message of a QP (SRD) arrives twice (default 0)"),
    KNOB("reorder-reach", reorder_reach, SIM_KNOB_UINT, 1, 4096, "N",
         "later packets that overtake one, at most (default 8)"),
    KNOB("rnr-endless", rnr_endless, SIM_KNOB_UINT, 0, 6, "N",
         "retries that --rnr-retry 7 means (default 0: endless)"),
    KNOB("ud-prefix", ud_prefix, SIM_KNOB_UINT, 0, 64, "BYTES",
         "room left free before a received datagram (default 40)"),
    KNOB("reuse-qpn", reuse_qpn, SIM_KNOB_FLAG, 0, 1, NULL,
         "numbers of destroyed QPs are reused last"),
    KNOB("share-ah", share_ah, SIM_KNOB_FLAG, 0, 1, NULL,
         "an address handle serves only the first QP that uses it"),
    KNOB_OF(PROCESS, "copy-on-fork", copy_on_fork, SIM_KNOB_FLAG, 0, 1, NULL,
            "the kernel does not copy registered pages on fork"),
    KNOB_OF(OPEN, "port-gbps", port_gbps, SIM_KNOB_UINT, 1, 1000000, "GBPS",
            "speed that the driver tells of the port (default 100)"),
    KNOB("reg-us", reg_us, SIM_KNOB_UINT, 0, 1000000, "US",
         "extra time of each memory registration (default 0)"),
    KNOB("post-us", post_us, SIM_KNOB_UINT, 0, 1000000, "US",
         "extra CPU time of each post of sends, as on a slow\n"
         "CPU (default 0)"),
    KNOB("accept", accept, SIM_KNOB_ACCEPT, 0, UINT64_MAX, "NAME:N,...",
         "limits lower than the device reports; NAME is send-queue,\n"
         "receive-queue, send-sge, receive-sge, inline,\n"
         "message, read, handles, queue-pairs, registration\n"
         "or batch (default: as reported)"),
    KNOB("answer", answer, SIM_KNOB_ANSWER, 0, SIM_ANSWER_USUAL - 1,
         "CASE:STATUS,...",
         "other completion statuses; CASE is dead (no such queue\n"
         "pair), absent (no such host), rnr (not ready in all\n"
         "tries), unknown (RDMA without a handle there), key,\n"
         "long, handle (gone) or overrun"),
    KNOB("late", late, SIM_KNOB_LATE, 0, 1000000, "OP:US,...",
         "the last byte of OP (send, read, write) is in place\n"
         "US after its completion (default 0: before it)"),
    KNOB("eager", eager, SIM_KNOB_FLAG, 0, 1, NULL,
         "the device works also while the program does not poll"),
    KNOB_OF(PROCESS, "memlock-root", memlock_root, SIM_KNOB_FLAG, 0, 1, NULL,
            "the limit on locked memory holds for root, too"),
    KNOB_OF(PROCESS, "refuse-open", refuse_open, SIM_KNOB_ERRNO, 0, 0, NULL,
            "opening the device fails, as without rights (EACCES)"),
    KNOB_OF(OPEN, "no-rdma-read", no_rdma_read, SIM_KNOB_FLAG, 0, 1, NULL,
            "a device without RDMA, whatever its generation"),
    KNOB_OF(HOST, "device", device, SIM_KNOB_DEVICE, 0, 0,
            "efa0|efa1|efa2|efa3",
            "generation: efa0 has no RDMA, efa1 (default) reads,\n"
            "efa2 and efa3 write, too"),
    KNOB_OF(HOST, "devices", devices, SIM_KNOB_UINT, 1, SIM_DEVICES, "N",
            "devices rdmap0s6, rdmap16s6, ..., 1 to 4 (default 1)"),
    KNOB_OF(HOST, "gpus", gpus, SIM_KNOB_UINT, 0, SIM_GPUS, "N",
            "emulated GPUs, spread over the devices (default 0)"),
    KNOB_OF(PROCESS, "dmabuf", dmabuf, SIM_KNOB_FLAG, 0, 1, NULL,
            "a kernel that registers no dma-bufs (EOPNOTSUPP)"),
    KNOB_OF(HOST, "peer-memory", peer_memory, SIM_KNOB_FLAG, 0, 1, NULL,
            "a driver that registers GPU memory by its address"),
    { NULL, SIM_KNOB_UINT, 0, 0, 0, NULL, NULL, SIM_SCOPE_ANY }
};

void sim_knobs_init(struct sim_knobs *knobs)
{
    unsigned i;

    memset(knobs, 0, sizeof(*knobs));
    knobs->seed          = 1;
    knobs->timeout_ms    = 5000;
    knobs->rnr_us        = 100;
    knobs->max_ah        = SIM_MAX_AH;
    knobs->ud_mtu        = SIM_MAX_MSG;
    knobs->cq_divide     = 1;
    knobs->max_cqe       = SIM_MAX_CQE;
    knobs->max_rdma      = SIM_MAX_RDMA;
    knobs->comp_vectors  = 4;
    knobs->dmabuf        = 1;
    knobs->strict_batch  = 1;
    knobs->strict_ah     = 1;
    knobs->qkey_status   = 9;
    knobs->rnr_retry     = SIM_RNR_ENDLESS;
    knobs->killed_status = 9;
    knobs->reorder_reach = 8;
    knobs->ud_prefix     = SIM_UD_PREFIX;
    knobs->reuse_qpn     = 1;
    knobs->share_ah      = 1;
    knobs->copy_on_fork  = 1;
    knobs->port_gbps     = 100;
    for (i = 0; i < SIM_ANSWERS; ++i) {
        knobs->answer[i] = SIM_ANSWER_USUAL;
    }
}

static int knob_name_equal(const char *a, const char *b)
{
    for (; *a && *b; ++a, ++b) {
        int ca = (*a == '_') ? '-' : tolower((unsigned char)*a);
        int cb = (*b == '_') ? '-' : tolower((unsigned char)*b);

        if (ca != cb) {
            return 0;
        }
    }

    return *a == *b;
}

const struct sim_knob *sim_knob_find(const char *name)
{
    const struct sim_knob *knob;

    for (knob = sim_knob_table; knob->name != NULL; ++knob) {
        if (knob_name_equal(knob->name, name)) {
            return knob;
        }
    }

    return NULL;
}

void sim_knob_option(const struct sim_knob *knob, char *text, size_t size)
{
    struct sim_knobs knobs;
    uint64_t value = 0;

    sim_knobs_init(&knobs);
    if (knob->type == SIM_KNOB_FLAG) {
        memcpy(&value, (const char*)&knobs + knob->offset, sizeof(value));
    }
    snprintf(text, size, "--%s%s%s%s", (value != 0) ? "no-" : "", knob->name,
             knob->arg ? " " : "", knob->arg ? knob->arg : "");
}

void sim_knob_variable(const struct sim_knob *knob, char *name, size_t size)
{
    char *c;

    snprintf(name, size, "EFASIM_%s", knob->name);
    for (c = name; *c != '\0'; ++c) {
        *c = (*c == '-') ? '_' : toupper((unsigned char)*c);
    }
}

static int knob_set_uint(uint64_t *field, const struct sim_knob *knob,
                         const char *value)
{
    const char *end;
    uint64_t number;

    if (sim_number(value, knob->max, &number, &end) || (*end != '\0') ||
        (number < knob->min)) {
        return -1;
    }

    *field = number;
    return 0;
}

static int knob_set_probability(double *field, const char *value)
{
    char *end;
    double p;

    if (!isdigit((unsigned char)*value) && (*value != '.')) {
        return -1;
    }

    p = strtod(value, &end);
    if ((end == value) || (*end != '\0') || !isfinite(p) || (p < 0) ||
        (p > 1)) {
        return -1;
    }

    *field = p;
    return 0;
}

static const char *const knob_ops[SIM_INJECT_OPS] = {
    [SIM_INJECT_SEND]  = "send",
    [SIM_INJECT_READ]  = "read",
    [SIM_INJECT_RECV]  = "recv",
    [SIM_INJECT_WRITE] = "write",
    [SIM_INJECT_POST]  = "post",
};

/* OP:STATUS[:COUNT[:SKIP]]; returns the character behind it, or NULL. */
static const char *knob_parse_inject(const char *text,
                                     struct sim_inject *inject)
{
    size_t length = strcspn(text, ":");
    uint64_t status;
    unsigned op;
    char *end;

    for (op = 0; op < SIM_INJECT_OPS; ++op) {
        if ((strlen(knob_ops[op]) == length) &&
            !strncmp(text, knob_ops[op], length)) {
            break;
        }
    }

    inject->count  = 1;
    inject->skip   = 0;
    inject->chance = 0;
    if ((op == SIM_INJECT_OPS) || (text[length] != ':') ||
        sim_number(text + length + 1, 255, &status, &text)) {
        return NULL;
    }

    inject->op     = op;
    inject->status = status;
    if ((*text == ':') && (strcspn(text + 1, ".") < strcspn(text + 1, ":,"))) {
        inject->chance = strtod(text + 1, &end);
        return ((inject->chance > 0) && (inject->chance <= 1)) ? end : NULL;
    }
    if ((*text == ':') &&
        sim_number(text + 1, UINT64_MAX, &inject->count, &text)) {
        return NULL;
    }
    if ((*text == ':') &&
        sim_number(text + 1, UINT64_MAX, &inject->skip, &text)) {
        return NULL;
    }

    return text;
}

static int knob_set_inject(struct sim_knobs *knobs, const char *value)
{
    struct sim_inject inject[SIM_INJECT_MAX];
    unsigned num = 0;

    while (*value != '\0') {
        if (num == SIM_INJECT_MAX) {
            return -1;
        }
        value = knob_parse_inject(value, &inject[num]);
        if ((value == NULL) || ((*value != ',') && (*value != '\0'))) {
            return -1;
        }
        ++num;
        value += (*value == ',');
    }

    memcpy(knobs->inject, inject, num * sizeof(inject[0]));
    knobs->inject_num = num;
    return 0;
}

static const struct {
    const char *name;
    int         number;
} knob_errnos[] = {
    { "0", 0 },           { "1", EACCES },      { "EACCES", EACCES },
    { "EPERM", EPERM },   { "ENODEV", ENODEV }, { "EBUSY", EBUSY },
    { "ENOMEM", ENOMEM }, { "EIO", EIO },       { "EINVAL", EINVAL },
    { "EOPNOTSUPP", EOPNOTSUPP },
};

enum {
    KNOB_ERRNOS = sizeof(knob_errnos) / sizeof(knob_errnos[0]),
};

/* -1: not one of the names */
static int knob_errno(const char *value)
{
    unsigned i;

    for (i = 0; i < KNOB_ERRNOS; ++i) {
        if (!strcmp(value, knob_errnos[i].name)) {
            return knob_errnos[i].number;
        }
    }

    return -1;
}

static int knob_set_errno(uint64_t *field, const char *value)
{
    int number = knob_errno(value);

    if (number < 0) {
        return -1;
    }

    *field = number;
    return 0;
}

const char *const sim_command_names[] = {
    "any",      "alloc-pd",  "create-ah",      "reg-mr",   "reg-dmabuf-mr",
    "query-mr", "create-cq", "create-channel", "create-qp", "modify-qp",
    "query-qp", "query-device", "query-port",  "get-context", NULL
};

/* NAME:N[:ERRNO]; `text` is cut up. */
static int knob_parse_fail(char *text, struct sim_fail *fail)
{
    char *save, *name = strtok_r(text, ":", &save);
    char *number      = name ? strtok_r(NULL, ":", &save) : NULL;
    char *error       = number ? strtok_r(NULL, ":", &save) : NULL;
    const char *end;
    unsigned i;

    if ((number == NULL) || sim_number(number, UINT32_MAX, &fail->number,
                                        &end) ||
        (*end != '\0') || (fail->number == 0)) {
        return -1;
    }

    fail->error = error ? knob_errno(error) : ENOMEM;
    for (i = 0; (fail->error > 0) && (sim_command_names[i] != NULL); ++i) {
        if (knob_name_equal(sim_command_names[i], name)) {
            snprintf(fail->name, sizeof(fail->name), "%s",
                     sim_command_names[i]);
            return 0;
        }
    }

    return -1;
}

static int knob_set_fail(struct sim_knobs *knobs, const char *value)
{
    struct sim_fail fail[SIM_FAIL_MAX];
    char copy[512], *save, *word;
    unsigned num = 0;

    if (strlen(value) >= sizeof(copy)) {
        return -1;
    }
    strcpy(copy, value);
    for (word = strtok_r(copy, ",", &save); word != NULL;
         word = strtok_r(NULL, ",", &save)) {
        if ((num == SIM_FAIL_MAX) || knob_parse_fail(word, &fail[num])) {
            return -1;
        }
        ++num;
    }

    memcpy(knobs->fail, fail, num * sizeof(fail[0]));
    knobs->fail_num = num;
    return 0;
}

static int knob_set_device(uint64_t *field, const char *value)
{
    unsigned number = sim_profile_find(value);

    if (number == 0) {
        return -1;
    }

    *field = number;
    return 0;
}

/* Append "a, b or c" to a text. The names are the first members of structures
 * so many bytes apart. */
static void knob_join(char *buf, size_t size, const void *names, size_t stride,
                      unsigned num)
{
    const char *name;
    size_t at;
    unsigned i;

    for (i = 0; i < num; ++i) {
        at = strlen(buf);
        memcpy(&name, (const char*)names + i * stride, sizeof(name));
        snprintf(buf + at, size - at, "%s%s", name,
                 (i + 2 < num) ? ", " : (i + 2 == num) ? " or " : "");
    }
}

static void knob_allowed(const struct sim_knob *knob, char *buf, size_t size)
{
    size_t at;

    buf[0] = '\0';
    switch (knob->type) {
    case SIM_KNOB_UINT:
        snprintf(buf, size, "a whole number from %llu to %llu",
                 (unsigned long long)knob->min,
                 (unsigned long long)knob->max);
        break;
    case SIM_KNOB_PROBABILITY:
        snprintf(buf, size, "a number from 0 to 1");
        break;
    case SIM_KNOB_FLAG:
        snprintf(buf, size, "0 or 1");
        break;
    case SIM_KNOB_INJECT:
        snprintf(buf, size, "OP:STATUS[:COUNT[:SKIP]] or OP:STATUS:0.1 with "
                 "OP ");
        knob_join(buf, size, knob_ops, sizeof(knob_ops[0]), SIM_INJECT_OPS);
        at = strlen(buf);
        snprintf(buf + at, size - at, " and STATUS 0 to 255, at most %d, "
                 "separated by commas", SIM_INJECT_MAX);
        break;
    case SIM_KNOB_ERRNO:
        knob_join(buf, size, knob_errnos, sizeof(knob_errnos[0]),
                  KNOB_ERRNOS);
        break;
    case SIM_KNOB_FAIL:
        snprintf(buf, size, "NAME:N[:ERRNO], at most %d, separated by commas; "
                 "NAME is any or a command such as reg-mr, create-qp",
                 SIM_FAIL_MAX);
        break;
    case SIM_KNOB_DEVICE:
        knob_join(buf, size, sim_profile_get(1), sizeof(struct sim_profile),
                  SIM_PROFILES);
        break;
    case SIM_KNOB_ACCEPT:
    case SIM_KNOB_ANSWER:
    case SIM_KNOB_LATE:
        sim_named_allowed(knob, buf, size);
        break;
    }
}

int sim_knob_set(struct sim_knobs *knobs, const struct sim_knob *knob,
                 const char *label, const char *value, char *err,
                 size_t err_size)
{
    void *field = (char*)knobs + knob->offset;
    char allowed[240];
    int ret = -1;

    switch (knob->type) {
    case SIM_KNOB_UINT:
    case SIM_KNOB_FLAG:
        ret = knob_set_uint(field, knob, value);
        break;
    case SIM_KNOB_PROBABILITY:
        ret = knob_set_probability(field, value);
        break;
    case SIM_KNOB_INJECT:
        ret = knob_set_inject(knobs, value);
        break;
    case SIM_KNOB_ERRNO:
        ret = knob_set_errno(field, value);
        break;
    case SIM_KNOB_FAIL:
        ret = knob_set_fail(knobs, value);
        break;
    case SIM_KNOB_DEVICE:
        ret = knob_set_device(field, value);
        break;
    case SIM_KNOB_ACCEPT:
    case SIM_KNOB_ANSWER:
    case SIM_KNOB_LATE:
        ret = sim_named_set(field, knob, value);
        break;
    }

    if (ret != 0) {
        knob_allowed(knob, allowed, sizeof(allowed));
        snprintf(err, err_size, "%s=%.100s: allowed is %s", label, value,
                 allowed);
    }

    return ret;
}
