/* SPDX-License-Identifier: BSD-3-Clause */
#include "privilege.h"

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
