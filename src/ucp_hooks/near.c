/* SPDX-License-Identifier: BSD-3-Clause */
#include "near.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    TCP_LOOPBACK = 1 /* a flag in the first byte of tcp's addresses */
};

static pthread_mutex_t near_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ifaddrs *near_list; /* as last listed */
static time_t near_listed;        /* the second after; 0: never */

static int near_list_has(int family, const void *ip, size_t size)
{
    const struct sockaddr *addr;
    const struct ifaddrs *it;
    const void *own;

    for (it = near_list; it != NULL; it = it->ifa_next) {
        addr = it->ifa_addr;
        if ((addr == NULL) || (addr->sa_family != family)) {
            continue;
        }
        own = (family == AF_INET) ?
              (const void*)&((const struct sockaddr_in*)addr)->sin_addr :
              (const void*)&((const struct sockaddr_in6*)addr)->sin6_addr;
        if (!memcmp(own, ip, size)) {
            return 1;
        }
    }
    return 0;
}

/* Lists the interfaces again, unless that was done in this second. */
static void near_list_renew(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_sec + 1 == near_listed) {
        return;
    }
    near_listed = now.tv_sec + 1;
    if (near_list != NULL) {
        freeifaddrs(near_list);
    }
    if (getifaddrs(&near_list) != 0) {
        near_list = NULL;
    }
}

int near_ip(int family, const void *ip, size_t size)
{
    int is_near;

    if ((family == AF_INET) && (*(const uint8_t*)ip == IN_LOOPBACKNET)) {
        return 1;
    }
    pthread_mutex_lock(&near_lock);
    is_near = near_list_has(family, ip, size);
    if (!is_near) {
        near_list_renew();
        is_near = (near_list == NULL) || near_list_has(family, ip, size);
    }
    pthread_mutex_unlock(&near_lock);
    return is_near;
}

int near_tcp(const uint8_t *addr)
{
    if (addr[0] & TCP_LOOPBACK) {
        return 1; /* reached within a network namespace only */
    }
    switch (addr[1]) {
    case AF_INET:
        return near_ip(AF_INET, addr + 2, sizeof(struct in_addr));
    case AF_INET6:
        return near_ip(AF_INET6, addr + 2, sizeof(struct in6_addr));
    default:
        return 1;
    }
}

int near_ib(const uint8_t *ours, size_t length, const uint8_t *theirs)
{
    return (theirs[0] == ours[0]) && !memcmp(ours, theirs, length);
}
