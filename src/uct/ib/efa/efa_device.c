/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_device.h"
#include "efa_rkey.h"
#include "efa_clock.h"
#include "efa_speed.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#define EFA_PCI_VENDOR "0x1d0f"

const char *efa_memlock_text(char *buffer, size_t size)
{
    struct rlimit limit;

    if ((getrlimit(RLIMIT_MEMLOCK, &limit) != 0) ||
        (limit.rlim_cur == RLIM_INFINITY)) {
        snprintf(buffer, size, "unlimited");
    } else {
        snprintf(buffer, size, "%llu KiB",
                 (unsigned long long)limit.rlim_cur / 1024);
    }
    return buffer;
}

const char *efa_sysfs_root(void)
{
    const char *root = getenv("SYSFS_PATH"); /* as libibverbs does */

    return ((root != NULL) && (getuid() == geteuid())) ? root : "/sys";
}

int efa_sysfs_is_name(const struct dirent *entry)
{
    const char *at = entry->d_name;

    while (isgraph((unsigned char)*at)) {
        ++at;
    }
    return (entry->d_name[0] != '.') && (*at == '\0');
}

int efa_file_read(const char *path, char *buffer, size_t size)
{
    int     fd   = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    size_t  used = 0, i;
    ssize_t length;

    if (fd < 0) {
        return -1;
    }
    do {
        length = read(fd, buffer + used, size - 1 - used);
        used  += (length > 0) ? (size_t)length : 0;
    } while (length > 0);
    for (i = 0; i < used; ++i) {
        if (iscntrl((unsigned char)buffer[i]) && !isspace(buffer[i])) {
            buffer[i] = '?';
        }
    }
    buffer[used] = '\0';
    close(fd);
    return 0;
}

/* Whether the PCI function below `device_dir` is one of Amazon's. The modalias
 * alone ("pci:v00001D0Fd0000EFA1…") tells it where vendor is missing. */
static int efa_pci_is_efa(const char *device_dir)
{
    char path[PATH_MAX], text[256];

    snprintf(path, sizeof(path), "%s/modalias", device_dir);
    if (efa_file_read(path, text, sizeof(text)) == 0) {
        return (strstr(text, "v00001D0F") != NULL) &&
               (strstr(text, "d0000EFA") != NULL);
    }
    snprintf(path, sizeof(path), "%s/vendor", device_dir);
    return (efa_file_read(path, text, sizeof(text)) == 0) &&
           (strncmp(text, EFA_PCI_VENDOR, strlen(EFA_PCI_VENDOR)) == 0);
}

static int efa_ibdev_is_efa(const struct ibv_device *ibdev)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/device", ibdev->ibdev_path);
    return efa_pci_is_efa(path);
}

/*
 * The devices as libibverbs listed them last, which reads some 25 files of
 * each: UCX asks for the list several times while it starts, and who opens the
 * 32 of a host one by one does not list all of them each time. Under the lock.
 */
#define EFA_LIST_FRESH 1000000000u /* ns: a list so old is read anew, as is one
                                      from before all devices were closed */

static pthread_mutex_t     efa_device_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_device **efa_device_listed;
static uint64_t            efa_device_listed_at;
static unsigned            efa_devices_open;

/* Which of its first ones were looked at, and are EFAs. */
#define EFA_LIST_BITS 64
static uint64_t efa_list_known, efa_list_efas;

static void efa_device_forget_list(const efa_verbs_t *verbs)
{
    if (efa_device_listed != NULL) {
        verbs->free_device_list(efa_device_listed);
        efa_device_listed = NULL;
    }
    efa_list_known = 0;
    efa_list_efas  = 0;
}

/* Reads a file of the list's device, once. */
static int efa_device_listed_is_efa(unsigned i)
{
    uint64_t bit = (i < EFA_LIST_BITS) ? UCS_BIT(i) : 0;

    if (efa_list_known & bit) {
        return (efa_list_efas & bit) != 0;
    }
    efa_list_known |= bit;
    if (!efa_ibdev_is_efa(efa_device_listed[i])) {
        return 0;
    }
    efa_list_efas |= bit;
    return 1;
}

/* The list there is, or a new one; NULL: no RDMA in this kernel. */
static struct ibv_device **efa_device_list_get(const efa_verbs_t *verbs)
{
    if (efa_device_listed == NULL) {
        efa_device_listed    = verbs->get_device_list(NULL);
        efa_device_listed_at = efa_clock();
    }
    return efa_device_listed;
}

