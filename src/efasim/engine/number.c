/* SPDX-License-Identifier: BSD-3-Clause */
#include "number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

int sim_number(const char *text, uint64_t max, uint64_t *value,
               const char **end)
{
    unsigned long long parsed;
    char *stop;

    if (!isdigit((unsigned char)*text)) {
        return -1;
    }

    errno  = 0;
    parsed = strtoull(text, &stop, 10);
    if ((errno != 0) || (parsed > max)) {
        return -1;
    }

    *value = parsed;
    *end   = stop;
    return 0;
}
