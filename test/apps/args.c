/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t arg_number(const char *name, uint64_t min, uint64_t max)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(optarg, &end, 0);
    /* (strtoull takes a sign and blanks, and wraps "-1" round) */
    if (!isdigit((unsigned char)*optarg) || (*end != '\0') || (errno != 0) ||
        (value < min) || (value > max)) {
        fprintf(stderr, "--%s: '%s' is not a number from %llu to %llu\n",
                name, optarg, (unsigned long long)min,
                (unsigned long long)max);
        exit(2);
    }
    return value;
}

int arg_list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    const char *p;

    for (p = list; (p = strstr(p, word)) != NULL; p += length) {
        if (((p == list) || (p[-1] == ',')) &&
            ((p[length] == ',') || (p[length] == '\0'))) {
            return 1;
        }
    }
    return 0;
}