static ucs_status_t
efa_device_list_locked(const efa_verbs_t *verbs,
                       char (**names_p)[EFA_DEVICE_NAME_MAX], unsigned *count_p)
{
    struct ibv_device **list;
    unsigned            i, total = 0;

    if (efa_clock() - efa_device_listed_at > EFA_LIST_FRESH) {
        efa_device_forget_list(verbs);
    }
    list = efa_device_list_get(verbs);
    while ((list != NULL) && (list[total] != NULL)) {
        ++total;
    }
    if (total == 0) {
        efa_device_forget_list(verbs);
        return UCS_OK;
    }

    *names_p = calloc(total, sizeof(**names_p));
    if (*names_p == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    for (i = 0; i < total; ++i) {
        if (efa_device_listed_is_efa(i)) {
            snprintf((*names_p)[(*count_p)++], sizeof(**names_p), "%s",
                     verbs->get_device_name(list[i]));
        }
    }
    if (*count_p == 0) {
        free(*names_p);
        *names_p = NULL;
        efa_device_forget_list(verbs);
    }
    return UCS_OK;
}

ucs_status_t efa_device_list(const efa_verbs_t *verbs,
                             char (**names_p)[EFA_DEVICE_NAME_MAX],
                             unsigned *count_p)
{
    ucs_status_t status;

    *names_p = NULL;
    *count_p = 0;
    pthread_mutex_lock(&efa_device_lock);
    status = efa_device_list_locked(verbs, names_p, count_p);
    pthread_mutex_unlock(&efa_device_lock);
    return status;
}

int efa_sysfs_find(const char *folder, const char *device, unsigned number,
                   char *name, size_t size)
{
    char           path[PATH_MAX];
    DIR           *dir;
    struct dirent *entry;
    int            found = 0;

    snprintf(path, sizeof(path), "%s/%s", efa_sysfs_root(), folder);
    dir = opendir(path);
    if (dir == NULL) {
        return 0;
    }
    while (!found && ((entry = readdir(dir)) != NULL)) {
        if (!efa_sysfs_is_name(entry)) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s/%s%s", efa_sysfs_root(), folder,
                 entry->d_name, device);
        if (efa_pci_is_efa(path) && (number-- == 0)) {
            snprintf(name, size, "%s", entry->d_name);
            found = 1;
        }
    }
    closedir(dir);
    return found;
}

int efa_device_is_present(void)
{
    char name[256];

    return efa_sysfs_find("class/infiniband_verbs", "/device", 0, name,
                          sizeof(name)) ||
           efa_sysfs_find("bus/pci/devices", "", 0, name, sizeof(name));
}

unsigned efa_device_count_rdma(void)
{
    char           path[PATH_MAX];
    unsigned       count = 0;
    struct dirent *entry;
    DIR           *dir;

    snprintf(path, sizeof(path), "%s/class/infiniband_verbs",
             efa_sysfs_root());
    dir = opendir(path);
    if (dir == NULL) {
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        count += (strncmp(entry->d_name, "uverbs", 6) == 0);
    }
    closedir(dir);
    return count;
}

void efa_device_open_libraries(void)
{
    char (*names)[EFA_DEVICE_NAME_MAX];
    const efa_verbs_t *verbs;
    unsigned           count;
    char               why[256];

    if (!efa_device_is_present()) {
        return;
    }
    verbs = efa_verbs_get(why, sizeof(why));
    if ((verbs != NULL) && (efa_device_list(verbs, &names, &count) == UCS_OK)) {
        free(names);
    }
}

/* No EFA is seen: in the right place, or is that closed, or not there? */
static void efa_device_explain_sysfs(char *why, size_t size)
{
    const char *root = efa_sysfs_root();
    char        path[PATH_MAX];
    int         fd;

    snprintf(path, sizeof(path), "%s/class", root);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        snprintf(why, size,
                 "this machine has no EFA device: attach one (an EFA-enabled "
                 "network interface, which not all instance types take), or "
                 "emulate one with 'efasim run -- srdrun COMMAND'");
    } else if (errno == EACCES) {
        snprintf(why, size,
                 "user %u may not look for devices in %.128s, an emulated "
                 "device of the user whose 'efasim run' started this: use "
                 "'efasim run' behind what changes the user, as in 'setpriv "
                 "--reuid %u efasim run -- COMMAND'", (unsigned)geteuid(),
                 root, (unsigned)geteuid());
    } else {
        snprintf(why, size,
                 "%.128s shows no device of any kind, so an EFA would not be "
                 "seen: start the container with /sys mounted (or unset "
                 "SYSFS_PATH)", root);
    }
}

