/* SPDX-License-Identifier: BSD-3-Clause */
#include "env.h"
#include "clock.h"
#include "folder.h"
#include "process.h"
#include "sysfs.h"

#include "files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    MR_MARGIN = 1024, /* entries that others may take meanwhile */
    MR_STEP   = 2048,
};

int fabric_env_mr_reserve(struct fabric *fabric, unsigned nic,
                          uint32_t *reserved)
{
    uint32_t high = atomic_load(&fabric->dir->nic[nic].mr_high);
    uint32_t upto = high + MR_STEP;
    size_t from;
    int fd, err;

    if ((high + MR_MARGIN <= *reserved) || (*reserved == SIM_MAX_MR)) {
        return 0;
    }

    upto = (upto < SIM_MAX_MR) ? upto : SIM_MAX_MR;
    fd   = fabric_folder_file(fabric->path, FABRIC_DIRECTORY, O_RDWR);
    if (fd < 0) {
        return -1;
    }

    from = offsetof(struct dir, mr) +
           ((size_t)nic * SIM_MAX_MR + *reserved) * sizeof(struct dir_mr);
    err  = posix_fallocate(fd, from,
                           (upto - *reserved) * sizeof(struct dir_mr));
    close(fd);
    if (err != 0) {
        errno = err;
        return -1;
    }

    *reserved = upto;
    return 0;
}

static uint64_t env_now(void *arg)
{
    const struct fabric_env *env = arg;

    return env->virtual_ns ? env->virtual_ns : fabric_clock();
}

enum {
    ENV_RING_NAME = 24,
    ENV_SEEN_NS   = 5000000 /* numbers of processes do not go round in that */
};

static void env_ring_name(uint32_t src, uint32_t dst, char *name)
{
    snprintf(name, ENV_RING_NAME, "ring.%08x.%08x", src, dst);
}

static struct ring *env_ring_map(int fd)
{
    struct ring *ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE,
                             MAP_SHARED, fd, 0);

    return (ring == MAP_FAILED) ? NULL : ring;
}

static void env_ring_unmap(void *env, struct ring *ring)
{
    (void)env;
    munmap(ring, sizeof(*ring));
}

/* The receiver may look at any time: the name appears when the ring is
 * complete. NULL with errno. */
static struct ring *env_ring_create(int folder, const char *name)
{
    char made[ENV_RING_NAME + 8];
    struct ring *ring = NULL;
    int fd, err;

    snprintf(made, sizeof(made), "%s.new", name);
    unlinkat(folder, made, 0);
    fd = openat(folder, made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return NULL;
    }

    /* allocated now: a full /dev/shm is an error, not a SIGBUS */
    err = posix_fallocate(fd, 0, sizeof(*ring));
    if (err == 0) {
        ring = env_ring_map(fd);
        err  = ((ring == NULL) ||
                (renameat(folder, made, folder, name) != 0)) ? errno : 0;
    }
    close(fd);
    if (err != 0) {
        unlinkat(folder, made, 0);
        if (ring != NULL) {
            env_ring_unmap(NULL, ring);
        }
        errno = err;
        return NULL;
    }
    return ring;
}

static struct ring *env_ring_map_tx(void *arg, uint32_t owner)
{
    struct fabric_env *env = arg;
    int folder             = fabric_folder_open(env->fabric->path);
    struct ring *ring      = NULL;
    char name[ENV_RING_NAME], line[256];

    env->fabric->has_rings = 1;
    env_ring_name(env->fabric->owner, owner, name);
    if ((folder >= 0) && (fabric_process_check_size(sizeof(*ring)) == 0)) {
        ring = env_ring_create(folder, name);
    }
    output_close(folder);
    if (ring == NULL) {
        snprintf(line, sizeof(line), "no packet ring to another process: %s%s",
                 strerror(errno), fabric_process_advice(errno));
        fabric_env_ops.log(env, line);
    }
    return ring;
}

static struct ring *env_ring_map_rx(void *arg, uint32_t owner)
{
    struct fabric_env *env = arg;
    int folder             = fabric_folder_open(env->fabric->path);
    struct ring *ring      = NULL;
    char name[ENV_RING_NAME];
    struct stat st;
    int fd;

