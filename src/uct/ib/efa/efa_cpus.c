/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel writes a set of CPUs as words of 32 bits in hexadecimal digits,
 * the highest first, with commas between: "3" or "00000000,0000ffff". */
#include "efa_cpus.h"

#include <ctype.h>
#include <string.h>

static int efa_cpus_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower(c) - 'a' + 10;
}

/* From the last digit, which has CPUs 0 to 3. Returns how many CPUs the set
 * has, or -1 for a text that is no set. */
static int efa_cpus_parse(const char *text, ucs_cpu_set_t *cpus)
{
    size_t length = strlen(text);
    int    cpu = 0, count = 0, bit;

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

void efa_cpus_from_text(const char *text, ucs_cpu_set_t *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    if (efa_cpus_parse(text, cpus) <= 0) {
        memset(cpus, 0xff, sizeof(*cpus));
    }
}