void efa_device_explain_none(char *why, size_t size)
{
    char name[256], node[320], other[256];

    if (efa_sysfs_find("class/infiniband_verbs", "/device", 0, name,
                       sizeof(name))) {
        snprintf(node, sizeof(node), "/dev/infiniband/%s", name);
        if (access(node, F_OK) != 0) {
            snprintf(why, size,
                     "the EFA device is there but %s is not: start the "
                     "container with --device=%s (Kubernetes: the EFA device "
                     "plugin), or load ib_uverbs",
                     node, node);
        } else if (efa_verbs_find_other(other, sizeof(other))) {
            snprintf(why, size,
                     "the EFA device %s is there, but this process has two "
                     "libibverbs, and libefa serves the other, %s: something "
                     "opened it before this module was loaded; put srdrun in "
                     "front of the program, or UCX_MODULES=^efa",
                     name, other);
        } else {
            snprintf(why, size,
                     "the EFA device %s is there but libibverbs has no "
                     "provider for it: libefa and libibverbs are of different "
                     "rdma-core versions, or the provider is not installed; "
                     "install both from one place (Debian: ibverbs-providers)",
                     name);
        }
    } else if (efa_sysfs_find("bus/pci/devices", "", 0, name, sizeof(name))) {
        snprintf(why, size,
                 "PCI function %s is an EFA but has no driver: load it with "
                 "'modprobe efa'",
                 name);
    } else {
        efa_device_explain_sysfs(why, size);
    }
}

/*
 * Why the device file cannot be opened. libibverbs tries other ways to open it
 * after the first and leaves the error of the last, so the file is asked.
 */
static int efa_device_open_error(const char *node, int err)
{
    int fd = open(node, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        return errno;
    }
    close(fd);
    return (err != 0) ? err : EIO;
}

static void efa_device_report_open(ucx_host_t *host, const char *name,
                                   const char *node, int err)
{
    char limit[64];

    switch (err) {
    case ENOENT:
        efa_report_absent(host,
                          "%s cannot be opened: %s is missing; load "
                          "ib_uverbs, or start the container with "
                          "--device=%s",
                          name, node, node);
        break;
    case EACCES:
    case EPERM:
        efa_report_absent(host,
                          "%s cannot be opened: no right to read and write "
                          "%s; give the user that right (udev rule or group), "
                          "or run the container with --device=%s",
                          name, node, node);
        break;
    case EOPNOTSUPP:
        efa_report_absent(host,
                          "%s refuses this user space: libefa is older than "
                          "the driver needs; update rdma-core",
                          name);
        break;
    case ENOMEM:
        efa_report_absent(host,
                          "%s cannot be opened: out of memory or of locked "
                          "memory (the limit is %s); raise it with 'ulimit "
                          "-l unlimited' or memlock in limits.conf",
                          name, efa_memlock_text(limit, sizeof(limit)));
        break;
    default:
        efa_report_absent(host,
                          "%s cannot be opened: %s; the kernel's log (dmesg) "
                          "may say why; load the driver anew (modprobe -r "
                          "efa, modprobe efa), or attach the interface anew",
                          name, strerror(err));
    }
}

static ucs_status_t efa_device_query(ucx_host_t *host, efa_device_t *device)
{
    const efa_verbs_t       *verbs   = device->verbs;
    struct ibv_context      *context = device->context;
    struct ibv_device_attr   attr;
    efa_adv_device_attr_t    efa_attr;
    struct ibv_port_attr     port;

    memset(&attr, 0, sizeof(attr));
    memset(&efa_attr, 0, sizeof(efa_attr));
    memset(&port, 0, sizeof(port));
    if ((verbs->query_device(context, &attr) != 0) ||
        (verbs->efa_query_device(context, (struct efadv_device_attr*)&efa_attr,
                                 sizeof(efa_attr)) != 0) ||
        (verbs->query_port(context, EFA_PORT,
                           (struct _compat_ibv_port_attr*)&port) != 0) ||
        (verbs->query_gid(context, EFA_PORT, 0, &device->gid) != 0)) {
        efa_report_absent(host,
                          "%s does not answer queries: %s; load the driver "
                          "anew (modprobe -r efa, modprobe efa), or attach "
                          "the interface anew",
                          device->name, strerror(errno));
        return UCS_ERR_IO_ERROR;
    }

    device->part        = attr.vendor_part_id;
    device->caps        = efa_attr.device_caps;
    device->max_sq_wr   = efa_attr.max_sq_wr;
    device->max_rq_wr   = efa_attr.max_rq_wr;
    device->max_sq_sge  = efa_attr.max_sq_sge;
    device->max_rq_sge  = efa_attr.max_rq_sge;
    device->inline_size = efa_attr.inline_buf_size;
    device->inline_size_wide =
            (efa_attr.inline_buf_size_ex > efa_attr.inline_buf_size) ?
                    efa_attr.inline_buf_size_ex :
                    efa_attr.inline_buf_size;
    device->max_rdma     = efa_attr.max_rdma_size;
    device->rdma_most    = efa_at_most(efa_attr.max_rdma_size, EFA_OVERLAP);
    device->max_rdma_sge = (attr.max_sge_rd < 1) ? 1 : attr.max_sge_rd;
    device->max_msg      = port.max_msg_sz;
    device->max_mr       = attr.max_mr_size;
    device->max_cqe      = attr.max_cqe;
    device->max_ah       = attr.max_ah;
    device->bandwidth = efa_speed_of_port(verbs, context, EFA_PORT, &port) / 8;
    return UCS_OK;
}

