/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "abi.h"
#include "global.h"

/*
 * The transports in a peer's UCP address. UCP alone reads such an address; but
 * its line "no %s transport to %s: %s" (UCX from 1.13 on) has a name as second
 * argument that is a member of the address, as UCP has unpacked it. Behind the
 * name come the entries, one for each transport and device of the peer, each
 * with a checksum of the transport's name.
 */
enum { APART_PEER_MAX = 128 }; /* UCP_MAX_RESOURCES */

/* Nonzero if all @size bytes at @from of this process could be copied. */
static int peer_address_copy(void *to, const void *from, size_t size)
{
    struct iovec local  = {to, size};
    struct iovec remote = {(void*)from, size};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
           (ssize_t)size;
}

/*
 * The checksums (ucs_crc16_string) in the address whose name is at @name into
 * @sums, APART_PEER_MAX at most. Returns their number; 0: they cannot be read.
 * Memory is read by a system call: an address with another layout, of a UCX
 * that was modified, gives 0 or numbers of no transport, and never a fault.
 */
static unsigned peer_address_sums(const ucx_host_t *host, const char *name,
                                  uint16_t *sums)
{
    const ucx_abi_t *abi = host->calls->abi;
    ucx_abi_address_t address;
    const char *sum;
    unsigned i;

    if ((host->calls->crc16_string == NULL) ||
        !peer_address_copy(&address,
                           name - offsetof(ucx_abi_address_t, name),
                           sizeof(address)) ||
        (address.entry_count > APART_PEER_MAX)) {
        return 0;
    }
    sum = address.entries + abi->address_entry_sum;
    for (i = 0; i < address.entry_count; ++i) {
        if (!peer_address_copy(&sums[i], sum, sizeof(*sums))) {
            return 0;
        }
        sum += abi->address_entry_size;
    }
    return i;
}

#define APART_FORMAT "no %s transport to %s: %s" /* UCX's */
#define APART_DASH   " - " /* between "tcp/eth0" and a reason */

enum {
    APART_CONTINUE  = 1, /* UCS_LOG_FUNC_RC_CONTINUE */
    APART_LINE_MAX  = 2048,
    APART_NAMES_MAX = 128
};

/* UCX's transports to other hosts, beside those of this module. */
static const char *const apart_far[] = {"tcp", "rc_verbs", "rc_mlx5", "dc_mlx5",
                                        "ud_verbs", "ud_mlx5", "gga_mlx5"};

/* Those within a host, which no peer on another one needs. */
static const char *const apart_local[] = {
    "self", "sysv", "posix", "cma", "knem", "xpmem", "cuda_copy", "cuda_ipc",
    "gdr_copy", "rocm_copy", "rocm_ipc", "ze_copy", "ze_ipc"
};

static const ucx_host_t *apart_host; /* the last UCX, of several in a process */

static int apart_is_one_of(const char *const *names, size_t count,
                           const char *name, size_t length)
{
    size_t i;

    for (i = 0; i < count; ++i) {
        if ((strlen(names[i]) == length) && !strncmp(names[i], name, length)) {
            return 1;
        }
    }
    return 0;
}

static int apart_is_ours(const char *name, size_t length)
{
    unsigned i;

    for (i = 0; i < ucx_provider.carrier_count; ++i) {
        if (apart_is_one_of(&ucx_provider.transports[i]->name, 1, name,
                            length)) {
            return 1;
        }
    }
    return 0;
}

/* Nonzero if the list @names, "tcp, srd", has @name. */
static int apart_has(const char *names, const char *name, size_t length)
{
    size_t item;

    for (; *names != '\0'; names += item + strspn(names + item, ", ")) {
        item = strcspn(names, ",");
        if ((item == length) && !strncmp(names, name, length)) {
            return 1;
        }
    }
    return 0;
}

/* Adds @name to the list in @names, unless it is there or there is no room. */
static void apart_add(char *names, const char *name, size_t length)
{
    size_t used = strlen(names);

    if (!apart_has(names, name, length) &&
        (used + length + 3 <= APART_NAMES_MAX)) {
        snprintf(names + used, APART_NAMES_MAX - used, "%s%.*s",
                 (used > 0) ? ", " : "", (int)length, name);
    }
}

/* Nonzero for the words of the versions of UCX about a transport that the peer
 * has not; they use them for other peers out of reach, too. */
static int apart_is_reason(const char *reason)
{
    static const char *const reasons[] = {"Destination is unreachable",
                                          "destination is unreachable",
                                          "not available"};
    unsigned i;

    for (i = 0; i < sizeof(reasons) / sizeof(*reasons); ++i) {
        if (!strncmp(reason, reasons[i], strlen(reasons[i]))) {
            return 1;
        }
    }
    return 0;
}

