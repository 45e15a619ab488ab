/* SPDX-License-Identifier: BSD-3-Clause */
/* Rights that the program has (standby.h), and what takes them. */
#include "lock.h"
#include "preload.h"
#include "standby.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446 /* everywhere */
#endif

int drv_privilege_has(unsigned capability)
{
    struct __user_cap_header_struct head = { .version =
                                             _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[2] = { { 0, 0, 0 } };

    if (syscall(SYS_capget, &head, caps) != 0) {
        return geteuid() == 0;
    }
    return (caps[capability / 32].effective >> (capability % 32)) & 1;
}

/* The standby has the program's memory, and rights that the program is about to
 * give up: from then on it may execute what somebody without them wrote. It is
 * ended with the lock, which it does not have then. A program that enters the
 * kernel by instructions of its own is seen in the standby's next look, but for
 * Landlock. The device's threads are the program's: set*id() changes them, and
 * what changes one thread alone leaves them, as UCX's, what they had. */
static void privilege_change(void)
{
    int is_outside = !drv_lock_inside;

    if (is_outside) {
        drv_lock();
    }
    drv_standby_end();
    if (is_outside) {
        drv_unlock();
    }
}

#define PRIVILEGE_CHANGE(_name, _parameters, _arguments) \
    PRELOAD_EXPORT int _name _parameters \
    { \
        privilege_change(); \
        return PRELOAD_NEXT(_name) _arguments; \
    }

int capset(void *head, const void *data); /* the C library declares it not */

PRIVILEGE_CHANGE(setuid, (uid_t uid), (uid))
PRIVILEGE_CHANGE(seteuid, (uid_t uid), (uid))
PRIVILEGE_CHANGE(setreuid, (uid_t real, uid_t uid), (real, uid))
PRIVILEGE_CHANGE(setresuid, (uid_t real, uid_t uid, uid_t saved),
                 (real, uid, saved))
PRIVILEGE_CHANGE(setgid, (gid_t gid), (gid))
PRIVILEGE_CHANGE(setegid, (gid_t gid), (gid))
PRIVILEGE_CHANGE(setregid, (gid_t real, gid_t gid), (real, gid))
PRIVILEGE_CHANGE(setresgid, (gid_t real, gid_t gid, gid_t saved),
                 (real, gid, saved))
PRIVILEGE_CHANGE(setgroups, (size_t count, const gid_t *groups),
                 (count, groups))
PRIVILEGE_CHANGE(initgroups, (const char *user, gid_t gid), (user, gid))
PRIVILEGE_CHANGE(capset, (void *head, const void *data), (head, data))
PRIVILEGE_CHANGE(chroot, (const char *path), (path))
PRIVILEGE_CHANGE(unshare, (int flags), (flags))
PRIVILEGE_CHANGE(setns, (int fd, int type), (fd, type))
PRIVILEGE_CHANGE(setfsuid, (uid_t uid), (uid))
PRIVILEGE_CHANGE(setfsgid, (gid_t gid), (gid))

#if defined(__x86_64__) || defined(__aarch64__)

/* Nonzero: a system call by which a program can less from then on. */
static int privilege_is_less(long number, long option)
{
    switch (number) {
    case SYS_prctl:
        return (option == PR_SET_NO_NEW_PRIVS) || (option == PR_SET_SECCOMP);
    case SYS_seccomp:
        return (unsigned)option <= SECCOMP_SET_MODE_FILTER;
    case SYS_setuid:
    case SYS_setreuid:
    case SYS_setresuid:
    case SYS_setgid:
    case SYS_setregid:
    case SYS_setresgid:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_setgroups:
    case SYS_capset:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_unshare:
    case SYS_setns:
    case SYS_landlock_restrict_self:
        return 1;
    default:
        return 0;
    }
}

static long privilege_enter(long number, const long arg[6])
{
#ifdef __x86_64__
    register long r10 __asm__("r10") = arg[3];
    register long r8 __asm__("r8")   = arg[4];
    register long r9 __asm__("r9")   = arg[5];

    __asm__ volatile("syscall" : "+a"(number)
                     : "D"(arg[0]), "S"(arg[1]), "d"(arg[2]), "r"(r10),
                       "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = arg[0];
    register long x1 __asm__("x1") = arg[1];
    register long x2 __asm__("x2") = arg[2];
    register long x3 __asm__("x3") = arg[3];
    register long x4 __asm__("x4") = arg[4];
    register long x5 __asm__("x5") = arg[5];

    __asm__ volatile("svc 0" : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#endif
}

/* The C library's is not called, as to look it up is to call malloc(), and an
 * allocator may have called us. All arguments that there may be are read: those
 * that were not given do not matter. */
PRELOAD_EXPORT __attribute__((no_sanitize("address"))) long
syscall(long number, ...)
{
    long arg[6], ret;
    va_list list;
    unsigned i;

    va_start(list, number);
    for (i = 0; i < 6; ++i) {
        arg[i] = va_arg(list, long);
    }
    va_end(list);
    if (privilege_is_less(number, arg[0])) {
        privilege_change();
    }
    ret = privilege_enter(number, arg);
    if ((unsigned long)ret > -4096ul) {
        errno = (int)-ret;
        ret   = -1;
    }
    return ret;
}

PRELOAD_EXPORT int prctl(int option, ...)
{
    long arg[4];
    va_list list;
    unsigned i;

    va_start(list, option);
    for (i = 0; i < 4; ++i) {
        arg[i] = va_arg(list, long);
    }
    va_end(list);
    return (int)syscall(SYS_prctl, (long)option, arg[0], arg[1], arg[2],
                        arg[3]);
}

#endif
