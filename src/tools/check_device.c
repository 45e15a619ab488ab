/* SPDX-License-Identifier: BSD-3-Clause */
/* From the PCI function to a device that is open; huge pages. */
#include "info.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The number in the line of /proc/meminfo that begins with @name, or 0. */
static unsigned long meminfo(const char *text, const char *name)
{
    const char *line = strstr(text, name);

    return (line == NULL) ? 0 : strtoul(line + strlen(name), NULL, 10);
}

void check_memory(info_t *info)
{
    char text[8192];
    unsigned long total, unused;

    if (info_read(info, "/proc/meminfo", text, sizeof(text)) != 0) {
        info_report(info, INFO_WARN, "huge pages", "mount /proc",
                    "/proc/meminfo cannot be read");
        return;
    }
    total  = meminfo(text, "HugePages_Total:");
    unused = meminfo(text, "HugePages_Free:");
    if (total == 0) {
        info_report(info, INFO_OK, "huge pages", NULL,
                    "none reserved, none needed; receive buffers would use "
                    "those of 2 MB");
    } else if (unused == 0) {
        info_report(info, INFO_WARN, "huge pages",
                    "reserve more: sysctl vm.nr_hugepages",
                    "all %lu are in use; UCX, libefa and receive buffers take "
                    "small pages instead", total);
    } else {
        info_report(info, INFO_OK, "huge pages", NULL, "%lu of %lu are free",
                    unused, total);
    }
}

enum {
    DEVICE_REG_BYTES = 16 << 20,
    DEVICE_REG_LEAST = 4 << 20 /* for one process, device and transport */
};

static const char after_device[] = "no device to look at";

/* Device files of EFAs, and those that can be used. */
typedef struct check_nodes {
    unsigned count, usable;
    char     node[300]; /* one that can be, else one that cannot */
    int      error;     /* of that one */
} check_nodes_t;

static void find_nodes(check_nodes_t *nodes)
{
    char name[256], node[300];
    int  fd;

    memset(nodes, 0, sizeof(*nodes));
    for (; efa_sysfs_find("class/infiniband_verbs", "/device", nodes->count,
                          name, sizeof(name)); ++nodes->count) {
        snprintf(node, sizeof(node), "/dev/infiniband/%s", name);
        fd = open(node, O_RDWR | O_CLOEXEC);
        if ((nodes->count == 0) || ((fd >= 0) && (nodes->usable == 0))) {
            snprintf(nodes->node, sizeof(nodes->node), "%s", node);
            nodes->error = (fd < 0) ? errno : 0;
        }
        if (fd >= 0) {
            ++nodes->usable;
            close(fd);
        }
    }
}

/* 0 if there is a device file that can be used, else what fails was said. */
static int check_files(info_t *info)
{
    char name[256], why[INFO_TEXT_MAX];
    int has_pci = efa_sysfs_find("bus/pci/devices", "", 0, name, sizeof(name));
    check_nodes_t nodes;

    efa_device_explain_none(why, sizeof(why));
    find_nodes(&nodes);
    if (nodes.count == 0) {
        info_report(info, has_pci ? INFO_OK : INFO_FAIL, "device", NULL, "%s",
                    has_pci ? name : why);
        info_report(info, has_pci ? INFO_FAIL : INFO_SKIP, "driver", NULL,
                    "%s", has_pci ? why : after_device);
        info_report(info, INFO_SKIP, "device files", NULL, after_device);
        return -1;
    }
    info_report(info, INFO_OK, "device", NULL, "an EFA is attached");
    info_report(info, INFO_OK, "driver", NULL, "efa and ib_uverbs have it");
    if ((nodes.usable > 0) && (nodes.usable < nodes.count)) {
        info_report(info, INFO_OK, "device files", NULL,
                    "%s, %u of %u (%u %s not this container's)", nodes.node,
                    nodes.usable, nodes.count, nodes.count - nodes.usable,
                    (nodes.count - nodes.usable == 1) ? "is" : "are");
    } else if (nodes.usable > 0) {
        info_report(info, INFO_OK, "device files", NULL, "%s", nodes.node);
    } else if (nodes.error == ENOENT) {
        info_report(info, INFO_FAIL, "device files", NULL, "%s", why);
    } else {
        info_report(info, INFO_FAIL, "device files",
                    "give the user that right (udev rule or group), or run the "
                    "container with --device of that file",
                    "%s cannot be opened to read and write: %s", nodes.node,
                    strerror(nodes.error));
    }
    return (nodes.usable > 0) ? 0 : -1;
}

static int check_libraries(info_t *info)
{
    char why[INFO_TEXT_MAX];

    info->verbs = efa_verbs_get(why, sizeof(why));
    if (info->verbs == NULL) {
        info_report(info, INFO_FAIL, "libraries", NULL, "%s", why);
        return -1;
    }
    info_report(info, INFO_OK, "libraries", NULL,
                "libibverbs and libefa open and go together");
    return 0;
}

static int check_provider(info_t *info)
{
    char why[INFO_TEXT_MAX];

    if ((efa_device_list(info->verbs, &info->devices, &info->device_count) !=
         UCS_OK) || (info->device_count == 0)) {
        efa_device_explain_none(why, sizeof(why));
        info_report(info, INFO_FAIL, "provider", NULL, "%s", why);
        return -1;
    }
    info_report(info, INFO_OK, "provider", NULL, "libibverbs lists %u EFA%s",
                info->device_count, (info->device_count > 1) ? "s" : "");
    return 0;
}

