/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"
#include "efasim/engine/env_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The same for all architectures; older headers lack them */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

__thread int fabric_process_owner __attribute__((tls_model("initial-exec")));

int fabric_process_fd(int fd)
{
    int pidfd;

    if (fabric_process_owner == 0) {
        return fd;
    }
    pidfd = syscall(SYS_pidfd_open, fabric_process_owner, 0);
    fd    = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
    close(pidfd);
    return fd;
}

void fabric_process_fd_end(int fd)
{
    if (fabric_process_owner != 0) {
        close(fd);
    }
}

int fabric_process_self(void)
{
    return fabric_process_owner ? fabric_process_owner : getpid();
}

/* Fields of /proc/PID/stat behind the command's name, which may hold spaces
 * and brackets: state is the first, the start time the 20th. The first thread's
 * file is read, which has the same two: qemu replaces a process's own
 * /proc/PID/stat by one whose start time differs by rounding, and leaves the
 * thread's alone. */
static int process_stat(int pid, char *state, uint64_t *start_time)
{
    char buf[1024], *field;
    ssize_t length;
    int fd, i;

    snprintf(buf, sizeof(buf), "/proc/%d/task/%d/stat", pid, pid);
    fd = open(buf, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }

    length = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    if (length <= 0) {
        return -1;
    }

    buf[length] = '\0';
    field       = strrchr(buf, ')');
    if ((field == NULL) || (field[1] != ' ')) {
        return -1;
    }

    field += 2;
    *state = *field;
    for (i = 0; i < 19; ++i) {
        field = strchr(field, ' ');
        if (field == NULL) {
            return -1;
        }
        ++field;
    }

    *start_time = strtoull(field, NULL, 10);
    return 0;
}

uint64_t fabric_process_start(int pid)
{
    uint64_t start_time;
    char state;

    return process_stat(pid, &state, &start_time) ? 0 : start_time;
}

/* Whether /proc is of this PID namespace: in another's, numbers of this one are
 * somebody else's. */
static int process_sees_own(void)
{
    char link[32];
    ssize_t length = readlink("/proc/self", link, sizeof(link) - 1);

    link[(length > 0) ? length : 0] = '\0';
    return atol(link) == getpid();
}

uint64_t fabric_process_ns(void)
{
    struct stat st;

    return (process_sees_own() && (stat("/proc/self/ns/pid", &st) == 0)) ?
                   st.st_ino : 0;
}

struct dir_mark fabric_process_mark(void)
{
    static uint64_t word;

    if ((word == 0) &&
        (syscall(SYS_getrandom, &word, sizeof(word), 0) != sizeof(word))) {
        word = 0; /* others do without */
    }
    return (struct dir_mark){ (uintptr_t)&word, word };
}

int fabric_process_has(int pid, struct dir_mark mark)
{
    uint64_t word       = mark.value;
    struct iovec local  = { &word, sizeof(word) };
    struct iovec remote = { (void*)(uintptr_t)mark.at, sizeof(word) };

    return (mark.value == 0) ||
           ((process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0) ?
            (errno != EFAULT) : (word == mark.value));
}

int fabric_process_is_alive(int pid, uint64_t start_time, uint64_t ns,
                            struct dir_mark mark)
{
    uint64_t own_ns = fabric_process_ns();
    uint64_t current;
    char state;

    if ((own_ns == 0) || (own_ns != ns)) {
        return 1;
    }
    if ((process_stat(pid, &state, &current) != 0) ||
        (current != start_time) || (state == 'Z') || (state == 'X') ||
        !fabric_process_has(pid, mark)) {
        return 0;
    }
    return ((state == 'T') || (state == 't')) ? SIM_ALIVE_STOPPED : 1;
}

int fabric_process_check_size(uint64_t size)
{
    struct rlimit limit;

    if ((getrlimit(RLIMIT_FSIZE, &limit) != 0) || (size <= limit.rlim_cur)) {
        return 0;
    }
    errno = EFBIG;
    return -1;
}

const char *fabric_process_advice(int err)
{
    switch (err) {
    case EFBIG:
        return "; raise the limit on file sizes (ulimit -f)";
    case EMFILE:
        return "; raise the limit on open files (ulimit -n)";
    case ENOMEM:
        return "; is there a limit on memory (ulimit -v)?";
    case ENOSPC:
        return "; free some of /dev/shm (`efasim clean` removes what killed "
               "programs left)";
    case EACCES:
    case ENOENT:
    case EROFS:
        return "; /dev/shm must be there, and this user able to write there";
    default:
        return "";
    }
}
