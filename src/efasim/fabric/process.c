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

/* The field so many behind this one; NULL: there is none. */
static const char *process_field(const char *field, unsigned count)
{
    for (; (field != NULL) && (count > 0); --count) {
        field = strchr(field, ' ');
        field = (field == NULL) ? NULL : field + 1;
    }
    return field;
}

/* Fields of /proc/PID/stat behind the command's name, which may hold spaces
 * and brackets: state is the first, the start time the 20th, the address where
 * the program's stack begins the 26th. The first thread's file is read, which
 * has the same: qemu replaces a process's own /proc/PID/stat by one whose start
 * time differs by rounding, and leaves the thread's alone. */
static int process_stat(int pid, char *state, uint64_t *start)
{
    const char *time, *stack;
    char buf[1024], *field;
    ssize_t length;
    int fd;

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
    time   = process_field(field, 19);
    stack  = process_field(time, 6);
    if (stack == NULL) {
        return -1;
    }

    *start = (strtoull(time, NULL, 10) * (FABRIC_PROCESS_EXEC + 1)) |
             ((strtoull(stack, NULL, 10) >> 4) & FABRIC_PROCESS_EXEC);
    return 0;
}

uint64_t fabric_process_start(int pid)
{
    uint64_t start;
    char state;

    return process_stat(pid, &state, &start) ? 0 : start;
}

/* Not where one of the two does not tell of the program. */
static int process_differs(uint64_t start, uint64_t other)
{
    return ((start & FABRIC_PROCESS_EXEC) && (other & FABRIC_PROCESS_EXEC)) ?
           (start != other) : !fabric_process_is_same(start, other);
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

int fabric_process_is_alive(int pid, uint64_t start, uint64_t ns)
{
    uint64_t own_ns = fabric_process_ns();
    uint64_t current;
    char state;

    if ((own_ns == 0) || (own_ns != ns)) {
        return 1;
    }
    if ((process_stat(pid, &state, &current) != 0) ||
        process_differs(current, start) || (state == 'Z') || (state == 'X')) {
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