static int can_register(const efa_device_t *device, struct ibv_pd *pd,
                        size_t bytes)
{
    void *memory      = malloc(bytes);
    struct ibv_mr *mr = (memory == NULL) ? NULL :
                        device->verbs->reg_mr(pd, memory, bytes,
                                              IBV_ACCESS_LOCAL_WRITE);
    int error         = errno;

    if (mr != NULL) {
        device->verbs->dereg_mr(mr);
    }
    free(memory);
    errno = error;
    return mr != NULL;
}

/* Nonzero if the limit is below the bytes that could be registered. */
static int limit_is_passed(void)
{
    struct rlimit limit;

    return (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) &&
           (limit.rlim_cur < DEVICE_REG_BYTES);
}

/* Registers as much as a rank with many peers takes, then the least that the
 * module takes; between the two it works, and a message through the device says
 * so. */
static void check_locked(info_t *info, const efa_device_t *device)
{
    static const char remedy[] = "ulimit -l unlimited; memlock in limits.conf, "
                                 "LimitMEMLOCK=infinity for a service, "
                                 "--ulimit memlock=-1 for a container";
    struct ibv_pd *pd          = device->verbs->alloc_pd(device->context);
    int has_most               = (pd != NULL) &&
                                 can_register(device, pd, DEVICE_REG_BYTES);
    const char *why            = strerror(errno);
    int is_shortage            = errno == ENOMEM;
    char limit[64];

    (void)efa_memlock_text(limit, sizeof(limit));
    if (has_most) {
        info_report(info, INFO_OK, "locked memory", NULL,
                    "16 MiB can be registered; the limit is %s%s", limit,
                    limit_is_passed() ? ", which does not bind this user" :
                    "");
    } else if (!is_shortage) {
        info_report(info, INFO_FAIL, "locked memory",
                    "the kernel's log (dmesg) may say why; attach the "
                    "interface anew",
                    "16 MiB cannot be registered (%s); the limit, %s, is not "
                    "the cause", why, limit);
    } else if ((pd == NULL) || !can_register(device, pd, DEVICE_REG_LEAST)) {
        info_report(info, INFO_FAIL, "locked memory", remedy,
                    "4 MiB cannot be registered (%s), which a process takes "
                    "at least; the limit is %s", why, limit);
    } else {
        info_report(info, INFO_WARN, "locked memory", remedy,
                    "the limit is %s: enough for one device and few peers, "
                    "not for many (srd_info --plan says how much)", limit);
    }
    if (pd != NULL) {
        device->verbs->dealloc_pd(pd);
    }
}

/* Opens the device, and says how it went; `is_first`: nothing was said yet.
 * -1: it is another container's, and nothing was said. */
static int check_open_one(info_t *info, const char *name, int is_first)
{
    efa_device_t *device;

    if (efa_device_open(&info->host, name, &device) != UCS_OK) {
        const char *why = host_stub_message();
        int is_memlock  = strstr(why, "locked memory") != NULL;

        if ((strstr(why, "no right to read") != NULL) ||
            (strstr(why, "is missing; load") != NULL)) {
            return -1; /* another's can be opened: check_files */
        }
        info_report(info, INFO_FAIL, is_memlock ? "locked memory" : "open",
                    NULL, "%s", why);
        if (is_first) {
            info_report(info, INFO_SKIP, is_memlock ? "open" : "locked memory",
                        NULL, "%s cannot be opened", name);
        }
        return 0;
    }
    info_report(info, (device->max_rdma > 0) ? INFO_OK : INFO_WARN, "open",
                (device->max_rdma > 0) ? NULL :
                "none here: large messages go in packets; newer instance types "
                "have RDMA",
                "%s: %s, messages of %zu B", name,
                (device->max_rdma > 0) ? "SRD with RDMA read" :
                "SRD without RDMA", device->max_msg);
    if (is_first) {
        check_locked(info, device);
    }
    efa_device_close(device);
    return 0;
}

/* All devices; those of other containers leave the list. */
static void check_open(info_t *info)
{
    unsigned i, kept = 0;

    for (i = 0; i < info->device_count; ++i) {
        if (check_open_one(info, info->devices[i], kept == 0) == 0) {
            memmove(info->devices[kept++], info->devices[i],
                    sizeof(info->devices[0]));
        }
    }
    info->device_count = kept;
    if (kept == 0) {
        info_report(info, INFO_FAIL, "open", NULL, "%s", host_stub_message());
        info_report(info, INFO_SKIP, "locked memory", NULL, after_device);
    }
}

void check_device(info_t *info)
{
    if (check_files(info) != 0) {
        info_report(info, INFO_SKIP, "libraries", NULL, after_device);
        info_report(info, INFO_SKIP, "provider", NULL, after_device);
    } else if (check_libraries(info) != 0) {
        info_report(info, INFO_SKIP, "provider", NULL,
                    "libibverbs cannot be asked");
    } else if (check_provider(info) == 0) {
        check_open(info);
        return;
    }
    info_report(info, INFO_SKIP, "open", NULL, after_device);
    info_report(info, INFO_SKIP, "locked memory", NULL, after_device);
}