static void efa_device_find_place(efa_device_t *device)
{
    char    path[PATH_MAX], target[PATH_MAX];
    char    text[4096]; /* as much as a file of sysfs has */
    ssize_t length;
    char   *base;

    snprintf(path, sizeof(path), "%s/device/local_cpus",
             device->context->device->ibdev_path);
    if (efa_file_read(path, text, sizeof(text)) != 0) {
        text[0] = '\0';
    }
    efa_cpus_from_text(text, &device->local_cpus);
    snprintf(path, sizeof(path), "%s/device",
             device->context->device->ibdev_path);
    length = readlink(path, target, sizeof(target) - 1);
    if (length > 0) {
        target[length] = '\0';
        base           = strrchr(target, '/');
        base           = (base == NULL) ? target : base + 1;
        if ((strlen(base) < sizeof(device->bdf)) && strchr(base, ':')) {
            strcpy(device->bdf, base);
        }
    }
}

static struct ibv_device *
efa_device_find(const efa_verbs_t *verbs, const char *name)
{
    struct ibv_device **list = efa_device_list_get(verbs);

    for (; (list != NULL) && (*list != NULL); ++list) {
        if (strcmp(verbs->get_device_name(*list), name) == 0) {
            return *list;
        }
    }
    return NULL;
}

/* By the list there is, and where that does not do by a new one: a device may
 * have been attached anew. */
static struct ibv_context *
efa_device_open_context(const efa_verbs_t *verbs, const char *name,
                        char *node, size_t size)
{
    struct ibv_context *context = NULL;
    int                 err     = ENODEV, is_new;
    struct ibv_device  *ibdev;

    pthread_mutex_lock(&efa_device_lock);
    do {
        is_new = (efa_device_listed == NULL);
        ibdev  = efa_device_find(verbs, name);
        if (ibdev != NULL) {
            snprintf(node, size, "/dev/infiniband/%s", ibdev->dev_name);
            errno   = 0;
            context = verbs->open_device(ibdev);
            err     = (context != NULL) ? 0 :
                                          efa_device_open_error(node, errno);
        }
        if (context == NULL) {
            efa_device_forget_list(verbs);
        } else {
            ++efa_devices_open;
        }
    } while ((context == NULL) && !is_new);
    pthread_mutex_unlock(&efa_device_lock);
    errno = err;
    return context;
}

static void efa_device_close_context(efa_device_t *device)
{
    device->verbs->close_device(device->context);
    pthread_mutex_lock(&efa_device_lock);
    if (--efa_devices_open == 0) {
        efa_device_forget_list(device->verbs);
    }
    pthread_mutex_unlock(&efa_device_lock);
}

ucs_status_t
efa_device_open(ucx_host_t *host, const char *name, efa_device_t **device_p)
{
    efa_device_t *device;
    ucs_status_t  status;
    char          why[256], node[PATH_MAX] = "";

    device = calloc(1, sizeof(*device));
    if (device == NULL) {
        return UCS_ERR_NO_MEMORY;
    }
    snprintf(device->name, sizeof(device->name), "%s", name);

    status        = UCS_ERR_NO_DEVICE;
    device->verbs = efa_verbs_get(why, sizeof(why));
    if (device->verbs == NULL) {
        efa_report_absent(host, "%s", why);
        goto err_free;
    }
    device->context = efa_device_open_context(device->verbs, name, node,
                                              sizeof(node));
    if (device->context == NULL) {
        efa_device_report_open(host, name, node, errno);
        goto err_free;
    }
    status = efa_device_query(host, device);
    if (status != UCS_OK) {
        goto err_close;
    }
    efa_device_find_place(device);

    *device_p = device;
    return UCS_OK;

err_close:
    efa_device_close_context(device);
err_free:
    free(device);
    return status;
}

void efa_device_close(efa_device_t *device)
{
    efa_device_close_context(device);
    free(device);
}