/*
 * The transports to other hosts for which UCX's line has such a reason, each as
 * "tcp/eth0 - Destination is unreachable". Returns how many are of this module.
 */
static unsigned apart_ours(const char *line, char *names)
{
    const char *dash = line, *name;
    unsigned count   = 0;
    size_t length;

    names[0] = '\0';
    while ((dash = strstr(dash + 1, APART_DASH)) != NULL) {
        for (name = dash; (name > line) && (name[-1] != ' '); --name) {
        }
        length = strcspn(name, "/ ");
        if ((length > 0) &&
            !apart_is_one_of(apart_local,
                             sizeof(apart_local) / sizeof(*apart_local), name,
                             length) &&
            apart_is_reason(dash + strlen(APART_DASH))) {
            apart_add(names, name, length);
            count += apart_is_ours(name, length);
        }
    }
    return count;
}

/* The transport to other hosts that has the checksum @sum, "" if it is one
 * within a host, or for GPUs' kernels alone, NULL if it is unknown. */
static const char *apart_name_of(const ucx_host_t *host, uint16_t sum)
{
    unsigned i;

    for (i = 0; i < ucx_provider.transport_count; ++i) {
        const char *name = ucx_provider.transports[i]->name;

        if (host->calls->crc16_string(name) == sum) {
            return (i < ucx_provider.carrier_count) ? name : "";
        }
    }
    for (i = 0; i < sizeof(apart_far) / sizeof(*apart_far); ++i) {
        if (host->calls->crc16_string(apart_far[i]) == sum) {
            return apart_far[i];
        }
    }
    for (i = 0; i < sizeof(apart_local) / sizeof(*apart_local); ++i) {
        if (host->calls->crc16_string(apart_local[i]) == sum) {
            return "";
        }
    }
    return NULL;
}

/* The peer's transports to other hosts, from its address, whose name is at
 * @peer: "tcp, ud", or a word for none, or for those that nobody here knows.
 * Nonzero if @ours has one of them. */
static int apart_theirs(const ucx_host_t *host, const char *peer,
                        const char *ours, char *names)
{
    uint16_t sums[APART_PEER_MAX];
    unsigned count = peer_address_sums(host, peer, sums), i;
    int known      = count > 0, share = 0;

    names[0] = '\0';
    for (i = 0; i < count; ++i) {
        const char *name = apart_name_of(host, sums[i]);

        if (name == NULL) {
            known = 0;
        } else if (name[0] != '\0') {
            apart_add(names, name, strlen(name));
            share |= apart_has(ours, name, strlen(name));
        }
    }
    if (names[0] == '\0') {
        snprintf(names, APART_NAMES_MAX, "%s",
                 known ? "none to other hosts" : "others");
    }
    return share;
}

static void apart_say(const ucx_host_t *host, const char *peer,
                      const char *ours)
{
    const char *tls = ucx_setting("TLS");
    char theirs[APART_NAMES_MAX];
    int share       = apart_theirs(host, peer, ours, theirs);

    host_error(host, "no %s a peer: this side has %s (UCX_TLS=%.64s), the peer "
               "has %s, and %s; start both sides with srdrun and the same "
               "UCX_TLS%s", share ? "way to" : "transport in common with", ours,
               (tls != NULL) ? tls : "all", theirs,
               share ? "the devices of one cannot reach those of the other" :
               "each connects only to its own kind",
               share ? " and UCX_NET_DEVICES" : "");
}

/* A ucs_log_func_t. Nothing but UCX's one format is looked at. */
static int apart_log(const char *file, unsigned line, const char *function,
                     ucs_log_level_t level, const void *component,
                     const char *format, va_list ap)
{
    const ucx_host_t *host = apart_host;
    char text[APART_LINE_MAX], names[APART_NAMES_MAX];
    const char *peer;
    va_list args;
    unsigned ours;

    (void)file, (void)line, (void)function, (void)component;
    if ((level != UCS_LOG_LEVEL_ERROR) || strcmp(format, APART_FORMAT)) {
        return APART_CONTINUE;
    }
    va_copy(args, ap);
    (void)va_arg(args, const char*);
    peer = va_arg(args, const char*);
    va_end(args);
    vsnprintf(text, sizeof(text), format, ap);
    ours = apart_ours(text, names);
    if (((ours > 0) || ((names[0] != '\0') && ucx_global_warns() &&
                        ucx_provider.device_is_present())) &&
        ucx_message_is_first()) {
        apart_say(host, peer, names);
    }
    return APART_CONTINUE;
}

void apart_attach(const ucx_host_t *host)
{
    apart_host = host;
    if (host->calls->log_push_handler != NULL) {
        host->calls->log_push_handler(apart_log);
    }
}
