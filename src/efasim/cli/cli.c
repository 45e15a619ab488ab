/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

const char *cli_fabric_name(const char *option)
{
    const char *variable = getenv("EFASIM_FABRIC");
    const char *name     = (option != NULL) ? option :
                           (variable != NULL) && (*variable != '\0') ?
                           variable : "default";

    if (!fabric_name_is_valid(name)) {
        options_error("%s=%.64s: allowed are letters, digits, '.', '_' and "
                      "'-', at most %d", option ? "--fabric" : "EFASIM_FABRIC",
                      name, FABRIC_NAME_MAX - 1);
        return NULL;
    }

    return name;
}
