/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program of a run: one that cannot be started, and one that starts but
 * without the device, as nothing can be preloaded into it.
 */
#include "cli.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The file that execvp() starts; 0, or -1: there is none. */
static int program_find(const char *name, char *path, size_t size)
{
    const char *at = getenv("PATH");
    struct stat st;
    size_t length;

    if (strchr(name, '/') != NULL) {
        return ((size_t)snprintf(path, size, "%s", name) < size) ? 0 : -1;
    }
    for (; (at != NULL) && (*at != '\0'); at += length + (at[length] == ':')) {
        length = strcspn(at, ":");
        if (((size_t)snprintf(path, size, "%.*s/%s", (int)length,
                              (length > 0) ? at : ".", name) < size) &&
            (access(path, X_OK) == 0) && (stat(path, &st) == 0) &&
            S_ISREG(st.st_mode)) {
            return 0;
        }
    }
    return -1;
}

/* Nonzero: an ELF program of this machine's word length that names no dynamic
 * linker. */
static int program_is_static(FILE *file)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    unsigned i;

    if ((fread(&head, sizeof(head), 1, file) != 1) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        (head.e_ident[EI_CLASS] != ELFCLASS64) ||
        (head.e_phentsize != sizeof(segment)) ||
        (fseek(file, (long)head.e_phoff, SEEK_SET) != 0)) {
        return 0;
    }
    for (i = 0; i < head.e_phnum; ++i) {
        if ((fread(&segment, sizeof(segment), 1, file) != 1) ||
            (segment.p_type == PT_INTERP)) {
            return 0;
        }
    }
    return head.e_phnum > 0;
}

/* The dynamic linker itself is static, and serves the program behind it. */
static int program_is_linker(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name  = (slash != NULL) ? slash + 1 : path;

    return !strncmp(name, "ld-", 3) || !strncmp(name, "ld.so", 5) ||
           !strncmp(name, "ld64.so", 7);
}

/* Nonzero: to start it changes the user or the group, so the dynamic linker
 * preloads nothing. */
static int program_gains_rights(const struct stat *st)
{
    return ((st->st_mode & S_ISUID) && (st->st_uid != getuid())) ||
           ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
            (st->st_gid != getgid()));
}

void cli_program_say(const char *name)
{
    char path[PATH_MAX];
    struct stat st;
    FILE *file;

    if ((program_find(name, path, sizeof(path)) != 0) ||
        program_is_linker(path) || (stat(path, &st) != 0) ||
        !S_ISREG(st.st_mode)) {
        return;
    }
    if (program_gains_rights(&st)) {
        options_error("%s is a setuid or setgid program, which gets no "
                      "device: run a copy without that bit, or, if it is "
                      "sudo, put it in front of efasim", name);
        return;
    }
    if ((getuid() != 0) && /* root has them all */
        (getxattr(path, "security.capability", NULL, 0) > 0)) {
        options_error("%s has file capabilities, and so gets no device: run "
                      "a copy, which has none", name);
        return;
    }
    file = fopen(path, "re");
    if (file != NULL) {
        if (program_is_static(file)) {
            options_error("%s is a static program, which gets no device: "
                          "link it dynamically", name);
        }
        fclose(file);
    }
}

int cli_program_failed(const char *name, int err)
{
    if ((err == ENOENT) && (strchr(name, '=') != NULL)) {
        options_error("%s: variables go in front of efasim: %s efasim run -- "
                      "COMMAND", name, name);
        return CLI_EXIT_NO_CMD;
    }
    if (err == ENOENT) {
        options_error((strchr(name, '/') != NULL) ?
                  "%s: no such file, or the interpreter that it names is "
                  "missing: give the program's path" :
                  (*name == '\0') ?
                  "the program's name is empty%s: give one; a variable in "
                  "its place may be unset" :
                  "%s: not found in PATH: install it, or give its path", name);
        return CLI_EXIT_NO_CMD;
    }
    options_error("%s: %s: name a program that can be executed", name,
                  strerror(err));
    return CLI_EXIT_NO_EXEC;
}
