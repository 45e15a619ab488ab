/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 32

static void arg_number(const arg_t *arg)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(optarg, &end, 0);
    /* (strtoull takes a sign and blanks, and wraps "-1" round) */
    if (!isdigit((unsigned char)*optarg) || (*end != '\0') || (errno != 0) ||
        (value < arg->min) || (value > arg->max)) {
        fprintf(stderr, "--%s: '%s' is not a number from %llu to %llu\n",
                arg->name, optarg, (unsigned long long)arg->min,
                (unsigned long long)arg->max);
        exit(2);
    }
    switch (arg->size) {
    case sizeof(uint16_t): *(uint16_t*)arg->value = value; break;
    case sizeof(uint32_t): *(uint32_t*)arg->value = value; break;
    default: *(uint64_t*)arg->value = value;
    }
}

void arg_parse(int argc, char **argv, const char *usage, const arg_t *args)
{
    struct option options[ARGS_MAX + 1] = {{0}};
    int i, opt;

    for (i = 0; args[i].name != NULL && i < ARGS_MAX; ++i) {
        options[i].name    = args[i].name;
        options[i].has_arg = (args[i].kind != ARG_IS_FLAG);
    }
    while ((opt = getopt_long(argc, argv, "", options, &i)) == 0) {
        switch (args[i].kind) {
        case ARG_IS_FLAG: *(int*)args[i].value = 1; break;
        case ARG_IS_TEXT: *(const char**)args[i].value = optarg; break;
        case ARG_IS_NUMBER: arg_number(&args[i]); break;
        }
    }
    if (opt != -1 || optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
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
