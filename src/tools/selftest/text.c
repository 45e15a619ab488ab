/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include <stdio.h>

const char *st_text_status(int status, char text[32])
{
    snprintf(text, 32, (status < 0) ? "no completion" :
                       (status == 0) ? "success" : "status %d", status);
    return text;
}

const char *st_text_time(double seconds, char text[32])
{
    if (seconds < 1e-3) {
        snprintf(text, 32, "%.1f us", seconds * 1e6);
    } else if (seconds < 1) {
        snprintf(text, 32, "%.1f ms", seconds * 1e3);
    } else {
        snprintf(text, 32, "%.1f s", seconds);
    }
    return text;
}
