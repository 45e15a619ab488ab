/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel writes a set of CPUs as words of 32 bits in hexadecimal digits,
 * the highest first, with commas between: "3" or "00000000,0000ffff". */
#include "efa_cpus.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int efa_cpus_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower(c) - 'a' + 10;
}

/* From the last digit, which has CPUs 0 to 3. Returns how many CPUs the set
 * has, or -1 for what is no set. */
static int efa_cpus_parse(const char *text, size_t length, ucs_cpu_set_t *cpus)
{
    int cpu = 0, count = 0, bit;

    while ((length > 0) && isspace((unsigned char)text[length - 1])) {
        --length;
    }
    while (length-- > 0) {
        if (text[length] == ',') {
            continue;
        }
        if (!isxdigit((unsigned char)text[length])) {
            return -1;
        }
        for (bit = 0; bit < 4; ++bit, ++cpu) {
            if ((efa_cpus_digit(text[length]) & (1 << bit)) &&
                (cpu < UCS_CPU_SETSIZE)) {
                UCS_CPU_SET(cpu, cpus);
                ++count;
            }
        }
    }
    return count;
}

void efa_cpus_near(const char *device_dir, ucs_cpu_set_t *cpus)
{
    char    path[PATH_MAX], *text = NULL;
    size_t  size = 0;
    ssize_t length = -1;
    FILE   *file;

    snprintf(path, sizeof(path), "%s/local_cpus", device_dir);
    file = fopen(path, "re");
    if (file != NULL) {
        length = getline(&text, &size, file);
        fclose(file);
    }
    memset(cpus, 0, sizeof(*cpus));
    if ((length <= 0) || (efa_cpus_parse(text, length, cpus) <= 0)) {
        memset(cpus, 0xff, sizeof(*cpus));
    }
    free(text);
}
