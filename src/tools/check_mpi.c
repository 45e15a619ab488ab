/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open MPI's pml/ucx gives way unless UCX offers a transport and a device of
 * its lists, which name Mellanox's. They are parameters: environment, then the
 * user's file, then the system's.
 */
#include "info.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MPI_OPTIONS \
    "--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any"
#define MPI_SECONDS 20    /* that ompi_info may take */
#define MPI_LINES   10000 /* of a file that are read */

static int in_path(const char *program)
{
    const char *path = getenv("PATH"), *end;
    char file[4200];

    while ((path != NULL) && (*path != '\0')) {
        end = path + strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path,
                 program);
        if (access(file, X_OK) == 0) {
            return 1;
        }
        path = (*end == ':') ? end + 1 : end;
    }
    return 0;
}

/* The value of "NAME = VALUE" in the file, the last one. 0, or -1: none. It may
 * be another user's: of a device or a pipe nothing is read. */
static int file_param(const char *path, const char *name, char *value,
                      size_t size)
{
    int fd     = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = (fd < 0) ? NULL : fdopen(fd, "r");
    char line[1024], key[256], text[512];
    int found = -1, lines = 0;
    struct stat stat;

    while ((file != NULL) && (fstat(fd, &stat) == 0) &&
           S_ISREG(stat.st_mode) && (lines++ < MPI_LINES) &&
           (fgets(line, sizeof(line), file) != NULL)) {
        if ((sscanf(line, " %255[^= \t#] = %511[^ \t\n#]", key, text) == 2) &&
            !strcmp(key, name)) {
            snprintf(value, size, "%s", text);
            found = 0;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* "" if it is set nowhere. */
static void mca_param(const info_t *info, const char *name, char *value,
                      size_t size)
{
    const char *home = getenv("HOME"), *set;
    char path[4200];

    snprintf(path, sizeof(path), "OMPI_MCA_%s", name);
    set = getenv(path);
    snprintf(value, size, "%s", (set != NULL) ? set : "");
    if (set != NULL) {
        return;
    }
    snprintf(path, sizeof(path), "%s/.openmpi/mca-params.conf",
             (home != NULL) ? home : "");
    if (file_param(path, name, value, size) != 0) {
        snprintf(path, sizeof(path), "%s/etc/openmpi/openmpi-mca-params.conf",
                 info->sysroot);
        (void)file_param(path, name, value, size);
    }
}

static int is_any_or(const char *list, const char *name)
{
    return !strcmp(list, "any") || (strstr(list, name) != NULL);
}

/* Open MPI compares whole names: "ud_verbs" is not ud. */
static int takes(const char *list, const char *transport)
{
    return info_list_has(list, "any") || info_list_has(list, transport);
}

/* Ways to send that ompi_info lists. */
typedef struct mpi_pmls {
    int any, ucx;
} mpi_pmls_t;

static void mpi_child(const void *arg, int fd)
{
    (void)arg;
    dup2(fd, STDOUT_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    execlp("ompi_info", "ompi_info", (char*)NULL);
    _exit(127);
}

static int mpi_take(void *arg, char *line)
{
    mpi_pmls_t *pmls = arg;

    pmls->any |= strstr(line, "MCA pml: ") != NULL;
    pmls->ucx |= strstr(line, "MCA pml: ucx ") != NULL;
    return 0;
}

/* Nonzero where Open MPI lists its ways to send, and UCX is none. */
static int mpi_lacks_ucx(void)
{
    mpi_pmls_t pmls = {0, 0};
    int        out;
    pid_t      pid = probe_start(mpi_child, NULL, &out);

    if (pid < 0) {
        return 0;
    }
    if (probe_lines(out, MPI_SECONDS, mpi_take, &pmls) != 0) {
        kill(pid, SIGKILL);
        pmls.any = 0;
    }
    close(out);
    waitpid(pid, NULL, 0);
    return pmls.any && !pmls.ucx;
}

void check_mpi(info_t *info)
{
    const char *device = (info->device_count > 0) ? info->devices[0] : "rdmap";
    char tls[512], devices[512], pml[512];

    if (!in_path("ompi_info")) {
        info_report(info, INFO_OK, "Open MPI", NULL, "not installed");
        return;
    }
    mca_param(info, "pml_ucx_tls", tls, sizeof(tls));
    mca_param(info, "pml_ucx_devices", devices, sizeof(devices));
    mca_param(info, "pml", pml, sizeof(pml));
    if ((info->chosen.major > 0) && mpi_lacks_ucx()) {
        info_report(info, INFO_FAIL, "Open MPI",
                    "use one that was built with UCX (ompi_info lists it), or "
                    "build it --with-ucx",
                    "it has no pml ucx, so none of it goes over UCX");
    } else if ((pml[0] != '\0') && (strstr(pml, "ucx") == NULL)) {
        info_report(info, INFO_WARN, "Open MPI", "mpirun --mca pml ucx",
                    "pml=%s: Open MPI does not use UCX", pml);
    } else if ((tls[0] == '\0') && (devices[0] == '\0')) {
        info_report(info, INFO_OK, "Open MPI", NULL,
                    "takes the EFA with srdrun in front of each rank, or by "
                    "mpirun " MPI_OPTIONS);
    } else if (!takes(tls, info->transport) ||
               !is_any_or(devices, device)) {
        info_report(info, INFO_WARN, "Open MPI",
                    "mpirun " MPI_OPTIONS ", or the same as OMPI_MCA_... or in "
                    "openmpi-mca-params.conf",
                    "pml_ucx_tls=%s, pml_ucx_devices=%s: so set, Open MPI "
                    "does not use UCX on an EFA", tls[0] ? tls : "(default)",
                    devices[0] ? devices : "(default)");
    } else {
        info_report(info, INFO_OK, "Open MPI", NULL,
                    "pml_ucx_tls=%s, pml_ucx_devices=%s", tls, devices);
    }
}