    if (folder < 0) {
        return NULL;
    }
    env_ring_name(owner, env->fabric->owner, name);
    fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        if ((fstat(fd, &st) == 0) && ((size_t)st.st_size == sizeof(*ring))) {
            ring = env_ring_map(fd);
        }
        close(fd);
        unlinkat(folder, name, 0); /* both ends have it: of no more use */
    }
    close(folder);
    return ring;
}

static void env_wake(void *arg, unsigned slot)
{
    struct fabric_env *env  = arg;
    struct dir *dir         = env->fabric->dir;
    struct dir_slot *target = &dir->slot[dir->slot[slot].home % SIM_SLOTS];

    atomic_fetch_add(&target->wake, 1);
    syscall(SYS_futex, &target->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int env_is_alive(void *arg, uint32_t owner)
{
    struct fabric_env *env = arg;

    return fabric_owner_is_alive(env->fabric, owner);
}

/* The number of a process means somebody else in another PID namespace. */
static int env_shares_pids(const struct fabric_env *env,
                           const struct dir_slot *other)
{
    const struct dir_slot *own = &env->fabric->dir->slot[env->fabric->slot];

    return (own->pid_ns != 0) && (own->pid_ns == other->pid_ns);
}

/* Its number is that of the process that was there: once that is dead, it may
 * be any other's, of any user; but not so soon after it was seen alive. */
static int env_is_seen(struct fabric_env *env, const struct dir_slot *slot,
                       uint32_t owner)
{
    unsigned i   = dir_owner_slot(owner) % SIM_SLOTS;
    uint64_t now = fabric_clock();

    if ((env->seen[i].owner != owner) ||
        (now - env->seen[i].ns > ENV_SEEN_NS)) {
        if (!fabric_slot_is_alive(slot)) {
            return 0;
        }
        env->seen[i].owner = owner;
        env->seen[i].ns    = now;
    }
    return 1;
}

static ssize_t env_forced(pid_t pid, int write, void *bytes, uint64_t addr,
                          size_t length)
{
    char name[32];
    ssize_t ret;
    int fd;

    snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
    fd = open(name, (write ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ret = write ? pwrite(fd, bytes, length, (off_t)addr) :
                  pread(fd, bytes, length, (off_t)addr);
    close(fd);
    return ret;
}

/* A part of it, as by a device, which has the pages that were registered for
 * that, whatever mprotect() has made of them since. */
static ssize_t env_rdma_forced(pid_t pid, int write, uint64_t here,
                               uint64_t there, size_t length)
{
    pid_t own = getpid();
    char bytes[4096];
    ssize_t ret;

    length = (length < sizeof(bytes)) ? length : sizeof(bytes);
    ret    = env_forced(write ? own : pid, 0, bytes, write ? here : there,
                        length);
    return (ret <= 0) ? ret : env_forced(write ? pid : own, 1, bytes,
                                         write ? there : here, (size_t)ret);
}

static int env_copy(pid_t pid, int write, void *bytes, uint64_t addr,
                    size_t length)
{
    struct iovec local, remote;
    ssize_t ret;

    while (length > 0) {
        local.iov_base  = bytes;
        remote.iov_base = (void*)(uintptr_t)addr;
        local.iov_len   = remote.iov_len = length;
        ret = write ? process_vm_writev(pid, &local, 1, &remote, 1, 0) :
                      process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if ((ret < 0) && (errno == EFAULT)) {
            ret   = env_rdma_forced(pid, write, (uintptr_t)bytes, addr, length);
            errno = EFAULT;
        }
        if (ret <= 0) {
            return (ret < 0) ? -errno : -EFAULT;
        }
        bytes   = (char*)bytes + ret;
        addr   += ret;
        length -= ret;
    }
    return 0;
}

static int env_rdma(void *arg, uint32_t owner, enum io_tx_op op,
                    struct sim_near near, uint64_t addr, size_t length)
{
    void *bytes            = near.bytes ? (void*)(uintptr_t)near.bytes :
                                          (void*)(uintptr_t)near.addr;
    struct fabric_env *env = arg;
    struct dir_slot *slot  = &env->fabric->dir->slot[dir_owner_slot(owner) %
                                                     SIM_SLOTS];
    int write              = op == IO_OP_WRITE, ret;

    if (!env_shares_pids(env, slot)) {
        return -EXDEV;
    }
    if (!env_is_seen(env, slot, owner) ||
        (write && !fabric_process_has(slot->pid, slot->mark))) {
        return -ESRCH;
    }
    ret = env_copy(slot->pid, write, bytes, addr, length);
    /* the number may have gone to another process meanwhile, or program */
    return ((atomic_load(&slot->owner) == owner) &&
            fabric_process_has(slot->pid, slot->mark)) ? ret : -ESRCH;
}

static void env_mem_read(void *env, void *dst, uint64_t addr, size_t length)
{
    (void)env;
    memcpy(dst, (const void*)(uintptr_t)addr, length);
}

static void env_mem_write(void *env, uint64_t addr, const void *src,
                          size_t length)
{
    (void)env;
    memcpy((void*)(uintptr_t)addr, src, length);
}

static void env_event(void *arg, struct sim_cq *cq)
{
    struct fabric_env *env = arg;

    env->event(cq);
}

/* The program matters more than a full disk, or nobody to tell; and a file that
 * reaches the user's limit would end it (SIGXFSZ). 0, or an errno value. */
static int env_write(int fd, const char *bytes, size_t length)
{
    static const struct timespec none;
    const uint64_t limit = 1ull << (SIGXFSZ - 1);
    uint64_t old;
    ssize_t done;
    int err;

    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &limit, &old, sizeof(old));
    fd   = fabric_process_fd(fd);
    done = write(fd, bytes, length);
    err  = (done == (ssize_t)length) ? 0 : (done < 0) ? errno : ENOSPC;
    fabric_process_fd_end(fd);
    if (err == EFBIG) {
        syscall(SYS_rt_sigtimedwait, &limit, NULL, &none, sizeof(limit));
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
    return err;
}

static void env_log(void *env, const char *line)
{
    char buf[320];
    int length;

    (void)env;
    length = snprintf(buf, sizeof(buf), "efasim[%d]: %s\n",
                      fabric_process_self(), line);
    if (length >= (int)sizeof(buf)) {
        length          = sizeof(buf) - 1;
        buf[length - 1] = '\n';
    }
    (void)env_write(STDERR_FILENO, buf, length);
}

/* One write() per line: the lines of several processes do not mix. */
static void env_trace(void *arg, const char *line)
{
    struct fabric_env *env = arg;
    uint64_t now           = env_now(arg) - env->fabric->dir->epoch;
    unsigned nic           = env->fabric->nic;
    char buf[320];
    int length, err;

    length = snprintf(buf, sizeof(buf), "%llu.%06llu pid=%d node=%u device=%s "
                      "%s\n", (unsigned long long)(now / 1000000000),
                      (unsigned long long)(now / 1000 % 1000000),
                      fabric_process_self(), dir_nic_host(nic),
                      fabric_sysfs_nic_name(env->fabric, nic), line);
    length = (length < (int)sizeof(buf)) ? length : (int)sizeof(buf) - 1;
    err    = env_write(env->trace_fd, buf, length);
    if ((err != 0) && !env->is_cut) {
        env->is_cut = 1;
        snprintf(buf, sizeof(buf), "--trace: not all could be written (%s): "
                 "make room, or name another file", strerror(err));
        env_log(env, buf);
    }
}

static void env_fatal(void *arg, enum sim_fatal what)
{
    struct fabric_env *env = arg;

    if (what == SIM_FATAL_KILLED) {
        kill(fabric_process_self(), SIGKILL);
    }
    env->removed(env);
}

const struct sim_env_ops fabric_env_ops = {
    .now         = env_now,
    .ring_map_tx = env_ring_map_tx,
    .ring_map_rx = env_ring_map_rx,
    .ring_unmap  = env_ring_unmap,
    .wake        = env_wake,
    .is_alive    = env_is_alive,
    .rdma        = env_rdma,
    .mem_read    = env_mem_read,
    .mem_write   = env_mem_write,
    .event       = env_event,
    .log         = env_log,
    .trace       = env_trace,
    .fatal       = env_fatal,
};
