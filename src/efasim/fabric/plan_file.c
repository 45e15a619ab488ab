/* SPDX-License-Identifier: BSD-3-Clause */
#include "plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PLAN_BYTES = 1 << 16,
};

/* The file's text, or NULL with errno; ESPIPE: a pipe gives it only once. */
static char *plan_text(const char *file)
{
    char *text = calloc(1, PLAN_BYTES + 1);
    int fd     = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    size_t length = 0;
    ssize_t ret   = 1;
    struct stat stat;

    if ((fd >= 0) && (fstat(fd, &stat) == 0) && S_ISFIFO(stat.st_mode)) {
        errno = ESPIPE;
        ret   = -1;
    }
    while ((text != NULL) && (fd >= 0) && (ret > 0) && (length < PLAN_BYTES)) {
        ret     = read(fd, text + length, PLAN_BYTES - length);
        length += (ret > 0) ? ret : 0;
    }

    if ((fd < 0) || (ret < 0) || (length == PLAN_BYTES)) {
        errno = (length == PLAN_BYTES) ? EFBIG : errno;
        free(text);
        text = NULL;
    }
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

struct sim_plan *fabric_plan_file_read(const char *file, char *err,
                                       size_t err_size)
{
    char *text            = plan_text(file);
    struct sim_plan *plan = text ? malloc(sizeof(*plan)) : NULL;
    char line[256];

    if (plan == NULL) {
        snprintf(err, err_size, "plan %.100s: %s; --plan names a file of "
                 "rules, see PLANS in efasim(1)", file,
                 (errno == ESPIPE) ? "a pipe, which only one program can read" :
                                     strerror(errno));
    } else if (sim_plan_parse(plan, text, line, sizeof(line)) != 0) {
        snprintf(err, err_size, "plan %.100s, %s", file, line);
        free(plan);
        plan = NULL;
    }

    free(text);
    return plan;
}
