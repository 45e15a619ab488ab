/* SPDX-License-Identifier: BSD-3-Clause */
#include "privilege.h"
#include "lock.h"
#include "preload.h"
#include "standby.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

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
 * ended with the lock, which it does not have then. */
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
PRIVILEGE_CHANGE(capset, (void *head, const void *data), (head, data))
