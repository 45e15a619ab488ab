/* SPDX-License-Identifier: BSD-3-Clause */
/* Huge pages. */
#include "info.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

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
