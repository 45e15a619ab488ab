/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standby is no thread, as a stop of a process stops its threads, and a
 * debugger all that it sees. It runs on the stack and the thread-local storage
 * of a thread that waits for its end and does nothing else. By that the C
 * library and the sanitizers take it for this thread. It has no descriptors: a
 * pipe or a port of the program closes when the program closes it or ends.
 */
#include "standby.h"
#include "backstop.h"
#include "lock.h"
#include "state.h"

#include "efasim/fabric/clock.h"
#include "efasim/fabric/process.h"

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* everywhere */
#endif

enum {
    STANDBY_UNSHARE   = 1 << 1,  /* CLOSE_RANGE_UNSHARE */
    STANDBY_NAP_US    = 100000,  /* between two looks at the owner */
    STANDBY_LOCK_US   = 2000,    /* between two tries to take the lock */
    STANDBY_RETRY_US  = 1000,    /* of an instruction with a breakpoint */
    STANDBY_STEPS     = 64,      /* of a thread that is led out */
    STANDBY_STEP_NAPS = 200,     /* for the end of a step, ever longer ones */
    STANDBY_ROOM      = 1 << 16, /* of the stack, for the thread that waits */
    STANDBY_STACK     = 1 << 20, /* of both; the program may set a less one */
};

static struct {
    _Atomic int owner;         /* the program's number; 0: it ends. Its: */
    uint64_t    start, pid_ns;
    uint64_t    rights;        /* of the standby */
    clockid_t   clock;
    _Atomic int pid;           /* of the standby; 0: there is none */
    sem_t       started;
    int         is_told;       /* that it waits for the lock */
} standby;

/* The C library's own: a sanitizer's of the plain name does more. */
int __clone(int (*function)(void *arg), void *stack, int flags, void *arg, ...);
int __sigaction(int sig, const struct sigaction *action,
                struct sigaction *old);

static void standby_nap(unsigned usec)
{
    struct timespec time = { 0, usec * 1000l };

    nanosleep(&time, NULL);
}

/* CPU time of all threads of the owner. It does not grow while that is stopped,
 * and does as soon as it is no more. */
static uint64_t standby_owner_ns(void)
{
    return fabric_clock_of(standby.clock);
}

/* A debugger's breakpoint, which is in our code as well: until it is out. It
 * may be in nanosleep(), and a second one in here would end us. */
