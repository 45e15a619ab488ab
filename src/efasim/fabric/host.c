/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An emulated host is an IPC namespace. UCX's shared-memory transports (posix,
 * sysv, cma, xpmem) tell hosts apart by exactly that, so they reach within a
 * node and not across. Nothing else of the process changes: files, network
 * and process numbers stay common, which RDMA READ and mpirun need.
 *
 * The first process of node 0 keeps the namespace it is in, unless another
 * node lives there; the first of any other node makes one; later ones join
 * that of any live process of their node.
 */
#include "host.h"
#include "folder.h"
#include "process.h"

#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t host_ns(int pid, const char *kind)
{
    char file[64];
    struct stat st;

    snprintf(file, sizeof(file), "/proc/%d/ns/%s", pid, kind);
    return (stat(file, &st) == 0) ? st.st_ino : 0;
}

static int host_join_ns(int pid, const char *kind, int flag)
{
    char file[64];
    int fd, ret;

    if (host_ns(pid, kind) == host_ns(getpid(), kind)) {
        return 0;
    }

    snprintf(file, sizeof(file), "/proc/%d/ns/%s", pid, kind);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }

    ret = setns(fd, flag);
    close(fd);
    return ret;
}

static int host_write(const char *file, const char *text)
{
    size_t size = strlen(text);
    int fd      = open(file, O_WRONLY | O_CLOEXEC);
    int ret     = ((fd >= 0) && (write(fd, text, size) == (ssize_t)size)) ?
                  0 : -1;

    output_close(fd);
    return ret;
}

/* A user namespace that maps this user to itself. */
static int host_make_user(void)
{
    unsigned uid = geteuid();
    unsigned gid = getegid();
    char map[64];

    if (unshare(CLONE_NEWUSER) != 0) {
        return -1;
    }
    host_write("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    if (host_write("/proc/self/uid_map", map) != 0) {
        return -1;
    }
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    return host_write("/proc/self/gid_map", map);
}

/* Some systems let a user make such a namespace, but do nothing in it, and
 * there is no way back: so a child tries. Its end is no signal to this process,
 * which may ignore SIGCHLD. */
static int host_may_make_user(void)
{
    pid_t child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    int status;

    if (child == 0) {
        _exit((host_make_user() != 0) || (unshare(CLONE_NEWIPC) != 0));
    }
    while ((child > 0) && (waitpid(child, &status, __WALL) < 0)) {
        if (errno != EINTR) {
            return 0;
        }
    }
    errno = EPERM;
    return (child > 0) && WIFEXITED(status) && (WEXITSTATUS(status) == 0);
}

/* In the user namespace: programs that this process executes may enter other
 * hosts, too, which a user who is not root else may not. */
static void host_keep_right(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &head, data) == 0) {
        data[0].inheritable |= 1u << CAP_SYS_ADMIN;
        if (syscall(SYS_capset, &head, data) == 0) {
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0);
        }
    }
}

/* Another live process, of this host (-1: of any), that is in such a namespace.
 * 0: none, as it is for `ns` 0. */
static int host_find(const struct fabric *fabric, const char *kind, uint64_t ns,
                     int host)
{
    const struct dir_slot *slot = fabric->dir->slot;

    for (; (ns != 0) && (slot < fabric->dir->slot + SIM_SLOTS); ++slot) {
        if ((atomic_load(&slot->state) == DIR_SLOT_LIVE) &&
            ((host < 0) || ((int)dir_nic_host(slot->nic) == host)) &&
            (slot->pid != getpid()) && fabric_slot_is_alive(slot) &&
            (host_ns(slot->pid, kind) == ns)) {
            return slot->pid;
        }
    }
    return 0;
}

/*
 * Without root: one user namespace for the whole fabric, node 0 included. The
 * kernel lets processes of two of them not read each other's memory, which
 * RDMA READ does.
 */
static int host_enter_user(struct fabric *fabric)
{
    uint64_t ns = atomic_load(&fabric->dir->user_ns);
    int pid;

    if ((ns != 0) && (ns == host_ns(getpid(), "user"))) {
        return 0; /* an outer run has entered it */
    }

    pid = host_find(fabric, "user", ns, -1);
    if ((pid != 0) ? (host_join_ns(pid, "user", CLONE_NEWUSER) != 0) :
                     (!host_may_make_user() || (host_make_user() != 0))) {
        return -1;
    }
    host_keep_right();
    if (pid == 0) {
        atomic_store(&fabric->dir->user_ns, host_ns(getpid(), "user"));
    }
    return 0;
}

/* A live process of this host that is in the host's namespace. 0: none. */
static int host_member(const struct fabric *fabric, unsigned host)
{
    return host_find(fabric, "ipc",
                     atomic_load(&fabric->dir->host[host].ipc_ns), host);
}

static int host_ns_is_taken(struct fabric *fabric, unsigned host, uint64_t ns)
{
    unsigned i;

    for (i = 0; i < SIM_HOSTS; ++i) {
        if ((i != host) &&
            (atomic_load(&fabric->dir->host[i].ipc_ns) == ns) &&
            (host_member(fabric, i) != 0)) {
            return 1;
        }
    }

    return 0;
}

static int host_enter(struct fabric *fabric, unsigned host)
{
    struct dir_host *entry = &fabric->dir->host[host];
    uint64_t ns            = host_ns(getpid(), "ipc");
    int pid                = host_member(fabric, host);

    if ((geteuid() != 0) && (host_enter_user(fabric) != 0) && (host == 0)) {
        return 0; /* no user namespaces here: node 0 needs none */
    }
    if (pid != 0) {
        return host_join_ns(pid, "ipc", CLONE_NEWIPC);
    }

    if ((host != 0) || host_ns_is_taken(fabric, host, ns)) {
        if (unshare(CLONE_NEWIPC) != 0) {
            return -1;
        }
        ns = host_ns(getpid(), "ipc");
    }

    atomic_store(&entry->ipc_ns, ns);
    return 0;
}

int fabric_host_enter(struct fabric *fabric, unsigned host, char *err,
                      size_t err_size)
{
    int lock = fabric_lock(fabric->path, 1);
    int ret  = host_enter(fabric, host);

    if (ret != 0) {
        snprintf(err, err_size, "node %u has no IPC namespace of its own "
                 "(%s): shared-memory transports will reach across nodes. "
                 "Run as root, or allow user namespaces (sysctl "
                 "user.max_user_namespaces; on Ubuntu "
                 "kernel.apparmor_restrict_unprivileged_userns=0)",
                 host, strerror(errno));
    }
    output_close(lock);
    return ret;
}
