/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

const char *cli_fabric_name(const char *option)
{
    const char *name = option;

    if (name == NULL) {
        name = getenv("EFASIM_FABRIC");
    }
    if ((name == NULL) || (*name == '\0')) {
        name = "default";
    }
    if (!fabric_name_is_valid(name)) {
        options_error("%s=%.64s: allowed are letters, digits, '.', '_' and "
                      "'-', at most %d", option ? "--fabric" : "EFASIM_FABRIC",
                      name, FABRIC_NAME_MAX - 1);
        return NULL;
    }

    return name;
}