static void standby_breakpoint(int sig, siginfo_t *info, void *context)
{
    struct timespec time = { 0, STANDBY_RETRY_US * 1000l };

    (void)sig;
    (void)info;
    (void)context;
#ifdef __x86_64__
    --((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
#endif
    syscall(SYS_nanosleep, &time, NULL);
}

static void standby_take_breakpoints(void)
{
    struct sigaction action = { .sa_sigaction = standby_breakpoint,
                                .sa_flags     = SA_SIGINFO };
    sigset_t set;

    __sigaction(SIGTRAP, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int standby_is_free(void)
{
    if (pthread_mutex_trylock(&drv.lock) != 0) {
        return 0;
    }
    pthread_mutex_unlock(&drv.lock);
    return 1;
}

/* The signal that this stop of a traced thread is about to deliver; 0: none. */
static long standby_signal(int status)
{
    int sig = WSTOPSIG(status);

    return ((status >> 16 != 0) || (sig == SIGTRAP)) ? 0 : sig;
}

/* The end of a traced thread's step; 0: it has none soon, as it is in a system
 * call that waits, or the thread has ended. */
static int standby_has_stepped(int tid, int *status)
{
    unsigned usec;
    int ret = 0;

    for (usec = 0; (ret == 0) && (usec < STANDBY_STEP_NAPS); ++usec) {
        standby_nap(usec);
        ret = waitpid(tid, status, __WALL | WNOHANG);
    }
    return (ret == tid) && WIFSTOPPED(*status);
}

/* If this thread has the lock, tell it that somebody waits: so it makes a
 * system call as soon as it has given that back. */
static int standby_asks(int tid)
{
    int taken = 1; /* and nobody waits: a lock of the C library */

    if (drv.lock.__data.__owner != tid) {
        return 0;
    }
    __atomic_compare_exchange_n(&drv.lock.__data.__lock, &taken, 2, 0,
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return 1;
}

/* Let a stopped thread go on until it has given the lock back, if it has it or
 * takes it in a few steps. Nonzero: the lock is free. A debugger does not lend
 * its threads. */
static int standby_lead(int tid)
{
    int status = 0, is_free;
    unsigned steps = 0;

    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        return 0;
    }
    do {
        if (!standby_has_stepped(tid, &status)) {
            ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
            waitpid(tid, &status, __WALL);
        }
        is_free = standby_is_free();
    } while (!is_free && (steps++ < STANDBY_STEPS) &&
             (ptrace(standby_asks(tid) ? PTRACE_SYSCALL : PTRACE_SINGLESTEP,
                     tid, NULL, standby_signal(status)) == 0));
    /* now it is stopped as before */
    ptrace(PTRACE_DETACH, tid, NULL, standby_signal(status));
    return is_free;
}

/* The owner was stopped with a thread in the device. The lock tells which, but
 * for the moment in which it is taken or given back: then it is likely one of
 * two. */
static int standby_lead_out(void)
{
    int tid = drv.lock.__data.__owner;

    return (tid != 0) ? standby_lead(tid) :
           (standby_lead(standby.owner) || standby_lead(drv_backstop_thread));
}

static uint64_t standby_mix(uint64_t hash, uint64_t fact)
{
    return (hash ^ fact) * 0x100000001b3ull;
}

/* A hash of what /proc tells of a process's rights, and of what it reaches. */
static uint64_t standby_rights(int pid)
{
    static const char *const names[] = { "\nUid:", "\nGid:", "\nGroups:",
                                         "\nCapPrm:", "\nNoNewPrivs:",
                                         "\nSeccomp:" };
    static const char *const places[] = { "root", "ns/mnt", "ns/user",
                                          "ns/net", "ns/uts" };
    char text[4096];
    const char *at;
    struct stat st;
    uint64_t hash = 0;
    ssize_t length;
    unsigned i;
    int fd;

    snprintf(text, sizeof(text), "/proc/%d/status", pid);
    fd     = open(text, O_RDONLY | O_CLOEXEC);
    length = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[(length > 0) ? length : 0] = '\0';
    for (i = 0; i < sizeof(names) / sizeof(*names); ++i) {
        at = strstr(text, names[i]);
        while ((at != NULL) && (*++at != '\n') && (*at != '\0')) {
            hash = standby_mix(hash, (unsigned char)*at);
        }
    }
    for (i = 0; i < sizeof(places) / sizeof(*places); ++i) {
        snprintf(text, sizeof(text), "/proc/%d/%s", pid, places[i]);
        if (stat(text, &st) == 0) {
            hash = standby_mix(standby_mix(hash, st.st_dev), st.st_ino);
        }
    }
    return hash;
}

/* The program's memory tells us what to do: we end where the program may not
 * do what we may, as a program of root's that has become another user. That
 * program cannot end us either, nor does its end. */
static void standby_end_if_stranger(void)
{
    if ((getppid() != standby.owner) ||
        (standby_rights(standby.owner) != standby.rights)) {
        _exit(0);
    }
}

/* Whether the owner was stopped during a nap of so long, from before it on. */
static int standby_sees_stop(unsigned usec)
{
    uint64_t before = standby_owner_ns();

    standby_nap(usec);
    standby_end_if_stranger();
    return (standby_owner_ns() == before) &&
           (fabric_process_is_alive(standby.owner, standby.start,
                                    standby.pid_ns, (struct dir_mark){ 0 }) ==
            SIM_ALIVE_STOPPED);
}

/* Somebody has the lock: a thread of the owner. */
static void standby_wait_lock(void)
{
    if (!standby_sees_stop(standby.is_told ? STANDBY_NAP_US :
                                             STANDBY_LOCK_US)) {
        standby.is_told = 0;
    } else if (!standby.is_told && !standby_lead_out()) {
        drv_log("this program was stopped inside the device, which stands "
                "still until it goes on; elsewhere it works on");
        standby.is_told = 1;
    }
}

/* Until the owner goes on. */
static void standby_serve(void)
{
    unsigned idle_us = 0;
    uint64_t before;

    standby.is_told = 0;
    drv_lock(); /* which may take some of the owner's time */
    before = standby_owner_ns();
    drv_unlock();
    while (standby_owner_ns() == before) {
        idle_us = drv_backstop_round(idle_us);
    }
    drv_backstop_wake();
}

static int standby_main(void *arg)
{
    (void)arg;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "efasim-standby");
    sem_post(&standby.started);
    if ((syscall(SYS_close_range, 0, ~0u, STANDBY_UNSHARE) != 0) ||
        (clock_getcpuclockid(standby.owner, &standby.clock) != 0)) {
        return 0;
    }
    standby.rights = standby_rights(getpid());
    standby_end_if_stranger();
    setsid(); /* a signal to the program's group is none for us */
    standby_take_breakpoints();
    drv_lock_without_signals(standby_wait_lock);
    fabric_process_owner = standby.owner;

    for (;;) {
        if (standby_sees_stop(STANDBY_NAP_US)) {
            standby_serve();
        }
    }
}

/* The standby runs with our thread-local storage: we touch none until it has
 * ended. A signal that has ended it, as a fault's, ends the program, as it
 * would have in a thread. We do not end before the program: a sanitizer would
 * find us in the midst of what the standby did last. */
static void *standby_wait(void *arg)
{
    char *stack = __builtin_frame_address(0);
    int pid, status = 0;

    (void)arg;
    stack -= STANDBY_ROOM;
    stack -= (uintptr_t)stack % 64;
    pid    = __clone(standby_main, stack,
                     CLONE_VM | CLONE_FILES | CLONE_UNTRACED |
                     CLONE_PARENT_SETTID, NULL, &standby.pid);
    if (pid > 0) {
        syscall(SYS_wait4, pid, &status, __WCLONE, NULL);
    } else {
        sem_post(&standby.started);
    }
    if ((atomic_exchange(&standby.pid, 0) > 0) && WIFSIGNALED(status)) {
        kill(standby.owner, WTERMSIG(status));
    }
    for (;;) {
        pause();
    }
    return NULL;
}

void drv_standby_start(void)
{
    const char *preload = getenv("LD_PRELOAD");
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;

    if ((preload != NULL) && (strstr(preload, "vgpreload") != NULL)) {
        return; /* valgrind knows no such process */
    }
    standby.owner    = getpid();
    standby.start    = fabric_process_start(standby.owner);
    standby.pid_ns   = fabric_process_ns();
    standby.pid      = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STANDBY_STACK);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    sem_init(&standby.started, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    if (pthread_create(&thread, &attr, standby_wait, NULL) == 0) {
        sem_wait(&standby.started); /* the program may be stopped at once */
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
}

void drv_standby_end(void)
{
    int pid = (standby.owner == getpid()) ? atomic_exchange(&standby.pid, 0) :
                                            0;

    if (pid > 0) {
        standby.owner = 0;
        kill(pid, SIGKILL);
        syscall(SYS_wait4, pid, NULL, __WCLONE, NULL);
    }
}
